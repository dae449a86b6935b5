package main

import (
	"fmt"
	"strings"
)

// A page is text for a person.
type page struct {
	strings.Builder
	paint func(code, text string) string
}

func (p *page) line(format string, args ...any) {
	p.WriteString(fmt.Sprintf(format, args...) + "\n")
}

func (p *page) title(text string) { p.line("\n%s", p.paint(bold, text)) }

func (p *page) text(text string) { p.WriteString(wrap(printable(text), "", pageWidth)) }

func (p *page) fact(name, value string) {
	if value != "" {
		p.WriteString(wrap(printable(value), pad(name+":", 10)+" ", pageWidth))
	}
}
