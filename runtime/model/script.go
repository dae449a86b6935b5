package model

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Play is a model's part as a script plays it. It gets the conversation as a
// list of dicts with "role" and "content", and where there are some also
// "tool_calls" (of an assistant), or "tool_call_id" and "name" (of a tool); and
// the number of answers so far. It returns the text of the next, or a dict with
// "content" and "tool_calls": dicts with "name" and "arguments", or as OpenAI
// has them.
type Play func(ctx context.Context, messages value.List, turn int) (value.Value, error)

type script struct {
	name   string
	native bool
	play   Play
}

// NewScript returns a model that a script plays: name is the script's, as in
// "answers.star". Native says that it plays one that takes tools.
func NewScript(name string, native bool, play Play) Model {
	return &script{"script:" + name, native, play}
}

func (m *script) Name() string { return m.name }
func (m *script) Native() bool { return m.native }

// Ask implements [Model].
func (m *script) Ask(ctx context.Context, r *Request) (*Reply, error) {
	start := time.Now()
	w := &wire{name: m.name}
	if err := ctx.Err(); err != nil {
		return nil, w.ended(ctx, err).err
	}
	messages, turn := played(r)
	v, err := m.play(ctx, messages, turn)
	if ctx.Err() != nil {
		return nil, w.ended(ctx, ctx.Err()).err
	}
	if err != nil {
		return nil, value.AsError(err, value.Failed)
	}
	reply, f := w.playedReply(v)
	if f == nil {
		reply, f = w.finish(r, reply)
	}
	if f == nil && r.Text != nil && reply.Text != "" {
		r.Text(reply.Text)
	}
	return answer(start, reply, f)
}

// played returns a conversation as a script gets it, and the number of turns.
func played(r *Request) (value.List, int) {
	var list value.List
	turn := 0
	if r.System != "" {
		list = append(list, value.NewDict("role", "system", "content", r.System))
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		switch m.Role {
		case Assistant:
			turn++
			if len(m.Calls) > 0 {
				d.Put("tool_calls", playedCalls(m.Calls))
			}
		case ToolRole:
			d.Put("tool_call_id", m.CallID)
			d.Put("name", m.Tool)
		}
		list = append(list, d)
	}
	return list, turn
}

func playedCalls(calls []Call) value.List {
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

// playedReply reads what a script returned.
func (w *wire) playedReply(v value.Value) (*Reply, *failure) {
	if text, ok := v.(string); ok {
		return &Reply{Text: text}, nil
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, w.misplayed("reply returned %s", value.TypeOf(v))
	}
	reply := &Reply{}
	for k, v := range d.All() {
		name, _ := k.(string)
		switch {
		case name == "content" && v == nil, name == "tool_calls" && v == nil, name == "role" && v == "assistant":
		case name == "content":
			if reply.Text, ok = v.(string); !ok {
				return nil, w.misplayed("content is %s, not a string", value.TypeOf(v))
			}
		case name == "tool_calls":
			items, ok := value.Elements(v)
			if !ok {
				return nil, w.misplayed("tool_calls is %s, not a list", value.TypeOf(v))
			}
			for i, item := range items {
				c, f := w.playedCall(i, item)
				if f != nil {
					return nil, f
				}
				reply.Calls = append(reply.Calls, c)
			}
		default:
			return nil, w.misplayed("reply returned a dict with the key %s", value.FormatJSON(k, ""))
		}
	}
	return reply, nil
}

// playedCall reads the i-th call of a played reply.
func (w *wire) playedCall(i int, item value.Value) (Call, *failure) {
	d, ok := item.(*value.Dict)
	if !ok {
		return Call{}, w.misplayed("tool_calls[%d] is %s", i, value.TypeOf(item))
	}
	id := d.Text("id")
	if function := child(d, "function"); function != nil {
		d = function
	}
	if d.Text("name") == "" {
		return Call{}, w.misplayed("tool_calls[%d] has no name", i)
	}
	args, _ := d.Get("arguments")
	switch args.(type) {
	case nil, string, *value.Dict:
		return newCall(id, d.Text("name"), args), nil
	}
	return Call{}, w.misplayed("the arguments of tool_calls[%d] are %s, not a dict", i, value.TypeOf(args))
}

func (w *wire) misplayed(format string, args ...any) *failure {
	return w.fail(value.Errorf(value.Invalid, format, args...).
		WithHint(`reply(messages, turn) returns a string, or {"content": "...", "tool_calls": [{"name": "...", "arguments": {...}}]}`))
}
