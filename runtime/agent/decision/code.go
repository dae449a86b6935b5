package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// In the format [Code] a block of code is the decision: it is run as the program
// of a call of execute_code. Of several the first is, of those that say that they
// are Starlark if there are any: a model shows in the others what it expects, or
// goes on as if it knew the result. No decision is
//
//   - a block in another language, or one that begins with a call in another format,
//   - one behind "TASK COMPLETE:", which is a part of the answer,
//   - one that the words before it call an example,
//   - one that stands word for word in what a tool told the model: as a block, or
//     its lines, or where the words before it quote somebody its only line.

// maxBlocks is how many blocks of code of a reply are looked at.
const maxBlocks = 32

var (
	// starTags mark a block as Starlark for certain, codeTags perhaps.
	starTags = []string{"starlark", "star"}
	codeTags = []string{"", "python", "py", "python3", "code"}
)

const (
	mendedBlocks = "took the first of several blocks of code"
	mendedBlock  = "closed the block of code"
)

// A codeBlock is a fenced block, without its fences.
type codeBlock struct {
	mark, start, end int
	tag              string // the language, in lower case
	indent           int    // of the fence
	closed           bool
}

// code reads the block of code that is a reply's decision, if there is one.
func (s *reader) code() (d Decision, ok bool) {
	if t := s.lookup(ProgramTool); s.o.Format != Code || t == nil || !IsProgramTool(t) {
		return d, false
	}
	var blocks []codeBlock
	for _, b := range s.codeBlocks() {
		if s.isProgram(&b) {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 {
		return d, false
	}
	i := max(0, slices.IndexFunc(blocks, func(b codeBlock) bool { return slices.Contains(starTags, b.tag) }))
	b := blocks[i]
	if !b.closed && s.cut {
		return Decision{Kind: Invalid, Status: Continue, Error: s.problem(&fault{at: b.end, what: "the reply was cut off at its longest, before the program ended"})}, true
	}
	d = Decision{Kind: ToolCall, Action: ProgramTool, Status: Continue, Format: Code,
		Input: value.NewDict("code", unindented(s.text[b.start:b.end], b.indent)), Reasoning: strings.TrimSpace(s.spoken(b.mark))}
	if len(blocks) > 1 {
		d.Repaired = append(d.Repaired, mendedBlocks)
	}
	if !b.closed {
		d.Repaired = append(d.Repaired, mendedBlock)
	}
	if len(s.thoughts) > 0 {
		d.Repaired = append(d.Repaired, mendedThoughts)
	}
	return d, true
}

// spoken returns what the reply says up to a place, without what was thought.
func (s *reader) spoken(end int) string {
	from := 0
	for _, t := range s.thoughts {
		if t[1] <= end {
			from = t[1]
		}
	}
	return s.text[from:end]
}

// isProgram reports whether a block is one that is meant to be run.
func (s *reader) isProgram(b *codeBlock) bool {
	first := skipSpace(s.text, b.start)
	if !slices.Contains(starTags, b.tag) && !slices.Contains(codeTags, b.tag) || first >= b.end {
		return false
	}
	if slices.ContainsFunc(s.found, func(c candidate) bool { return c.start == first && c.rank != bare }) {
		return false
	}
	said := s.spoken(b.mark)
	sentence := prose.LastSentence(strings.ToLower(said[max(0, len(said)-wordsWindow):]))
	quoting := hasAny(sentence, quotingWords) && !saysItDoes(sentence)
	if hasAny(sentence, plainExamples) && !saysItDoes(sentence) || s.wasHeard(s.text[b.mark:b.end]) {
		return false
	}
	// A single line may stand in the error of the program that it was in before.
	code := strings.TrimSpace(s.text[b.start:b.end])
	return !quoting && !strings.Contains(code, "\n") || !s.wasHeard(code)
}

// codeBlocks returns the blocks of a reply that stand before "TASK COMPLETE" and
// outside of what was thought.
func (s *reader) codeBlocks() []codeBlock {
	var blocks []codeBlock
	thoughts := s.thoughts
	for at := 0; at < len(s.text) && len(blocks) < maxBlocks; {
		for len(thoughts) > 0 && thoughts[0][1] <= at {
			thoughts = thoughts[1:]
		}
		if len(thoughts) > 0 && thoughts[0][0] <= at {
			at = thoughts[0][1]
			continue
		}
		i := skipBlank(s.text, at)
		if _, ends := taskComplete(s.text, i); ends {
			break
		}
		if b, ok := s.codeBlock(at, i); ok {
			blocks = append(blocks, b)
			at = b.end
			if !b.closed {
				break
			}
		}
		at = min(prose.LineEnd(s.text, at)+1, len(s.text))
	}
	return blocks
}

// codeBlock reads the block whose fence is the line at a place, behind white space.
func (s *reader) codeBlock(line, at int) (b codeBlock, ok bool) {
	fence := fenceOf(s.text[at:])
	if len(fence) < 3 {
		return b, false
	}
	end := prose.LineEnd(s.text, at)
	info := strings.TrimSpace(s.text[at+len(fence) : end])
	if strings.Contains(info, "`") {
		return b, false // code within a line
	}
	tag, _, _ := strings.Cut(strings.ToLower(info), " ")
	b = codeBlock{mark: at, start: min(end+1, len(s.text)), tag: strings.Trim(tag, "{.}"), indent: at - line}
	b.end, b.closed = blockEnd(s.text, b.start, fence)
	return b, true
}

// fenceOf returns the backquotes or tildes that a text begins with.
func fenceOf(text string) string {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	return text[:len(text)-len(strings.TrimLeft(text, text[:1]))]
}

// blockEnd returns where a block of code ends: at a fence like its own, but not
// inside of a string in three quotes, unless no other follows.
func blockEnd(text string, from int, fence string) (end int, closed bool) {
	inString, quote := -1, ""
	for at := from; at < len(text); {
		next := prose.LineEnd(text, at)
		line := strings.TrimSpace(text[at:next])
		if len(line) >= len(fence) && line == fenceOf(line) && line[0] == fence[0] {
			if quote == "" {
				return at, true
			}
			if inString < 0 {
				inString = at
			}
		}
		quote = openString(text[at:next], quote)
		at = next + 1
	}
	if inString >= 0 {
		return inString, true
	}
	return len(text), false
}

// openString returns the three quotes of the string that is open at the end of a
// line of code, or "". quote is what was open at its start.
func openString(line, quote string) string {
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\':
			i += 2
		case quote != "" && strings.HasPrefix(line[i:], quote):
			i += len(quote)
			quote = ""
		case quote != "":
			i++
		case c == '#':
			return ""
		case c == '"' || c == '\'':
			quote = line[i : i+1]
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(line[i:], triple) {
				quote = triple
			}
			i += len(quote)
		default:
			i++
		}
	}
	if len(quote) == 1 {
		return "" // such a string ends with its line
	}
	return quote
}

// unindented takes so many columns of white space from the lines of a text.
func unindented(text string, columns int) string {
	if columns == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		n := 0
		for n < columns && n < len(line) && (line[n] == ' ' || line[n] == '\t') {
			n++
		}
		b.WriteString(line[n:])
	}
	return b.String()
}
