package decision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// The judge decides which candidates are meant as calls. It applies the rules in the order of
// [rules] until one decides: first by the position of the candidate, then by the words around it.
// If no rule decides, the candidate is meant.

// A rule is the name of a rule, or of a row of a table, in testdata/earns.txt.
type rule string

// A verdict is the result of a rule for a candidate.
type verdict uint8

const (
	undecided verdict = iota
	meant
	shown // an example, a quotation, or not done
)

// rules are the rules of the judge.
var rules = []struct {
	name  rule
	judge func(*view) verdict
}{
	{"heard from a tool", (*view).heard},
	{"marked as quoted", (*view).marked},
	{"indented as code", (*view).indented},
	{"among other text in a fence", (*view).fenced},
	{"part of the answer", (*view).answered},
	{"part of a sentence", (*view).embedded},
	{"inside an element", (*view).enclosed},
	{"bare: asked about or explained afterwards", (*view).followed},
	{"shown above a label", (*view).labelled},
	{"depends on the user", (*view).conditional},
	{"done now", (*view).done},
	{"leave is asked", (*view).asked},
	{"refused", (*view).refused},
	{"an example", (*view).exemplified},
	{"written by somebody else", (*view).quoted},
	{"written by somebody else, above", (*view).quotedAbove},
	{"introduced, but not done", (*view).introduced},
	{"bare: only considered", (*view).considered},
}

const (
	// wordsWindow is the length of the text before and after a call in which words are
	// searched, in bytes.
	wordsWindow = 400
	// maxAfter is the limit of the text after a bare call, in bytes, unless it announces the
	// next step.
	maxAfter = 40
	// codeIndent is the smallest indent of a block of code, in columns.
	codeIndent = 4
	// minHeard is the smallest length of a call that is searched in the outputs of tools, in
	// bytes without white space.
	minHeard = 20
	// maxHeard is the length of the outputs of tools that are searched, in bytes from the end.
	maxHeard = 1 << 20
)

// A view is a candidate with the text around it. The candidates of a group are one.
type view struct {
	candidate
	calls    []candidate
	s        *reader
	from     int      // the end of the candidate before it
	next     int      // the start of the candidate after it
	head     string   // the text before it on its line
	tail     string   // the text after it on its line
	before   string   // the words before it, see prose.Plain
	sentence string   // the last sentence before it, see introduction
	above    []string // what is above it, if it is a label
	clause   string   // the last clause of the sentence
	after    string   // the words after it, see prose.Plain
	does     bool     // the clause says that the call is made
	denies   bool     // the clause says that something else is done
}

// view returns the candidates of a group with the text between their neighbours.
func (s *reader) view(calls []candidate, from, next int) *view {
	c := calls[0]
	c.start, c.end = c.open, calls[len(calls)-1].end
	v := &view{candidate: c, calls: calls, s: s, from: from, next: next, after: s.after(c, next)}
	between := s.between(c, from)
	v.before = s.before(between)
	v.head, v.tail = s.lineHead(c, from), strings.TrimRight(s.text[c.end:prose.LineEnd(s.text, c.end)], " \t\r")
	if from > 0 && strings.TrimSpace(v.head) == ";" { // between two calls
		v.head = ""
	}
	sentence, above := introduction(between)
	v.introduce(sentence)
	v.above = above
	return v
}

func (v *view) introduce(sentence string) {
	v.sentence, v.clause = sentence, prose.LastClause(sentence)
	v.does, v.denies = v.s.words.Does(v.clause)
}

