package draw

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/cassidy-run/cassidy/internal/markdown"
)

// Markdown returns the lines of a text in Markdown. Links show where they lead, HTML and images are text, and code keeps its
// lines as they are, however long they are.
func (s Screen) Markdown(source string) []string {
	source, _ = markdown.Break(source, 0)
	p := page{Screen: s, source: []byte(source)}
	p.blocks(markdown.Parse(p.source), "")
	return p.lines
}

// A page is Markdown while it is drawn.
type page struct {
	Screen
	source []byte
	lines  []string
}

// blocks draws the blocks in a node, with an empty line between them.
func (p *page) blocks(in ast.Node, indent string) {
	first := true
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		before := len(p.lines)
		if !first && apart(n) {
			p.lines = append(p.lines, strings.TrimRight(indent, " "))
		}
		at := len(p.lines)
		if p.block(n, indent); len(p.lines) == at {
			p.lines = p.lines[:before]
			continue
		}
		first = false
	}
}

// narrow cuts the indent of what is nested so deep that no room for text would be left.
func (p *page) narrow(indent string) string {
	if room := max(2, p.Most()/2); len(indent) > room {
		indent, _ = split(indent, room)
	}
	return indent
}

// apart reports whether there is an empty line before a block: in lists where its author has written one.
func apart(n ast.Node) bool {
	switch n.Parent().(type) {
	case *ast.List, *ast.ListItem:
		return n.HasBlankPreviousLines()
	}
	return true
}

func (p *page) block(n ast.Node, indent string) {
	switch n := n.(type) {
	case *ast.Heading:
		p.wrap(indent, p.inline(n, Bold))
	case *ast.List:
		p.list(n, indent)
	case *ast.Blockquote:
		mark := "▏ "
		if p.ASCII {
			mark = "| "
		}
		p.blocks(n, p.narrow(indent+mark))
	case *ast.FencedCodeBlock:
		if n.Info != nil {
			p.lines = append(p.lines, indent+"    "+p.Paint(Dim, string(n.Info.Value(p.source))))
		}
		p.code(n, indent, string(n.Language(p.source)) == "diff")
	case *ast.CodeBlock:
		p.code(n, indent, false)
	case *ast.ThematicBreak:
		p.lines = append(p.lines, indent+p.Paint(Dim, strings.Repeat(p.Symbol(Rule), max(1, min(20, p.Most()-Cells(indent))))))
	case *ast.HTMLBlock:
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			p.wrap(indent, string(line.Value(p.source)))
		}
		if n.HasClosure() {
			p.wrap(indent, string(n.ClosureLine.Value(p.source)))
		}
	case *east.Table:
		p.table(n, indent)
	default: // paragraphs, and texts in tight lists
		for line := range strings.SplitSeq(p.inline(n, ""), "\n") {
			p.wrap(indent, line)
		}
	}
}

// wrap draws a line of words, where the lines after the first have the same indent.
func (p *page) wrap(indent, line string) {
	for i, text := range Wrap("", line, max(1, p.Most()-Cells(indent))) {
		if i > 0 {
			indent = hang(indent)
		}
		p.lines = append(p.lines, strings.TrimRight(indent+text, " "))
	}
}

// hang returns the indent of the lines after the first: the marks of lists are only on that, and those of quotes on all.
func hang(indent string) string {
	var b strings.Builder
	for _, r := range indent {
		if r != '▏' && r != '|' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (p *page) list(n *ast.List, indent string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := p.Own("• ")
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		if item != n.FirstChild() && apart(item) {
			p.lines = append(p.lines, "")
		}
		first := len(p.lines)
		inner := hang(indent) + strings.Repeat(" ", Cells(mark))
		if narrow := p.narrow(inner); narrow != inner {
			inner, mark = narrow, ""
		}
		p.blocks(item, inner)
		if len(p.lines) == first {
			p.lines = append(p.lines, inner)
		}
		p.lines[first] = strings.TrimRight(indent+mark+strings.TrimPrefix(p.lines[first], inner), " ")
	}
}

// code draws code, a line as it is. In a diff, what is added and removed has a colour.
func (p *page) code(n ast.Node, indent string, diff bool) {
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		line := strings.TrimRight(strings.ReplaceAll(string(segment.Value(p.source)), "\t", "    "), "\r\n")
		if diff {
			line = p.Change(line)
		}
		p.lines = append(p.lines, strings.TrimRight(indent+"    "+line, " "))
	}
}

func (p *page) table(n *east.Table, indent string) {
	t := &Table{AllRows: true, AllColumns: true}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			c, _ := cell.(*east.TableCell)
			text := strings.ReplaceAll(p.inline(cell, ""), "\n", " ")
			if _, isHead := row.(*east.TableHeader); isHead {
				t.Columns = append(t.Columns, Column{Name: text, Right: c.Alignment == east.AlignRight})
			}
			cells = append(cells, text)
		}
		if _, isHead := row.(*east.TableHeader); isHead {
			continue
		}
		for len(cells) < len(t.Columns) {
			cells = append(cells, "")
		}
		t.Rows = append(t.Rows, cells[:len(t.Columns)])
	}
	if p.Width > 0 && t.width()+Cells(indent) >= p.Width { // a text that somebody has written is not folded, and not cut
		p.lines = append(p.lines, p.records(t, indent)...)
		return
	}
	p.lines = append(p.lines, p.Table(t, indent)...)
}

// inline returns the text in a block. Each word has its own colour, since lines are broken between words.
func (p *page) inline(in ast.Node, code string) string {
	var b strings.Builder
	put := func(text string) {
		if code == "" {
			b.WriteString(text)
			return
		}
		for i, word := range strings.Split(text, " ") {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(p.Paint(code, word))
		}
	}
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			put(markdown.Literal(n.Value(p.source)))
			switch {
			case n.HardLineBreak():
				b.WriteByte('\n')
			case n.SoftLineBreak():
				b.WriteByte(' ')
			}
		case *ast.String:
			put(string(n.Value))
		case *ast.CodeSpan:
			put("`" + p.verbatim(n) + "`")
		case *ast.Emphasis:
			inner := code
			if n.Level > 1 {
				inner = Bold
			}
			b.WriteString(p.inline(n, inner))
		case *ast.Link:
			p.link(&b, p.inline(n, code), n.Destination, n.Title)
		case *ast.Image:
			p.link(&b, "image: "+p.inline(n, code), n.Destination, n.Title)
		case *ast.AutoLink:
			put(string(n.URL(p.source)))
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				segment := n.Segments.At(i)
				put(string(segment.Value(p.source)))
			}
		case *east.TaskCheckBox:
			put(map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked])
		default:
			b.WriteString(p.inline(n, code))
		}
	}
	return b.String()
}

// verbatim returns the text of code.
func (p *page) verbatim(in ast.Node) string {
	var b strings.Builder
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			b.WriteString(strings.ReplaceAll(string(t.Value(p.source)), "\n", " "))
		}
	}
	return b.String()
}

// link writes the text of a link, its title, and where it leads.
func (p *page) link(b *strings.Builder, text string, to, title []byte) {
	b.WriteString(text)
	if len(title) > 0 {
		b.WriteString(", " + string(title))
	}
	if len(to) > 0 && string(to) != text {
		b.WriteString(" (" + string(to) + ")")
	}
}
