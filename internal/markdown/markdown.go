// Package markdown reads texts of models and tools in Markdown, so that a terminal and a page of the web take
// them for the same.
package markdown

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// MaxLine is how many bytes of a line are read as Markdown: the time for it grows faster than the line.
const MaxLine = 8 << 10

// Break returns a text in which the rest of a line that is too long is a paragraph of its own. The first line goes on after
// some bytes, and the last one has some.
func Break(text string, used int) (string, int) {
	var b strings.Builder
	begin := 0
	for i, r := range text {
		size := utf8.RuneLen(r)
		switch {
		case r == '\n':
			used = 0
			continue
		case used+size > MaxLine:
			b.WriteString(text[begin:i] + "\n\n")
			begin, used = i, 0
		}
		used += size
	}
	if begin == 0 {
		return text, used
	}
	return b.String() + text[begin:], used
}

// Parse reads Markdown. What comes later never changes what a text is, because an answer is shown while it arrives: a line
// of hyphens makes no heading of the lines before it, and no link leads to where another line says, which also would not be
// shown.
func Parse(source []byte) ast.Node {
	blocks := slices.DeleteFunc(parser.DefaultBlockParsers(), func(v util.PrioritizedValue) bool { return v.Priority == setextPriority })
	p := parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200)))
	m := goldmark.New(goldmark.WithParser(p))
	extension.Strikethrough.Extend(m)
	extension.TaskList.Extend(m)
	return p.Parse(text.NewReader(source))
}

// setextPriority is that of the parser of headings with a line below them.
const setextPriority = 100

// tables makes tables of paragraphs, but not of those whose head has no "|".
type tables struct{ parser.ParagraphTransformer }

func (t tables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	head := ""
	for i := range node.Lines().Len() {
		segment := node.Lines().At(i)
		line := string(segment.Value(reader.Source()))
		if i > 0 && IsDelimiter(line) && !strings.Contains(head, "|") {
			return
		}
		head = line
	}
	t.ParagraphTransformer.Transform(node, reader, pc)
}

// IsDelimiter reports whether a line may be that below the head of a table, or its beginning.
func IsDelimiter(line string) bool { return strings.Trim(line, "|-:> \t\n") == "" }

// Literal returns the characters that a text stands for. Numbers of characters stay as they are written: they could be those
// of characters that nobody sees.
func Literal(text []byte) string {
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`).Replace(string(util.UnescapePunctuations(text)))
}
