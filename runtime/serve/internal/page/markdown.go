package page

import (
	"html/template"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/cassidy-run/cassidy/internal/markdown"
	"github.com/cassidy-run/cassidy/internal/visible"
)

// The bounds of a text in Markdown. What is longer or deeper is shown as it is.
const (
	maxMarkdown      = 256 << 10
	maxMarkdownDepth = 24
)

// Markdown returns the HTML of a text of a model in Markdown. HTML in it stays text, links show their host,
// and pictures are never loaded.
func Markdown(source string) template.HTML {
	w := &markdownWriter{}
	w.b.WriteString(`<div class="md">`)
	if len(source) > maxMarkdown {
		w.b.WriteString(`<pre>`)
		w.b.WriteString(string(lines(source)))
		w.b.WriteString(`</pre>`)
	} else {
		source, _ = markdown.Break(source, 0)
		w.source = []byte(source)
		w.blocks(markdown.Parse(w.source), 0)
	}
	w.b.WriteString(`</div>`)
	return template.HTML(w.b.String()) // its texts passed the escaper, and its elements are ours
}

// A markdownWriter writes HTML. Only literals of this file are written as they are.
type markdownWriter struct {
	b       strings.Builder
	source  []byte
	linking bool // inside a link
}

// text writes untrusted text, with one space where it begins or ends with white space.
func (w *markdownWriter) text(s string) {
	const blank = " \t\n"
	core := strings.Trim(s, blank)
	if core == "" {
		if s != "" {
			w.b.WriteByte(' ')
		}
		return
	}
	if strings.ContainsAny(s[:1], blank) {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(string(spans(visible.Spans(core))))
	if strings.ContainsAny(s[len(s)-1:], blank) {
		w.b.WriteByte(' ')
	}
}

func (w *markdownWriter) blocks(in ast.Node, depth int) {
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		w.block(n, depth+1)
	}
}

// in writes an element with what write writes. The tag is a literal.
func (w *markdownWriter) in(tag string, write func()) {
	w.b.WriteString("<" + tag + ">")
	write()
	name, _, _ := strings.Cut(tag, " ")
	w.b.WriteString("</" + name + ">")
}

func (w *markdownWriter) block(n ast.Node, depth int) {
	if depth > maxMarkdownDepth {
		w.in("p", func() { w.text("…") })
		return
	}
	switch n := n.(type) {
	case *ast.Heading:
		w.in("h"+strconv.Itoa(min(n.Level+2, 6)), func() { w.inline(n, depth) })
	case *ast.List:
		w.list(n, depth)
	case *ast.Blockquote:
		w.in("blockquote", func() { w.blocks(n, depth) })
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		w.in(`pre class="code" tabindex="0"`, func() { w.b.WriteString(string(lines(w.linesOf(n)))) })
	case *ast.HTMLBlock:
		text := w.linesOf(n)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(w.source))
		}
		w.in("p", func() { w.b.WriteString(string(lines(strings.TrimRight(text, "\n")))) })
	case *ast.ThematicBreak:
		w.b.WriteString("<hr>")
	case *east.Table:
		w.table(n, depth)
	case *ast.TextBlock:
		w.inline(n, depth)
	default:
		w.paragraph(n, depth)
	}
}

func (w *markdownWriter) linesOf(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(w.source))
	}
	return b.String()
}

func (w *markdownWriter) list(n *ast.List, depth int) {
	tag := "ul"
	if n.IsOrdered() {
		tag = "ol"
		if n.Start != 1 {
			tag = `ol start="` + strconv.Itoa(n.Start) + `"`
		}
	}
	w.in(tag, func() {
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			w.in("li", func() { w.blocks(item, depth) })
		}
	})
}

func (w *markdownWriter) table(n *east.Table, depth int) {
	w.b.WriteString(`<div class="scroll" tabindex="0"><table class="data">`)
	body := false
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		_, isHead := row.(*east.TableHeader)
		cell := "td"
		switch {
		case isHead:
			w.b.WriteString("<thead>")
			cell = `th scope="col"`
		case !body:
			w.b.WriteString("<tbody>")
			body = true
		}
		w.in("tr", func() {
			for c := row.FirstChild(); c != nil; c = c.NextSibling() {
				tag := cell
				if c, ok := c.(*east.TableCell); ok && c.Alignment == east.AlignRight {
					tag += ` class="r"`
				}
				w.in(tag, func() { w.inline(c, depth) })
			}
		})
		if isHead {
			w.b.WriteString("</thead>")
		}
	}
	if body {
		w.b.WriteString("</tbody>")
	}
	w.b.WriteString("</table></div>")
}

// paragraph writes a paragraph. Its pictures stand between its parts, because they have more than text.
func (w *markdownWriter) paragraph(n ast.Node, depth int) {
	open := false
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if picture, ok := c.(*ast.Image); ok {
			if open {
				w.b.WriteString("</p>")
				open = false
			}
			w.picture(picture)
			continue
		}
		if t, ok := c.(*ast.Text); ok && !open && strings.TrimSpace(string(t.Value(w.source))) == "" {
			continue
		}
		if !open {
			w.b.WriteString("<p>")
			open = true
		}
		c = w.span(c, depth)
	}
	if open {
		w.b.WriteString("</p>")
	}
}

