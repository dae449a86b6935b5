package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func showValue(t *testing.T, p *Pages, v value.Value, query string) (*ValueView, string) {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q := ReadValueQuery("/runs/r1", values)
	q.Media, q.Raw, q.CSV = "/runs/r1/media/", "/runs/r1/value", "/runs/r1/value?as=csv"
	view := ShowValue(v, q)
	text, err := p.RenderPart("value", view)
	if err != nil {
		t.Fatal(err)
	}
	return view, text
}

// TestShowValue shows each kind of value in its forms.
func TestShowValue(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	png := value.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\nabc")}
	pdf := value.Media{Type: "application/pdf", Data: []byte("%PDF-1.7")}
	const rows = `[{"city":"Basel","n":2,"x":null},{"city":"chur","n":10,"x":1.5},{"n":3,"city":"Bern"}]`
	for _, c := range []struct {
		v     value.Value
		query string
		parts []string // of the HTML, in this order
	}{
		{nil, "", []string{"<h3>Nothing", `<pre class="code" tabindex="0"><bdi>null</bdi>`}},
		{"a <b>\u200b", "", []string{"<h3>Result", `aria-current="page"><bdi>Text`, "a &lt;b&gt;<mark"}},
		{"# a", "view=markdown&step=2", []string{`href="/runs/r1?step=2&amp;view=text#value"`, "<h3><bdi>a</bdi></h3>"}},
		{int64(3), "", []string{"<bdi>3</bdi>"}},
		{true, "view=table", []string{"<bdi>true</bdi>"}},
		{[]byte("abc"), "", []string{"<pre"}},
		{value.NewDict(), "", []string{"0 fields", `<div class="json">{}`}},
		{value.List{}, "", []string{"0 items", `<div class="json">[]`}},
		{parse(t, `{"a":{"b":[1,null,"x"]},"":2}`), "", []string{"2 fields", `<span class="k"><bdi>a</bdi></span>`, `<span class="soft"><bdi>0</bdi>: </span><span class="n"><bdi>1</bdi>`, `<span class="w"><bdi>null</bdi>`, `<span class="s"><bdi>&#34;x&#34;</bdi>`}},
		{parse(t, `{"a":1}`), "view=text", []string{"&#34;a&#34;: 1"}},
		{parse(t, rows), "", []string{
			"3 rows", `aria-current="page"><bdi>Table</bdi>`, `href="/runs/r1/value?as=csv" download>CSV`, "data-sort", `href="/runs/r1?sort=city&amp;view=table#value"`,
			`class="r"><a href="/runs/r1?sort=-n&amp;view=table#value"`, `<th scope="row"><bdi>Basel</bdi></th><td class="r"><bdi>2</bdi></td><td class="r"><span class="null">missing</span></td>`, "chur", "Bern", "3 rows",
		}},
		{parse(t, rows), "sort=-n", []string{`aria-sort="descending"><a href="/runs/r1?sort=n&amp;view=table#value"`, "chur", "Bern", "Basel"}},
		{parse(t, rows), "sort=city", []string{"Basel", "Bern", "chur"}},
		{parse(t, rows), "sort=-x", []string{"chur", "Basel", "Bern"}},
		{parse(t, rows), "sort=nothing", []string{"Basel", "chur", "Bern"}},
		{parse(t, rows), "y=n&x=city&step=3", []string{
			`<input type="hidden" name="step" value="3">`, `<option value="n" selected>`, "Bar chart of n by city: chur (10) is the largest, Basel (2) the smallest.",
			`<rect x="0.0" width="20.0"`, `<rect x="0.0" width="100.0"`,
		}},
		{parse(t, `[{"a":"x","n":-5},{"a":"y","n":5}]`), "y=n", []string{`<rect x="0.0" width="50.0"`, `<rect x="50.0" width="50.0"`}},
		{parse(t, `[{"a":"x","n":0}]`), "y=n", []string{`<rect x="0.0" width="0.0"`}},
		{parse(t, `[{"a":1,"<b>":"<i>"}]`), "", []string{"<bdi>&lt;b&gt;</bdi>", "<bdi>&lt;i&gt;</bdi>"}},
		{parse(t, `[{"a":1},2]`), "", []string{"2 items", `class="json"`}},
		{parse(t, `[{"a":[1,2]}]`), "", []string{"<bdi>[1,2]</bdi>"}},
		{png, "", []string{"<details><summary", "<bdi>image/png</bdi>, 11 B · Show", `<img src="/runs/r1/media/`, `loading="lazy"></details>`}},
		{pdf, "", []string{`<a class="btn" href="/runs/r1/media/`, "download>Download <bdi>application/pdf"}},
		{value.Media{Type: "image/svg+xml", Data: []byte("<svg onload=x>")}, "", []string{"Download <bdi>image/svg"}},
		{value.List{png}, "", []string{"[image/png, 11 bytes]"[:0], `<img src="/runs/r1/media/`}},
		{value.List{value.NewDict("a", png)}, "", []string{`<th scope="row"><details>`}},
	} {
		_, text := showValue(t, p, c.v, c.query)
		name := fmt.Sprintf("%.40v %s", c.v, c.query)
		wellFormed(t, p, name, text)
		rest := text
		for _, part := range c.parts {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: there is no %s where it should be in\n%s", name, part, text)
				break
			}
			rest = after
		}
	}
}

