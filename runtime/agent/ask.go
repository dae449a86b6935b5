package agent

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/dialog"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// doAsk is agent.ask: it sends the results of calls and a message, and returns the model's
// reply. If the request fails, the conversation stays as it was, or compacted if it had
// become too long. keepAsk does the same with a recorded outcome.
func (t *turn) doAsk(ctx context.Context, e tool.Effect) (value.Value, error) {
	t.unread, t.fit = false, 0
	more, err := t.messages(e.Args)
	if err != nil {
		return nil, err
	}
	schema, err := t.schemaOf(ctx, e.Args)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(t.agent.opts.Iterations, maxIterations)
	if schema != nil {
		most++ // the value of an answer that was given at the limit
	}
	if t.result.Iterations >= most {
		if t.canExtend() {
			return nil, t.meter.Iterated(t.result.Iterations)
		}
		return nil, value.Limitf(value.LimitIterations, "the agent reached its limit of %d requests to the model", most)
	}
	if len(more) == 0 {
		return nil, value.Errorf(value.Invalid, "agent.ask: message and results are missing").WithHint("pass a message, the results of calls, or both")
	}
	t.result.Iterations++
	reply, read, err := t.reply(ctx, more, schema)
	if t.refusedMedia(ctx, err) {
		if more, err = t.messages(e.Args); err == nil {
			reply, read, err = t.reply(ctx, more, schema)
		}
	}
	var c *compaction
	for way := 0; way < roomWays && dialog.NoRoom(err); way++ {
		made, failure := t.makeRoom(ctx, way, c)
		if failure != nil {
			return nil, failure
		}
		c = made
		if more, err = t.messages(e.Args); err == nil {
			reply, read, err = t.reply(ctx, more, schema)
		}
	}
	out, err := t.askOutcome(ctx, more, reply, c, err)
	if d, ok := out.(*value.Dict); ok && err == nil && schema != nil {
		d.Put("value", read)
	}
	return out, err
}

// schemaOf returns the schema that a request names, or nil, and opens the model that it names.
func (t *turn) schemaOf(ctx context.Context, args *value.Dict) (s *structured.Schema, err error) {
	if t.other, err = t.otherModel(ctx, args.Text("model")); err != nil {
		return nil, err
	}
	schema, _ := args.Get("schema")
	return structured.New(schema)
}

// reply sends messages to the model. With a schema it also returns the value of the answer.
func (t *turn) reply(ctx context.Context, more []model.Message, s *structured.Schema) (*answer, value.Value, error) {
	if s == nil {
		reply, err := t.sendWithin(ctx, more)
		return reply, nil, err
	}
	retries := structured.Retries
	if t.agent.schema != nil {
		retries-- // the answer of the task was the first attempt
	}
	return t.replyWithValue(ctx, more, s, retries)
}

// askOutcome returns the result of agent.ask as a script gets it, and keeps the reply. It is separate so that the stack of a turn that
// waits for its model does not carry its frame.
func (t *turn) askOutcome(ctx context.Context, more []model.Message, reply *answer, c *compaction, err error) (value.Value, error) {
	a := asked{Unread: t.unread, Fit: uint32(t.fit), Calls: []model.Call{}, References: []string{}, Iteration: uint32(t.result.Iterations), Compacted: c}
	if err == nil {
		err = a.Take(reply.Reply, reply.changed)
		a.Usage = t.pending.Take()
	}
	v, failure := value.FromGo(&a)
	if err = cmp.Or(err, failure); err != nil {
		return v, err
	}
	if err := t.keepReply(more, &a); err != nil {
		return v, err
	}
	calls := value.List{}
	for _, c := range a.Calls {
		one := value.NewDict("id", c.ID, "tool", c.Tool, "args", nil, "raw", c.Raw)
		if c.Args != nil {
			one.Put("args", c.Args)
		}
		calls = append(calls, one)
	}
	d := v.(*value.Dict)
	d.Put("calls", calls)
	d.Put("full", t.state.Account.Full())
	host.Emit(ctx, tool.ModelReply{
		Iteration: t.result.Iterations, Text: a.Text, Calls: calls, InputTokens: reply.Usage.InputTokens, OutputTokens: reply.Usage.OutputTokens,
	})
	return d, nil
}