// meant returns the candidates of a rank that are meant. A candidate is also shown if it follows a
// shown one without words between them.
func (s *reader) meant(r rank) []candidate {
	var list []candidate
	from, isShown := 0, false
	for i := 0; i < len(s.found); {
		group := s.groupAt(i)
		next := len(s.text)
		if i += len(group); i < len(s.found) {
			next = s.found[i].open
		}
		calls := slices.DeleteFunc(slices.Clone(group), func(c candidate) bool { return c.rank != r })
		if len(calls) > 0 {
			v := s.view(calls, from, next)
			isShown = isShown && (v.sentence == "" || s.words.Has(v.sentence, phrases.Joining) && !strings.Contains(v.sentence, " ")) || s.judge(v) == shown
			if !isShown {
				if f := s.dropped(calls); f != nil {
					calls[0].err = cmp.Or(calls[0].err, f)
				}
				list = append(list, calls...)
			}
		}
		from = group[len(group)-1].end
	}
	return list
}

// groupAt returns the candidates in the tag of the i-th candidate, which is the first of them.
func (s *reader) groupAt(i int) []candidate {
	end := i + 1
	for s.found[i].group > 0 && end < len(s.found) && s.found[end].group == s.found[i].group {
		end++
	}
	return s.found[i:end]
}

// judge applies the rules to a candidate.
func (s *reader) judge(v *view) verdict {
	for _, r := range rules {
		if s.off == r.name {
			continue
		}
		if what := r.judge(v); what != undecided {
			return what
		}
	}
	return meant
}

func shownIf(is bool) verdict {
	if is {
		return shown
	}
	return undecided
}

// complete reports whether the sentence before ends, so that the call is not its object.
func (v *view) complete() bool {
	return v.sentence == "" || strings.HasSuffix(v.sentence, ".") || strings.HasSuffix(v.sentence, "!")
}

// heard: the output of a tool contains the call.
func (v *view) heard() verdict {
	return shownIf(len(v.s.o.Heard) > 0 && slices.ContainsFunc(v.calls, func(c candidate) bool { return v.s.wasHeard(v.s.text[c.start:c.end]) }))
}

// marked: the line begins like a line of a file, a table, a diff, a log, a terminal or a list, or
// the call is in quotation marks.
func (v *view) marked() verdict {
	mark := strings.TrimSpace(v.head)
	if mark == "" {
		return undecided
	}
	switch last := mark[len(mark)-1]; {
	case isItem(mark):
		return shownIf(v.rank == bare || v.inList())
	case last == '"' || last == '\'':
		return shownIf(strings.HasPrefix(v.tail, mark[len(mark)-1:]))
	case strings.IndexByte("-+", mark[0]) >= 0 && len(v.head) == 1, strings.IndexByte(">|+$", mark[0]) >= 0:
		return shown
	case strings.Trim(mark, "#") == "", strings.HasPrefix(mark, "//"), strings.HasPrefix(mark, "<!--"):
		return shown
	}
	// A line number, possibly after the name of a file, or a time.
	words := strings.ContainsAny(mark, " \t") && strings.ContainsAny(mark, "abcdefghijklmnopqrstuvwxyz")
	return shownIf(strings.ContainsAny(mark, "0123456789") && !words)
}

// isItem reports whether a mark is the bullet or the number of an item of a list.
func isItem(mark string) bool {
	return mark == "-" || mark == "*" || strings.ContainsAny(mark, "0123456789") && strings.Trim(mark, "0123456789.()") == "" && strings.ContainsAny(mark, ".)")
}

// inList reports whether the line before or after the candidate is of the same list or diff.
func (v *view) inList() bool {
	isMark := func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && strings.IndexByte("-+*@0123456789", line[0]) >= 0 && !strings.ContainsAny(line, "{<")
	}
	text := v.s.text
	line := max(0, v.start-prose.Column(text, v.start)-1)
	end := prose.LineEnd(text, v.end)
	return isMark(text[line-prose.Column(text, line):line]) || end < len(text) && isMark(text[end+1:prose.LineEnd(text, end+1)])
}

// indented: the call is in an indented block of code.
func (v *view) indented() verdict {
	if v.fence > 0 || strings.TrimSpace(v.head) != "" || strings.TrimSpace(v.s.text[max(min(v.from, v.start), min(v.s.replyStart(), v.start)):v.start]) == "" {
		return undecided
	}
	return shownIf(v.s.isIndented(v.head))
}

