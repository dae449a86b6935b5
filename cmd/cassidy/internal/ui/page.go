package ui

import (
	"fmt"
	"strings"
)

// A Page is text for a person.
type Page struct {
	strings.Builder
	Paint func(code, text string) string
}

// Line adds a line.
func (p *Page) Line(format string, args ...any) {
	p.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// Title adds a heading after an empty line.
func (p *Page) Title(text string) { p.Line("\n%s", p.Paint(Bold, text)) }

// Text adds a text, broken into lines.
func (p *Page) Text(text string) { p.WriteString(Wrap(Printable(text), "", PageWidth)) }

// Fact adds a name and its value, unless that is empty.
func (p *Page) Fact(name, value string) {
	if value != "" {
		p.WriteString(Wrap(VisibleLine(value), Pad(name+":", 10)+" ", PageWidth))
	}
}
