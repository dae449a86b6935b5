// Package script lets a script play a model, for tests and demonstrations.
package script

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Play is a function of a script that plays a model. It gets the conversation as a
// list of dicts with "role" and "content", and also "tool_calls" (of an assistant), or
// "tool_call_id" and "name" (of a tool), "media" where there are images or documents (dicts with
// "type", "name" and "size"), and the number of replies so far. It returns the text of the next
// reply, or a dict with "content" and "tool_calls": dicts with "name" and "arguments", or in
// OpenAI's form.
type Play func(ctx context.Context, messages value.List, turn int) (value.Value, error)

type client struct {
	w    *wire.Wire
	play Play
}

// New returns a model that is played by a script: name is the script's, as in
// "answers.star". native is the result of Native.
func New(name string, native bool, play Play) model.Model {
	m := &client{wire.Named("script:" + name), play}
	return wire.NewModel(m.w, native, m.ask, func(context.Context) model.Info { return model.Info{} })
}

func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	if err := ctx.Err(); err != nil {
		return nil, m.w.Ended(ctx, err)
	}
	messages, turn := played(r)
	v, err := m.play(ctx, messages, turn)
	if ctx.Err() != nil {
		return nil, m.w.Ended(ctx, ctx.Err())
	}
	if err != nil {
		return nil, &wire.Failure{Err: value.ErrorOf(err, value.Failed)}
	}
	reply, f := playedReply(m.w, v)
	if f == nil {
		reply, f = m.w.Finish(r, reply)
	}
	if f == nil && r.Text != nil && reply.Text != "" {
		r.Text(reply.Text)
	}
	return reply, f
}

// played returns a conversation in the form for scripts, and the number of turns.
func played(r *model.Request) (value.List, int) {
	var list value.List
	turn := 0
	if r.System != "" {
		list = append(list, value.NewDict("role", "system", "content", r.System))
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		switch m.Role {
		case model.Assistant:
			turn++
			if len(m.Calls) > 0 {
				d.Put("tool_calls", playedCalls(m.Calls))
			}
		case model.ToolRole:
			d.Put("tool_call_id", m.CallID)
			d.Put("name", m.Tool)
		}
		if len(m.Media) > 0 {
			d.Put("media", value.List(value.Map(m.Media, func(x model.Media) value.Value {
				return value.NewDict("type", x.Type, "name", x.Name, "size", len(x.Data))
			})))
		}
		list = append(list, d)
	}
	return list, turn
}

func playedCalls(calls []model.Call) value.List {
	var list value.List
	for i := range calls {
		c := &calls[i]
		d := value.NewDict("id", c.ID, "name", c.Tool, "arguments", c.Raw)
		if c.Args != nil {
			d.Put("arguments", c.Args)
		}
		list = append(list, d)
	}
	return list
}

// playedReply converts the result of a script.
func playedReply(w *wire.Wire, v value.Value) (*model.Reply, *wire.Failure) {
	if text, ok := v.(string); ok {
		return &model.Reply{Text: text}, nil
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, misplayed(w, "invalid reply: expected a string or a dict but got %s", value.TypeOf(v))
	}
	reply := &model.Reply{}
	for k, v := range d.All() {
		name, _ := k.(string)
		switch {
		case name == "content" && v == nil, name == "tool_calls" && v == nil, name == "role" && v == "assistant":
		case name == "content":
			if reply.Text, ok = v.(string); !ok {
				return nil, misplayed(w, "invalid reply: content: expected a string but got %s", value.TypeOf(v))
			}
		case name == "tool_calls":
			items, ok := value.Elements(v)
			if !ok {
				return nil, misplayed(w, "invalid reply: tool_calls: expected a list but got %s", value.TypeOf(v))
			}
			for i, item := range items {
				c, f := playedCall(w, i, item)
				if f != nil {
					return nil, f
				}
				reply.Calls = append(reply.Calls, c)
			}
		default:
			return nil, misplayed(w, "invalid reply: unknown key %s", value.FormatJSON(k, ""))
		}
	}
	return reply, nil
}

// playedCall converts the i-th call of a script's reply.
func playedCall(w *wire.Wire, i int, item value.Value) (model.Call, *wire.Failure) {
	d, ok := item.(*value.Dict)
	if !ok {
		return model.Call{}, misplayed(w, "invalid reply: tool_calls[%d]: expected a dict but got %s", i, value.TypeOf(item))
	}
	id := d.Text("id")
	if function := wire.Child(d, "function"); function != nil {
		d = function
	}
	if d.Text("name") == "" {
		return model.Call{}, misplayed(w, "invalid reply: tool_calls[%d]: name is missing", i)
	}
	args, _ := d.Get("arguments")
	switch args.(type) {
	case nil, string, *value.Dict:
		return wire.NewCall(id, d.Text("name"), args), nil
	}
	return model.Call{}, misplayed(w, "invalid reply: tool_calls[%d]: expected a dict as arguments but got %s", i, value.TypeOf(args))
}

func misplayed(w *wire.Wire, format string, args ...any) *wire.Failure {
	return w.Fail(value.Errorf(value.Invalid, format, args...).
		WithHint(`return a string, or {"content": "...", "tool_calls": [{"name": "...", "arguments": {...}}]}`))
}
