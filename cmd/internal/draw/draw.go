// Package draw lays out what a person sees on a terminal: symbols, colours, lines that fit, tables, values, bars and
// Markdown. Texts that come from outside must have been made visible before, see package visible: draw only measures and
// cuts them.
package draw

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/cassidy-run/cassidy/internal/visible"
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
	s := Screen{Width: width, Color: is("CLICOLOR_FORCE") == "1"}
	if width > 0 { // what programs read does not depend on how a terminal is
		s.Color = s.Color || !dumb && is("NO_COLOR") == ""
		s.Plain = dumb || is("CASSIDY_PLAIN") == "1"
		s.ASCII = s.Plain || is("CASSIDY_ASCII") == "1" || !utf8Locale(is)
	}
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

// Inside returns the screen without the cells of an indent.
func (s Screen) Inside(cells int) Screen {
	s.Width = max(1, s.Width-cells)
	return s
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

// RiskWord is what stands beside the title of what is risky.
func (s Screen) RiskWord() string {
	if s.Plain {
		return "RISK"
	}
	return s.Mark(Risk) + s.Paint(Bold, " RISK")
}

// The codes of colours. Green, red and magenta are for symbols and signs, beside words that say the same: many terminals
// show them with little contrast, so nothing that must be read has them.
const (
	Green   = "32" // done, added
	Red     = "31" // failed, removed
	Magenta = "35" // needs a person, a risk
	Bold    = "1"  // a title, a command to type
	Dim     = "2"  // what may be skipped
	Reverse = "7"  // the mark of a character that nobody can see, or that looks like another one
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
	if ascii(line) == len(line) {
		return len(line)
	}
	for part := range unpainted(line) {
		n := ascii(part)
		if n < len(part) {
			n = max(0, n-1) // the next character may combine with it
		}
		cells += n + uniseg.StringWidth(part[n:])
	}
	return cells
}

// ascii returns how many bytes a text begins with that have a cell each, which most texts have only.
func ascii(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return i
		}
	}
	return len(text)
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

// Gauge draws a share of a whole, in ten cells.
func (s Screen) Gauge(share float64) string {
	const cells = 10
	if !(share > 0) { // also if it is no number
		share = 0
	}
	eighths := int(min(1, share) * cells * 8)
	full, rest := eighths/8, eighths%8
	if s.ASCII {
		bar := strings.Repeat("#", full) + strings.Repeat(".", rest/4)
		return "[" + Pad(bar, cells, false) + "]"
	}
	bar := strings.Repeat("█", full)
	if rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return "▕" + Pad(bar, cells, false) + "▏"
}

// Dots is what stands for what was cut.
func (s Screen) Dots() string { return s.Own("…") }

// Cut cuts the end of a line that has more than some cells.
func (s Screen) Cut(line string, cells int) string {
	line = s.Shown(line)
	if Cells(line) <= cells {
		return line
	}
	head, _ := split(line, max(0, cells-Cells(s.Dots())))
	return strings.TrimRightFunc(wholeMarks(head), unicode.IsSpace) + s.Dots()
}

// CutPath cuts the middle of a path that has more than some cells: its last element says most, and then its first. The host of
// an address stays.
func (s Screen) CutPath(path string, cells int) string {
	if strings.Contains(path, "://") {
		return s.Cut(path, cells)
	}
	path = s.Shown(path)
	parts := strings.Split(path, "/")
	for Cells(path) > cells && len(parts) > 2 {
		parts = append(parts[:1:1], parts[2:]...)
		path = strings.Join(append([]string{parts[0], s.Dots()}, parts[1:]...), "/")
		if parts[0] == "" {
			path = s.Dots() + "/" + strings.Join(parts[1:], "/")
		}
	}
	return s.Cut(path, cells)
}

// CutText cuts a path as [Screen.CutPath] does, and another text at its end.
func (s Screen) CutText(text string, cells int) string {
	if strings.Contains(text, " ") {
		return s.Cut(text, cells)
	}
	return s.CutPath(text, cells)
}