// picture says which picture is not loaded, and where it would be from.
func (w *markdownWriter) picture(n *ast.Image) {
	address := string(n.Destination)
	w.b.WriteString(`<div class="blocked"><svg class="i" aria-hidden="true"><use href="#i-off"/></svg><span>Picture `)
	if alt := w.plain(n); alt != "" {
		w.b.WriteString("“")
		w.text(alt)
		w.b.WriteString("” ")
	}
	if host := hostOf(address); host != "" {
		w.b.WriteString("from <b>")
		w.text(host)
		w.b.WriteString("</b> ")
	}
	w.b.WriteString(`not loaded</span>`)
	if address != "" {
		w.b.WriteString(`<details><summary>Address</summary><code>`)
		w.text(visible.Line(cut(address, 2000)))
		w.b.WriteString(`</code></details>`)
	}
	w.b.WriteString(`</div>`)
}

// cut returns the beginning of a text of at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// plain returns the text in a node, without its form.
func (w *markdownWriter) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.WriteString(markdown.Literal(t.Value(w.source)))
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func (w *markdownWriter) inline(in ast.Node, depth int) {
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		n = w.span(n, depth+1)
	}
}

// run writes texts that follow each other, which may be an address together, and returns the last one.
func (w *markdownWriter) run(t *ast.Text) ast.Node {
	var b strings.Builder
	for {
		b.WriteString(markdown.Literal(t.Value(w.source)))
		next, ok := t.NextSibling().(*ast.Text)
		if !ok || t.HardLineBreak() || t.SoftLineBreak() {
			break
		}
		t = next
	}
	w.linked(b.String())
	switch {
	case t.HardLineBreak():
		w.b.WriteString("<br>")
	case t.SoftLineBreak():
		w.b.WriteByte('\n')
	}
	return t
}

// span writes a part of a line, and returns the last node of it.
func (w *markdownWriter) span(n ast.Node, depth int) ast.Node {
	if depth > maxMarkdownDepth {
		w.text(w.plain(n))
		return n
	}
	if t, ok := n.(*ast.Text); ok {
		return w.run(t)
	}
	w.element(n, depth)
	return n
}

func (w *markdownWriter) element(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		w.in("code", func() { w.text(strings.ReplaceAll(w.verbatim(n), "\n", " ")) })
	case *ast.Emphasis:
		tag := "em"
		if n.Level > 1 {
			tag = "strong"
		}
		w.in(tag, func() { w.inline(n, depth) })
	case *east.Strikethrough:
		w.in("s", func() { w.inline(n, depth) })
	case *ast.Link:
		w.link(string(n.Destination), w.plain(n), func() { w.inline(n, depth) })
	case *ast.AutoLink:
		address := string(n.URL(w.source))
		w.link(address, address, func() { w.text(address) })
	case *ast.Image:
		w.text("[picture " + strings.TrimSpace(w.plain(n)+" "+hostOf(string(n.Destination))) + ", not loaded]")
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			w.text(string(segment.Value(w.source)))
		}
	case *east.TaskCheckBox:
		w.text(map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked])
	default:
		w.inline(n, depth)
	}
}

func (w *markdownWriter) verbatim(in ast.Node) string {
	var b strings.Builder
	for n := in.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok {
			b.Write(t.Value(w.source))
		}
	}
	return b.String()
}

// addresses matches the addresses in a text.
var addresses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s<>"'` + "`" + `\\]+`) })

// linked writes a text, in which addresses are links.
func (w *markdownWriter) linked(s string) {
	if w.linking || !strings.Contains(s, "://") {
		w.text(s)
		return
	}
	at := 0
	for _, m := range addresses().FindAllStringIndex(s, -1) {
		address := strings.TrimRight(s[m[0]:m[1]], ".,;:!?)]}*_~")
		if strings.Contains(address, "(") && strings.HasPrefix(s[m[0]+len(address):], ")") {
			address += ")"
		}
		w.text(s[at:m[0]])
		w.link(address, address, func() { w.text(address) })
		at = m[0] + len(address)
	}
	w.text(s[at:])
}

// link writes a link with its host. An address that no browser should open is text.
func (w *markdownWriter) link(address, label string, inner func()) {
	if w.linking {
		inner()
		return
	}
	w.linking = true
	defer func() { w.linking = false }()
	u, err := url.Parse(address)
	host := hostOf(address)
	if strings.TrimSpace(label) == address {
		host = ""
	}
	if err != nil || u.Scheme == "mailto" && u.Opaque == "" || u.Scheme != "mailto" && hostOf(address) == "" {
		inner()
		if address != "" && strings.TrimSpace(label) != address {
			w.text(" (" + visible.Line(cut(address, 500)) + ")")
		}
		return
	}
	w.b.WriteString(`<a href="` + template.HTMLEscapeString(u.String()) + `" rel="noreferrer noopener nofollow" target="_blank">`)
	inner()
	w.b.WriteString(`</a>`)
	if u.Scheme == "mailto" && strings.TrimSpace(label) != u.Opaque {
		host = u.Opaque
	}
	if host != "" {
		w.b.WriteString(` <span class="host">(`)
		w.text(host)
		w.b.WriteString(`)</span>`)
	}
}

// hostOf returns the host of an address of the web, or "".
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Host
}
