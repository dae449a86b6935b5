package page

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestMarkdown shows texts of models.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	const to = `rel="noreferrer noopener nofollow" target="_blank">`
	for _, c := range []struct{ source, want string }{
		{"", ""},
		{"a *b* **c** ~~d~~ `e <i>`", "<p><bdi>a</bdi> <em><bdi>b</bdi></em> <strong><bdi>c</bdi></strong> <s><bdi>d</bdi></s> <code><bdi>e &lt;i&gt;</bdi></code></p>"},
		{"# a\n## b\n###### c", "<h3><bdi>a</bdi></h3><h4><bdi>b</bdi></h4><h6><bdi>c</bdi></h6>"},
		{"- a\n  1. b\n- [x] c", "<ul><li><bdi>a</bdi><ol><li><bdi>b</bdi></li></ol></li><li><bdi>[x]</bdi> <bdi>c</bdi></li></ul>"},
		{"3. a\n\n4. b", `<ol start="3"><li><p><bdi>a</bdi></p></li><li><p><bdi>b</bdi></p></li></ol>`},
		{"> a\n\n---", "<blockquote><p><bdi>a</bdi></p></blockquote><hr>"},
		{"```sh\nrm <b>\n```", `<pre class="code" tabindex="0"><bdi>rm &lt;b&gt;` + "\n</bdi></pre>"},
		{"|a|b|\n|-|-:|\n|1|2|", `<div class="scroll" tabindex="0"><table class="data"><thead><tr><th scope="col"><bdi>a</bdi></th><th scope="col" class="r"><bdi>b</bdi></th></tr></thead><tbody><tr><td><bdi>1</bdi></td><td class="r"><bdi>2</bdi></td></tr></tbody></table></div>`},
		{"a\nb  \nc", "<p><bdi>a</bdi>\n<bdi>b</bdi><br><bdi>c</bdi></p>"},
		// HTML stays text.
		{"<script>alert(1)</script>", "<p><bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi></p>"},
		{"a <img src=x onerror=alert(1)> b", "<p><bdi>a</bdi> <bdi>&lt;img src=x onerror=alert(1)&gt;</bdi> <bdi>b</bdi></p>"},
		{"&lt;b&gt; &#x202e;", "<p><bdi>&lt;b&gt; &amp;#x202e;</bdi></p>"},
		// What nobody sees is marked.
		{"a\u200bb", `<p><bdi>a<mark title="not visible in the original">⟨U+200B⟩</mark>b</bdi></p>`},
		// Links.
		{"[a](https://x.example/p?q=1&r=2)", `<p><a href="https://x.example/p?q=1&amp;r=2" ` + to + `<bdi>a</bdi></a> <span class="host">(<bdi>x.example</bdi>)</span></p>`},
		{"[https://good.example](https://evil.example)", `<p><a href="https://evil.example" ` + to + `<bdi>https://good.example</bdi></a> <span class="host">(<bdi>evil.example</bdi>)</span></p>`},
		{"[a](https://good.example@evil.example/)", `<p><a href="https://good.example@evil.example/" ` + to + `<bdi>a</bdi></a> <span class="host">(<bdi>evil.example</bdi>)</span></p>`},
		{"see https://x.example/a_b(c).", `<p><bdi>see</bdi> <a href="https://x.example/a_b(c)" ` + to + `<bdi>https://x.example/a_b(c)</bdi></a><bdi>.</bdi></p>`},
		{"<https://x.example>", `<p><a href="https://x.example" ` + to + `<bdi>https://x.example</bdi></a></p>`},
		{"[m](mailto:a@b.example)", `<p><a href="mailto:a@b.example" ` + to + `<bdi>m</bdi></a> <span class="host">(<bdi>a@b.example</bdi>)</span></p>`},
		{"[a](javascript:alert(1))", "<p><bdi>a</bdi> <bdi>(javascript:alert(1))</bdi></p>"},
		{"[a](JaVaScRiPt:alert(1))", "<p><bdi>a</bdi> <bdi>(JaVaScRiPt:alert(1))</bdi></p>"},
		{"[a](data:text/html,x)", "<p><bdi>a</bdi> <bdi>(data:text/html,x)</bdi></p>"},
		{"[a](/logout)", "<p><bdi>a</bdi> <bdi>(/logout)</bdi></p>"},
		{"[a](//evil.example)", "<p><bdi>a</bdi> <bdi>(//evil.example)</bdi></p>"},
		{"[a](https:\\\\evil.example)", "<p><bdi>a</bdi> <bdi>(https:\\\\evil.example)</bdi></p>"},
		{"[a https://b.example](https://x.example)", `<p><a href="https://x.example" ` + to + `<bdi>a https://b.example</bdi></a> <span class="host">(<bdi>x.example</bdi>)</span></p>`},
		// Pictures.
		{"![map](https://cdn.example/a.png?c=1)", `<div class="blocked"><svg class="i" aria-hidden="true"><use href="#i-off"/></svg><span>Picture “<bdi>map</bdi>” from <b><bdi>cdn.example</bdi></b> not loaded</span><details><summary>Address</summary><code><bdi>https://cdn.example/a.png?c=1</bdi></code></details></div>`},
		{"a ![](x.png) b", `<p><bdi>a</bdi> </p><div class="blocked"><svg class="i" aria-hidden="true"><use href="#i-off"/></svg><span>Picture not loaded</span><details><summary>Address</summary><code><bdi>x.png</bdi></code></details></div><p> <bdi>b</bdi></p>`},
		{"[![b](https://i.example/b.svg)](https://x.example)", `<p><a href="https://x.example" ` + to + `<bdi>[picture b i.example, not loaded]</bdi></a> <span class="host">(<bdi>x.example</bdi>)</span></p>`},
	} {
		got := strings.TrimSuffix(strings.TrimPrefix(string(Markdown(c.source)), `<div class="md">`), "</div>")
		if got != c.want {
			t.Errorf("%q:\n  is   %s\n  want %s", c.source, got, c.want)
		}
	}
}