// TestLargeValues shows values in parts.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	text := strings.Repeat("äöü0123456789\n", 20_000)
	read := ""
	for query := "view=text"; ; {
		view, html := showValue(t, p, text, query)
		wellFormed(t, p, query, html)
		read += view.Text.Text
		if view.Text.Next == "" {
			break
		}
		query = strings.TrimSuffix(strings.TrimPrefix(string(view.Text.Next), "/runs/r1?"), "#value")
	}
	if read != text {
		t.Errorf("the parts have %d bytes, want %d", len(read), len(text))
	}
	if _, html := showValue(t, p, text, ""); !strings.Contains(html, "The first 2 KB of") || !strings.Contains(html, "Next 64 KB") {
		t.Errorf("it is\n%s", html)
	}
	if view, _ := showValue(t, p, text, "offset=99999999"); view.Text.Text != "" {
		t.Error("there is text after the end")
	}

	var rows value.List
	for i := range 250 {
		rows = append(rows, value.NewDict("i", int64(i), "half", float64(i)/2))
	}
	view, html := showValue(t, p, rows, "")
	if len(view.Table.Rows) != 100 || strings.Contains(html, "data-sort") || !strings.Contains(html, "Rows 1 to 100 of 250") {
		t.Errorf("the first page of the table has %d rows", len(view.Table.Rows))
	}
	view, html = showValue(t, p, rows, "from=200&sort=-i&y=half")
	wellFormed(t, p, "rows", html)
	if len(view.Table.Rows) != 50 || view.Table.Rows[0][0].Text != "49" || !strings.Contains(html, "<polyline") || !strings.Contains(html, "Rows before") {
		t.Errorf("the last page of the table has %d rows:\n%s", len(view.Table.Rows), html)
	}
	showValue(t, p, rows, "from=99999")

	wide := &value.Dict{}
	for i := range 1000 {
		wide.Put(fmt.Sprint("k", i), strings.Repeat("x", 1000))
	}
	view, html = showValue(t, p, value.List{wide}, "")
	if len(view.Table.Columns) != mostColumn || view.Table.Left != 960 || len(html) > mostHTML {
		t.Errorf("a wide table has %d columns, and %d bytes", len(view.Table.Columns), len(html))
	}
	var deep value.Value = "end"
	for range 190 {
		deep = value.List{deep, value.NewDict("a", deep)}
		if len(value.FormatJSON(deep, "")) > 1<<20 {
			break
		}
	}
	view, html = showValue(t, p, deep, "view=json")
	wellFormed(t, p, "deep", html)
	if view.More == "" || len(html) > mostHTML {
		t.Errorf("a deep value has %d bytes, and more at %q", len(html), view.More)
	}
	_, html = showValue(t, p, deep, "view=json&nodes=99999999")
	if n := strings.Count(html, "<li>"); n > mostNodes+100 {
		t.Errorf("it has %d nodes", n)
	}
}

func TestWriteCSV(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := WriteCSV(&b, parse(t, `[{"a":"x,\"y\"","b":1.5},{"b":null,"c":[1]}]`)); err != nil {
		t.Fatal(err)
	}
	if want := "a,b,c\n\"x,\"\"y\"\"\",1.5,\n,,[1]\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	if err := WriteCSV(&b, "x"); value.KindOf(err) != value.Invalid {
		t.Errorf("the error is %v", err)
	}
}
