package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// doCall is agent.call: it makes the call that a decision asks for. What goes
// wrong is an outcome like any other, which the model is told; only the end of
// the run itself is an error. What it keeps of the outcome, keepCall keeps of a
// recorded one.
func (t *turn) doCall(ctx context.Context, e tool.Effect) (value.Value, error) {
	d, err := givenDecision(e)
	if err != nil {
		return nil, err
	}
	o, err := t.watched(ctx, d, e.Place)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		o, err = t.broken(d), value.AsError(context.Cause(ctx), value.Canceled)
	}
	v := o.dict(t.takeTraces())
	if failure := t.keepCall(e, v, err); err == nil {
		err = failure
	}
	if err == nil && !o.made {
		t.emitAnswered(ctx, d, &o)
	}
	return v, err
}

// emitAnswered reports a call that the host did not make.
func (t *turn) emitAnswered(ctx context.Context, d decision.Decision, o *outcome) {
	name := d.Action
	if offered := t.offered(name); offered != nil {
		name = offered.Name
	}
	host.EmitAnswered(ctx, tool.Call{Tool: name, Args: d.Input, Reasoning: d.Reasoning}, tool.Preview(o.text, tool.PreviewLines), o.failure)
}

// broken is the outcome of a call that the turn did not wait for.
func (t *turn) broken(d decision.Decision) outcome {
	o := t.failed(d, errBroken())
	o.made = true
	return o
}

func errBroken() *value.Error {
	return value.Errorf(value.Canceled, "the call was broken off, and may have done a part of its work")
}

func givenDecision(e tool.Effect) (decision.Decision, error) {
	given, _ := e.Args.Get("decision")
	return decision.FromValue(given)
}

// keptHeard is how much of what tools said is kept, in bytes: more than a
// conversation can hold.
const keptHeard = 4 << 20

// hear keeps what a tool said: a call that is written there word for word is
// none of the model's own.
func (s *Session) hear(text string) {
	if text == "" {
		return
	}
	s.heard = append(s.heard, text)
	size := 0
	for i := len(s.heard) - 1; i >= 0; i-- {
		if size += len(s.heard[i]); size > keptHeard {
			s.heard = s.heard[i+1:]
			return
		}
	}
}

// An outcome is what came of a decision.
type outcome struct {
	result    tool.Result
	text      string // what the model is told
	denied    bool
	said      string // what the tool itself said of a failure
	made      bool   // the host has run the call, or refused to
	redundant bool   // it was made before, and its result stands
	complete  bool   // the call says that the task is done
	failure   *value.Error
}

// dict is the outcome as a policy gets it, and as it is recorded.
func (o *outcome) dict(left traces) *value.Dict {
	d := value.NewDict("success", o.result.Success, "result", o.result.Value, "error", o.result.Error, "error_type", o.result.ErrorType,
		"suggestion", o.result.Suggestion, "text", o.text, "denied", o.denied, "redundant", o.redundant, "complete", o.complete,
		"made", o.made, "said", o.said)
	left.describe(d)
	return d
}

// watched is carryOut, while it is noted which files the tools read and write.
func (t *turn) watched(ctx context.Context, d decision.Decision, at tool.Place) (outcome, error) {
	t.watches.Store(true)
	defer t.watches.Store(false)
	return t.carryOut(ctx, d, at)
}