// isIndented reports whether a line with this head is indented as a block of code is.
func (s *reader) isIndented(head string) bool {
	return prose.IndentOf(head) >= codeIndent && prose.IndentOf(head)-s.leastIndent() >= codeIndent
}

// leastIndent returns the common indent of all lines of the reply. It is computed once.
func (s *reader) leastIndent() int {
	if s.indent == 0 {
		least := -1
		for line := range strings.Lines(s.without(0)) {
			if n := prose.IndentOf(line); strings.TrimSpace(line) != "" && (least < 0 || n < least) {
				least = n
			}
		}
		s.indent = max(least, 0) + 1
	}
	return s.indent - 1
}

// fenced: the fence also contains other text, like that of a file. A bare call must fill its fence,
// whose language must be one for data.
func (v *view) fenced() verdict {
	if v.fence == 0 {
		return undecided
	}
	f := &v.s.fences[v.fence-1]
	if v.rank == bare {
		return shownIf(!slices.ContainsFunc(v.s.words.Of(phrases.DataFence), func(info string) bool {
			return f.info == info || info != "" && strings.HasPrefix(f.info, info)
		}) || v.s.othersIn(v.fence, true))
	}
	if v.err != nil || f.mark == v.s.replyStart() {
		return undecided
	}
	return shownIf(f.info == "diff" || v.s.othersIn(v.fence, false))
}

// othersIn reports whether a fence contains other text beside its candidates. Comments, and lines
// that announce what is done, are ignored unless strict.
func (s *reader) othersIn(n int, strict bool) bool {
	f := &s.fences[n-1]
	if f.judged && f.strict == strict {
		return f.others
	}
	f.judged, f.strict, f.others = true, strict, false
	from := f.start
	for _, c := range s.found {
		if c.fence == n {
			f.others = f.others || s.isOther(s.text[from:max(from, c.open)], strict)
			from = max(from, c.end)
		}
	}
	f.others = f.others || (strict || f.end < len(s.text)) && s.isOther(s.text[from:max(from, f.end)], strict)
	return f.others
}

func (s *reader) isOther(text string, strict bool) bool {
	for line := range strings.Lines(text) {
		if line = strings.Trim(line, " \t\r\n;,)"); strict {
			if line != "" {
				return true
			}
		} else if does, _ := s.words.Does(prose.LastClause(prose.Plain(line))); strings.ContainsAny(line, "abcdefghijklmnopqrstuvwxyz") && !does && line[0] != '#' && !strings.HasPrefix(line, "//") {
			return true
		}
	}
	return false
}

// answered: the text after "TASK COMPLETE" is the answer, except a separate block: a fence, or lines
// after an empty one, without an introduction and without text after it.
func (v *view) answered() verdict {
	s := v.s
	if s.complete == 0 || v.start < s.complete {
		return undecided
	}
	start, head := v.start, v.head
	if v.fence > 0 {
		start = max(s.fences[v.fence-1].mark, min(v.from, start))
		head = s.text[max(start-prose.Column(s.text, start), min(v.from, start)):start]
	}
	lead := s.text[min(start, max(v.from, s.answer)):start]
	gap := lead[len(strings.TrimRight(lead, " \t\r\n")):]
	said := prose.Plain(lead)
	does, _ := s.words.Does(prose.LastClause(strings.TrimSpace(prose.LastSentence(said))))
	goesOn, _ := s.words.Does(prose.FirstSentence(v.after))
	_, again := prose.TaskComplete(v.after, 0)
	switch {
	case strings.TrimSpace(head) != "" || v.rank == bare:
		return shown
	case strings.Count(gap, "\n") < 2 && (v.fence == 0 || gap == ""), strings.HasSuffix(said, ":") && !does:
		return shown
	}
	return shownIf(v.after != "" && !again && !goesOn)
}

