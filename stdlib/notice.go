package stdlib

import (
	"context"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

func (w *World) noticeFuncs() []tool.Func {
	number := func(name, doc string) tool.Param {
		p := tool.Optional(name, tool.TypeNumber, nil, doc)
		p.Type.Nullable = true
		return p
	}
	return []tool.Func{
		w.noticeFunc(tool.OutputChunk, tool.Func{
			Name:   "emit",
			Doc:    "Send a piece of the output to the user before the call ends. It is shown, and is no part of the result.",
			Params: []tool.Param{tool.Required("chunk", tool.TypeString, "the text to show")},
		}),
		w.noticeFunc(tool.Progress, tool.Func{
			Name: "progress",
			Doc:  "Tell the user how far the call has come.",
			Params: []tool.Param{
				tool.Required("message", tool.TypeString, "what is being done"),
				number("done", "how much is done"),
				number("total", "of how much"),
			},
		}),
		w.noticeFunc(tool.Log, tool.Func{
			Name:   "log",
			Doc:    "Leave a line for whoever looks into what the call did.",
			Params: []tool.Param{tool.Required("message", tool.TypeAny, "a text, or a value to be shown as JSON")},
		}),
	}
}

// noticeFunc completes a row whose arguments become the data of an event.
func (w *World) noticeFunc(kind tool.EventType, f tool.Func) tool.Func {
	f.Kind = tool.Notice
	f.Returns = "nothing"
	f.Do = func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if g.Emit == nil {
			return tool.Outcome{}, nil
		}
		data := &tool.Dict{}
		for _, p := range f.Params {
			v, _ := e.Args.Get(p.Name)
			if p.Name == "message" || p.Name == "chunk" {
				v = noticeText(v)
			}
			data.Put(p.Name, v)
		}
		g.Emit(tool.Event{Type: kind, Time: w.now(), Call: g.Call.ID, Tool: g.Call.Tool, Data: data})
		return tool.Outcome{}, nil
	}
	return f
}

// noticeText gives a value as text that is safe to show: events go to
// terminals, where a control character could redraw what a person has approved.
func noticeText(v tool.Value) string {
	text, ok := v.(string)
	if !ok {
		text = tool.FormatJSON(v, "")
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