// carryOut makes a call, if the model may make it and it is not the same again.
// The error is one that ends the run.
func (t *turn) carryOut(ctx context.Context, d decision.Decision, at tool.Place) (outcome, error) {
	if d.Kind == decision.Invalid {
		return t.failed(d, value.Errorf(value.Invalid, "%s", d.Error)), nil
	}
	offered := t.offered(d.Action)
	if offered == nil {
		e := value.Errorf(value.NotFound, "Unknown tool: %s", d.Action)
		return outcome{result: tool.Fail(e, tool.Usage{}), failure: e, text: t.prompt().UnknownTool(d.Action)}, nil
	}
	d.Action = offered.Name
	if earlier, ok := t.memory.find(callKey(offered, d.Input)); ok {
		return outcome{result: tool.Succeed(tool.Outcome{Value: earlier.value}), text: redundant(offered.Name, earlier.number), redundant: true}, nil
	}
	r, err := t.agent.host.Call(ctx, tool.Call{Tool: offered.Name, Args: d.Input, Texts: d.Texts, Reasoning: d.Reasoning, Caller: tool.ByModel, Place: at})
	if isFinal(err) {
		return outcome{}, err
	}
	if err != nil {
		e := *value.ErrorOf(err, value.Failed)
		said := e.Message()
		e.Op, e.Err = clipCall(offered.CallText(d.Input)), errors.New(e.Message())
		o := t.failed(d, &e)
		if o.made = true; e.Kind == value.Failed || e.Kind == value.Command { // which is the tool's word, and not ours
			o.said = said
		}
		return o, nil
	}
	return outcome{made: true, result: r, text: t.resultText(offered.Name, r), complete: tool.Key(offered.Name) == stub.CompleteTool && offered.Location == tool.Builtin}, nil
}

// clipCall shortens a call as an error names it: the model knows what it sent.
func clipCall(text string) string {
	const most = 200
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…)"
}

// redundant tells the model that it has the result of a call already.
func redundant(name string, number int) string {
	return fmt.Sprintf("RESULT (%s):\nThis is the same as your call %d, and no call of yours has changed anything since: its result above still holds.", name, number)
}

// failed is the outcome of a call that failed, in the words for the model.
func (t *turn) failed(d decision.Decision, e *value.Error) outcome {
	o := outcome{result: tool.Fail(e, tool.Usage{}), failure: e}
	if e.Kind == value.Denied {
		o.denied, o.text = true, t.prompt().Denied(e.Message())
		offered := t.offered(d.Action)
		if !strings.Contains(e.Message(), "was not approved") || offered != nil && offered.OnlyCalls { // a rule, or a call that this one made
			o.text = t.resultText(d.Action, o.result)
		}
		return o
	}
	o.text = t.resultText(d.Action, o.result)
	return o
}

// offered returns the tool of a name that the model was offered, or nil.
func (t *turn) offered(name string) *tool.Tool {
	for i := range t.agent.tools {
		if tool.Key(t.agent.tools[i].Name) == tool.Key(name) {
			return &t.agent.tools[i]
		}
	}
	return nil
}

// resultText tells the model what came of a call. Where that is too long, the
// whole is kept, and the text says where.
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

// doSkill is agent.skill: it gives the text of a skill that the model asked for.
func (t *turn) doSkill(ctx context.Context, e tool.Effect) (value.Value, error) {
	name := e.Args.Text("name")
	if !slices.ContainsFunc(t.agent.opts.Skills, func(s Skill) bool { return tool.Key(s.Name) == tool.Key(name) }) {
		return value.NewDict("success", false, "text", t.prompt().SkillUnknown(name)), nil
	}
	text, notes, err := t.useSkill(name)
	if err != nil {
		text := t.prompt().SkillUnknown(name)
		if value.KindOf(err) != value.NotFound {
			text = prompt.ResultText("skill "+name, tool.Fail(value.ErrorOf(err, value.Failed), tool.Usage{}), DefaultResultText, "")
		}
		return value.NewDict("success", false, "text", text), nil
	}
	host.Emit(ctx, tool.SkillLoaded{Name: name, Notes: notes})
	return value.NewDict("success", true, "text", text), nil
}

// UseSkill returns what a model is told where it uses a skill, or its user has
// it do so.
func (s *Session) UseSkill(name string) (string, error) {
	text, _, err := s.useSkill(name)
	return text, err
}

func (s *Session) useSkill(name string) (text string, remarks []string, err error) {
	if s.agent.opts.LoadSkill == nil {
		return "", nil, value.Errorf(value.NotFound, "there are no skills here")
	}
	text, remarks, err = s.agent.opts.LoadSkill(strings.TrimSpace(name))
	if err != nil {
		return "", nil, err
	}
	return s.prompt().SkillLoaded(name, text), remarks, nil
}
