package agent

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// replyWithValue sends messages to the model, and asks again until the reply is a value of the schema.
// The reply then has the conversation with the other attempts.
func (t *turn) replyWithValue(ctx context.Context, more []model.Message, s *structured.Schema, retries int) (*answer, value.Value, error) {
	t.schema = s
	thread := t.state.Thread
	defer func() { t.schema, t.state.Thread = nil, thread }()
	for attempt := 0; ; attempt++ {
		reply, err := t.sendWithin(ctx, more)
		if err != nil {
			return nil, nil, err
		}
		v, err := s.Read(reply.Text)
		if err == nil {
			if attempt > 0 && reply.changed == nil {
				reply.changed = t.state.With(more)
			}
			return reply, v, nil
		}
		if attempt == retries {
			return nil, nil, s.Failed("agent.ask", err)
		}
		host.Emit(ctx, tool.Log{Message: "the answer does not match the schema; the model is asked again"})
		said := conversation.Said(reply.Message())
		more = append(more[:len(more):len(more)], said)
		for _, c := range said.Calls {
			more = append(more, conversation.NotMade(c))
		}
		more, t.state.Thread = append(more, model.Message{Role: model.User, Text: s.Again(err)}), reply.Thread
	}
}

// doValue is agent.value.
func (t *turn) doValue(_ context.Context, e tool.Effect) (value.Value, error) {
	s := t.agent.schema
	if s == nil {
		return nil, value.Errorf(value.Invalid, "agent.value: the task has no schema")
	}
	v, err := s.Read(e.Args.Text("answer"))
	if err != nil {
		return value.NewDict("success", false, "value", nil, "message", s.Again(err)), nil
	}
	return value.NewDict("success", true, "value", v, "message", ""), nil
}

// shape checks the answer of a turn with a schema. Its text is the value as JSON.
func (t *turn) shape() error {
	s := t.agent.schema
	if s == nil || t.result.Reason != ReasonFinal {
		return nil
	}
	text := t.result.Text
	if t.result.Value != nil {
		text = value.FormatJSON(t.result.Value, "")
	}
	v, err := s.Read(text)
	if err != nil {
		return s.Failed("", err)
	}
	t.result.Value, t.result.Text = v, value.FormatJSON(v, "")
	return nil
}
