package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Log prints a message on standard error. The arguments can be untrusted: they are shown by
// [VisibleLine].
func (p *Printer) Log(format string, args ...any) { p.message(draw.None, p.sprintf(format, args)) }

// sprintf is [Sprintf] for the screen of standard error: the format is ours.
func (p *Printer) sprintf(format string, args []any) string {
	return Sprintf(p.ScreenOf(p.Err).Own(format), args...)
}

// Note prints a message that --quiet suppresses.
func (p *Printer) Note(format string, args ...any) {
	if !p.Quiet {
		p.Log(format, args...)
	}
}

// Did is [Printer.Note] for what was done.
func (p *Printer) Did(format string, args ...any) {
	if !p.Quiet {
		p.message(draw.Done, p.sprintf(format, args))
	}
}

// Warn is [Printer.Note] for what a person should look at.
func (p *Printer) Warn(format string, args ...any) {
	if !p.Quiet {
		p.Alert(format, args...)
	}
}

// Alert is [Printer.Log] for what a person should look at.
func (p *Printer) Alert(format string, args ...any) { p.message(draw.Risk, p.sprintf(format, args)) }

// Hint prints what to type next.
func (p *Printer) Hint(format string, args ...any) {
	text := p.sprintf(format, args)
	if s := p.ScreenOf(p.Err); s.Width > 0 {
		p.Draw(s.Hint("  ", text))
		return
	}
	p.message(draw.None, "hint: "+text)
}

// Debug prints a message with --verbose only.
func (p *Printer) Debug(format string, args ...any) {
	if p.Verbose {
		p.Log(format, args...)
	}
}

// LogLine prints a message with colours. Untrusted text in it must be visible already,
// see [VisibleLine].
func (p *Printer) LogLine(line string) { p.message(draw.None, line) }

// LogRow prints a row of columns: on a terminal, its end is cut where it does not fit.
func (p *Printer) LogRow(row string) {
	if s := p.ScreenOf(p.Err); s.Width > 0 {
		p.Draw([]string{s.Cut("  "+row, s.Width-1)})
		return
	}
	p.message(draw.None, row)
}

// LogWhole prints a text that may be copied, such as an address: it is not broken on a terminal.
func (p *Printer) LogWhole(text string) {
	if s := p.ScreenOf(p.Err); s.Width > 0 {
		p.Draw([]string{"    " + text})
		return
	}
	p.message(draw.None, text)
}

// message writes a message, of one line or more, on standard error: on a terminal with a symbol in the gutter,
// elsewhere behind the name of the program.
func (p *Printer) message(mark draw.Symbol, text string) {
	if s := p.ScreenOf(p.Err); s.Width > 0 {
		p.Draw(s.Message(mark, text))
		return
	}
	_, _ = fmt.Fprintln(p.Err, p.shown(p.Err, "cassidy: "+strings.ReplaceAll(text, "\n", "\n  ")))
}

// Draw writes drawn lines on standard error.
func (p *Printer) Draw(lines []string) {
	_, _ = fmt.Fprintln(p.Err, p.shown(p.Err, strings.Join(lines, "\n")))
}

// Report prints an error for a person.
func (p *Printer) Report(e *value.Error) {
	e = describe.ForUsers(e)
	if s := p.ScreenOf(p.Err); s.Width > 0 {
		p.Draw(p.Failure(s, p.About, e))
		return
	}
	message := e.Message()
	if p.located(e) {
		message = e.Error()
	}
	p.report(strings.TrimPrefix(p.About+": ", ": ")+message, e)
}

// Failure returns the lines of an error: what happened, where, and what to do. about is what it is about, or "".
func (p *Printer) Failure(s draw.Screen, about string, e *value.Error) []string {
	e = describe.ForUsers(e)
	lines := s.Quoted(draw.Failed, Visible(strings.TrimPrefix(about+": ", ": ")+strings.TrimRight(e.Message(), "\n")))
	places := p.places(e)
	if p.located(e) && e.Pos.File != "" && !slices.ContainsFunc(places, func(x place) bool { return strings.HasPrefix(x.at, e.Pos.String()) }) {
		places = append([]place{{at: e.Pos.String()}}, places...)
	}
	for _, x := range places {
		lines = append(lines, "  "+s.Paint(draw.Dim, s.CutPath(VisibleLine(x.at), s.Most()-2)))
		lines = append(lines, excerpt(s, x.line)...)
	}
	if e.Hint != "" {
		lines = append(lines, s.Hint("  ", VisibleLine(e.Hint))...)
	}
	return lines
}

