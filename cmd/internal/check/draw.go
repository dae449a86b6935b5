package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
)

// drawFile returns the lines of a terminal about a file: what was fixed there, and its faults. A fault that it has several times
// is shown once, unless all is set.
func drawFile(s draw.Screen, f *fileDiagnostics, fixed []diagnostic.Diagnostic, all bool) []string {
	p := painter{Screen: s, file: f}
	for _, d := range slices.Concat(fixed, f.Found) {
		p.lines, p.columns = max(p.lines, len(strconv.Itoa(d.Pos.Line))), max(p.columns, len(strconv.Itoa(d.Pos.Col)))
	}
	lines := []string{s.Paint(draw.Bold, s.CutPath(ui.VisibleLine(f.Name), s.Most()))}
	for i := range fixed {
		lines = append(lines, draw.Wrap(p.head(draw.Done, &fixed[i]), "fixed: "+ui.VisibleLine(fixed[i].Fix.Title), s.Most())...)
	}
	for i := range f.Found {
		same := f.like(i)
		if all || same[0] == i {
			lines = append(lines, p.fault(&f.Found[i])...)
		}
		if more := len(same) - 1; !all && same[0] == i && more > 0 {
			text := fmt.Sprintf("%s %d more (--verbose): ", s.Symbol(draw.Folded), more) +
				strings.Join(ui.Map(same[1:], func(k int) string { return at(&f.Found[k]) }), " ")
			lines = append(lines, p.indent()+s.Paint(draw.Dim, s.Cut(text, s.Most()-draw.Cells(p.indent()))))
		}
	}
	return lines
}

// like returns the faults of a file that say the same as one of them.
func (f *fileDiagnostics) like(i int) (same []int) {
	for k := range f.Found {
		if a, b := &f.Found[i], &f.Found[k]; a.Code == b.Code && a.Message == b.Message && a.Severity == b.Severity {
			same = append(same, k)
		}
	}
	return same
}

func at(d *diagnostic.Diagnostic) string { return fmt.Sprintf("%d:%d", d.Pos.Line, d.Pos.Col) }

// A painter draws the faults of a file.
type painter struct {
	draw.Screen
	file           *fileDiagnostics
	lines, columns int // how long the numbers of the positions are at most
}

// head returns what is before the message of a fault: its mark and its position, with the colons below each other.
func (p *painter) head(mark draw.Symbol, d *diagnostic.Diagnostic) string {
	if p.Plain {
		return p.Mark(mark) + ": " + at(d) + ": "
	}
	return p.Mark(mark) + " " + draw.Pad(fmt.Sprintf("%*d:%d", p.lines, d.Pos.Line, d.Pos.Col), p.lines+1+p.columns, false) + "  "
}

// indent is what is before the other lines of a fault.
func (p *painter) indent() string {
	if p.Plain {
		return "  "
	}
	return strings.Repeat(" ", 2+p.lines+1+p.columns+2)
}

// fault returns the lines of a fault. A warning, and a fault that --fix repairs, are shorter.
func (p *painter) fault(d *diagnostic.Diagnostic) []string {
	mark := draw.Failed
	if d.Severity == diagnostic.Warning {
		mark = draw.Risk
	}
	lines := draw.Wrap(p.head(mark, d), ui.VisibleLine(d.Message), p.Most())
	code := d.Code
	if p.Plain {
		code = "code: " + code
	}
	lines = p.beside(lines, p.Paint(draw.Dim, code))
	fix := ""
	if d.Fix != nil {
		fix = "fix: " + ui.VisibleLine(strings.TrimPrefix(d.Fix.Title, "write "))
	}
	if d.Severity == diagnostic.Error {
		lines = append(lines, p.excerpt(d)...)
		if fix != "" {
			lines = p.beside(lines, fix)
		}
	}
	if d.Hint != "" && (d.Fix == nil || d.Fix.Choice) {
		lines = append(lines, p.Hint(p.indent(), ui.VisibleLine(d.Hint))...)
	}
	return lines
}

// beside puts a text at the right of the last line, or below it.
func (p *painter) beside(lines []string, text string) []string {
	last := len(lines) - 1
	room := p.Most() - draw.Cells(lines[last]) - draw.Cells(text)
	if p.Plain || room < 2 {
		return append(lines, draw.Wrap(p.indent(), text, p.Most())...)
	}
	lines[last] += strings.Repeat(" ", room) + text
	return lines
}

// excerpt returns the line of a fault, and carets below what is wrong there.
func (p *painter) excerpt(d *diagnostic.Diagnostic) []string {
	all := strings.Split(p.file.Text, "\n")
	if d.Pos.Line > len(all) || strings.TrimSpace(all[d.Pos.Line-1]) == "" {
		return nil
	}
	line := all[d.Pos.Line-1]
	begin := min(max(d.Pos.Col-1, 0), len(line))
	length := min(max(d.Span.End-d.Span.Start, 1), len(line)-begin)
	return p.Excerpt(strings.TrimSuffix(p.indent(), " "), line, utf8.RuneCountInString(line[:begin])+1, utf8.RuneCountInString(line[begin:begin+length]))
}
