package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestHTMLText(t *testing.T) {
	const page = "https://example.com/a/b.html?x=1"
	for _, tt := range []struct{ name, html, want string }{
		{"nothing", "", ""},
		{"words", "  hello\n  <b>wide</b> world ", "hello wide world"},
		{"no space where there is none", "a<b>b</b>c<i> d</i>", "abc d"},
		{"title", "<html><head><title>The\n &amp; Page</title></head><body>text", "# The & Page\n\ntext"},
		{"a second title", "<title>a</title><svg><title>b</title></svg>c", "# a\n\nc"},
		{"paragraphs", "<p>one<p>two</p><div>three</div>four<br>five<br><br>six", "one\n\ntwo\n\nthree\nfour\nfive\n\nsix"},
		{"headings", "<h1>A</h1>x<h3>B <em>c</em></h3>y", "# A\n\nx\n\n### B c\n\ny"},
		{"lists", "<ul><li>a<li>b<ol><li>c<li>d</ol><li>e</ul>f", "- a\n- b\n  1. c\n  2. d\n- e\n\nf"},
		{"links", `<a href="/c?d=1&amp;e">to <b>c</b></a>, <a href=d.html>d</a> <a href='//other.org/'>o</a> <a href="#x">here</a> <a href="mailto:a@b.c">mail</a>` +
			` <a href="javascript:alert(1)">run</a> <a name=x>anchor</a> <a href="https://x/(1)">p</a><a href=/empty><img src=x></a> <a href="http://[">broken</a>`,
			"[to c](https://example.com/c?d=1&e), [d](https://example.com/a/d.html) [o](https://other.org/) here mail run anchor [p](https://x/%281%29) broken"},
		{"links that do not end", "<a href=/a>a<a href=/b>b", "[a](https://example.com/a)[b](https://example.com/b)"},
		{"pictures", "<img alt='a  cat' src=x> <img src=y>", "a cat"},
		{"code", "see<pre>\n  if x:\n    <b>y</b> &lt; 1\n</pre>then", "see\n\n```\n  if x:\n    y < 1\n```\n\nthen"},
		{"code that does not end", "<pre><code>a  b", "```\na  b\n```"},
		{"tables", "<table><tr><th>a</th><th>b</th></tr><tr><td>1<td>2</td></tr></table>", "a | b\n1 | 2"},
		{"wide and high cells", `<table><tr><th>Month<th>Saved<th>Goal<tr><td>Jan<td>100<td rowspan="2">50<tr><td>Feb<td>8|0<br>x</table>`, "Month | Saved | Goal\nJan | 100 | 50\nFeb | 8\\|0 x"},
		{"a high first cell", `<table><tr><td rowspan="2">A</td><td>1</td></tr><tr><td>2</td></tr><tr><td>B<td>3</table>`, "A | 1\n| 2\nB | 3"},
		{"a block of cells", `<table><tr><td rowspan=2 colspan=2>A<td>1<tr><td>2<tr><td>a<td>b<td>c</table>`, "A | | 1\n| | 2\na | b | c"},
		{"high up to the end", `<table><tbody><tr><td rowspan=0>A<td>1<tr><td>2<tr><td>3<tbody><tr><td>B</table>`, "A | 1\n| 2\n| 3\nB"},
		{"the complete width", `<table><tr><td colspan=100>all<tr><td>a<td>b</table>`, "all\na | b"},
		{"paragraphs in cells", "<table><tr><td><p>a</p></td><td><p>b</p><p>c</p></td></tr><tr><td><div>d</div><td><ul><li>e<li>f</ul></table>g", "a | b c\nd | - e - f\n\ng"},
		{"a table in a cell", "<table><tr><td>a<td><table><tr><td>b<td>c</table><td>d</table>", "a |\nb | c | d"},
		{"cells of no table", "<tr><td>a<td>b</tr><tr><td>c<td>d|e", "a | b\nc | d\\|e"},
		{"no cell", "a|b", "a|b"},
		{"numbers of items", `<ol start="7"><li>a<li>b<li value=3>c<li>d</ol><ol reversed><li>e<ul><li>x</ul><li>f</ol><ol reversed start=-1><li>g<li>h</ol><ol start=99999999999><li>i</ol>`,
			"7. a\n8. b\n3. c\n4. d\n\n2. e\n  - x\n1. f\n\n-1. g\n-2. h\n\n1. i"},
		{"hidden", `a<p style="display:none">no</p><p hidden>no</p><div hidden><div>no</div>no</div><span style="x:y; VISIBILITY : /* c */ hidden !important">no</span>b`, "ab\n\n[hidden text left out]"},
		{"hidden sizes", `<i style="font-size:0">no</i><i style="opacity:0.0">no</i><i style="position:absolute;left:-9999px">no</i><i style="height:0;overflow:hidden">no</i>` +
			`<i style="clip:rect(0 0 0 0);width:1px">no</i><i style="color:transparent">no</i><i style="clip-path:inset(50%)">no</i><dialog>no</dialog><img hidden alt=no>`, "[hidden text left out]"},
		{"shown", `<i style="display:block;opacity:.1;font-size:1px;left:-5px;height:0;overflow:visible;color:red">a</i><i aria-hidden=true>b</i><dialog open>c</dialog><i style="">d</i><input hidden>e<br hidden>`, "abcde"},
		{"hidden without text", `<div hidden> <img src=x><script>no</script></div><img style="display:none" src=x>a`, "a"},
		{"hidden without an end tag", `<ul><li hidden>no<li>a<li hidden>no<ol><li>no</ol></ul><p hidden>no<p>b<div><p hidden>no</div>c<table><tr hidden><td>no<tr><td>d<td hidden>no</table>e<dl><dt hidden>no<dd>f</dl>`,
			"- a\n\nb\nc\n\nd\n\ne\nf\n\n[hidden text left out]"},
		{"hidden to the end", "a<div hidden>no<p>no", "a\n\n[hidden text left out]"},
		{"unseen", "a<script>if (a < b) document.write('<p>no</p>')</script><style>p{}</style><!-- no --><template><p>no<template>n</template>no</p></template><noscript>no</noscript>b", "ab"},
		{"a script that does not end", "a<script>no <p>no", "a"},
		{"a comment that does not end", "a<!-- no <p>no", "a"},
		{"entities", "&lt;b&gt; &amp;amp; &#8364; &#x1F600; &nbsp;&eacute;&notanentity; &#0; &#xD800;", "<b> &amp; € 😀 \u00a0é¬anentity; \ufffd \ufffd"},
		{"quotes in a tag", `<p title="a > b" data-x='<p>'>text`, "text"},
		{"not a tag", "1 < 2 and <3 > x", "1 < 2 and <3 > x"},
		{"not text", "a\xff<p>\xfe", "a\ufffd\n\n\ufffd"},
		{"a rule", "a<hr>b", "a\n\n---\n\nb"},
		{"deep", strings.Repeat("<div><ul><li>", 3000) + "x", ""},
	} {
		v, err := htmlText(value.NewDict("html", tt.html, "url", page))
		if err != nil {
			t.Fatal(err)
		}
		got := v.(string)
		if tt.name == "deep" {
			if !strings.HasSuffix(got, "- x") || len(got) > 3000*30 {
				t.Errorf("deep: %d bytes that end in %q", len(got), got[len(got)-20:])
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for name, page := range map[string]string{
		"spans":       strings.Repeat("<table><tr><td rowspan=1000000 colspan=1000000>x<td>y", 20_000),
		"wide":        "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td rowspan=99999 colspan=99>", 20), 2000),
		"tables":      strings.Repeat("<table><td>", 100_000) + strings.Repeat("</table>", 200_000) + "<table><tr><td>a<td>b",
		"lists":       strings.Repeat("<ol reversed><li value=-2147483648>", 100_000),
		"hidden":      strings.Repeat("<li hidden><ul>", 100_000),
		"many hidden": strings.Repeat("<p hidden>x", 100_000),
		"comments":    "<p style='" + strings.Repeat("/*", 500_000) + "'>x",
		"rules":       "<p style='" + strings.Repeat("left:1px;", 100_000) + "'>x",
	} {
		v, err := htmlText(value.NewDict("html", page, "url", ""))
		if text, ok := v.(string); err != nil || !ok || len(text) > 10*len(page) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(text), len(page), err)
		}
	}
	v, err := htmlText(value.NewDict("html", `<a href="/x">x</a> <a href="https://y/">y</a>`, "url", ""))
	if want := "x [y](https://y/)"; err != nil || v != want {
		t.Errorf("without a URL: %q, %v, want %q", v, err, want)
	}
}

func FuzzHTMLText(f *testing.F) {
	f.Add("<title>a</title><p>b<a href=x>c</a><pre>d</pre><ul><li>e")
	f.Add("<script>a</script></script></a></ul></pre></title><br/><svg/>")
	f.Fuzz(func(t *testing.T, page string) {
		v, err := htmlText(value.NewDict("html", strings.ToValidUTF8(page, "\ufffd"), "url", "https://example.com/"))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.(string); !utf8.ValidString(got) || len(got) > 100+60*len(page) {
			t.Errorf("%q gives %q", page, got)
		}
	})
}
