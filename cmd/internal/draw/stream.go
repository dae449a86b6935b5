package draw

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/cassidy-run/cassidy/internal/markdown"
)

// A Stream draws Markdown while it arrives. Lines that nothing can change any more are written once. The one after them is
// written as it is so far, without its end, and erased when more is known: no other line of the terminal is touched. The lines
// are those of [Screen.Markdown], however the text is cut into pieces.
type Stream struct {
	Margin bool // the text is behind a margin

	screen Screen // as it was when the block began: its lines are not broken again
	text   string // of the blocks that are not written
	used   int    // the bytes of the line that arrives
	lines  int    // how many lines of them are
	begun  bool   // something is written
	gap    bool   // an empty line comes before the next one
	blank  bool   // it is the last one that is written
	draft  string // the line with the cursor, which is not final
	next   int    // the length of the text from which it is drawn again
}

// Begun reports whether there is a text that has not ended.
func (m *Stream) Begun() bool { return m.begun || m.text != "" }

// Add adds a piece of the text, and returns what to write on the terminal, as it is now. The piece must be visible already.
func (m *Stream) Add(now Screen, piece string) string {
	piece, m.used = markdown.Break(piece, m.used)
	if m.text += piece; len(m.text) < m.next {
		return ""
	}
	m.next = len(m.text) + min(len(m.text)*len(m.text)>>16, len(m.text)) // a long block is drawn less often
	return m.draw(now, false)
}

// End ends the text, and returns the rest to write. What is added after it is another text.
func (m *Stream) End(now Screen) string {
	out := m.draw(now, true)
	*m = Stream{Margin: m.Margin}
	return out
}

func (m *Stream) draw(now Screen, end bool) string {
	const erase = "\r\x1b[K"
	draft := m.draft
	out := m.redraw(now, end)
	if more, ok := strings.CutPrefix(out, draft); draft == "" || ok {
		return more // the line goes on
	}
	return erase + out
}

// redraw returns what to write in place of the line with the cursor, and after it.
func (m *Stream) redraw(now Screen, end bool) string {
	var b strings.Builder
	m.draft = ""
	space := func() {
		if m.gap {
			b.WriteString(strings.Join(m.margin(m.screen, []string{""}), "") + "\n")
			m.gap, m.blank = false, true
		}
	}
	put := func(lines []string) {
		for _, line := range lines {
			space()
			b.WriteString(line + "\n")
			m.lines, m.blank, m.begun = m.lines+1, false, true
		}
	}
	if m.lines == 0 {
		m.screen = now
	}
	sure := len(m.text)
	if !end {
		sure = settled(m.text)
	}
	if at := ended(m.text[:sure]); at > 0 {
		put(m.draws(m.text[:at])[m.lines:])
		m.text, m.lines, m.gap, m.screen, m.next = m.text[at:], 0, m.begun && !m.blank, now, 0
		sure -= at
	}
	if end {
		put(m.draws(m.text)[m.lines:])
		return b.String()
	}
	if now.Plain { // a paragraph at a time
		return b.String()
	}
	lines := m.draws(m.text[:sure])
	if !strings.HasSuffix(m.text[:sure], "\n\n") && len(lines) > 0 { // words may be added to the last one
		lines = lines[:len(lines)-1]
	}
	put(lines[min(m.lines, len(lines)):])
	if lines := m.draws(m.text); len(lines) > m.lines {
		space()
		m.draft = now.Cut(unpaint(lines[len(lines)-1], now.Most()), now.Most())
		b.WriteString(m.draft)
	}
	return b.String()
}

// draws returns the lines of a text.
func (m *Stream) draws(text string) []string {
	s := m.screen
	if m.Margin {
		s = s.Inside(2)
	}
	return m.margin(m.screen, s.Markdown(text))
}

// margin puts lines behind the margin, where long ones are folded.
func (m *Stream) margin(s Screen, lines []string) []string {
	if !m.Margin {
		return lines
	}
	return s.Behind("", lines)
}

// Behind puts drawn lines behind a margin. Long lines are folded, without their colours.
func (s Screen) Behind(indent string, lines []string) (behind []string) {
	room := s.Most() - Cells(indent) - 2
	for _, line := range lines {
		for i, piece := range foldPainted(line, room) {
			behind = append(behind, strings.TrimRight(indent+s.Paint(Dim, s.Margin(i > 0))+" "+piece, " "))
		}
	}
	return behind
}

func foldPainted(line string, cells int) []string {
	if Cells(line) <= cells {
		return []string{line}
	}
	return Fold(unpaint(line, cells), cells)
}

// unpaint removes the colours of a line that has more than some cells: such a line is cut.
func unpaint(line string, cells int) string {
	if Cells(line) <= cells {
		return line
	}
	var b strings.Builder
	for part := range unpainted(line) {
		b.WriteString(part)
	}
	return b.String()
}

