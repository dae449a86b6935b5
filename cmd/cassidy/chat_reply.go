package main

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
)

// A replyText lets through what a person is to read of a reply while it comes.
// What begins like a decision is kept back, with all that follows: only its end
// shows what it is. The words that end a task are left out. What was kept back
// and is the answer after all, [replyText.rest] gives.
type replyText struct {
	whole bool   // there are no tools to decide on: all is let through
	line  string // the beginning of a line, until it is known what it is
	state replyState
	fence string // that closes the code which is let through
	trim  string // what is left out before the answer begins
	space []byte // white space, which counts only if something follows
	shown strings.Builder
}

// maxMaybe is how long the beginning of a line may be, in bytes, until it must
// be clear what it is: no decision begins with more.
const maxMaybe = 256

type replyState int

const (
	lineStart replyState = iota // what the line is is not known yet
	inLine                      // it is for the reader
	kept                        // nothing that follows is, as far as is known
	atAnswer                    // the answer begins here
	inAnswer                    // all that follows is for the reader
)

// held reports whether the rest of the reply is kept back.
func (r *replyText) held() bool { return r.state == kept }

// add takes a piece of the reply and returns what can be shown.
func (r *replyText) add(piece string) string {
	var out strings.Builder
	for _, c := range ui.Printable(piece) {
		r.take(c, &out)
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

// show lets text through; white space waits for what follows it.
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

// judge looks at the beginning of a line, and lets it through or keeps it back
// once it is clear what it is.
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
	line := r.line // a lineMaybe that has become too long is for the reader, too
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

// inCode judges a line of a program that is let through: it is for the reader,
// and a whole line where it may close the program.
func (r *replyText) inCode() lineIs {
	if strings.Trim(r.line, " "+r.fence) == "" {
		return lineMaybe
	}
	return linePlain
}

// closes reports whether a line ends the code that these marks began.
func closes(line, marks string) bool {
	text := strings.TrimSpace(line)
	return strings.HasPrefix(text, marks) && strings.Trim(text, marks) == ""
}

// rest returns what is left to show of the answer.
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
	lineMaybe    lineIs = iota // more must come before it can be said
	linePlain                  // for the reader
	lineDecision               // what begins here may be a decision
	lineEnds                   // it says that the task is done; the answer follows
)

// endings are the words with which a model says that the answer follows.
var endings = []string{"TASK COMPLETE:", "TASK_COMPLETE:"}

// lineKind says what a line is, as far as its beginning tells.
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

// tagKind judges a line that begins with "<": calls are written in tags, of
// this or another vendor's.
func tagKind(text string) lineIs {
	if len(text) == 1 {
		return lineMaybe
	}
	if c := text[1]; c == '|' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' {
		return lineDecision
	}
	return linePlain
}

// fenceKind judges a line that may begin a block of code: one of JSON or XML may
// hold a decision; of one without a language the first character tells.
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

// fenceOf returns the marks with which a line begins a block of code, or "".
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " \t")
	for _, mark := range []string{"`", "~"} {
		if n := len(text) - len(strings.TrimLeft(text, mark)); n >= 3 {
			return text[:n]
		}
	}
	return ""
}
