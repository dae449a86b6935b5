package agent

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// doAsk is agent.ask: it sends the results of calls and a message, and gives the
// model's reply. Where that fails, the conversation is as it was before, or the
// summary of that where it had to be made shorter. What it keeps of the outcome,
// keepAsk keeps of a recorded one.
func (t *turn) doAsk(ctx context.Context, e tool.Effect) (value.Value, error) {
	more, err := t.sent(e.Args)
	if err != nil {
		return nil, err
	}
	if most := cmp.Or(t.agent.opts.Iterations, maxIterations); t.result.Iterations >= most {
		return nil, tooManyIterations(most)
	}
	if len(more) == 0 {
		return nil, value.Errorf(value.Invalid, "agent.ask has nothing to say: it needs a message or results")
	}
	t.result.Iterations++
	a, err := t.say(ctx, more)
	d := value.NewDict("text", "", "calls", value.List{}, "stop", "", "iteration", int64(t.result.Iterations), "full", false)
	if noRoom(err) {
		shorter, failure := t.doCompact(ctx, tool.Effect{})
		if isFinal(failure) {
			return nil, failure
		}
		d.Put("compacted", shorter)
		if c, _ := shorter.(*value.Dict); c.Bool("success") {
			if more, err = t.sent(e.Args); err == nil {
				a, err = t.say(ctx, more)
			}
		}
	}
	if err != nil {
		return d, err
	}
	a.describe(d)
	if err := t.keepReply(more, d); err != nil {
		return d, err
	}
	calls, _ := d.Get("calls")
	wanted, _ := calls.(value.List)
	host.Emit(ctx, tool.ModelReply{
		Iteration: t.result.Iterations, Text: a.Text, Calls: wanted, InputTokens: a.Usage.InputTokens, OutputTokens: a.Usage.OutputTokens,
	})
	d.Put("full", t.account.Full())
	return d, nil
}

// sent makes the messages that the arguments of agent.ask stand for.
func (t *turn) sent(args *value.Dict) ([]model.Message, error) {
	results, err := readResults(args)
	if err != nil {
		return nil, err
	}
	return t.compose(args.Text("message"), t.fitting(results)), nil
}

// An answer is what a model replied, and to what.
type answer struct {
	*model.Reply
	// changed is the conversation that it replied to, where BeforeAsk has made
	// it another one; else nil.
	changed []model.Message
}

// describe puts the answer into the outcome of agent.ask.
func (a *answer) describe(d *value.Dict) {
	calls := value.List{}
	for _, c := range a.Calls {
		calls = append(calls, nativeDict(c))
	}
	references := value.List{}
	for _, ref := range a.References {
		references = append(references, ref)
	}
	d.Put("text", a.Text)
	d.Put("calls", calls)
	d.Put("stop", string(a.Stop))
	d.Put("thread", a.Thread)
	putTokens(d, a.Usage)
	d.Put("references", references)
	if a.Opaque != nil {
		d.Put("opaque", a.Opaque)
	}
	if a.changed != nil {
		d.Put("conversation", messageList(a.changed))
	}
}

// tooManyIterations ends a policy that asks more often than its user lets it.
func tooManyIterations(most int) error {
	err := value.Errorf(value.Limit, "the model was asked %d times, and may not be asked again", most)
	err.Limit = value.LimitIterations
	return err
}

// noRoom reports whether a conversation became too long by what was to be sent.
func noRoom(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && e.Kind == value.Limit && (e.Limit == value.LimitConversation || e.Limit == value.LimitContext)
}

// fitting cuts results that are too long together for a message, the longest
// first.
func (t *turn) fitting(results []callResult) []callResult {
	const share = 5 // of a message is kept for all else
	room, total := t.account.Budget().MessageMax*(share-1)/share, 0
	for _, r := range results {
		total += utf8.RuneCountInString(r.text)
	}
	if total <= room {
		return results
	}
	fit := slices.Clone(results)
	for i := range fit {
		fit[i].text = prompt.CutMiddle(fit[i].text, room/len(fit), prompt.ShortNote)
	}
	return fit
}

// say is put, where there is room for the messages.
func (s *Session) say(ctx context.Context, more []model.Message) (*answer, error) {
	var all strings.Builder
	for _, m := range more {
		all.WriteString(m.Text)
	}
	warning, err := s.account.Check(all.String())
	if err != nil {
		return nil, err
	}
	if warning != "" {
		host.Emit(ctx, tool.Log{Message: warning})
	}
	return s.put(ctx, more)
}

