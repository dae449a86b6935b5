package calls

import (
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
)

// An output shows the output of calls on a terminal behind a margin, so that it cannot look like a message.
type output struct {
	app    *app.App
	indent string
	most   int    // how many lines of a call are shown; 0: all
	begin  func() // is called before lines; nil: nothing is
	tails  map[string]*tail
}

// A tail is the output of a call in progress: how many lines of it are shown, and its unfinished line.
type tail struct {
	shown int
	line  string
}

// maxOutput is how many lines of the output of a call are shown in a run.
const maxOutput = 20

// maxTail is how much of a line of output is shown, in bytes.
const maxTail = 8 << 10

// add adds a piece of the output of a call.
func (o *output) add(call, text string) {
	if o.tails == nil {
		o.tails = map[string]*tail{}
	}
	t := o.tails[call]
	if t == nil {
		t = &tail{}
		o.tails[call] = t
	}
	for line := range strings.Lines(text) {
		t.line += line[:min(len(line), max(0, maxTail-len(t.line)))]
		if strings.HasSuffix(line, "\n") {
			o.line(t)
		}
	}
}

// flush shows the unfinished line of the output of a call that has ended, and reports whether it had output.
func (o *output) flush(call string) bool {
	t := o.tails[call]
	if t != nil && t.line != "" {
		o.line(t)
	}
	delete(o.tails, call)
	return t != nil
}

// line shows a line of output.
func (o *output) line(t *tail) {
	line := strings.TrimRight(t.line, "\r\n")
	t.line = ""
	s := o.app.ScreenOf(o.app.Err)
	limited := o.most > 0 && !o.app.Verbose
	for _, row := range s.Quote(o.indent, ui.Printable(line)) {
		if o.app.Quiet || limited && t.shown > o.most {
			return
		}
		if t.shown++; limited && t.shown > o.most {
			row = o.indent + s.Paint(draw.Dim, s.Symbol(draw.Folded)+" more output (--verbose)")
		}
		if o.begin != nil {
			o.begin()
		}
		o.app.Draw([]string{row})
	}
}
