package agent

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// What the functions of a policy keep in Go, they keep of their arguments and
// outcomes alone, in the functions here. A run that is resumed calls the same
// ones with what is recorded, and so stands where it did.

// again returns the Again of a function of the module, or nil where it keeps
// nothing.
func again(name string) func(context.Context, tool.Effect, tool.Outcome, error) error {
	var keep func(*turn, tool.Effect, *value.Dict, error) error
	switch name {
	case "prompt":
		return func(ctx context.Context, e tool.Effect, _ tool.Outcome, _ error) error {
			t, err := turnOf(ctx, e)
			if err == nil {
				t.keepPrompt(e.Args)
			}
			return err
		}
	case "ask":
		keep = (*turn).keepAsk
	case "call":
		keep = (*turn).keepCall
	case "compact":
		keep = func(t *turn, _ tool.Effect, d *value.Dict, _ error) error { return t.keepSummary(d) }
	default:
		return nil
	}
	return func(ctx context.Context, e tool.Effect, out tool.Outcome, failure error) error {
		if failure != nil && out.Value == nil {
			return nil // it was not begun
		}
		t, err := turnOf(ctx, e)
		if err != nil {
			return err
		}
		d, ok := out.Value.(*value.Dict)
		if !ok {
			return unreadable(e.Func, value.Errorf(value.Failed, "it gave %s", value.TypeOf(out.Value)))
		}
		if err := keep(t, e, d, failure); err != nil {
			return unreadable(e.Func, err)
		}
		return nil
	}
}

// unreadable is the error of a part of a record that nothing can be made of.
func unreadable(what string, err error) error {
	why := value.ErrorOf(err, value.Failed)
	e := value.Errorf(value.Failed, "the record of %s cannot be followed: %s", what, why.Message())
	e.Limit, e.Hint = value.LimitRecord, why.Hint
	return e
}

// keepPrompt keeps what the conversation begins with, and reports whether it
// does begin.
func (t *turn) keepPrompt(args *value.Dict) bool {
	if n := args.Int("iterations"); n > 0 {
		t.iterations = int(min(n, math.MaxInt32))
	}
	if t.told && len(t.messages) > 0 {
		return false
	}
	t.told, t.question = true, args.Text("task")
	return true
}

// keepAsk keeps what came of agent.ask.
func (t *turn) keepAsk(e tool.Effect, d *value.Dict, failure error) error {
	r := dictReader{dict: d}
	t.result.Iterations = r.count("iteration")
	if shorter := part[*value.Dict](&r, "compacted"); shorter != nil && r.err == nil {
		r.err = t.keepSummary(shorter)
	}
	if r.err != nil || failure != nil {
		return r.err
	}
	more, err := t.sent(e.Args)
	if err != nil {
		return err
	}
	return t.keepReply(more, d)
}

// keepReply keeps what a model was sent, and its reply.
func (t *turn) keepReply(more []model.Message, d *value.Dict) error {
	r := dictReader{dict: d}
	reply := model.Reply{
		Text: part[string](&r, "text"), Calls: r.nativeCalls("calls"), Thread: part[string](&r, "thread"),
		References: r.texts("references"), Opaque: part[[]byte](&r, "opaque"),
	}
	all, known, usage, changed := t.with(more), len(t.messages), r.tokens(), r.messages("conversation")
	if r.err != nil {
		return r.err
	}
	if changed != nil { // BeforeAsk has made it another one
		all, known, t.account = changed, 0, t.agent.account()
	}
	said := reply.Message()
	if said.Text == "" && len(said.Calls) == 0 {
		said = noAnswer
	}
	t.messages = append(all[:len(all):len(all)], said)
	t.thread, t.made = reply.Thread, nil
	for i := known; i < len(t.messages); i++ {
		t.account.AddMessage(&t.messages[i])
	}
	t.account.Reported(usage.InputTokens, usage.OutputTokens)
	t.result.Usage.add(usage)
	t.result.References = reply.References
	return nil
}

// keepSummary keeps what came of agent.compact: the conversation goes on with
// the summary, where there is one.
func (s *Session) keepSummary(d *value.Dict) error {
	r := dictReader{dict: d}
	ok, summary, usage := part[bool](&r, "success"), part[string](&r, "summary"), r.tokens()
	if r.err != nil {
		return r.err
	}
	s.turn.result.Usage.add(usage)
	if !ok {
		return nil
	}
	// Half as many characters as there are tokens: a sixth of what there is room for.
	k := &prompt.Keep{Chars: max(1, min(prompt.DefaultKept, s.account.EffectiveLimit()/2))}
	s.restart(s.prompt().Continue(s.question, summary, s.messages, k))
	s.turn.memory.forget() // what it points to may be gone
	return nil
}

// keepCall keeps what came of a call, until the model has been told and beyond.
// A failure is that of a call which was broken off.
func (t *turn) keepCall(e tool.Effect, v *value.Dict, failure error) error {
	d, err := givenDecision(e)
	if err != nil {
		return err
	}
	r := dictReader{dict: v}
	value, _ := v.Get("result")
	result := tool.Result{Success: part[bool](&r, "success"), Value: value, Error: part[string](&r, "error")}
	made, complete, text, said := part[bool](&r, "made"), part[bool](&r, "complete"), part[string](&r, "text"), part[string](&r, "said")
	left := r.traces()
	if r.err != nil {
		return r.err
	}
	t.leave(left)
	if made {
		t.remember(d, result)
	}
	if made && result.Success {
		said = result.Text()
	}
	t.hear(said)
	t.made = append(t.made, madeCall{callResult: callResult{d.ID, text}, turn: t, success: result.Success, last: complete})
	if failure == nil {
		t.result.Calls = append(t.result.Calls, CallRecord{Iteration: t.result.Iterations, Action: d.Action, Input: d.Input,
			Reasoning: d.Reasoning, Inferred: d.Inferred, Success: result.Success, Result: result.Value, Error: result.Error})
	}
	return nil
}

// remember notes a call in the memory of the turn: it may be one that need not
// be made again, or one after which others must be.
func (t *turn) remember(d decision.Decision, r tool.Result) {
	offered := t.offered(d.Action)
	if offered == nil || !onlyReads(offered) {
		t.memory.forget()
	}
	if offered != nil && r.Success {
		t.memory.note(offered, callKey(offered, d.Input), r.Value, len(t.result.Calls)+1)
	}
}

// putTokens says in an outcome what a reply has cost. What a provider reports
// may be no count.
func putTokens(d *value.Dict, u model.Usage) {
	count := func(n int) int64 { return int64(min(max(n, 0), math.MaxInt32)) }
	d.Put("input_tokens", count(u.InputTokens))
	d.Put("output_tokens", count(u.OutputTokens))
	d.Put("cached_tokens", count(u.CachedTokens))
}

// describe puts the traces of a call into its outcome.
func (l traces) describe(d *value.Dict) {
	paths := func(did func(trace) bool) value.List {
		list := value.List{}
		for _, path := range slices.Sorted(maps.Keys(l.files)) {
			if did(l.files[path]) {
				list = append(list, path)
			}
		}
		return list
	}
	d.Put("read", paths(func(f trace) bool { return f.read }))
	d.Put("wrote", paths(func(f trace) bool { return f.wrote }))
	d.Put("changed", paths(func(f trace) bool { return f.changed }))
	if l.agents > 0 {
		agents := value.NewDict("count", int64(l.agents))
		putTokens(agents, model.Usage{InputTokens: l.spent.InputTokens, OutputTokens: l.spent.OutputTokens, CachedTokens: l.spent.CachedTokens})
		d.Put("agents", agents)
	}
}
