package draw

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/internal/visible"
)

// A Page is lines for a person. Without a terminal, its texts have a fixed width, and each line of a fact begins with its name.
type Page struct {
	Screen
	lines []string
}

// PageWidth is how many cells a line of a page has without a terminal.
const PageWidth = 80

// Line adds a line as it is.
func (p *Page) Line(line string) { p.lines = append(p.lines, line) }

// Long adds a line that only a terminal breaks, at spaces.
func (p *Page) Long(first, text string) {
	if p.Width > 0 {
		p.words(first, text)
		return
	}
	p.Line(first + text)
}

// Lines adds lines as they are.
func (p *Page) Lines(lines []string) { p.lines = append(p.lines, lines...) }

// Title adds a heading after an empty line.
func (p *Page) Title(text string) { p.Lines([]string{"", p.Paint(Bold, text)}) }

// Text adds a text whose first line begins with first. Its lines are broken at spaces, and those of code keep their indent.
// On a terminal, lines that were broken already are joined.
func (p *Page) Text(first, text string) {
	text = strings.TrimSpace(text)
	if p.Width > 0 {
		text = unbroken(text)
	}
	for paragraph := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(paragraph, " ")
		p.words(first+paragraph[:len(paragraph)-len(words)], words)
		if p.Width > 0 {
			first = strings.Repeat(" ", Cells(first))
		}
	}
}

// unbroken joins the lines of a text that its author broke because they were long. Lists and code stay as they are.
func unbroken(text string) string {
	const long = 60 // cells
	var b strings.Builder
	before := 0
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case b.Len() == 0:
		case before >= long && line != "" && !strings.ContainsAny(line[:1], " \t-*|#>`0123456789"):
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		before = Cells(line)
	}
	return b.String()
}

// words adds a line of a text. On a terminal, it is not in the gutter.
func (p *Page) words(first, text string) {
	if p.Width > 0 {
		if first == "" {
			first = "  "
		}
		p.Lines(Wrap(first, p.Shown(text), p.Most()))
		return
	}
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && Cells(line)+1+Cells(word) > PageWidth {
			p.Line(line)
			line, empty = first, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.Line(strings.TrimRight(line, " "))
}

// factName is how many cells the names of facts have.
const factName = 10

// Fact adds a name and its value, which may come from outside, unless that is empty.
func (p *Page) Fact(name, text string) {
	switch text = visible.Line(text); {
	case text == "":
	case p.Width > 0:
		p.Lines(p.Screen.Fact(None, Pad(name, factName, false), text))
	default:
		p.Text(Pad(name+":", factName, false)+" ", text)
	}
}

// Group adds the name of a group in a list, which may come from outside.
func (p *Page) Group(name string, count int) {
	head := p.Paint(Bold, fmt.Sprintf("%s (%d)", visible.Line(name), count))
	switch {
	case p.Plain:
		p.words("group ", head)
	case p.Width > 0:
		p.Lines(p.Message(Rule, head))
	default:
		p.Line(head)
	}
}

// String returns the lines, each with its end.
func (p *Page) String() string {
	if len(p.lines) == 0 {
		return ""
	}
	return strings.Join(p.lines, "\n") + "\n"
}

// An Entry is something in a list. Its texts have been made visible.
type Entry struct {
	Mark       Symbol
	Name, Text string
	Whole      bool     // the text is not cut
	Remarks    []string // short ones, below the text
	Warnings   []string // each in lines of its own
}

// maxEntry is how many cells the names of a list take beside their texts.
const maxEntry = 28

// NameWidth returns how many cells the names of entries take.
func NameWidth(names []string) (width int) {
	for _, name := range names {
		width = max(width, min(Cells(name), maxEntry))
	}
	return width
}

// List adds entries, a line for each, with its remarks below. indent is what is before them without a terminal, and width how
// many cells their names have.
func (p *Page) List(indent string, width int, entries []Entry) {
	for i := range entries {
		e := &entries[i]
		first := indent
		if p.Width > 0 {
			first = p.Gutter(e.Mark)
		}
		head, below := first+Pad(e.Name, width, false)+"  ", strings.Repeat(" ", Cells(indent)+width+2)
		remarks := strings.Join(e.Remarks, p.Between())
		switch {
		case p.Plain:
			p.words(first, Join(" - ", e.Name+": "+e.Text, remarks))
		case p.Width > 0:
			p.entry(e, first, below, remarks, width)
		default:
			text := e.Text
			if !e.Whole {
				text = p.Cut(text, PageWidth-Cells(indent)-2-width)
			}
			p.Line(head + text)
			if remarks != "" {
				p.Line(below + p.Paint(Dim, "["+remarks+"]"))
			}
		}
		for _, w := range e.Warnings {
			if p.Width > 0 {
				p.Lines(p.Message(Risk, w))
			} else {
				p.Line(below + w)
			}
		}
	}
}

// entry adds an entry on a terminal. A long name has a line of its own.
func (p *Page) entry(e *Entry, first, below, remarks string, width int) {
	below += "  "
	beside := first + Pad(e.Name, width, false) + "  "
	room := p.Most() - Cells(beside)
	if Cells(e.Name) > width || room < leastText {
		p.Lines(Wrap(first, e.Name, p.Most()))
		beside, below = "    ", "      "
		room = p.Most() - Cells(beside)
	}
	switch {
	case e.Whole && e.Text != "":
		p.Lines(Wrap(beside, e.Text, p.Most()))
	case e.Text != "" || Cells(beside) > 4:
		p.Line(strings.TrimRight(beside+p.Cut(e.Text, room), " "))
	}
	code := Dim
	if e.Mark != None { // it says why
		code = ""
	}
	if remarks != "" {
		for _, line := range Wrap(below, remarks, p.Most()) {
			p.Line(p.Paint(code, line))
		}
	}
}
