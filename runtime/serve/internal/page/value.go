package page

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// ValueForm is how a value is shown.
type ValueForm string

// The forms of values.
const (
	AsText     ValueForm = "text"
	AsMarkdown ValueForm = "markdown"
	AsTable    ValueForm = "table"
	AsTree     ValueForm = "json"
	AsMedia    ValueForm = "media"
)

// A ValueQuery is which part of a value is shown, and how. [ReadValueQuery] reads it from the query of a page.
type ValueQuery struct {
	Page  URL        // the page, without its query
	Keep  url.Values // of the query, for links: what belongs to the page
	Raw   URL        // the value itself, as a download; "" if there is none
	CSV   URL        // a table as CSV, see [WriteCSV]; "" if there is none
	Media URL        // the folder of media, which are below it by their SHA-256
	Size  int64      // of the value as it is recorded, in bytes; 0 is unknown

	Form   ValueForm // "" is what suits the value
	Prefer ValueForm // of a text: [AsMarkdown] if a model wrote it
	Sort   string    // a column, after "-" from the largest
	From   int       // the first row, counted from 0
	Offset int       // of a text, in bytes
	Nodes  int       // of a tree
	Y, X   string    // of a chart: the columns with its numbers and names
}

// ReadValueQuery reads the parameters of a query that belong to a value.
func ReadValueQuery(page URL, query url.Values) ValueQuery {
	keep := url.Values{}
	for name, list := range query {
		if !slices.Contains([]string{"view", "sort", "from", "offset", "nodes", "y", "x"}, name) {
			keep[name] = list
		}
	}
	number := func(name string) int {
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	return ValueQuery{
		Page: page, Keep: keep, Form: ValueForm(query.Get("view")), Sort: query.Get("sort"), From: number("from"), Offset: number("offset"),
		Nodes: number("nodes"), Y: query.Get("y"), X: query.Get("x"),
	}
}

// link returns the address of the page with other parameters, given as names and values.
func (q *ValueQuery) link(pairs ...string) URL {
	all := url.Values{}
	for name, list := range q.Keep {
		all[name] = list
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all.Set(pairs[i], pairs[i+1])
		}
	}
	if len(all) == 0 {
		return q.Page + "#value"
	}
	return q.Page + "?" + URL(all.Encode()) + "#value"
}

// A ValueView is a value as a page shows it.
type ValueView struct {
	Heading  Literal // "8 rows"
	Tabs     []Tab
	Text     *TextPart
	Markdown template.HTML
	Table    *TableView
	Tree     *TreeNode
	More     URL // more nodes of the tree
	Media    *MediaView
	Notes    string
	Raw, CSV URL
	Size     int64
}

// ShowValue returns how a value is shown.
func ShowValue(v value.Value, q ValueQuery) *ValueView {
	forms := formsOf(v, q.Prefer)
	form := q.Form
	if !slices.Contains(forms, form) {
		form = forms[0]
	}
	view := &ValueView{Raw: q.Raw, Size: q.Size, Heading: heading(v)}
	names := map[ValueForm]string{AsText: "Text", AsMarkdown: "Markdown", AsTable: "Table", AsTree: "JSON", AsMedia: "File"}
	for _, f := range forms {
		if len(forms) > 1 {
			view.Tabs = append(view.Tabs, Tab{Name: names[f], Href: q.link("view", string(f)), Count: -1, Current: f == form})
		}
	}
	switch form {
	case AsMarkdown:
		view.Markdown = Markdown(v.(string))
	case AsTable:
		view.Table, view.CSV = newTable(v, &q), q.CSV
	case AsTree:
		view.Tree, view.More = newTree(v, &q)
	case AsMedia:
		view.Media = newMedia(v.(value.Media), q.Media)
	default:
		view.Text = newText(wholeTextOf(v), form, &q)
	}
	return view
}

// wholeTextOf returns a value as text.
func wholeTextOf(v value.Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return value.FormatJSON(v, "  ")
}

// formsOf returns the forms that a value has. The first one suits it best.
func formsOf(v value.Value, prefer ValueForm) []ValueForm {
	switch v := v.(type) {
	case string:
		if prefer == AsMarkdown {
			return []ValueForm{AsMarkdown, AsText}
		}
		return []ValueForm{AsText, AsMarkdown}
	case value.Media:
		return []ValueForm{AsMedia}
	case *value.Dict:
		return []ValueForm{AsTree, AsText}
	default:
		list, ok := value.Elements(v)
		switch {
		case !ok:
			return []ValueForm{AsText}
		case isTable(list):
			return []ValueForm{AsTable, AsTree, AsText}
		}
		return []ValueForm{AsTree, AsText}
	}
}

// ResultHeading is the heading of a value in which there is nothing to count.
const ResultHeading Literal = "Result"

// heading counts what a value has.
func heading(v value.Value) Literal {
	switch v := v.(type) {
	case nil:
		return "Nothing"
	case *value.Dict:
		return Literal(count(v.Len(), "field"))
	case string, value.Media:
		return ResultHeading
	}
	list, ok := value.Elements(v)
	switch {
	case ok && isTable(list):
		return Literal(count(len(list), "row"))
	case ok:
		return Literal(count(len(list), "item"))
	}
	return ResultHeading
}

// A text is shown up to wholeText, and otherwise its beginning. From then on, it is shown in pieces.
const (
	wholeText = 4_000
	firstText = 2_000
	nextText  = 64_000
)

// A TextPart is a part of a text.
type TextPart struct {
	Text           string
	From, To, Size int64
	Next, First    URL
}

// Whole reports whether it is all of the text.
func (p *TextPart) Whole() bool { return p.From == 0 && p.To == p.Size }

// Left returns how many bytes the next part has.
func (p *TextPart) Left() int64 { return min(nextText, p.Size-p.To) }