// put has the model answer the conversation with more messages at its end, and
// keeps neither.
func (s *Session) put(ctx context.Context, more []model.Message) (*answer, error) {
	all := s.with(more)
	r := &model.Request{Messages: all, Thread: s.thread}
	if s.agent.format == decision.Native {
		r.Tools = s.agent.tools
	}
	if host.Subscribed(ctx) {
		host.Emit(ctx, tool.ModelAsk{Iteration: s.turn.result.Iterations, Messages: len(r.Messages), Tokens: s.account.Used()})
		r.Text = func(piece string) { host.Emit(ctx, tool.Text{Text: piece}) }
	}
	var changed []model.Message
	if s.agent.opts.BeforeAsk != nil {
		r.Messages = slices.Clone(all)
		if err := s.agent.opts.BeforeAsk(ctx, r); err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(r.Messages, all) {
			changed = slices.Clone(r.Messages)
		}
	}
	reply, err := s.agent.opts.Model.Ask(ctx, r)
	switch {
	case errors.Is(err, model.ErrEmpty): // it can be reminded
		reply = &model.Reply{Thread: r.Thread, Stop: model.StopEnd}
	case err != nil:
		return nil, err
	case reply == nil:
		return nil, value.Errorf(value.Internal, "the model %s gave neither a reply nor an error", s.agent.opts.Model.Name())
	}
	return &answer{reply, changed}, nil
}

// with returns the conversation with more messages at its end.
func (s *Session) with(more []model.Message) []model.Message {
	if len(s.messages) == 0 {
		return slices.Clip(more)
	}
	return append(s.messages[:len(s.messages):len(s.messages)], more...)
}

// noAnswer stands in a conversation for a reply that was empty: no API takes it
// back as it was.
var noAnswer = model.Message{Role: model.Assistant, Text: "(no answer)"}

// A callResult is what a model is told about one call.
type callResult struct{ id, text string }

func readResults(args *value.Dict) (list []callResult, err error) {
	given, _ := args.Get("results")
	elements, _ := value.Elements(given)
	for _, v := range elements {
		d, ok := v.(*value.Dict)
		if !ok || !d.Has("text") {
			return nil, value.Errorf(value.Invalid, `agent.ask takes results as [{"id": …, "text": …}]`)
		}
		list = append(list, callResult{d.Text("id"), d.Text("text")})
	}
	return list, nil
}

// notRun is what a model is told of a call that nobody made.
const notRun = "This call was not made."

// open returns the native calls of the last reply, which have no result yet.
func (s *Session) open() []model.Call {
	if len(s.messages) == 0 {
		return nil
	}
	return s.messages[len(s.messages)-1].Calls
}

// answers makes an answer to each native call of the last reply, since no API
// goes on without: what came of the call, or that nobody made it.
func (s *Session) answers() []model.Message {
	var more []model.Message
	for _, c := range s.open() {
		m := model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: notRun, Failed: true}
		if i := slices.IndexFunc(s.made, func(made madeCall) bool { return made.id == c.ID }); i >= 0 {
			m.Text, m.Failed = s.made[i].text, !s.made[i].success
		}
		more = append(more, m)
	}
	return more
}

// leftOver are the results of calls that an earlier turn made and did not come
// to tell, beside those that answers tells.
func (t *turn) leftOver() []string {
	var parts []string
	open := t.open()
	for _, made := range t.made {
		answered := slices.ContainsFunc(open, func(c model.Call) bool { return made.id == c.ID })
		if made.turn != t && !answered && !made.last {
			parts = append(parts, made.text)
		}
	}
	return parts
}

// compose makes the messages that come next: the answers to native calls, as
// the policy words them if it does, and the rest as the user's.
func (t *turn) compose(message string, results []callResult) []model.Message {
	more := t.answers()
	for k := range more {
		if i := slices.IndexFunc(results, func(r callResult) bool { return r.id == more[k].CallID }); i >= 0 {
			more[k].Text = results[i].text
			results = append(results[:i:i], results[i+1:]...)
		}
	}
	parts := t.leftOver()
	for _, r := range results {
		parts = append(parts, r.text)
	}
	if message != "" {
		parts = append(parts, message)
	}
	text := strings.Join(parts, "\n\n")
	if text == "" {
		return more
	}
	if t.told && len(t.messages) > 0 {
		text = t.withReminder(text)
	}
	return append(more, model.Message{Role: model.User, Text: text})
}

// withReminder adds to a message how decisions are written: in a line, or in
// full.
func (s *Session) withReminder(text string) string {
	switch {
	case len(s.agent.tools) == 0 || s.agent.format == decision.Native:
		return text
	case strings.HasSuffix(text, s.prompt().LastTurn()), strings.HasSuffix(text, s.prompt().LastIteration()):
		return text // which says how to answer, and that nothing else is wanted
	case s.agent.opts.RepeatInstructions:
		return text + "\n\n" + s.prompt().Instructions()
	}
	return text + "\n\n" + s.prompt().Reminder()
}

// plain reports whether there is nothing to tell a model but what the user says:
// a chat without tools, skills or context.
func (s *Session) plain() bool {
	p := s.prompt()
	return len(p.Tools) == 0 && len(p.Skills) == 0 && p.Context == "" && p.Role == "chat"
}

// doPrompt is agent.prompt: the task with all that the model must know, or the
// message alone where it knows that already.
func (t *turn) doPrompt(_ context.Context, e tool.Effect) (value.Value, error) {
	text := e.Args.Text("task")
	if !t.keepPrompt(e.Args) || t.plain() {
		return text, nil
	}
	return t.prompt().Message(text), nil
}
