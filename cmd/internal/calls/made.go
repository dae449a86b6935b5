package calls

import (
	"cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A madeCalls are the calls that a model makes, for the lines of their ends.
type madeCalls struct {
	decided int               // how many calls the last reply has
	texts   map[string]string // the calls in progress, by their ID
}

// watch counts the calls of a reply, and keeps the arguments of those in progress. own is whether the
// event is one of the run itself.
func (m *madeCalls) watch(e tool.Event, own bool) {
	switch d := e.Data.(type) {
	case tool.ModelAsk:
		if own {
			m.decided, m.texts = 0, map[string]string{}
		}
	case tool.Decided:
		if own && d.Kind == "call" {
			m.decided++
		}
	case tool.ToolCallStart:
		if m.texts == nil {
			m.texts = map[string]string{}
		}
		m.texts[e.Call] = e.Tool + describe.ArgsText(d.Args)
	}
}

// maxLabel is how much of a call is shown at its end, in characters.
const maxLabel = 40

// label returns the call that an event ends, or "" if the line above is that of the call: the reply
// has no other calls.
func (m *madeCalls) label(e tool.Event) string {
	text := m.texts[e.Call]
	delete(m.texts, e.Call)
	if m.decided == 1 {
		return ""
	}
	return ui.Brief(cmp.Or(text, e.Tool), maxLabel) + "  "
}