// messages returns the messages for the arguments of agent.ask.
func (t *turn) messages(args *value.Dict) ([]model.Message, error) {
	results, err := prompt.ReadResults(args)
	if err != nil {
		return nil, err
	}
	most := t.state.Account.Budget().MessageMax
	if t.fit > 0 {
		most = min(most, t.fit)
	}
	return t.compose(args.Text("message"), prompt.FitResults(results, most)), nil
}

// An answer is a model's reply, and the conversation that it answers.
type answer struct {
	*model.Reply
	// changed is the conversation if BeforeAsk has changed it, else nil.
	changed []model.Message
}

// sendWithin sends messages to the model if they are within the limits of the conversation.
func (s *Session) sendWithin(ctx context.Context, more []model.Message) (*answer, error) {
	if err := s.checkLimits(ctx, more); err != nil {
		return nil, err
	}
	return s.send(ctx, more)
}

// checkLimits reports whether messages are too long, and warns the user about long ones.
func (s *Session) checkLimits(ctx context.Context, more []model.Message) error {
	warning, err := s.state.Account.Check(dialog.Text(more))
	if warning != "" {
		host.Emit(ctx, tool.Log{Message: warning})
	}
	return err
}

// send sends the conversation to the model with more messages at its end. It keeps neither
// them nor the answer. Its frame is small, since it is on the stack of each waiting agent.
func (s *Session) send(ctx context.Context, more []model.Message) (*answer, error) {
	r, changed, err := s.newRequest(ctx, more)
	if err != nil {
		return nil, err
	}
	reply, err := s.turn.meteredAsk(ctx, r)
	if reply, err = s.turn.accept(r, reply, err); err != nil {
		return nil, err
	}
	if s.turn.other != nil { // another model cannot read them
		reply.Thread, reply.Opaque = "", nil
	}
	return &answer{reply, changed}, nil
}

// maxIdle is how many replies in a row may be empty, or lack a call that is required.
const maxIdle = 2

// accept returns the reply to a request. An empty one is a reply too, of which the policy can
// remind the model. It is an error if the model was reminded, and if the provider blocked it.
func (t *turn) accept(r *model.Request, reply *model.Reply, err error) (*model.Reply, error) {
	name := t.asks().Model().Name()
	switch {
	case errors.Is(err, model.ErrEmpty) && t.idle >= maxIdle:
		e := value.Errorf(value.Unavailable, "%s, even after %d reminders", value.ErrorOf(err, value.Unavailable).Message(), maxIdle)
		return nil, e.WithHint("try again later, or use another model")
	case errors.Is(err, model.ErrEmpty):
		thread := r.Thread
		if reply != nil {
			thread = reply.Thread
		}
		return &model.Reply{Thread: thread, Stop: model.StopEnd}, nil
	case err == nil && reply.Stop == model.StopRefuse:
		return nil, blocked(name, reply.Text)
	case err == nil && uncalled(r.ToolChoice, reply.Calls) != "" && t.idle >= maxIdle:
		return nil, value.Errorf(value.Failed, "the model %s did not call a tool, even after %d reminders (tool choice: %q)", name, maxIdle, r.ToolChoice).
			WithHint("not every server supports a tool choice: omit --tool-choice, and name the tool in the task; in Go, omit Options.ToolChoice")
	}
	return reply, err
}

// meteredAsk asks the model, and counts the request. If the provider refuses the schema of the
// request, the model is asked without one: the message has it, too.
func (t *turn) meteredAsk(ctx context.Context, r *model.Request) (*model.Reply, error) {
	if err := t.pending.Keep(nil); err != nil { // an earlier request of the same function
		return nil, err
	}
	reply, used, err := t.meter.Ask(ctx, t.asks().Model(), t.asks().Price(), r)
	if r.Schema != nil && value.KindOf(err) == value.Invalid && ctx.Err() == nil {
		host.Emit(ctx, tool.Log{Message: "the provider refused the schema; the model is asked without it: " + value.ErrorOf(err, value.Invalid).Message()})
		r.Schema = nil
		reply, used, err = t.meter.Ask(ctx, t.asks().Model(), t.asks().Price(), r)
	}
	t.pending.Count(used)
	return reply, err
}

