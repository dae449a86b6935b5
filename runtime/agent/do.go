package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/program"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// doCall is agent.call: it makes the call of a decision. A call that fails is an outcome for
// the model; only what ends the run is an error. keepCall does the same with a recorded
// outcome.
func (t *turn) doCall(ctx context.Context, e tool.Effect) (value.Value, error) {
	given, err := functions.Decisions(e.Args)
	if err != nil {
		return nil, err
	}
	d := given[0]
	t.watches.Add(1)
	defer t.watches.Add(-1)
	c := t.plan(ctx, d, e.StepPath, 0)
	t.make(t.numbered(ctx, &c), &c)
	if err := t.report(ctx, &c); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		t.interrupt(&c)
		err = value.AsError(context.Cause(ctx), value.Canceled)
	}
	v := c.dict()
	t.kept.Take().Put(v)
	if failure := t.keepCall(e, v, err); err == nil {
		err = failure
	}
	if err == nil && !c.made {
		c.emitAnswered(ctx)
	}
	return v, err
}

// A plannedCall is the call of a decision, at a step of the run: first what is to be called, then
// what came of it. A call that is not made is answered by the agent.
type plannedCall struct {
	decision decision.Decision
	at       tool.StepPath
	offered  *tool.Tool   // nil if the call is not made
	notes    *hooks.Notes // of a call that is made
	err      error        // of Host.Call

	result    tool.Result
	failure   *value.Error // or nil
	text      string       // for the model
	said      string       // the tool's own message of a failure
	answered  bool         // the call is not made
	denied    bool
	made      bool       // the host has run or refused the call
	redundant bool       // it was made before, and the result is still valid
	complete  bool       // the call ends the task
	shown     value.List // the numbers of the images and documents of the result that the model gets
}

// dict returns what came of the call, for the policy and the record.
func (c *plannedCall) dict() *value.Dict {
	d := value.NewDict("success", c.result.Success, "result", c.result.Value, "error", c.result.Error, "error_type", c.result.ErrorType,
		"suggestion", c.result.Suggestion, "text", c.text, "denied", c.denied, "redundant", c.redundant, "complete", c.complete,
		"made", c.made, "said", c.said)
	if found := value.MediaIn(c.result.Value); len(found) > 0 {
		d.Put("shown", c.shown)
		d.Put("fingerprint", prompt.Fingerprint(found))
	}
	return d
}

// emitAnswered emits the events of a call that the host did not make.
func (c *plannedCall) emitAnswered(ctx context.Context) {
	d := &c.decision
	host.EmitAnswered(ctx, tool.Call{Tool: d.Action, Args: d.Input, Reasoning: d.Reasoning, StepPath: c.at}, tool.Preview(c.text, tool.PreviewLines), c.failure)
}

// plan finds the tool of a decision, or answers it: it is invalid, the model may not call the
// tool, it has made all calls that it may make, or it has the result already. before is the
// number of calls that are planned before it.
func (t *turn) plan(ctx context.Context, d decision.Decision, at tool.StepPath, before int) plannedCall {
	c := plannedCall{decision: d, at: at, answered: true}
	offered := t.offered(d.Action)
	if offered != nil {
		c.decision.Action = offered.Name
	}
	over := t.agent.opts.As.CheckCalls(len(t.result.Calls) + before)
	switch {
	case d.Kind == decision.Invalid:
		t.fail(&c, value.Errorf(value.Invalid, "%s", d.Error))
	case offered == nil && t.finds(ctx, d.Action):
		t.find(&c)
	case offered == nil:
		t.fail(&c, value.Errorf(value.NotFound, "Unknown tool: %s", d.Action))
		c.text = t.prompt().UnknownTool(d.Action)
	case over != nil:
		t.fail(&c, over)
	default:
		c.offered = offered
		earlier, ok := t.memory.Find(conversation.Key(offered, d.Input))
		if c.answered = ok && host.Operate(t.agent.host).ReplayOf(ctx) == ""; c.answered { // in a replay the record has it
			c.result, c.text, c.redundant = tool.Succeed(tool.Outcome{Value: earlier.Value}), prompt.Redundant(offered.Name, earlier.Number), true
		}
	}
	return c
}

// make makes the call, unless it is answered.
func (t *turn) make(ctx context.Context, c *plannedCall) {
	if !c.answered {
		d := &c.decision
		ctx, c.notes = t.collect(ctx, c.at)
		c.result, c.err = t.agent.host.Call(ctx, tool.Call{Tool: d.Action, Args: d.Input, Texts: d.Texts, Reasoning: d.Reasoning, Caller: tool.ByModel, StepPath: c.at})
	}
}

