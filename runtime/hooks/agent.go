package hooks

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// BeforeAsk calls before_ask with a request to a model. A note is added to its last message. An
// error is of kind Denied: the request is not sent.
func (s *Set) BeforeAsk(ctx context.Context, r *model.Request) error {
	given := func() *value.Dict { return value.NewDict("request", value.NewDict("messages", messages(r.Messages))) }
	return s.each(ctx, beforeAsk, given, func(f *file, v *verdict) error {
		if v.deny != "" {
			return f.refused(ctx, beforeAsk, "", "the request to the model", v.deny)
		}
		if v.note != "" {
			f.noted(ctx, beforeAsk, "", v.note)
			addToLast(r, v.note)
		}
		return nil
	})
}

// messages returns a conversation in the form for scripts.
func messages(list []model.Message) value.List {
	all := value.List{}
	for i := range list {
		m := &list[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		if len(m.Calls) > 0 {
			d.Put("calls", value.List(value.Map(m.Calls, func(c model.Call) value.Value {
				one := value.NewDict("tool", c.Tool, "args", nil)
				if c.Args != nil {
					one.Put("args", c.Args)
				}
				return one
			})))
		}
		if m.Tool != "" {
			d.Put("tool", m.Tool)
		}
		all = append(all, d)
	}
	return all
}

// addToLast adds a note to the last message of a request. One that is not the user's is followed by
// a message with the note.
func addToLast(r *model.Request, note string) {
	note = "Note: " + note
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == model.User {
		r.Messages[n-1].Text += "\n\n" + note
		return
	}
	r.Messages = append(r.Messages, model.Message{Role: model.User, Text: note})
}

// A Stop is an agent that is about to stop with an answer.
type Stop struct {
	Task, Answer string
	Iterations   int // the requests to the model in this turn
	Depth        int // 0 for the agent of the user, 1 for an agent that it has called
}

// OnStop calls on_stop. If a function refuses, the agent continues, and its model gets the reason.
// Otherwise the reason is "". An error is of kind Denied.
func (s *Set) OnStop(ctx context.Context, stop Stop) (reason string, err error) {
	given := func() *value.Dict {
		return value.NewDict("run", value.NewDict("task", stop.Task, "answer", stop.Answer, "iterations", int64(stop.Iterations), "depth", int64(stop.Depth)))
	}
	err = s.each(ctx, onStop, given, func(f *file, v *verdict) error {
		if v.deny == "" {
			return nil
		}
		reason = v.deny
		return f.refused(ctx, onStop, "", "the answer", v.deny)
	})
	if reason != "" {
		err = nil
	}
	return reason, err
}

// OnCompact calls on_compact with the summary that replaces a conversation, and returns the
// summary that it makes of it. An error is of kind Denied: the conversation stays as it is.
func (s *Set) OnCompact(ctx context.Context, summary string) (string, error) {
	given := func() *value.Dict { return value.NewDict("summary", summary) }
	err := s.each(ctx, onCompact, given, func(f *file, v *verdict) error {
		if v.deny != "" {
			return f.refused(ctx, onCompact, "", "the summary", v.deny)
		}
		if v.edit != nil {
			text := v.edit.Text("summary")
			if strings.TrimSpace(text) == "" || v.edit.Len() != 1 {
				return f.failed(ctx, onCompact, value.Errorf(value.Invalid, `the function returned an invalid "edit": expected {"summary": TEXT}`))
			}
			summary = text
			host.Emit(ctx, tool.Hooked{Hook: onCompact, Action: "edited", Path: f.script.Path})
		}
		if v.note != "" {
			f.noted(ctx, onCompact, "", v.note)
			summary += "\n\nNote: " + v.note
		}
		return nil
	})
	return summary, err
}
