package ui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Times writes how often something was done: "once", "2 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// Count writes a number and a noun: "1 file", "2 files".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Printable marks what cannot be seen in an untrusted text, or would control the terminal. Unlike
// [Visible] it leaves white space and letters that look like others, so it is for texts that people
// read, such as descriptions and answers. Use [Visible] for text on which a person decides, and
// [VisibleLine] for what is part of a line of ours. A text that is printable already stays as it is.
func Printable(text string) string { return PrintableAfter(0, text) }

// PrintableAfter is [Printable] for the next piece of a text, after a character.
func PrintableAfter(before rune, text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for text = strings.ReplaceAll(text, "\r\n", "\n"); text != ""; {
		r, size := utf8.DecodeRuneInString(text)
		after, _ := utf8.DecodeRuneInString(text[size:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨%02x⟩", text[0])
		case hidden(r) && r != utf8.RuneError && !joins(before, r, after):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteString(text[:size])
		}
		before, text = r, text[size:]
	}
	return b.String()
}

// hidden reports whether a character cannot be seen in a text, or could control the terminal.
func hidden(r rune) bool {
	if ' ' <= r && r <= '~' || r == '\n' || r == '\t' {
		return false
	}
	return r == utf8.RuneError || value.IsInvisible(r) && !unicode.Is(unicode.Zs, r)
}

// JoinsNext reports whether it depends on the next character if this one is marked.
func JoinsNext(r rune) bool { return r == '\r' || r == emojiStyle || r == joiner || r == nonJoiner }

const (
	nonJoiner  = '\u200c'
	joiner     = '\u200d'
	emojiStyle = '\ufe0f'
	keycap     = '\u20e3'
)

// joins reports whether an invisible character changes how its neighbours are drawn, so that it can be
// seen by them: in an emoji, and in a word of a script whose letters are joined.
func joins(before, r, after rune) bool {
	symbol := func(r rune) bool { return unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) || r == emojiStyle }
	switch r {
	case emojiStyle:
		return before != emojiStyle && symbol(before) || strings.ContainsRune("‼⁉ℹ〰", before) || strings.ContainsRune("#*0123456789", before) && after == keycap
	case joiner:
		return symbol(before) && symbol(after) || joined(before) && joined(after)
	case nonJoiner:
		return joined(before) && joined(after)
	}
	return false
}

// joined reports whether a letter or a sign is of a script whose letters are joined.
func joined(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer)
}

// colours are the sequences of [draw.Screen.Paint].
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[(?:0|1|2|7|31|32|35)m") })

// styled is [Printable] for a text of ours with colours: whatever else is in it is marked, in case that
// the text has something from outside.
func styled(text string) string {
	if !strings.ContainsRune(text, esc) {
		return Printable(text)
	}
	var b strings.Builder
	for text != "" {
		at := colours().FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(Printable(text[:at[0]]) + text[at[0]:at[1]])
		text = text[at[1]:]
	}
	return b.String()
}

// JSONText returns a text of JSON in which the characters that cannot be seen are escaped.
func JSONText(text string) string {
	hides := func(r rune) bool { return r > '~' && value.IsInvisible(r) }
	if !strings.ContainsFunc(text, hides) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !hides(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Brief shows an untrusted text on a line, at most width characters of it as they are shown.
func Brief(text string, width int) string { return draw.Screen{}.Cut(VisibleLine(text), width) }

// CutShown is [visible.Cut].
func CutShown(text string, width int) string { return visible.Cut(text, width) }

// Visible shows an untrusted text so that nothing of it is hidden, see [visible.Text].
func Visible(text string) string { return visible.Text(text) }

// VisibleLine is like [Visible], on one line.
func VisibleLine(text string) string { return visible.Line(text) }

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
