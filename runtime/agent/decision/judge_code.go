package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// In the format [Code] a block of code is a call of execute_code with that program. If there are
// several, it is the first one that is marked as Starlark, or the first one: later blocks often
// show what the model expects, or assume a result. Not a call are
//
//   - a block in another language, or one that begins with a call in another format,
//   - a block after "TASK COMPLETE:", which is part of the answer,
//   - a block that the words before it call an example, or say that it is not to be run,
//   - a block that the output of a tool contains, with its fence or as lines; a single line only
//     if the words before it quote somebody.

// maxBlocks is the limit of blocks of code that are read.
const maxBlocks = 32

var (
	// starTags mark a block as Starlark. Blocks with codeTags may be Starlark.
	starTags = []string{"starlark", "star"}
	codeTags = []string{"", "python", "py", "python3", "code"}
)

const (
	fixedBlocks = "took the first of several blocks of code"
	fixedBlock  = "closed the block of code"
)

// code reads the block of code that is a reply's decision, if there is one.
func (s *reader) code() (d Decision, ok bool) {
	if s.o.Format != Code || s.tools.Find(ProgramTool) == nil {
		return d, false
	}
	var blocks []prose.Fence
	for _, b := range s.codeBlocks() {
		if s.isProgram(&b) {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 {
		return d, false
	}
	b := blocks[max(0, slices.IndexFunc(blocks, func(b prose.Fence) bool { return slices.Contains(starTags, b.Tag) }))]
	d = Decision{Kind: ToolCall, Action: ProgramTool, Status: Continue, Format: Code,
		Input: value.NewDict("code", prose.Unindented(s.text[b.Start:b.End], b.Indent)), Reasoning: strings.TrimSpace(s.spoken(b.Mark))}
	if len(blocks) > 1 {
		d.Repaired = append(d.Repaired, fixedBlocks)
	}
	if !b.Closed {
		d.Repaired = append(d.Repaired, fixedBlock)
	}
	if len(s.thoughts) > 0 {
		d.Repaired = append(d.Repaired, fixedThoughts)
	}
	return d, true
}

// spoken returns the text between the last thinking and a position.
func (s *reader) spoken(end int) string {
	from := 0
	for _, t := range s.thoughts {
		if t[1] <= end {
			from = t[1]
		}
	}
	return s.text[from:end]
}

// isProgram reports whether a block is meant to be run.
func (s *reader) isProgram(b *prose.Fence) bool {
	first := prose.SkipSpace(s.text, b.Start)
	if !slices.Contains(starTags, b.Tag) && !slices.Contains(codeTags, b.Tag) || first >= b.End {
		return false
	}
	if slices.ContainsFunc(s.found, func(c candidate) bool { return c.start == first && c.rank != bare }) {
		return false
	}
	if s.wasHeard(s.text[b.Mark:b.End]) {
		return false
	}
	v := &view{s: s}
	sentence, above := introduction(s.between(candidate{start: b.Mark}, 0))
	for _, said := range append(above, sentence) {
		v.introduce(said)
		if !v.does && (s.words.Has(v.clause, phrases.Example) || s.words.Has(v.clause, phrases.Manual) || v.refused() == shown) {
			return false
		}
	}
	quoting := s.words.Quotes(v.clause) && !v.does
	// A single line may be in the error of an earlier program.
	code := strings.TrimSpace(s.text[b.Start:b.End])
	return !quoting && !strings.Contains(code, "\n") || !s.wasHeard(code)
}

// codeBlocks returns the blocks of a reply before "TASK COMPLETE", without those in thinking.
func (s *reader) codeBlocks() []prose.Fence {
	var blocks []prose.Fence
	thoughts := s.thoughts
	for at := 0; at < len(s.text) && len(blocks) < maxBlocks; {
		for len(thoughts) > 0 && thoughts[0][1] <= at {
			thoughts = thoughts[1:]
		}
		if len(thoughts) > 0 && thoughts[0][0] <= at {
			at = thoughts[0][1]
			continue
		}
		i := prose.SkipBlank(s.text, at)
		if _, ends := prose.TaskComplete(s.text, i); ends {
			break
		}
		if b, ok := prose.FenceAt(s.text, at, i); ok {
			blocks = append(blocks, b)
			at = b.End
			if !b.Closed {
				break
			}
		}
		at = min(prose.LineEnd(s.text, at)+1, len(s.text))
	}
	return blocks
}
