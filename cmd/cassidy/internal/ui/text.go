package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/visible"
)

// LineWidth is the maximum length of a call or a result on a line.
const LineWidth = 100

// Times writes how often something was done: "once", "2 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// Fold cuts a line into pieces of at most width columns. A character that may be wide
// counts as two columns, so that no terminal breaks a piece again.
func Fold(line string, width int) []string {
	return Map(visible.Fold([]visible.Span{{Text: strings.ReplaceAll(line, "\t", "    ")}}, width), func(piece []visible.Span) string {
		return piece[0].Text
	})
}

// Count writes a number and a noun: "1 file", "2 files".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Printable marks the characters with which untrusted text could control the terminal:
// control characters, and those that change the direction of text. It is for texts of
// several lines and for parts of a text; use [Visible] for text on which a person decides,
// and [VisibleLine] for what is part of a line of ours.
func Printable(text string) string {
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for text = strings.ReplaceAll(text, "\r\n", "\n"); text != ""; {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨%02x⟩", text[0])
		case steers(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// steers reports whether a character could control the terminal.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && (r < ' ' || r > '~') && (r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp))
}

// Brief shows an untrusted text on a line, at most width characters of it as they are shown.
func Brief(text string, width int) string { return Clip(VisibleLine(text), width) }

// CutShown cuts a text where it is longer than width characters as it is shown. The result is
// not shown yet.
func CutShown(text string, width int) string {
	used, size := 0, 0
	for _, s := range visible.Spans(text) {
		n := utf8.RuneCountInString(s.Text)
		if used += n; used <= width {
			size += s.Size
			continue
		}
		if s.Mark == "" { // as much of it as there is space for
			size += len(string([]rune(s.Text)[:max(0, width-1-used+n)]))
		}
		return text[:size] + "…"
	}
	return text
}

// Visible shows an untrusted text so that nothing of it is hidden, see [visible.Text].
func Visible(text string) string { return visible.Text(text) }

// VisibleLine is like [Visible], on one line.
func VisibleLine(text string) string { return visible.Line(text) }

// The codes of colours, for [Printer.Paint].
const (
	Bold   = "1"
	Dim    = "2"
	Yellow = "33"
	Green  = "32"
	Red    = "31"
)

// PageWidth is the width of a page: every terminal is as wide.
const PageWidth = 80

// Wrap breaks a text at spaces into lines of a width, and indents them.
func Wrap(text, indent string, width int) string {
	var b strings.Builder
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n") {
		line := indent + leading(paragraph)
		empty := true
		for _, word := range strings.Fields(paragraph) {
			if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				b.WriteString(line + "\n")
				line, empty = indent+leading(paragraph), true
			}
			if !empty {
				line += " "
			}
			line += word
			empty = false
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// leading returns the spaces at the beginning of a line.
func leading(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }

// Join joins the texts of a list with commas.
func Join[T any](list []T) string {
	return strings.Join(Map(list, func(v T) string { return fmt.Sprint(v) }), ", ")
}

// Map returns the results of a function for the elements of a list.
func Map[T, R any](list []T, f func(T) R) []R {
	results := make([]R, len(list))
	for i, v := range list {
		results[i] = f(v)
	}
	return results
}

// Clip cuts a line to a width in characters.
func Clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:max(width-1, 1)])) + "…"
}

// Pad appends spaces to a text up to a width in characters.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