// ended returns the length of the blocks at the beginning of a text to which nothing can be added.
func ended(source string) int {
	last := markdown.Parse([]byte(source)).LastChild()
	switch last.(type) {
	case nil:
		return 0
	case *ast.Paragraph, *ast.Heading, *ast.Blockquote, *ast.ThematicBreak, *east.Table:
		if strings.HasSuffix(source, "\n\n") {
			return len(source)
		}
	}
	if last.PreviousSibling() == nil {
		return 0
	}
	return start(source, last)
}

// start returns where the line begins with which a block begins.
func start(source string, block ast.Node) int {
	at := block.Pos()
	if table, ok := block.(*east.Table); ok {
		at = table.FirstChild().Pos()
	}
	return strings.LastIndexByte(source[:max(0, min(at, len(source)))], '\n') + 1
}

// begins are the characters with which the first words of a block begin.
const begins = " \t#>-*+_=~`|.)<0123456789"

// settled returns the length of the beginning of a text whose lines nothing can change that comes later, but for its last
// line, to which words may be added.
func settled(source string) int {
	at := strings.LastIndexByte(source, '\n') + 1
	line := source[at:]
	lead := line[:len(line)-len(strings.TrimLeft(line, begins))]
	switch {
	case markdown.IsDelimiter(line): // perhaps that below the head of a table
		for previous := at; at > 0; at = previous {
			if previous = strings.LastIndexByte(source[:at-1], '\n') + 1; !strings.Contains(source[previous:at], "|") {
				break
			}
		}
	case len(lead) == len(line), strings.ContainsAny(lead, "<"), strings.Contains(lead, "```"), strings.Contains(lead, "~~~"), strings.Contains(line, "|"):
	default:
		at = len(source)
	}
	source = source[:at]
	leaf := markdown.Parse([]byte(source))
	for leaf.LastChild() != nil && leaf.LastChild().Type() == ast.TypeBlock {
		if _, isTable := leaf.(*east.Table); isTable {
			return start(source, leaf)
		}
		leaf = leaf.LastChild()
	}
	switch leaf.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		return wholeWords(source, leaf, open(source, leaf))
	case *ast.FencedCodeBlock, *ast.CodeBlock, *ast.HTMLBlock:
		return strings.LastIndexByte(source, '\n') + 1
	}
	return at
}

// wholeWords returns the last position up to another one that is between words and in nothing that has an end, such as
// emphasis.
func wholeWords(source string, block ast.Node, at int) int {
	at = strings.LastIndexFunc(source[:at], unicode.IsSpace) + 1
	end := len(source)
	for n := block.LastChild(); n != nil; n = n.PreviousSibling() {
		begin := n.Pos()
		if t, ok := n.(*ast.Text); ok {
			begin = t.Segment.Start
		} else if begin < at && at < end {
			at = strings.LastIndexFunc(source[:max(0, begin)], unicode.IsSpace) + 1
		}
		end = begin
	}
	for strings.HasSuffix(source[:at], "\\\n") { // it breaks the line, unless the paragraph ends here
		at = strings.LastIndexFunc(source[:at-len("\\\n")], unicode.IsSpace) + 1
	}
	if line := strings.LastIndexByte(source[:at], '\n') + 1; strings.Trim(source[line:at], begins) == "" {
		return line // what the line is depends on its words
	}
	return at
}

// open returns where the first thing begins in a block that has no end yet, or the length of the text.
func open(source string, block ast.Node) int {
	for n := block.FirstChild(); n != nil; n = n.NextSibling() {
		if at := opens(source, n); at >= 0 {
			if _, isText := n.(*ast.Text); !isText {
				at = max(0, min(at, n.Pos()))
			}
			return at
		}
	}
	return len(source)
}

// opens returns where a character is in a node that may begin something, or -1.
func opens(source string, n ast.Node) int {
	if t, ok := n.(*ast.Text); ok {
		for i := t.Segment.Start; i < t.Segment.Stop; i++ {
			switch source[i] {
			case '\\':
				i++
			case '*', '_', '`', '[', '<', '~':
				if mayOpen(source, i) {
					return i
				}
			}
		}
		return -1
	}
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if at := opens(source, child); at >= 0 {
			return at
		}
	}
	return -1
}

// mayOpen reports whether a character that begins nothing so far may do so with what comes later.
func mayOpen(source string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(source[:at])
	after, _ := utf8.DecodeRuneInString(strings.TrimLeft(source[at:], source[at:at+1]))
	space := after != utf8.RuneError && unicode.IsSpace(after)
	switch source[at] {
	case '`':
		return true
	case '<':
		return !space && !unicode.IsDigit(after)
	case '_':
		return !space && !unicode.IsLetter(before) && !unicode.IsDigit(before)
	case '[':
		_, rest, closed := strings.Cut(source[at:], "]")
		return !closed || rest == "" || rest[0] == '('
	}
	return !space
}