// TestMarkdownHostile puts parts of Markdown and HTML together in any order. Only elements of ours come out,
// without attributes that act, and each ends where it should.
func TestMarkdownHostile(t *testing.T) {
	t.Parallel()
	parts := []string{
		"<script>", "</script>", "<a href=javascript:x>", "</a>", "<!--", "-->", "<svg onload=x>", "[a](", "javascript:x)", "![", "](data:image/png;base64,x)", "](http://x.example/\"onclick=\"x)",
		"*", "**", "_", "~~", "`", "```\n", "\n", "\n\n", "> ", "- ", "1. ", "    ", "# ", "|", "|-|\n", "|a|\n|-|\n|", "&lt;", "&#60;", "\\", "<b", "'", "\"", "\u202e", "\x00", "\xff", "http://a.example/'\"<x", "{{.}}", "<style>", "<iframe srcdoc=x>", "[x]: javascript:y\n", "[x]", "<http://x'onx=y>", "</div></pre>",
	}
	allowed := strings.Fields("html head body div p h3 h4 h5 h6 ul ol li blockquote pre code hr table thead tbody tr th td em strong s br a span bdi b i mark svg use details summary")
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range r.IntN(14) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		text := string(Markdown(b.String()))
		checkNesting(t, "<html><head></head><body>"+text+"</body></html>")
		root, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if !slices.Contains(allowed, n.Data) {
				t.Fatalf("%q has <%s>: %s", b.String(), n.Data, text)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || n.Data == "a" && a.Key == "href" && !strings.HasPrefix(a.Val, "http") {
					t.Fatalf("%q has %s=%q: %s", b.String(), a.Key, a.Val, text)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("%q", b.String())
		}
	}
}

// TestMarkdownBounds reads what is deep or long.
func TestMarkdownBounds(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		strings.Repeat("> ", 5000) + "a", strings.Repeat("- ", 5000) + "a", strings.Repeat("*a ", 20_000), strings.Repeat("[", 20_000), strings.Repeat("a", 1<<20),
		strings.Repeat("http://a.example/ ", 10_000), strings.Repeat("![a](b)", 10_000), strings.Repeat("**_", 5000) + "a" + strings.Repeat("_**", 5000),
	} {
		text := string(Markdown(source))
		checkNesting(t, "<html><head></head><body>"+text+"</body></html>")
		if len(text) > 60*len(source) {
			t.Errorf("%.20q: %d bytes are %d", source, len(source), len(text))
		}
	}
}