// embedded: the call is part of a sentence, as in "... is how a call is written" or "I see ... in
// the file", or of a question.
func (v *view) embedded() verdict {
	head, tail := strings.Trim(v.head, " \t`"), strings.Trim(v.tail, " \t`;}])")
	if v.fence > 0 {
		return undecided
	}
	goesOn := tail != "" && (strings.HasPrefix(v.tail, " is ") || 'a' <= tail[0] && tail[0] <= 'z' && (v.rank != ours || head != ""))
	ends := head == "" || strings.IndexByte(":.!>", head[len(head)-1]) >= 0 || isItem(head)
	if head != "" && (!ends || goesOn) && v.rank != bare {
		does, _ := v.s.words.Does(prose.LastClause(prose.Plain(prose.LastSentence(head))))
		return shownIf(!does || strings.HasPrefix(tail, "?"))
	}
	if v.rank == bare && tail != "" && (head != "" || tail[0] < 'A' || tail[0] > 'Z' && tail[0] != '{') {
		return shownIf(!strings.HasPrefix(tail, "<"))
	}
	return shownIf(goesOn || !ends || strings.HasPrefix(tail, "?"))
}

// enclosed: the call is in an element that is not for calls.
func (v *view) enclosed() verdict {
	for at := strings.LastIndexByte(v.before, '<'); at >= 0; at = strings.LastIndexByte(v.before[:at], '<') {
		end := strings.IndexByte(v.before[at:], '>')
		if behind := at + end + 1; end < 2 || behind < len(v.before) && (at > 0 && v.before[at-1] != '\n' || v.before[behind] != '\n') {
			continue
		}
		name := v.before[at+1 : at+end]
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == "" && !strings.Contains(v.before[at:], "</"+name+">") {
			return shown
		}
	}
	return undecided
}

// followed: a bare call is followed by a question, by the rest of a sentence, or by more than a
// short remark.
func (v *view) followed() verdict {
	if v.rank != bare {
		return undecided
	}
	does, _ := v.s.words.Does(prose.FirstSentence(v.after))
	i := prose.SkipSpace(v.s.text, v.end)
	return shownIf(i < v.next && 'a' <= v.s.text[i] && v.s.text[i] <= 'z' || strings.Contains(v.after, "?") || len(v.after) > maxAfter && !does)
}

// labelled: the sentence above a label says that the call is not made, an example, or from somebody
// else.
func (v *view) labelled() verdict {
	if v.does && strings.HasSuffix(v.sentence, ":") {
		return undecided
	}
	return shownIf(slices.ContainsFunc(v.above, func(sentence string) bool {
		a := &view{candidate: v.candidate, s: v.s}
		a.introduce(sentence)
		return !a.does && (a.refused() == shown || a.exemplified() == shown || a.quoted() == shown || !a.complete() && v.s.words.Reports(sentence))
	}))
}

// conditional: the call depends on a decision of the user.
func (v *view) conditional() verdict { return shownIf(v.s.words.Has(v.sentence, phrases.Condition)) }

// done: the last clause says that the call is made, as in "it does not exist, so I will create it".
func (v *view) done() verdict {
	if v.does {
		return meant
	}
	return shownIf(v.denies && !v.complete())
}

// asked: a question before or after it asks for permission.
func (v *view) asked() verdict {
	asks := func(sentence string) bool {
		return strings.HasSuffix(sentence, "?") && (v.rank == bare || v.s.words.Has(sentence, phrases.Asking))
	}
	return shownIf(asks(v.sentence) || asks(strings.TrimSpace(prose.FirstSentence(v.after))))
}

// refused: the sentence before or after it says that the call is not made.
func (v *view) refused() verdict {
	first := prose.FirstSentence(v.after)
	if v.s.words.Negates(v.sentence) && !v.complete() || v.s.words.Forbids(v.sentence) {
		return shown
	}
	return shownIf(v.s.words.Refuses(v.sentence) && (!v.complete() || v.s.words.Has(v.sentence, phrases.Pointing)) || v.s.words.Refuses(first) && v.s.words.Has(first, phrases.Pointing))
}