// split splits an unpainted text after the grapheme clusters that fit some cells.
func split(text string, cells int) (head, rest string) {
	used := min(ascii(text[:min(len(text), cells+1)]), cells)
	if used > 0 && used < len(text) && text[used] >= utf8.RuneSelf {
		used-- // the next character may combine with it
	}
	head, rest = text[:used], text[used:]
	for state := -1; rest != ""; {
		cluster, next, width, nextState := uniseg.FirstGraphemeClusterInString(rest, state)
		if used += width; used > cells {
			break
		}
		head, rest, state = head+cluster, next, nextState
	}
	return head, rest
}

// wholeMarks returns the beginning of a line without a mark of package visible that goes on after it.
func wholeMarks(head string) string {
	if at := strings.LastIndex(head, "⟨"); at > 0 && !strings.Contains(head[at:], "⟩") {
		return head[:at]
	}
	return head
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
		if line == "" && !strings.Contains(word, "\x1b") {
			pieces := Fold(word, room)
			for _, piece := range pieces[:len(pieces)-1] {
				line = piece
				end()
			}
			word = pieces[len(pieces)-1]
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

// Message returns the lines of a message, whose symbol is in the gutter. All of its lines are ours: for a text from outside
// that may have several, see [Screen.Quoted].
func (s Screen) Message(of Symbol, text string) (lines []string) {
	first := s.Gutter(of)
	for line := range strings.SplitSeq(s.Shown(text), "\n") {
		lines = append(lines, s.prose(first, line)...)
		first = s.Gutter(None)
	}
	return lines
}

// prose is [Wrap] for a text that may end with a command to type. A command is not broken, so that it can be copied, also where
// it is wider than the screen.
func (s Screen) prose(first, text string) []string {
	if first == "" { // the text may come from outside
		lines := s.prose("  ", text)
		lines[0] = strings.TrimPrefix(lines[0], "  ")
		return lines
	}
	command := strings.LastIndex(text, ": cassidy ") + 2
	if command < 2 && strings.HasPrefix(text, "cassidy ") {
		command = 0
	} else if command < 2 {
		command = len(text)
	}
	if command == len(text) || strings.Contains(text[command:], "; ") || Cells(first)+Cells(text) <= s.Most() {
		return Wrap(first, text, s.Most())
	}
	lines, rest := []string{strings.TrimRight(first, " ")}, text[command:]
	if command > 0 {
		lines = Wrap(first, text[:command], s.Most())
	}
	switch last := &lines[len(lines)-1]; {
	case Cells(*last)+1+Cells(rest) <= s.Most():
		*last += " " + rest
	case Cells(first)+Cells(rest) <= s.Most():
		lines = append(lines, strings.Repeat(" ", Cells(first))+rest)
	default:
		lines = append(lines, "    "+rest)
	}
	return lines
}

// Head returns the lines of a title with something at the right, or below where it does not fit.
func (s Screen) Head(of Symbol, title, right string) []string {
	first := s.Gutter(of)
	room := s.Most() - Cells(first) - Cells(title) - Cells(right)
	switch {
	case s.Plain || room < 2:
		lines := Wrap(first, title, s.Most())
		if right != "" {
			lines = append(lines, Wrap(s.Gutter(None), right, s.Most())...)
		}
		return lines
	case right == "":
		return []string{first + title}
	}
	return []string{first + title + strings.Repeat(" ", room) + right}
}

// Fact returns the lines of a label and a text beside it, or below where there is little room. The text is folded, never cut.
func (s Screen) Fact(of Symbol, label, text string) []string {
	return s.Beside(of, s.Paint(Dim, label), text)
}

// Beside is [Screen.Fact] for a name that is read as much as its text.
func (s Screen) Beside(of Symbol, label, text string) []string {
	text = s.Shown(text)
	first := s.Gutter(of) + label + "  "
	if s.Plain {
		first = s.Gutter(of) + strings.TrimSpace(label) + ": "
	}
	if room := s.Most() - Cells(first); room < 20 && Cells(text) > room {
		return append([]string{strings.TrimRight(first, " ")}, Wrap("      ", text, s.Most())...)
	}
	return Wrap(first, text, s.Most())
}

// Names returns names, each with a text beside it that hangs there. The text is below the name if that is long, or the
// screen narrow. Names take some cells at least.
func (s Screen) Names(indent string, list [][2]string, least int) (lines []string) {
	width := least
	for _, x := range list {
		if n := Cells(x[0]); n <= maxName {
			width = max(width, n)
		}
	}
	beside := strings.Repeat(" ", Cells(indent)+width+2)
	for _, x := range list {
		name, text := x[0], x[1]
		switch {
		case s.Plain:
			lines = append(lines, Wrap(indent, name+": "+text, s.Most())...)
		case text == "":
			lines = append(lines, Wrap(indent, name, s.Most())...)
		case len(beside) > s.Most()/2:
			lines = append(append(lines, Wrap(indent, name, s.Most())...), Wrap(indent+"    ", text, s.Most())...)
		case Cells(name) > width:
			lines = append(append(lines, Wrap(indent, name, s.Most())...), Wrap(beside, text, s.Most())...)
		default:
			lines = append(lines, Wrap(indent+Pad(name, width, false)+"  ", text, s.Most())...)
		}
	}
	return lines
}

// repeats finds how often a mark of package visible counts.
var repeats = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` ×(\d+⟩)`) })