// located reports whether the position of an error is shown: not in a built-in script.
func (p *Printer) located(e *value.Error) bool {
	return p.Verbose || !p.builtin(e) && e.Kind != value.Parked
}

// builtin reports whether an error is of a built-in script, or has passed only through built-in policies: a user
// can do nothing with their lines. Scripts of a project or a user have other paths.
func (p *Printer) builtin(e *value.Error) bool {
	within := func(place string) bool {
		return strings.HasPrefix(place, "policies/") || strings.HasPrefix(place, "lib/")
	}
	other := func(call string) bool { return !within(call) }
	return e.Kind != value.Internal && (strings.HasPrefix(e.Pos.File, "builtin/") || within(e.Pos.File) && !slices.ContainsFunc(e.Trace, other))
}

// report prints an error as lines that a program may read. A message can have several lines, such as the output of a
// program: a margin shows that they are not messages.
func (p *Printer) report(message string, e *value.Error) {
	const item = "\n  - " // of our lists
	items := strings.Split(strings.TrimRight(message, "\n"), item)
	for i := range items {
		items[i] = strings.ReplaceAll(Visible(items[i]), "\n", "\n  ┃ ")
	}
	fmt.Fprintf(p.Err, "cassidy: %s\n", strings.Join(items, item))
	for _, x := range p.places(e) {
		if x.at != e.Pos.String() { // the message has it
			fmt.Fprintf(p.Err, "  %s\n", VisibleLine(x.at))
		}
		if strings.TrimSpace(x.line.Text) != "" {
			const indent = "      " // no message begins so
			text, carets := visible.Excerpt(x.line.Text, x.line.Pos.Col, 1, draw.MaxText)
			fmt.Fprintf(p.Err, "%s%s\n%s%s\n", indent, text, indent, p.ScreenOf(p.Err).Paint(draw.Bold, carets))
		}
	}
	if e.Hint != "" {
		p.Hint("%s", e.Hint)
	}
}

// A place is where a script was when an error happened.
type place struct {
	at   string        // a position, or a call of the trace
	line value.Excerpt // the zero value if it is not known
}

// places returns where an error happened: the calls of the script that led to it, outermost first, or its lines.
func (p *Printer) places(e *value.Error) (list []place) {
	if !p.located(e) {
		return nil
	}
	known := map[value.Position]bool{}
	if p.Verbose || len(e.Trace) > 1 {
		for i, call := range e.Trace {
			at := place{at: call}
			for _, x := range e.Excerpts {
				if strings.HasPrefix(call, x.Pos.String()+": in ") && (i+1 == len(e.Trace) || call != e.Trace[i+1]) {
					at.line, known[x.Pos] = x, true
				}
			}
			list = append(list, at)
		}
	}
	for _, x := range e.Excerpts {
		if !known[x.Pos] {
			list = append(list, place{x.Pos.String(), x})
		}
	}
	return list
}

// excerpt draws a line of a script, and carets under its column.
func excerpt(s draw.Screen, x value.Excerpt) []string {
	if strings.TrimSpace(x.Text) == "" {
		return nil
	}
	return s.Excerpt("  "+strconv.Itoa(x.Pos.Line), x.Text, x.Pos.Col, 1)
}

// PutFrames adds the lines of a script that an error is about to what --json prints, the innermost
// last. An error without lines adds nothing.
func PutFrames(d *value.Dict, e *value.Error) {
	if len(e.Excerpts) == 0 {
		return
	}
	list := value.List{}
	for _, x := range e.Excerpts {
		list = append(list, value.NewDict("file", x.Pos.File, "line", int64(x.Pos.Line), "column", int64(x.Pos.Col), "source", x.Text))
	}
	d.Put("frames", list)
}
