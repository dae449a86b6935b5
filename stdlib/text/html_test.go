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
