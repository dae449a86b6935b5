package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LineWidth is how much of a call or a result a line shows.
const LineWidth = 100

// OneLine puts a text on one line.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Times writes how often something was done: "once", "2 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// Fold cuts a line into pieces of at most so many columns. A character that
// may be wide counts as two, so that no terminal breaks a piece again.
func Fold(line string, width int) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	var pieces []string
	start, used := 0, 0
	for i, r := range line {
		columns := 1
		if r >= 0x1100 { // the first that East Asian terminals show wide
			columns = 2
		}
		if used+columns > width {
			pieces = append(pieces, line[start:i])
			start, used = i, 0
		}
		used += columns
	}
	return append(pieces, line[start:])
}

// Count writes a number of things: "1 file", "2 files".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Printable drops the characters that a stranger's text could steer the
// terminal with: controls, and those that change the order in which what
// follows is shown. See [visible] for what a person is to decide on.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if ' ' <= r && r <= '~' || r == '\n' || r == '\t' {
			return r
		}
		if unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

// Visible writes out what a person would not see, or not as what it is:
// ⟨U+202E⟩ for a character that turns the text around, ⟨U+000D⟩ for one that has
// the rest of a line written over it, ⟨ff⟩ for a byte that is no UTF-8. Line
// ends and tabs stay.
func Visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "⟨%02x⟩", text[i])
		case r == '\n' || r == '\t' || Seen(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// VisibleLine is visible for a text that must stay on one line.
func VisibleLine(text string) string {
	return strings.ReplaceAll(Visible(text), "\n", "⟨U+000A⟩")
}

// Seen reports whether a character is seen as what it is: it leaves ink, or is
// the plain space.
func Seen(r rune) bool {
	const braille = 0x2800 // a pattern without dots
	return unicode.IsPrint(r) && r != braille &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// The colours in use.
const (
	Bold   = "1"
	Dim    = "2"
	Yellow = "33"
	Green  = "32"
	Red    = "31"
)

// PageWidth is how wide the lines of a page are: what every terminal shows.
const PageWidth = 80

// Wrap breaks text at spaces into lines of a width, each after the indent.
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

// leading returns the spaces that a line begins with.
func leading(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }

// Clip cuts a line to a width.
func Clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:max(width-1, 1)])) + "…"
}

// Pad fills a text up with spaces.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
