package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// doAsk is agent.ask: it sends the results of calls and a message, and gives the
// model's reply. Where that fails, the conversation is as it was before.
func (t *turn) doAsk(ctx context.Context, e tool.Effect) (tool.Value, error) {
	message := e.Args.Text("message")
	results, err := readResults(e.Args)
	if err != nil {
		return nil, err
	}
	if most := cmp.Or(t.agent.opts.Iterations, maxIterations); t.result.Iterations >= most {
		return nil, tooManyIterations(most)
	}
	results = t.fitting(results)
	more := t.compose(message, results)
	if len(more) == 0 {
		return nil, tool.Errorf(tool.Invalid, "agent.ask has nothing to say: it needs a message or results")
	}
	t.result.Iterations++
	reply, err := t.say(ctx, more)
	if noRoom(err) && t.makeRoom(ctx) {
		reply, err = t.say(ctx, t.compose(message, results))
	}
	if err != nil {
		return nil, err
	}
	t.result.References = reply.References
	calls := tool.List{}
	for _, c := range reply.Calls {
		calls = append(calls, nativeDict(c))
	}
	t.emit(tool.ModelReply, tool.NewDict("iteration", int64(t.result.Iterations), "text", reply.Text, "calls", calls,
		"input_tokens", int64(reply.Usage.InputTokens), "output_tokens", int64(reply.Usage.OutputTokens)))
	return tool.NewDict("text", reply.Text, "calls", calls, "stop", string(reply.Stop), "iteration", int64(t.result.Iterations),
		"full", t.account.Full()), nil
}

// tooManyIterations ends a policy that asks more often than its user lets it.
func tooManyIterations(most int) error {
	err := tool.Errorf(tool.Limit, "the model was asked %d times, and may not be asked again", most)
	err.Limit = iterationsLimit
	return err
}

const iterationsLimit = "iterations"

// noRoom reports whether a conversation became too long by what was to be sent.
func noRoom(err error) bool {
	e := tool.AsError(err, tool.Failed)
	return e != nil && e.Kind == tool.Limit && (e.Limit == "conversation" || e.Limit == "context")
}

// makeRoom compacts the conversation, if it can be.
func (t *turn) makeRoom(ctx context.Context) bool {
	v, err := t.doCompact(ctx, tool.Effect{})
	d, _ := v.(*tool.Dict)
	return err == nil && d.Bool("success")
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
		fit[i].text = cutMiddle(fit[i].text, room/len(fit), shortNote)
	}
	return fit
}

// say is put, where there is room for the messages.
func (s *Session) say(ctx context.Context, more []model.Message) (*model.Reply, error) {
	var all strings.Builder
	for _, m := range more {
		all.WriteString(m.Text)
	}
	warning, err := s.account.Check(all.String())
	if err != nil {
		return nil, err
	}
	if warning != "" {
		s.emit(tool.Log, tool.NewDict("message", warning))
	}
	return s.put(ctx, more)
}

// put has the model answer the conversation with more messages at its end, and
// keeps both.
func (s *Session) put(ctx context.Context, more []model.Message) (*model.Reply, error) {
	r := &model.Request{Messages: append(s.messages[:len(s.messages):len(s.messages)], more...), Thread: s.thread}
	if s.agent.format == Native {
		r.Tools = s.agent.tools
	}
	if s.agent.host.Events.Wanted() {
		s.emit(tool.ModelAsk, tool.NewDict("iteration", int64(s.turn.result.Iterations), "messages", int64(len(r.Messages)), "tokens", int64(s.account.Used())))
		r.Text = func(piece string) { s.emit(tool.ModelText, tool.NewDict("text", piece)) }
	}
	if s.agent.opts.BeforeAsk != nil {
		if err := s.agent.opts.BeforeAsk(ctx, r); err != nil {
			return nil, err
		}
	}
	reply, err := s.agent.opts.Model.Ask(ctx, r)
	said := noAnswer
	switch {
	case errors.Is(err, model.ErrEmpty): // it can be reminded
		reply = &model.Reply{Thread: r.Thread, Stop: model.StopEnd}
	case err != nil:
		return nil, err
	case reply == nil:
		return nil, tool.Errorf(tool.Internal, "the model %s gave neither a reply nor an error", s.agent.opts.Model.Name())
	default:
		said = reply.Message()
	}
	known := len(s.messages)
	if len(r.Messages) != known+len(more) { // BeforeAsk has made it another conversation
		s.account, known = *newAccount(s.agent.opts.Budget, s.agent.tools, s.agent.format), 0
	}
	s.messages = append(r.Messages[:len(r.Messages):len(r.Messages)], said)
	s.thread, s.open, s.made = reply.Thread, reply.Calls, nil
	for i := known; i < len(s.messages); i++ {
		s.account.AddMessage(&s.messages[i])
	}
	s.account.Reported(reply.Usage.InputTokens, reply.Usage.OutputTokens)
	usage := &s.turn.result.Usage
	usage.InputTokens += reply.Usage.InputTokens
	usage.OutputTokens += reply.Usage.OutputTokens
	usage.CachedTokens += reply.Usage.CachedTokens
	return reply, nil
}

// noAnswer stands in a conversation for a reply that was empty: no API takes it
// back as it was.
var noAnswer = model.Message{Role: model.Assistant, Text: "(no answer)"}

// A callResult is what a model is told about one call.
type callResult struct{ id, text string }

func readResults(args *tool.Dict) (list []callResult, err error) {
	given, _ := args.Get("results")
	elements, _ := tool.Elements(given)
	for _, v := range elements {
		d, ok := v.(*tool.Dict)
		if !ok || !d.Has("text") {
			return nil, tool.Errorf(tool.Invalid, `agent.ask takes results as [{"id": …, "text": …}]`)
		}
		list = append(list, callResult{d.Text("id"), d.Text("text")})
	}
	return list, nil
}

// notRun is what a model is told of a call that nobody made.
const notRun = "This call was not made."

// answers makes an answer to each native call of the last reply, since no API
// goes on without: what came of the call, or that nobody made it.
func (s *Session) answers() []model.Message {
	var more []model.Message
	for _, c := range s.open {
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
	for _, made := range t.made {
		answered := slices.ContainsFunc(t.open, func(c model.Call) bool { return made.id == c.ID })
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
	case len(s.agent.tools) == 0 || s.agent.format == Native:
		return text
	case strings.HasSuffix(text, s.prompt.LastTurn()), strings.HasSuffix(text, s.prompt.LastIteration()):
		return text // which says how to answer, and that nothing else is wanted
	case s.agent.opts.RepeatInstructions:
		return text + "\n\n" + s.prompt.Instructions()
	}
	return text + "\n\n" + s.prompt.Reminder()
}

// plain reports whether there is nothing to tell a model but what the user says:
// a chat without tools, skills or context.
func (s *Session) plain() bool {
	return len(s.prompt.Tools) == 0 && len(s.prompt.Skills) == 0 && s.prompt.Context == "" && s.prompt.Role == "chat"
}

// doPrompt is agent.prompt: the task with all that the model must know, or the
// message alone where it knows that already.
func (t *turn) doPrompt(_ context.Context, e tool.Effect) (tool.Value, error) {
	text := e.Args.Text("task")
	if n := e.Args.Int("iterations", 0); n > 0 {
		t.prompt.Iterations = int(n)
	}
	if t.told && len(t.messages) > 0 {
		return text, nil
	}
	t.told, t.question = true, text
	if t.plain() {
		return text, nil
	}
	return t.prompt.Message(text), nil
}
