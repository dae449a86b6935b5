// Package draw lays out what a person sees on a terminal: symbols, colours, lines that fit, tables, values, bars and
// Markdown. Texts that come from outside must have been made visible before, see package visible: draw only measures and
// cuts them.
package draw

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// A Screen says how lines are drawn on a stream. The zero value is a stream that nobody looks at: nothing is cut, and nothing
// has a colour.
type Screen struct {
	Width int  // the cells of a line of the terminal; 0 without a terminal
	Color bool // colours are shown
	ASCII bool // only ASCII is shown in what is ours
	Plain bool // for screen readers: words instead of symbols, and one fact a line
}

// On returns how lines are drawn on a stream of a width, with the variables of the environment: NO_COLOR,
// CLICOLOR_FORCE, TERM, CASSIDY_ASCII, CASSIDY_PLAIN, and the locale.
func On(width int, env func(name string) (string, bool)) Screen {
	is := func(name string) string { v, _ := env(name); return v }
	dumb := is("TERM") == "dumb"
	s := Screen{Width: width, Plain: is("CASSIDY_PLAIN") == "1" || dumb && width > 0}
	s.Color = width > 0 && !dumb && is("NO_COLOR") == "" || is("CLICOLOR_FORCE") == "1"
	s.ASCII = s.Plain || is("CASSIDY_ASCII") == "1" || !utf8Locale(is)
	return s
}

// utf8Locale reports whether the locale of the environment has UTF-8: that of the first variable that is set. Without any,
// it is assumed, as on Windows.
func utf8Locale(is func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := is(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// MaxText is the most cells that a line of text has: longer lines are hard to read.
const MaxText = 100

// Most returns how many cells a line of text may have: one less than the terminal, whose last column some terminals
// break. Without a terminal it is [MaxText].
func (s Screen) Most() int {
	if s.Width <= 0 {
		return MaxText
	}
	return max(1, min(s.Width-1, MaxText))
}

// A Symbol says what a line is about. It is in the gutter, where only lines of ours have something.
type Symbol int

const (
	None Symbol = iota
	Done
	Failed
	Asks // somebody must answer
	Risk
	Running
	Waits
	Folded // what is not shown
	Rule
)

type symbol struct{ unicode, ascii, word, code string }

func symbols() []symbol {
	return []symbol{
		None: {" ", " ", "", ""}, Done: {"✓", "+", "done", Green}, Failed: {"✗", "x", "failed", Red}, Asks: {"?", "?", "asks", Magenta},
		Risk: {"!", "!", "risk", Magenta}, Running: {"⠹", "*", "running", ""}, Waits: {"…", "...", "waits", Dim}, Folded: {"▸", ">", "folded", Dim},
		Rule: {"─", "-", "-", Dim},
	}
}

// Symbol returns a symbol, without a colour.
func (s Screen) Symbol(of Symbol) string {
	x := symbols()[of]
	switch {
	case s.Plain:
		return x.word
	case s.ASCII:
		return x.ascii
	}
	return x.unicode
}

// Mark returns a symbol in its colour.
func (s Screen) Mark(of Symbol) string { return s.Paint(symbols()[of].code, s.Symbol(of)) }

// The codes of colours. Each is beside a symbol or a word that says the same.
const (
	Green   = "32" // done, added
	Red     = "31" // failed, removed
	Magenta = "35" // needs a person, a risk
	Bold    = "1"  // a title, a command to type
	Dim     = "2"  // what may be skipped
)

// Paint colours a text. The code "" leaves it as it is.
func (s Screen) Paint(code, text string) string {
	if !s.Color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Cells returns how many cells a line has on a terminal, without the sequences of [Screen.Paint].
func Cells(line string) (cells int) {
	for part := range unpainted(line) {
		cells += uniseg.StringWidth(part)
	}
	return cells
}

// unpainted yields the parts of a line between the sequences of colours.
func unpainted(line string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line != "" {
			text, rest, found := strings.Cut(line, "\x1b[")
			if text != "" && !yield(text) || !found {
				return
			}
			_, line, _ = strings.Cut(rest, "m")
		}
	}
}

// dots is what stands for what was cut.
func (s Screen) dots() string {
	if s.ASCII {
		return "..."
	}
	return "…"
}

// Cut cuts the end of a line that has more than some cells.
func (s Screen) Cut(line string, cells int) string {
	if Cells(line) <= cells {
		return line
	}
	head, _ := split(line, max(0, cells-Cells(s.dots())))
	return strings.TrimRightFunc(head, unicode.IsSpace) + s.dots()
}

// CutPath cuts the middle of a path that has more than some cells: its last element says most, and then its first.
func (s Screen) CutPath(path string, cells int) string {
	parts := strings.Split(path, "/")
	for Cells(path) > cells && len(parts) > 2 {
		parts = append(parts[:1:1], parts[2:]...)
		path = strings.Join(append([]string{parts[0], s.dots()}, parts[1:]...), "/")
		if parts[0] == "" {
			path = s.dots() + "/" + strings.Join(parts[1:], "/")
		}
	}
	return s.Cut(path, cells)
}

// split splits an unpainted text after the grapheme clusters that fit some cells.
func split(text string, cells int) (head, rest string) {
	rest, state, used := text, -1, 0
	for rest != "" {
		cluster, next, width, nextState := uniseg.FirstGraphemeClusterInString(rest, state)
		if used += width; used > cells {
			break
		}
		head, rest, state = head+cluster, next, nextState
	}
	return head, rest
}

// Pad appends spaces to a text up to some cells, or puts them before it if right is set.
func Pad(text string, cells int, right bool) string {
	spaces := strings.Repeat(" ", max(0, cells-Cells(text)))
	if right {
		return spaces + text
	}
	return text + spaces
}

// Wrap breaks a text at spaces into lines of at most some cells. The first line begins with first, the others with as many
// spaces. A word that is too long is broken.
func Wrap(first, text string, cells int) []string {
	hang := strings.Repeat(" ", Cells(first))
	room := max(1, cells-len(hang))
	var lines []string
	line := ""
	end := func() {
		lines = append(lines, strings.TrimRight(first+line, " "))
		first, line = hang, ""
	}
	for _, word := range strings.Fields(text) {
		if line != "" && Cells(line)+1+Cells(word) > room {
			end()
		}
		for line == "" && Cells(word) > room && !strings.Contains(word, "\x1b") {
			head, rest := split(word, room)
			if head == "" { // a character that is wider than the line
				break
			}
			line, word = head, rest
			end()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" || len(lines) == 0 {
		end()
	}
	return lines
}