// newRequest returns the request for the model. changed is the conversation if BeforeAsk has
// changed it, else nil.
func (s *Session) newRequest(ctx context.Context, more []model.Message) (r *model.Request, changed []model.Message, err error) {
	all := prompt.Legible(s.state.With(more), s.turn.asks().Info(ctx).Media)
	if s.state.Overfull(more) {
		s.state.Thread = "" // earlier messages change
	}
	if s.turn.other != nil {
		all, s.state.Thread = dialog.Unsigned(all), "" // they are of another model
	}
	o := &s.agent.opts
	r = &model.Request{Messages: all, Thread: s.state.Thread, MaxTokens: o.MaxTokens, Effort: o.Effort, Temperature: o.Temperature, Conversation: ids.Conversation(s.id, s.NextRun())}
	if s.agent.format == decision.Native && !s.turn.bare {
		r.Tools, r.ToolChoice = s.turn.toolsFor(ctx, all), s.toolChoice()
	}
	if s.turn.schema != nil {
		r.Schema, r.ToolChoice = s.turn.schema.Dict, model.ToolNone
	}
	if host.Subscribed(ctx) {
		host.Emit(ctx, tool.ModelAsk{Iteration: s.turn.result.Iterations, Messages: len(r.Messages), Tokens: s.state.Account.Used()})
		stream(r, func(e tool.Report) { host.Emit(ctx, e) })
	}
	if !s.turn.hooks().Asks() {
		return r, nil, nil
	}
	r.Messages = slices.Clone(all)
	if err := s.turn.hooks().BeforeAsk(ctx, r); err != nil {
		return nil, nil, err
	}
	if !reflect.DeepEqual(r.Messages, all) {
		changed = slices.Clone(r.Messages)
	}
	return r, changed, nil
}

// compose returns the next messages, with the reminder of the instructions if the user has one.
func (t *turn) compose(message string, results []model.Message) []model.Message {
	more := t.state.Next(conversation.Next{Text: message, Results: results, Attached: t.attaches(), Unread: t.unread})
	if len(more) > 0 && t.state.Instructed() {
		if last := &more[len(more)-1]; last.Role == model.User {
			last.Text = t.withReminder(last.Text)
		}
	}
	return more
}

// attaches reports whether the next message has the attachments of the turn: it is the first one.
func (t *turn) attaches() bool { return t.state.Attached != nil && !t.replied }

// withReminder adds the instructions for decisions to a message: one line, or all of them.
func (s *Session) withReminder(text string) string {
	switch {
	case len(s.agent.tools) == 0 || s.agent.format == decision.Native:
		return text
	case strings.HasSuffix(text, s.prompt().LastTurn()), strings.HasSuffix(text, s.prompt().LastIteration()):
		return text // it asks for the answer, and for no more calls
	case s.agent.opts.RepeatInstructions:
		return text + "\n\n" + s.prompt().Instructions()
	}
	return text + "\n\n" + s.prompt().Reminder()
}

// plain reports whether the prompt is only the user's message: in a chat without tools,
// skills, context and the instructions of an agent file.
func (s *Session) plain() bool {
	p := s.prompt()
	return len(p.Tools) == 0 && len(p.Skills) == 0 && p.Context == "" && p.Agent == "" && p.Role == "chat"
}

// doPrompt is agent.prompt. It returns the full prompt with the task, or only the task if
// the conversation has the prompt already.
func (t *turn) doPrompt(_ context.Context, e tool.Effect) (value.Value, error) {
	text := e.Args.Text("task")
	begins := t.keepPrompt(e.Args) && !t.plain()
	if t.agent.schema != nil {
		text += "\n\n" + t.agent.schema.Request()
	}
	if !begins {
		return text, nil
	}
	return t.prompt().Message(text), nil
}