// Shown returns a visible text as the screen can show it. With ASCII only, the marks of package visible are between < and >, and
// what was cut ends with three dots. A text from outside that has these characters looks like a mark then; --json shows the
// difference.
func (s Screen) Shown(text string) string {
	if !s.ASCII || !strings.ContainsAny(text, "⟨⇥↵…") {
		return text
	}
	text = repeats().ReplaceAllString(text, " x$1")
	return strings.NewReplacer("⟨↵ ", "<", "⟨", "<", "⟩", ">", "⇥", ">", "↵", `\n`, "…", "...").Replace(text)
}

// Own returns a text of ours as the screen can show it: without typographic characters if only ASCII is shown.
func (s Screen) Own(text string) string {
	if !s.ASCII {
		return text
	}
	return strings.NewReplacer("…", "...", " · ", ", ", "·", ",", "—", "-", "–", "-", "→", "->", "×", "x", "−", "-", "•", "-").Replace(text)
}

// Numbered returns a line of a file after its number and a margin. A long line is folded.
func (s Screen) Numbered(n int, line string) (lines []string) {
	number := fmt.Sprintf("%5d ", n)
	for i, piece := range Fold(strings.ReplaceAll(line, "\t", "    "), s.Most()-Cells(number)-2) {
		if i > 0 {
			number = strings.Repeat(" ", Cells(number))
		}
		lines = append(lines, strings.TrimRight(s.Paint(Dim, number+s.Margin(i > 0))+" "+piece, " "))
	}
	return lines
}

// Prompt returns the line before an answer: what may be typed.
func (s Screen) Prompt(choices ...string) string {
	end := " › "
	if s.ASCII {
		end = " > "
	}
	var b strings.Builder
	used := 0
	for i, choice := range choices {
		switch n := Cells(s.Between() + choice); {
		case i == 0:
			used = Cells(choice)
		case used+n+Cells(end) > s.Most():
			b.WriteString("\n")
			used = Cells(choice)
		default:
			b.WriteString(s.Between())
			used += n
		}
		b.WriteString(choice)
	}
	return b.String() + end
}

// Between is what separates short texts on a line.
func (s Screen) Between() string { return s.Own(" · ") }

// Join joins the texts that are not empty.
func Join(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), between)
}

