package prompt

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// guest returns untrusted text in a form that is safe between the sections of a prompt: it
// cannot begin a section, nor hide the following ones in a block of code that is not closed.
// Control characters are escaped, and nothing else is changed. The text can still mislead a
// model; the opening of the prompt tells it not to obey such text.
func guest(text string) string {
	// Some readers treat the first two as the end of a line, and ignore the last.
	text = strings.NewReplacer("\u2028", "\n", "\u2029", "\n", "\ufeff", "").Replace(text)
	text = quoteSections(value.Clean(strings.TrimSpace(text), math.MaxInt))
	var f codeLines
	for line := range strings.SplitSeq(text, "\n") {
		f.step(line)
	}
	if f.open() {
		text += "\n" + f.mark
	}
	return text
}

// ourSections are the headings of a prompt, and ourMarks the beginnings of the texts that a
// policy sends, in lower case. Other texts must not contain them.
var (
	ourSections = []string{"available tools", "tool usage format", "skills", "context", "user question"}
	ourMarks    = []string{"result (", "error (", "denied:", "skill loaded:", "skill file:"}
)

// quoteSections puts "> " before each line that looks like the beginning of a section. Other
// lines stay as they are, since a model copies from them.
func quoteSections(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if poses(line) {
			b.WriteString("> ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// poses reports whether a line looks like the beginning of a section.
func poses(line string) bool {
	line = strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
	if line == "" || strings.IndexByte("#rReEdDsS", line[0]) < 0 {
		return false
	}
	if len(line) > 200 {
		line = line[:200] // marks are shorter
	}
	folded := strings.ToLower(strings.Join(strings.Fields(line), " "))
	if heading := strings.TrimLeft(folded, "# "); len(heading) < len(folded) {
		if slices.Contains(ourSections, strings.TrimRight(heading, "#: ")) {
			return true
		}
	}
	return slices.ContainsFunc(ourMarks, func(mark string) bool { return strings.HasPrefix(folded, mark) })
}

// A codeLines finds the blocks of code in the lines of a Markdown text.
type codeLines struct {
	mark string // the backquotes or tildes that opened the block, or ""
}

func (f *codeLines) open() bool { return f.mark != "" }

// step reads the next line, and reports whether it is in a block or is one of its fences.
func (f *codeLines) step(line string) bool {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 || body == "" || body[0] != '`' && body[0] != '~' {
		return f.open()
	}
	body = strings.TrimRight(body, " \t\r\n")
	rest := strings.TrimLeft(body, body[:1])
	mark := body[:len(body)-len(rest)]
	switch {
	case len(mark) < 3:
		return f.open()
	case !f.open():
		if mark[0] == '`' && strings.Contains(rest, "`") {
			return false // inline code
		}
		f.mark = mark
	case mark[0] == f.mark[0] && len(mark) >= len(f.mark) && rest == "":
		f.mark = ""
	}
	return true
}

// codeSpan writes a text as inline code. The text may contain backquotes.
func codeSpan(text string) string {
	longest, run := 0, 0
	for i := range len(text) {
		run++
		if text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", longest+1)
	if longest > 0 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}

// CutMiddle replaces the middle of a text of more than limit characters by a note. It cuts
// between lines if they are short. note gets the number of omitted characters.
func CutMiddle(text string, limit int, note func(left int) string) string {
	if len(text) <= limit {
		return text
	}
	total := utf8.RuneCountInString(text)
	if total <= limit {
		return text
	}
	head := prose.FirstRunes(text, limit*2/3)
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i]
	}
	tail := lastRunes(text, limit/3)
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	left := total - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return strings.Join(nonEmpty(head, note(left), tail), "\n")
}

func lastRunes(text string, n int) string {
	i := len(text)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text[i:]
}
