package text

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// HTML returns the module html, which extracts the text of pages.
func HTML() tool.Module {
	return row.Pure(tool.Module{
		Name: "html",
		Doc:  "Web pages.",
		Funcs: []tool.Func{{
			Name: "text",
			Doc: "Convert a page to readable text. Headings, lists, links and code become Markdown, and a row of a table is a line with | between its cells. Everything else becomes plain lines. " +
				"Scripts, styles and pictures without a description are omitted. So is text that the page hides from its readers with an attribute, such as hidden or style=\"display:none\", which a last line then says. Invalid HTML is read as in browsers.",
			Params: []tool.Param{
				tool.Required("html", tool.TypeString, "The page, or a part of one."),
				tool.Optional("url", tool.TypeString, "", "The URL of the page, to resolve links. Without it, only absolute links are shown."),
			},
			Returns: "the text; the first line is the title of the page as a heading, if the page has a title",
			Do:      row.Do(htmlText),
		}},
	})
}

// An htmlReader reads a page tag by tag. It builds no tree, so that nesting costs nothing.
type htmlReader struct {
	base *url.URL
	out  row.Builder

	breaks  int    // the line breaks before the next piece
	space   bool   // or a space before it
	skip    string // the element that is left out, or ""
	depth   int    // how many elements of that name are open
	holders int    // and how many open lists or tables in it can hold others
	pre     int    // open elements whose white space counts
	lists   []htmlList
	items   []int // of each ol of the page: how many items it has; nil if none counts down
	ols     int   // how many there were so far
	tables  htmlTables
	hides   bool // what is left out would be text, but is hidden
	code    bool // a script in what is hidden is open
	hid     bool // such text was left out
	title   strings.Builder
	titled  bool   // in the title of the page
	href    string // of the open link, as in the page; or ""
	link    string // the target of the open link
	linked  bool   // the text of the open link has begun
}

