package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// guest makes a text that others wrote fit to stand among our sections: it
// cannot begin one, nor hide those that follow in a block of code left open.
// Nothing else of it changes but control characters. What it says may still
// mislead a model: that it is not to be obeyed is said in the opening.
func guest(text string) string {
	// Some readers take these for the end of a line, and the last for nothing.
	text = strings.NewReplacer("\u2028", "\n", "\u2029", "\n", "\ufeff", "").Replace(text)
	text = quoteSections(value.Clean(strings.TrimSpace(text), len(text)))
	var f codeLines
	for line := range strings.SplitSeq(text, "\n") {
		f.step(line)
	}
	if f.open() {
		text += "\n" + f.mark
	}
	return text
}

// ourSections are the headings that only a prompt writes, and ourMarks how the
// texts begin that only a policy sends, all in lower case.
var (
	ourSections = []string{"available tools", "tool usage format", "skills", "context", "user question"}
	ourMarks    = []string{"result (", "error (", "denied:", "skill loaded:"}
)

// quoteSections puts "> " before each line that would begin a section of ours.
// All other lines are left as they are, since a model copies from them.
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

// poses reports whether a line reads like the beginning of a section of ours.
func poses(line string) bool {
	line = strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
	if line == "" || strings.IndexByte("#rReEdDsS", line[0]) < 0 {
		return false
	}
	if len(line) > 200 {
		line = line[:200] // no mark is longer
	}
	folded := strings.ToLower(strings.Join(strings.Fields(line), " "))
	if heading := strings.TrimLeft(folded, "# "); len(heading) < len(folded) {
		heading = strings.TrimRight(heading, "#: ")
		for _, s := range ourSections {
			if heading == s {
				return true
			}
		}
	}
	for _, m := range ourMarks {
		if strings.HasPrefix(folded, m) {
			return true
		}
	}
	return false
}

// A codeLines tells which lines of a Markdown text are in a block of code.
type codeLines struct {
	mark string // the backquotes or tildes that opened the block, or ""
}

func (f *codeLines) open() bool { return f.mark != "" }

// step reads the next line, and reports whether it is in a block or its edge.
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
			return false // code within a line
		}
		f.mark = mark
	case mark[0] == f.mark[0] && len(mark) >= len(f.mark) && rest == "":
		f.mark = ""
	}
	return true
}

// codeSpan writes a text as code within a line, whatever backquotes it has.
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

// CutMiddle keeps the beginning and the end of a text that has more than limit
// characters, whole lines where they are short, and puts a note between them.
// The note is told how many characters are left out.
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
