package chat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
)

// A replyText selects the text to show of a reply while it arrives. Text that begins like
// a decision is held back, with all that follows, since only its end shows what it is.
// The words that end a task are removed. If the text that was held back is part of the
// answer, [replyText.rest] returns it.
type replyText struct {
	whole bool   // all text is shown: there are no tools
	line  string // the beginning of a line of unknown kind
	state replyState
	fence string // the marks that end the code block
	trim  string // characters to remove before the answer
	space []byte // white space, shown only if text follows
	last  rune   // the last character that came, and what waits for the next one
	tail  string
	shown strings.Builder
}

// maxMaybe is the length in bytes after which a line of unknown kind is shown: the
// beginning of a decision is shorter.
const maxMaybe = 256

type replyState int

const (
	lineStart replyState = iota // in a line of unknown kind
	inLine                      // in a line that is shown
	kept                        // in text that is held back
	atAnswer                    // before the answer
	inAnswer                    // in the answer, which is shown
)

// held reports whether the rest of the reply is held back.
func (r *replyText) held() bool { return r.state == kept }

// add adds a piece of the reply, and returns the text to show.
func (r *replyText) add(piece string) string {
	var out strings.Builder
	text := r.tail + piece
	ready := strings.TrimRightFunc(text, ui.JoinsNext)
	r.tail = text[len(ready):]
	for _, c := range ui.PrintableAfter(r.last, ready) {
		r.take(c, &out)
	}
	if ready != "" {
		r.last, _ = utf8.DecodeLastRuneInString(ready)
	}
	return out.String()
}

func (r *replyText) take(c rune, out *strings.Builder) {
	switch {
	case r.state == kept:
	case r.state == atAnswer && strings.ContainsRune(r.trim, c):
	case r.whole || r.state >= atAnswer:
		r.state = inAnswer
		r.show(string(c), out)
	case r.state == inLine:
		r.show(string(c), out)
		if c == '\n' {
			r.state = lineStart
		}
	default:
		r.line += string(c)
		r.judge(out)
	}
}

// show shows text. White space waits for the text that follows.
func (r *replyText) show(text string, out *strings.Builder) {
	for _, c := range text {
		if unicode.IsSpace(c) {
			if r.shown.Len() > 0 {
				r.space = utf8.AppendRune(r.space, c)
			}
			continue
		}
		text := string(r.space) + string(c)
		out.WriteString(text)
		r.shown.WriteString(text)
		r.space = r.space[:0]
	}
}

// judge shows the beginning of a line or holds it back, once its kind is known.
func (r *replyText) judge(out *strings.Builder) {
	is := lineKind(r.line)
	if r.fence != "" {
		is = r.inCode()
	}
	if is == lineMaybe && len(r.line) < maxMaybe {
		return
	}
	switch is {
	case lineDecision:
		r.state = kept
		return
	case lineEnds:
		r.trim = " \t\n"
		if marks := strings.TrimSpace(r.line); marks[0] == '*' || marks[0] == '_' {
			r.trim += marks[:1] // **TASK COMPLETE:** in bold
		}
		r.line, r.state = "", atAnswer
		return
	}
	line := r.line // also of a lineMaybe that is too long
	r.line, r.state = "", inLine
	if marks := fenceOf(line); r.fence == "" && marks != "" {
		r.fence = marks
	} else if r.fence != "" && closes(line, r.fence) {
		r.fence = ""
	}
	r.show(line, out)
	if strings.HasSuffix(line, "\n") {
		r.state = lineStart
	}
}

// inCode returns the kind of a line of a code block: it is shown, as a complete line if it
// may end the block.
func (r *replyText) inCode() lineIs {
	if strings.Trim(r.line, " "+r.fence) == "" {
		return lineMaybe
	}
	return linePlain
}

// closes reports whether a line ends the code block that these marks began.
func closes(line, marks string) bool {
	text := strings.TrimSpace(line)
	return strings.HasPrefix(text, marks) && strings.Trim(text, marks) == ""
}

// rest returns the part of the answer that was not shown.
func (r *replyText) rest(answer string) string {
	answer = strings.TrimSpace(ui.Printable(answer))
	shown := r.shown.String()
	if strings.HasSuffix(shown, answer) {
		return ""
	}
	if after, ok := strings.CutPrefix(answer, shown); ok {
		return after
	}
	return answer
}

type lineIs int

const (
	lineMaybe    lineIs = iota // more text is needed to know
	linePlain                  // is shown
	lineDecision               // may begin a decision
	lineEnds                   // ends the task: the answer follows
)

// endings are the words before the answer.
var endings = []string{"TASK COMPLETE:", "TASK_COMPLETE:"}

// lineKind returns the kind of a line, given its beginning.
func lineKind(line string) lineIs {
	text := strings.TrimLeft(line, " \t")
	whole := strings.HasSuffix(text, "\n")
	switch {
	case text == "":
		return lineMaybe
	case text[0] == '{', strings.HasPrefix(text, "[{"):
		return lineDecision
	case text[0] == '<':
		return tagKind(text)
	case text[0] == '`' || text[0] == '~':
		return fenceKind(text)
	case text == "[":
		return lineMaybe
	}
	start := strings.ToUpper(strings.TrimLeft(text, "*_# "))
	for _, ending := range endings {
		if start == ending {
			return lineEnds
		}
		if !whole && strings.HasPrefix(ending, start) {
			return lineMaybe
		}
	}
	return linePlain
}

// tagKind returns the kind of a line that begins with "<": some vendors' calls are tags.
func tagKind(text string) lineIs {
	if len(text) == 1 {
		return lineMaybe
	}
	if c := text[1]; c == '|' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' {
		return lineDecision
	}
	return linePlain
}

// fenceKind returns the kind of a line that may begin a code block. A block of JSON or
// XML may be a decision. Without a language, its first character decides.
func fenceKind(text string) lineIs {
	marks := fenceOf(text)
	first, after, whole := strings.Cut(text, "\n")
	if !whole {
		if marks != "" || strings.Trim(text, text[:1]) == "" {
			return lineMaybe
		}
		return linePlain
	}
	if marks == "" {
		return linePlain
	}
	language := strings.ToLower(strings.TrimSpace(strings.TrimLeft(first, marks[:1])))
	if language != "" {
		if slices.Contains([]string{"json", "xml", "tool_decision", "tool_call", "tool_code"}, language) {
			return lineDecision
		}
		return linePlain
	}
	after = strings.TrimSpace(after)
	switch {
	case after == "":
		return lineMaybe
	case strings.ContainsAny(after[:1], "{<["):
		return lineDecision
	}
	return linePlain
}

// fenceOf returns the marks with which a line begins a code block, or "".
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " \t")
	for _, mark := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, mark)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}
