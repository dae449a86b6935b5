package text

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// htmlMaxLists is how deep lists are indented.
const htmlMaxLists = 10

// A htmlList is an open list.
type htmlList struct {
	ordered bool
	next    int // the number of the next item
	step    int
}

func (r *htmlReader) list(name string, attrs []html.Attribute) {
	r.brk(2 - min(len(r.lists), 1))
	if len(r.lists) >= 1000 {
		return // each open list takes memory
	}
	l := htmlList{ordered: name == "ol", next: 1, step: 1}
	if l.ordered && htmlHas(attrs, "reversed") {
		l.step = -1
		if r.ols <= len(r.items) {
			l.next = r.items[r.ols-1]
		}
	}
	l.next = htmlNumber(attrs, "start", l.next)
	r.lists = append(r.lists, l)
}

func (r *htmlReader) item(attrs []html.Attribute) {
	r.brk(1)
	mark, n := "-", len(r.lists)
	if n > 0 && r.lists[n-1].ordered {
		l := &r.lists[n-1]
		l.next = htmlNumber(attrs, "value", l.next)
		mark = strconv.Itoa(l.next) + "."
		l.next += l.step
	}
	r.put(strings.Repeat("  ", min(max(n-1, 0), htmlMaxLists)) + mark)
	r.space = true
}

// htmlItems returns how many items each ol of a page has.
func htmlItems(page string) []int {
	var items, open []int // open has the indexes of ols in items, and -1 for uls
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.EndTagToken {
			continue
		}
		tag, _ := z.TagName()
		name := string(tag)
		switch {
		case (name == "ul" || name == "ol") && kind == html.EndTagToken:
			open = open[:max(len(open)-1, 0)]
		case name == "ul":
			open = append(open, -1)
		case name == "ol":
			open, items = append(open, len(items)), append(items, 0)
		case name == "li" && kind == html.StartTagToken && len(open) > 0 && open[len(open)-1] >= 0:
			items[open[len(open)-1]]++
		}
	}
	return items
}

const (
	htmlMaxTables  = 100 // tables in one another whose columns are counted
	htmlMaxColumns = 100 // of a table in which cells can be wide or high; pages write 100 for the complete width
)

// htmlTables are the open tables, the innermost last.
type htmlTables struct {
	list  []htmlTable
	over  int  // open tables beyond
	empty bool // the open cell has no text yet
}

// A htmlTable is an open table.
type htmlTable struct {
	down []int // for each column, in how many of the next rows it has a cell of an earlier one
	last int   // the column of the last cell of the row; 0 is the first
	next int   // the first column after it; 0 before the first cell
	in   bool  // a cell is open
}

func (s *htmlTables) open() {
	if len(s.list) == htmlMaxTables {
		s.over++
		return
	}
	s.list = append(s.list, htmlTable{})
}

func (s *htmlTables) close() {
	if s.over > 0 {
		s.over--
	} else {
		s.list = s.list[:max(len(s.list)-1, 0)]
	}
	s.empty = false
}

// top returns the innermost table, or nil.
func (s *htmlTables) top() *htmlTable {
	if len(s.list) == 0 {
		return nil
	}
	return &s.list[len(s.list)-1]
}

func (s *htmlTables) inCell() bool { return len(s.list) > 0 && s.top().in }

// row begins a row.
func (t *htmlTable) row() {
	for i := t.next; i < len(t.down); i++ { // the columns that the row before has not reached
		t.down[i] = max(t.down[i]-1, 0)
	}
	t.last, t.next = 0, 0
}

// cell begins a cell in its column.
func (r *htmlReader) cell(attrs []html.Attribute) {
	if len(r.tables.list) == 0 {
		r.tables.open() // a part of a page can begin with a row
	}
	t := r.tables.top()
	for t.next < len(t.down) && t.down[t.next] > 0 {
		t.down[t.next]--
		t.next++
	}
	before := t.last
	t.last = t.next
	wide := max(min(htmlNumber(attrs, "colspan", 1), htmlMaxColumns-t.next), 1)
	high := htmlNumber(attrs, "rowspan", 1)
	if high == 0 { // up to the last row
		high = math.MaxInt32
	}
	for range wide {
		if high > 1 && t.next >= len(t.down) && t.next < htmlMaxColumns {
			t.down = append(t.down, make([]int, t.next+1-len(t.down))...)
		}
		if t.next < len(t.down) {
			t.down[t.next] = max(high-1, 0)
		}
		t.next++
	}
	for range t.last - before {
		r.space = true
		r.put("|")
		r.space = true
	}
	t.in, r.tables.empty = true, true
}