func htmlText(a *value.Dict) (value.Value, error) {
	r := &htmlReader{}
	if len(a.Text("url")) > row.MaxURL {
		return nil, row.Invalid("argument 'url' is longer than %d KB", row.MaxURL>>10)
	}
	if base, err := url.Parse(a.Text("url")); err == nil && base.Host != "" {
		r.base = base
	}
	page := a.Text("html")
	if strings.Contains(strings.ToLower(page), "reversed") {
		r.items = htmlItems(page)
	}
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken && !r.out.Full; kind = z.Next() {
		switch kind {
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			r.start(t.Data, t.Attr, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(string(name))
		}
	}
	r.closeLink()
	if r.pre > 0 {
		r.endFence()
	}
	if r.hid {
		r.tables = htmlTables{}
		r.brk(2)
		r.put("[hidden text left out]")
	}
	v, err := r.out.Text()
	if title := strings.Join(strings.Fields(strings.ToValidUTF8(r.title.String(), "\ufffd")), " "); err == nil && title != "" {
		return strings.TrimSpace("# " + title + "\n\n" + v.(string)), nil
	}
	return v, err
}

// text adds the text between two tags.
func (r *htmlReader) text(s string) {
	s = strings.ToValidUTF8(s, "\ufffd")
	switch {
	case r.titled:
		r.title.WriteString(s)
	case r.skip != "":
		r.hid = r.hid || r.hides && !r.code && strings.TrimSpace(s) != ""
	case r.pre > 0:
		if r.breaks > 0 {
			s = strings.TrimPrefix(s, "\n")
		}
		r.put(s)
	default:
		for i, word := range strings.FieldsFunc(s, htmlIsSpace) {
			r.space = r.space || i > 0 || htmlIsSpace(rune(s[0]))
			if r.tables.inCell() {
				word = strings.ReplaceAll(word, "|", `\|`)
			}
			r.put(word)
		}
		r.space = r.space || s != "" && htmlIsSpace(rune(s[len(s)-1]))
	}
}

func htmlIsSpace(c rune) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// put writes a piece after the pending line breaks or space.
func (r *htmlReader) put(s string) {
	switch {
	case s == "":
		return
	case r.out.Len() == 0:
	case r.breaks > 0:
		r.out.Repeat("\n", min(r.breaks, 2))
	case r.space:
		r.out.Add(" ")
	}
	r.breaks, r.space = 0, false
	if r.href != "" && !r.linked {
		r.link, r.href = r.target(r.href), "" // only for links with a text, as it takes time
		if r.linked = r.link != ""; r.linked {
			r.out.Add("[")
		}
	}
	r.out.Add(s)
	r.tables.empty = false
}

// brk begins a new line, or with 2 a new paragraph; with 0 it does nothing. It keeps the row of a
// table on one line, but for a first cell, which can be a whole page.
func (r *htmlReader) brk(n int) {
	switch in := &r.tables; {
	case n <= 0 || in.inCell() && in.empty:
	case in.inCell() && in.top().last > 0:
		r.space = true
	default:
		r.breaks, r.space = max(r.breaks, n), false
	}
}

func (r *htmlReader) start(name string, attrs []html.Attribute, closed bool) {
	if name == "ol" {
		r.ols++
	}
	if r.skip != "" {
		r.code = name == "script" || name == "style"
		starts, _, holders := htmlEnds(r.skip)
		switch within := r.holders > 0 || r.depth > 1; {
		case !within && (htmlIsOne(name, starts) || r.skip == "p" && htmlBlock(name)):
			r.skip = ""
		case htmlIsOne(name, holders):
			r.holders++
		case name == r.skip && r.holders == 0 && !closed:
			r.depth++
		case name == "img":
			r.hid = r.hid || r.hides && htmlAttr(attrs, "alt") != ""
		}
		if r.skip != "" {
			return
		}
	}
	if !htmlIsOne(name, htmlTextless) && htmlHidden(name, attrs) {
		if name == "img" {
			r.hid = r.hid || htmlAttr(attrs, "alt") != ""
		} else {
			r.leaveOut(name, true)
		}
		return
	}
	switch name {
	case "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "select", "textarea":
		if !closed {
			r.leaveOut(name, false)
		}
	case "title":
		r.titled = !closed && r.title.Len() == 0
	case "a":
		r.closeLink()
		r.href = htmlAttr(attrs, "href")
	case "img":
		if alt := strings.Join(strings.Fields(htmlAttr(attrs, "alt")), " "); alt != "" {
			r.put(alt)
		}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		r.brk(2)
		r.put(strings.Repeat("#", int(name[1]-'0')))
		r.space = true
	case "ul", "ol":
		r.list(name, attrs)
	case "li":
		r.item(attrs)
	case "table":
		r.brk(2)
		r.tables.open()
	case "thead", "tbody", "tfoot":
		r.endCell()
		if t := r.tables.top(); t != nil {
			t.down = nil
		}
	case "tr":
		r.endCell()
		r.brk(1)
		if t := r.tables.top(); t != nil {
			t.row()
		}
	case "td", "th":
		r.endCell()
		r.cell(attrs)
	case "pre":
		if r.pre++; r.pre == 1 {
			r.fence()
		}
	case "br":
		r.lineBreak()
	case "hr":
		r.brk(2)
		r.put("---")
		r.brk(2)
	default:
		r.brk(htmlBreaks(name))
	}
}

func (r *htmlReader) end(name string) {
	if r.skip != "" {
		r.code = false
		_, ends, holders := htmlEnds(r.skip)
		switch {
		case r.holders > 0 && htmlIsOne(name, holders):
			r.holders--
			return
		case r.holders > 0:
			return
		case name == r.skip:
			if r.depth--; r.depth == 0 {
				r.skip = ""
			}
			return
		case !htmlIsOne(name, ends) && !(r.skip == "p" && htmlBlock(name)):
			return
		}
		r.skip = "" // the element around it ends
	}
	switch name {
	case "title":
		r.titled = false
	case "td", "th", "tr":
		r.endCell()
		if name == "tr" {
			r.brk(1)
		}
	case "table":
		r.endCell()
		r.tables.close()
		r.brk(2)
	case "a":
		r.closeLink()
	case "ul", "ol":
		if len(r.lists) > 0 {
			r.lists = r.lists[:len(r.lists)-1]
		}
		r.brk(2 - min(len(r.lists), 1))
	case "pre":
		if r.pre == 1 {
			r.endFence()
		}
		r.pre = max(r.pre-1, 0)
	case "br": // browsers treat </br> like <br>
		r.lineBreak()
	default:
		r.brk(htmlBreaks(name))
	}
}

// htmlBreaks returns the number of line breaks around an element.
func htmlBreaks(name string) int {
	switch name {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "table", "section", "article", "figure":
		return 2
	case "div", "tr", "li", "dl", "dt", "dd", "header", "footer", "main", "nav", "aside", "form", "fieldset", "details", "summary",
		"address", "center", "caption", "figcaption", "legend", "option", "body", "head", "html":
		return 1
	}
	return 0
}

// fence begins code, and endFence ends it.
func (r *htmlReader) fence() {
	r.brk(2)
	r.put("```")
	r.brk(1)
}

func (r *htmlReader) endFence() {
	r.breaks, r.space = 1, false
	if strings.HasSuffix(r.out.String(), "\n") {
		r.breaks = 0
	}
	r.put("```")
	r.brk(2)
}

func (r *htmlReader) closeLink() {
	if r.linked {
		r.out.Add("](", r.link, ")")
	}
	r.href, r.linked = "", false
}

// target returns the target of a link, or "" if that is not another page.
func (r *htmlReader) target(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' {
		return ""
	}
	u, err := url.Parse(href)
	if err == nil && r.base != nil {
		u = r.base.ResolveReference(u)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(strings.ToValidUTF8(u.String(), "\ufffd"))
}

func htmlAttr(attrs []html.Attribute, name string) string {
	for _, a := range attrs {
		if a.Key == name {
			return strings.ToValidUTF8(a.Val, "\ufffd")
		}
	}
	return ""
}
