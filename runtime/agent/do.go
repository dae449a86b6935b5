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
	o, err := t.outcomeOf(ctx, &c)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		o, err = t.broken(d), value.AsError(context.Cause(ctx), value.Canceled)
	}
	v := o.dict()
	t.kept.Take().Put(v)
	if failure := t.keepCall(e, v, err); err == nil {
		err = failure
	}
	if err == nil && !o.made {
		emitAnswered(ctx, &c, &o)
	}
	return v, err
}

// emitAnswered emits the events of a call that the host did not make.
func emitAnswered(ctx context.Context, c *plannedCall, o *outcome) {
	d := &c.decision
	host.EmitAnswered(ctx, tool.Call{Tool: d.Action, Args: d.Input, Reasoning: d.Reasoning, StepPath: c.at}, tool.Preview(o.text, tool.PreviewLines), o.failure)
}

// broken returns the outcome of an interrupted call.
func (t *turn) broken(d decision.Decision) outcome {
	o := t.failed(d, value.Errorf(value.Canceled, "the call was interrupted and may be partly done"))
	o.made = true
	return o
}

// An outcome is the outcome of a decision.
type outcome struct {
	result    tool.Result
	text      string // for the model
	denied    bool
	said      string     // the tool's own message of a failure
	made      bool       // the host has run or refused the call
	redundant bool       // it was made before, and the result is still valid
	complete  bool       // the call ends the task
	shown     value.List // the numbers of the images and documents of the result that the model gets
	failure   *value.Error
}

// dict returns the outcome for the policy and the record.
func (o *outcome) dict() *value.Dict {
	d := value.NewDict("success", o.result.Success, "result", o.result.Value, "error", o.result.Error, "error_type", o.result.ErrorType,
		"suggestion", o.result.Suggestion, "text", o.text, "denied", o.denied, "redundant", o.redundant, "complete", o.complete,
		"made", o.made, "said", o.said)
	if found := value.MediaIn(o.result.Value); len(found) > 0 {
		d.Put("shown", o.shown)
		d.Put("fingerprint", prompt.Fingerprint(found))
	}
	return d
}

// A plannedCall is the call of a decision, at a step of the run.
type plannedCall struct {
	decision decision.Decision
	at       tool.StepPath
	offered  *tool.Tool   // nil if the call is not made
	answer   *outcome     // of a call that is not made; else nil
	notes    *hooks.Notes // of a call that is made
	result   tool.Result
	err      error
}

// plan finds the tool of a decision, or the outcome of a call that is not made: it is invalid,
// the model may not call the tool, it has made all calls that it may make, or it has the result
// already. before is the number of calls that are planned before it.
func (t *turn) plan(ctx context.Context, d decision.Decision, at tool.StepPath, before int) plannedCall {
	c := plannedCall{decision: d, at: at}
	offered := t.offered(d.Action)
	if offered != nil {
		c.decision.Action = offered.Name
	}
	over := t.agent.opts.As.CheckCalls(len(t.result.Calls) + before)
	switch {
	case d.Kind == decision.Invalid:
		o := t.failed(d, value.Errorf(value.Invalid, "%s", d.Error))
		c.answer = &o
	case offered == nil:
		e := value.Errorf(value.NotFound, "Unknown tool: %s", d.Action)
		c.answer = &outcome{result: tool.Fail(e, tool.Usage{}), failure: e, text: t.prompt().UnknownTool(d.Action)}
	case over != nil:
		o := t.failed(d, over)
		c.answer = &o
	default:
		c.offered = offered
		if earlier, ok := t.memory.Find(conversation.Key(offered, d.Input)); ok && host.Operate(t.agent.host).ReplayOf(ctx) == "" { // in a replay the record has it
			c.answer = &outcome{result: tool.Succeed(tool.Outcome{Value: earlier.Value}), text: prompt.Redundant(offered.Name, earlier.Number), redundant: true}
		}
	}
	return c
}

// make makes the call, unless it is not to be made.
func (t *turn) make(ctx context.Context, c *plannedCall) {
	if c.answer == nil {
		d := &c.decision
		ctx, c.notes = t.collect(ctx, c.at)
		c.result, c.err = t.agent.host.Call(ctx, tool.Call{Tool: d.Action, Args: d.Input, Texts: d.Texts, Reasoning: d.Reasoning, Caller: tool.ByModel, StepPath: c.at})
	}
}

// outcomeOf returns the outcome of a call that was made or answered. An error ends the run.
func (t *turn) outcomeOf(ctx context.Context, c *plannedCall) (outcome, error) {
	switch {
	case c.answer != nil:
		return *c.answer, nil
	case program.Final(c.err):
		return outcome{}, c.err
	case c.err != nil:
		e := *value.ErrorOf(c.err, value.Failed)
		said := e.Message()
		e.Op, e.Err = c.offered.FailedCall(c.decision.Input), errors.New(e.Message())
		o := t.failed(c.decision, &e)
		if o.made = true; e.Kind == value.Failed || e.Kind == value.Command || e.Kind == value.System { // these messages are the tool's
			o.said = said
		}
		o.text += c.notes.Text()
		return o, nil
	}
	name := c.offered.Name
	o := outcome{made: true, result: c.result, text: t.resultText(name, c.result), complete: t.ends(c.offered)}
	t.showMedia(ctx, &o)
	o.text += c.notes.Text()
	return o, nil
}

// ends reports whether a call of a tool ends the task.
func (t *turn) ends(offered *tool.Tool) bool {
	return t.agent.ends && tool.Key(offered.Name) == stub.CompleteTool
}

// failed returns the outcome of a failed call.
func (t *turn) failed(d decision.Decision, e *value.Error) outcome {
	o := outcome{result: tool.Fail(e, tool.Usage{}), failure: e}
	if e.Kind == value.Denied {
		o.denied, o.text = true, t.prompt().Denied(e.Message())
		offered := t.offered(d.Action)
		if !strings.Contains(e.Message(), "not approved") || offered != nil && offered.OnlyCalls { // denied by a rule, or a call that this one made
			o.text = t.resultText(d.Action, o.result)
		}
		return o
	}
	o.text = t.resultText(d.Action, o.result)
	return o
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