// Hint returns the lines that say what to type next.
func (s Screen) Hint(indent, text string) []string {
	end := "  "
	if s.Plain {
		end = ": "
	}
	return s.prose(indent+s.Paint(Bold, "try")+end, s.Shown(text))
}

// Excerpt returns a line of a file after a label, and carets below some of its characters, see [visible.Excerpt]. Plain, it
// has no carets: they say nothing without their place.
func (s Screen) Excerpt(label, line string, column, length int) []string {
	bar := " " + s.Paint(Dim, s.Margin(false)) + " "
	room, dots := max(8, s.Most()-Cells(label+bar)), s.Dots()
	text, carets := visible.Excerpt(line, column, length, room-2*(Cells(dots)-1))
	if rest, cut := strings.CutPrefix(text, "…"); cut && s.ASCII {
		text, carets = dots+rest, strings.Repeat(" ", Cells(dots)-1)+carets
	}
	if rest, cut := strings.CutSuffix(text, "…"); cut {
		text = rest + dots
	}
	lines := []string{s.Paint(Dim, label) + bar + text}
	if !s.Plain {
		lines = append(lines, strings.Repeat(" ", Cells(label))+bar+s.Paint(Bold, carets))
	}
	return lines
}

// Quoted is [Screen.Message] for a text that may come from outside: lines after its first are behind a margin, but for those
// of a list.
func (s Screen) Quoted(of Symbol, text string) (lines []string) {
	const item = "\n  - "
	first := s.Gutter(of)
	for part := range strings.SplitSeq(text, item) {
		line, rest, more := strings.Cut(part, "\n")
		lines = append(lines, s.prose(first, s.Shown(line))...)
		if more {
			lines = append(lines, s.Quote("  ", rest)...)
		}
		first = s.Gutter(None) + "- "
	}
	return lines
}

// Gutter returns what is before a line of ours: a symbol, or a word with a colon.
func (s Screen) Gutter(of Symbol) string {
	switch {
	case !s.Plain:
		return s.Mark(of) + strings.Repeat(" ", max(1, 2-Cells(s.Symbol(of))))
	case of == None:
		return ""
	}
	return s.Mark(of) + ": "
}

// Margin returns what is before each line of a text from outside, or before the rest of a line that was too long.
func (s Screen) Margin(rest bool) string {
	switch {
	case s.ASCII && rest:
		return ":"
	case s.ASCII:
		return "|"
	case rest:
		return "┊"
	}
	return "│"
}

// Quote returns a text from outside behind a margin. Long lines are folded, and nothing is cut.
func (s Screen) Quote(indent, text string) []string {
	return s.quote(indent, text, func(line string) string { return line })
}

// Changes is [Screen.Quote] for the lines of a diff.
func (s Screen) Changes(indent, text string) []string { return s.quote(indent, text, s.Change) }

// Change colours the sign of a line of a diff.
func (s Screen) Change(line string) string {
	switch {
	case strings.HasPrefix(line, "-"):
		return s.Paint(Red, "-") + line[1:]
	case strings.HasPrefix(line, "+"):
		return s.Paint(Green, "+") + line[1:]
	}
	return line
}

func (s Screen) quote(indent, text string, paint func(line string) string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		for i, piece := range Fold(strings.ReplaceAll(line, "\t", "    "), s.Most()-Cells(indent)-2) {
			if i == 0 {
				piece = paint(piece)
			}
			lines = append(lines, strings.TrimRight(indent+s.Paint(Dim, s.Margin(i > 0))+" "+piece, " "))
		}
	}
	return lines
}

// Fold breaks a line into pieces of at most some cells, where it fits: marks of package visible stay whole.
func Fold(line string, cells int) (pieces []string) {
	cells = max(cells, 1)
	for {
		head, rest := split(line, cells)
		if rest == "" || head == "" { // or a character that is wider than a line
			return append(pieces, line)
		}
		head = wholeMarks(head)
		rest = line[len(head):]
		pieces, line = append(pieces, head), rest
	}
}