// report gives a call that was made its text for the model. An error ends the run.
func (t *turn) report(ctx context.Context, c *plannedCall) error {
	switch {
	case c.answered:
		return nil
	case program.Final(c.err):
		return c.err
	case c.err != nil:
		e := *value.ErrorOf(c.err, value.Failed)
		if e.Kind == value.Failed || e.Kind == value.Command || e.Kind == value.System { // these messages are the tool's
			c.said = e.Message()
		}
		e.Op, e.Err = c.offered.FailedCall(c.decision.Input), errors.New(e.Message())
		t.fail(c, &e)
	default:
		c.text, c.complete = t.resultText(c.offered.Name, c.result), t.ends(c.offered)
		t.showMedia(ctx, c)
	}
	c.made = true
	c.text += c.notes.Text()
	return nil
}

// interrupt makes a call one that was interrupted.
func (t *turn) interrupt(c *plannedCall) {
	*c = plannedCall{decision: c.decision, at: c.at, made: true}
	t.fail(c, value.Errorf(value.Canceled, "the call was interrupted and may be partly done"))
}

// ends reports whether a call of a tool ends the task.
func (t *turn) ends(offered *tool.Tool) bool {
	return t.agent.ends && tool.Key(offered.Name) == stub.CompleteTool
}

// fail makes a call one that failed.
func (t *turn) fail(c *plannedCall, e *value.Error) {
	c.result, c.failure, c.denied = tool.Fail(e, tool.Usage{}), e, e.Kind == value.Denied
	offered := t.offered(c.decision.Action)
	if c.denied && strings.Contains(e.Message(), "not approved") && (offered == nil || !offered.OnlyCalls) { // not by a rule, and no call that this one made
		c.text = t.prompt().Denied(e.Message())
		return
	}
	c.text = t.resultText(c.decision.Action, c.result)
}

// offered returns the tool with a name if the model may call it, or nil.
func (t *turn) offered(name string) *tool.Tool {
	for i := range t.agent.tools {
		if tool.Key(t.agent.tools[i].Name) == tool.Key(name) {
			return &t.agent.tools[i]
		}
	}
	return nil
}

// resultText returns the result of a call as text for the model. A result that is too long
// is cut; if Options.Keep stores all of it, the text says where.
func (t *turn) resultText(name string, r tool.Result) string {
	limit, where := t.agent.opts.MaxResult, ""
	if whole := r.Text(); utf8.RuneCountInString(whole) > limit && t.agent.opts.Keep != nil {
		kept, err := t.agent.opts.Keep(fmt.Sprintf("%s/%d-%s.txt", t.runID, len(t.result.Calls)+1, tool.Key(name)), whole)
		if err == nil {
			where = kept
		}
	}
	return prompt.ResultText(name, r, limit, where)
}

// doSkill is agent.skill: it returns the text of a skill that the model asked for.
func (t *turn) doSkill(ctx context.Context, e tool.Effect) (value.Value, error) {
	name := e.Args.Text("name")
	if !t.mayLoad(name) {
		return value.NewDict("success", false, "text", t.prompt().SkillUnknown(name)), nil
	}
	text, loaded, err := t.useSkill(name)
	if err != nil {
		text := t.prompt().SkillUnknown(name)
		if value.KindOf(err) != value.NotFound {
			text = prompt.ResultText("skill "+name, tool.Fail(value.ErrorOf(err, value.Failed), tool.Usage{}), DefaultResultText, "")
		}
		return value.NewDict("success", false, "text", text), nil
	}
	if len(loaded.Reviewed) > 0 && t.pending.Note != nil {
		if err := t.pending.Note(host.ReviewedNote(loaded.Reviewed)); err != nil {
			return nil, err
		}
	}
	host.Emit(ctx, tool.SkillLoaded{Name: name, Notes: loaded.Notes})
	return value.NewDict("success", true, "text", text), nil
}

// UseSkill returns the text with which a skill is given to the model, for a message of the
// user. It fails with kind NotFound without Options.LoadSkill, and with its error otherwise.
func (s *Session) UseSkill(name string) (string, error) {
	text, _, err := s.useSkill(name)
	if err != nil {
		return "", err
	}
	s.seeing.Lock()
	defer s.seeing.Unlock()
	if s.used == nil {
		s.used = map[string]bool{}
	}
	s.used[tool.Key(name)] = true
	return text, nil
}

// mayLoad reports whether the model may load a skill, or one of its files: it is offered, or its user has used it.
func (s *Session) mayLoad(name string) bool {
	skill, _, isFile := strings.Cut(strings.TrimSpace(name), "/")
	s.seeing.Lock()
	defer s.seeing.Unlock()
	return isFile && s.used[tool.Key(skill)] ||
		slices.ContainsFunc(s.agent.opts.Skills, func(one Skill) bool { return tool.Key(one.Name) == tool.Key(skill) })
}

func (s *Session) useSkill(name string) (text string, loaded LoadedSkill, err error) {
	if s.agent.opts.LoadSkill == nil {
		return "", loaded, value.Errorf(value.NotFound, "no skills are available")
	}
	name = strings.TrimSpace(name)
	if loaded, err = s.agent.opts.LoadSkill(name); err != nil {
		return "", loaded, err
	}
	s.state.AddReviewed(loaded.Reviewed)
	return s.prompt().SkillLoaded(name, loaded.Text, loaded.Files), loaded, nil
}
