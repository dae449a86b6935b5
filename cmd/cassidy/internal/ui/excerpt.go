package ui

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// printTrace prints the calls of the script that led to an error, outermost first. Those that have
// an excerpt show their line.
func (p *Printer) printTrace(e *value.Error) {
	shown := map[value.Position]bool{}
	for i, line := range e.Trace {
		fmt.Fprintf(p.Err, "  %s\n", Printable(line))
		for _, x := range e.Excerpts {
			if strings.HasPrefix(line, x.Pos.String()+": in ") && (i+1 == len(e.Trace) || line != e.Trace[i+1]) {
				p.printExcerpt(x)
				shown[x.Pos] = true
			}
		}
	}
	for _, x := range e.Excerpts {
		if !shown[x.Pos] {
			p.printLocated(x, e.Pos)
		}
	}
}

// printExcerpts prints the lines of a script that an error is about.
func (p *Printer) printExcerpts(e *value.Error) {
	for _, x := range e.Excerpts {
		p.printLocated(x, e.Pos)
	}
}

// printLocated prints a line of a script, after its position unless the message has that.
func (p *Printer) printLocated(x value.Excerpt, message value.Position) {
	if x.Pos != message {
		fmt.Fprintf(p.Err, "  %s\n", Printable(x.Pos.String()))
	}
	p.printExcerpt(x)
}

// excerptIndent is the indentation of an excerpt: no message begins so.
const excerptIndent = "      "

// printExcerpt prints a line of a script, and carets under its column.
func (p *Printer) printExcerpt(x value.Excerpt) {
	if strings.TrimSpace(x.Text) == "" {
		return
	}
	paint := p.PaintOn(p.Err)
	text, carets := visible.Excerpt(x.Text, x.Pos.Col, 1, LineWidth)
	fmt.Fprintf(p.Err, "%s%s\n%s%s\n", excerptIndent, text, excerptIndent, paint(Red, carets))
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