// exemplified: the sentence before or after it says that it is an example.
func (v *view) exemplified() verdict {
	return shownIf(v.s.words.Has(v.sentence, phrases.Example) || !v.complete() && v.s.words.Has(v.sentence, phrases.Manual) || v.s.words.Has(prose.FirstSentence(v.after), phrases.Example))
}

// quoted: the introduction names another author or a source.
func (v *view) quoted() verdict {
	return shownIf(!v.complete() && v.s.words.Quotes(v.clause) || v.s.words.Has(v.before, phrases.Suspect))
}

// introduced: a sentence with a colon introduces it, without a word for a call. Unless the call is
// bare, a single word such as "So:" is ignored.
func (v *view) introduced() verdict {
	if v.before == "assistant:" || !strings.HasSuffix(v.sentence, ":") {
		return undecided
	}
	return shownIf((!v.s.words.Has(v.sentence, phrases.Heading) || v.s.words.Reports(v.sentence)) && (v.rank == bare || strings.Contains(v.sentence, " ") && !v.s.words.Has(v.sentence, phrases.User)))
}

// considered: the words before a bare call only consider it as a possibility.
func (v *view) considered() verdict {
	return shownIf(v.rank == bare && v.s.words.Has(v.before, phrases.Hedge))
}

// quotedAbove: a line with a colon introduces a quotation, and the call is in the same paragraph or
// followed by other text.
func (v *view) quotedAbove() verdict {
	i := strings.LastIndex(v.before, ":\n")
	if i < 0 || strings.TrimSpace(v.before[i+1:]) == "" {
		return undecided
	}
	lead := prose.LastClause(strings.TrimSpace(prose.LastSentence(v.before[:i+1])))
	does, _ := v.s.words.Does(lead)
	return shownIf(!does && v.s.words.Quotes(lead) && (v.after != "" || !strings.Contains(v.before[i:], "\n\n") || strings.HasPrefix(lead, "result (")))
}

// lineHead returns the text before a candidate on its line, after the candidate before it.
func (s *reader) lineHead(c candidate, from int) string {
	start := max(c.start-prose.Column(s.text, c.start), min(from, c.start))
	if c.fence > 0 {
		start = max(start, min(s.fences[c.fence-1].start, c.start))
	}
	for _, t := range s.thoughts {
		if t[1] <= c.start {
			start = max(start, t[1])
		}
	}
	return s.text[start:c.start]
}

// before returns the last words of a text between two candidates, see prose.Plain.
func (s *reader) before(between string) string {
	between = strings.Trim(between, "` \t\r\n")
	text := strings.Trim(prose.Plain(between[max(0, len(between)-wordsWindow):]), "` \t\r\n")
	for {
		i := max(strings.LastIndexByte(text, '<'), 0)
		if m, ok := markAt(text, i); !ok || !s.beginsCall(m) || m.End < len(text) {
			return text
		}
		text = strings.TrimSpace(text[:i])
	}
}

// after returns the words after a candidate, see prose.Plain.
func (s *reader) after(c candidate, next int) string {
	from := s.closingTag(c.end)
	if next = min(next, from+wordsWindow); from >= next {
		return ""
	}
	return prose.Plain(strings.TrimLeft(s.text[from:next], "` \t\r\n;}])"))
}

// wasHeard reports whether the output of a tool contains a text. White space, line numbers and the
// escapes of JSON are ignored.
func (s *reader) wasHeard(text string) bool {
	if s.heard == "" {
		all := strings.Join(s.o.Heard, "\n\x00\n")
		s.heard = "\x00" + prose.Squeeze(all[max(0, len(all)-maxHeard):])
	}
	text = prose.Squeeze(text)
	return len(text) >= minHeard && strings.Contains(s.heard, text)
}