// endCell ends the open cell, if there is one.
func (r *htmlReader) endCell() {
	if !r.tables.inCell() {
		return
	}
	r.tables.top().in = false
	if !r.tables.empty {
		r.breaks = 0 // of paragraphs in it
	}
	r.tables.empty = false
}

// lineBreak is <br>, which is a space in a cell.
func (r *htmlReader) lineBreak() {
	if r.tables.inCell() {
		r.space = true
	} else {
		r.brk(r.breaks + 1)
	}
}

// leaveOut skips an element.
func (r *htmlReader) leaveOut(name string, hides bool) {
	r.skip, r.depth, r.holders, r.hides = name, 1, 0, hides
}

// htmlTextless are elements that show no text of their own, and those that are left out anyway.
const htmlTextless = "area base br col embed hr input link meta source track wbr title head" +
	" script style noscript template svg math iframe object canvas select textarea"

// htmlEnds returns the start tags and the end tags of other elements that end an element without an
// end tag, unless they are in one of the holders. A paragraph also ends at each block.
func htmlEnds(open string) (starts, ends, holders string) {
	switch open {
	case "li":
		return "li", "ul ol", "ul ol"
	case "dd", "dt":
		return "dd dt", "dl", "dl"
	case "td", "th":
		return "td th tr thead tbody tfoot", "tr thead tbody tfoot table", "table"
	case "tr":
		return "tr thead tbody tfoot", "thead tbody tfoot table", "table"
	case "thead", "tbody", "tfoot", "caption":
		return "thead tbody tfoot", "table", "table"
	}
	return "", "", ""
}

// htmlIsOne reports whether a name is one of those in a text.
func htmlIsOne(name, names string) bool {
	return names != "" && slices.Contains(strings.Fields(names), name)
}

// htmlBlock reports whether an element begins a line.
func htmlBlock(name string) bool {
	return htmlBreaks(name) > 0 || slices.Contains([]string{"ul", "ol", "pre", "td", "th", "thead", "tbody", "tfoot"}, name)
}

// htmlHidden reports whether an element hides its text by an attribute. The rules of style sheets
// are not read. aria-hidden hides nothing from those who see the page.
func htmlHidden(name string, attrs []html.Attribute) bool {
	return htmlHas(attrs, "hidden") || name == "dialog" && !htmlHas(attrs, "open") || htmlHidingStyle(htmlAttr(attrs, "style"))
}

func htmlHidingStyle(style string) bool {
	if style == "" {
		return false
	}
	clips, flat := false, false
	for rule := range strings.SplitSeq(strings.ToLower(htmlWithoutComments(style)), ";") {
		name, v, _ := strings.Cut(rule, ":")
		v = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "!important"))
		size, unit := v, strings.TrimLeft(v, "+-.0123456789")
		size = strings.TrimSuffix(v, unit)
		n, err := strconv.ParseFloat(size, 64)
		number := err == nil
		switch name = strings.TrimSpace(name); name {
		case "display", "visibility", "content-visibility":
			if v == "none" || v == "hidden" || v == "collapse" {
				return true
			}
		case "opacity", "font-size":
			if number && n == 0 {
				return true
			}
		case "color", "-webkit-text-fill-color":
			if v == "transparent" {
				return true
			}
		case "left", "right", "top", "bottom", "text-indent", "margin-left", "margin-top":
			if number && n <= -500 && (unit == "px" || unit == "em" || unit == "rem" || unit == "pt") {
				return true
			}
		case "width", "height", "max-width", "max-height":
			flat = flat || number && (n == 0 || n == 1 && unit == "px")
		case "overflow", "overflow-x", "overflow-y":
			clips = clips || v == "hidden" || v == "clip"
		case "clip", "clip-path":
			clips = clips || strings.HasPrefix(v, "rect(")
			if strings.HasPrefix(v, "inset(50%") || strings.HasPrefix(v, "inset(100%") {
				return true
			}
		}
	}
	return clips && flat
}

func htmlWithoutComments(style string) string {
	var b strings.Builder
	for found := true; found; {
		var before string
		before, style, found = strings.Cut(style, "/*")
		b.WriteString(before)
		_, style, _ = strings.Cut(style, "*/")
	}
	return b.String()
}

// htmlNumber returns an attribute that is an integer.
func htmlNumber(attrs []html.Attribute, name string, otherwise int) int {
	n, err := strconv.ParseInt(strings.TrimSpace(htmlAttr(attrs, name)), 10, 32)
	if err != nil {
		return otherwise
	}
	return int(n)
}

func htmlHas(attrs []html.Attribute, name string) bool {
	return slices.ContainsFunc(attrs, func(a html.Attribute) bool { return a.Key == name })
}