func newText(s string, form ValueForm, q *ValueQuery) *TextPart {
	from := boundary(s, q.Offset)
	to := len(s)
	switch {
	case from > 0:
		to = boundary(s, from+nextText)
	case len(s) > wholeText:
		to = boundary(s, firstText)
	}
	p := &TextPart{Text: s[from:to], From: int64(from), To: int64(to), Size: int64(len(s))}
	if to < len(s) {
		p.Next = q.link("view", string(form), "offset", strconv.Itoa(to))
	}
	if from > 0 {
		p.First = q.link("view", string(form))
	}
	return p
}

// boundary returns a position that is not inside a character.
func boundary(s string, at int) int {
	at = min(max(at, 0), len(s))
	for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// A MediaView is an image or a document.
type MediaView struct {
	Type  string
	Size  int64
	Href  URL
	Image bool
}

// MediaIn returns the images and documents in a value, which are below an address.
func MediaIn(v value.Value, folder URL) (list []*MediaView) {
	for _, m := range value.MediaIn(v) {
		list = append(list, newMedia(m, folder))
	}
	return list
}

func newMedia(m value.Media, folder URL) *MediaView {
	sum := sha256.Sum256(m.Data)
	v := &MediaView{Type: m.Type, Size: int64(len(m.Data)), Image: slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, value.MediaType(m.Data))}
	if folder != "" {
		v.Href = folder + URL(hex.EncodeToString(sum[:]))
	}
	return v
}

// The bounds of a tree: how many nodes it has at first and at most, and how much of a text it shows.
const (
	firstNodes = 200
	mostNodes  = 5_000
	nodeText   = 300
)

// A TreeNode is a part of a value.
type TreeNode struct {
	Key   string
	Index bool // the key is the number of an item
	Kind  TreeKind
	Text  string  // of a value without parts
	Count Literal // of parts: "3 fields"
	Media *MediaView
	Parts []*TreeNode
	Left  int  // parts that are not shown
	Open  bool // its parts are shown
}

// TreeKind is what a part of a value is.
type TreeKind string

// The kinds of parts.
const (
	TreeObject TreeKind = "object"
	TreeList   TreeKind = "list"
	TreeText   TreeKind = "s"
	TreeNumber TreeKind = "n"
	TreeWord   TreeKind = "w" // true, false, null
	TreeMedia  TreeKind = "media"
)

func newTree(v value.Value, q *ValueQuery) (*TreeNode, URL) {
	most := min(max(q.Nodes, firstNodes), mostNodes)
	b := treeMaker{left: most, media: q.Media}
	root := b.node("", v, 0)
	root.Open = true
	if !b.cut || most == mostNodes {
		return root, ""
	}
	return root, q.link("view", string(AsTree), "nodes", strconv.Itoa(min(5*most, mostNodes)))
}

type treeMaker struct {
	left  int
	cut   bool
	media URL
}

// openDepth is how deep a tree is open at first, and maxTreeDepth is how deep it is.
const (
	openDepth    = 2
	maxTreeDepth = 40
)

func (b *treeMaker) node(key string, v value.Value, depth int) *TreeNode {
	b.left--
	n := &TreeNode{Key: key, Open: depth < openDepth}
	switch v := v.(type) {
	case string:
		n.Kind, n.Text = TreeText, value.FormatJSON(cut(v, nodeText), "")
		if len(v) > nodeText {
			n.Count = Literal(size(int64(len(v))))
		}
		return n
	case value.Media:
		n.Kind, n.Text, n.Media = TreeMedia, v.String(), newMedia(v, b.media)
		return n
	case *value.Dict:
		n.Kind, n.Count = TreeObject, Literal(count(v.Len(), "field"))
		for k, part := range v.All() {
			if !b.room(n, depth) {
				n.Left++
				continue
			}
			n.Parts = append(n.Parts, b.node(value.Display(k), part, depth+1))
		}
		return n
	}
	if list, ok := value.Elements(v); ok {
		n.Kind, n.Count = TreeList, Literal(count(len(list), "item"))
		for i, part := range list {
			if !b.room(n, depth) {
				n.Left = len(list) - i
				break
			}
			child := b.node(strconv.Itoa(i), part, depth+1)
			child.Index = true
			n.Parts = append(n.Parts, child)
		}
		return n
	}
	n.Kind, n.Text = TreeWord, cut(value.FormatJSON(v, ""), nodeText)
	if value.Numeric(v) {
		n.Kind = TreeNumber
	}
	return n
}

// room reports whether a part can be shown. A list or object in the middle does not use up the room of those
// after it.
func (b *treeMaker) room(n *TreeNode, depth int) bool {
	ok := b.left > 0 && depth < maxTreeDepth && (depth == 0 || len(n.Parts) < max(20, b.left/2))
	b.cut = b.cut || !ok
	return ok
}

// WriteCSV writes a table, with all of its rows and columns.
func WriteCSV(out io.Writer, v value.Value) error {
	list, _ := value.Elements(v)
	if !isTable(list) {
		return value.Errorf(value.Invalid, "write CSV: the value is not a list of objects")
	}
	w := csv.NewWriter(out)
	columns, _ := columnsOf(list, 1<<20)
	names := value.Map(columns, func(c Column) string { return c.Name })
	if err := w.Write(names); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, row := range list {
		cells := make([]string, len(names))
		for i, name := range names {
			if v, _ := row.(*value.Dict).Get(name); v != nil {
				cells[i] = value.Display(v)
			}
		}
		if err := w.Write(cells); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	w.Flush()
	return w.Error()
}

// bare removes the sign of a sort.
func bare(sort string) (name string, down bool) {
	name, down = strings.CutPrefix(sort, "-")
	return name, down
}
