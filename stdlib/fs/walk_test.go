package fs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func fsTexts(v value.Value) string {
	var texts []string
	for _, item := range v.(value.List) {
		switch item := item.(type) {
		case string:
			texts = append(texts, item)
		case *value.Dict:
			texts = append(texts, fmt.Sprintf("%s:%d:%s", item.Text("path"), item.Int("line"), item.Text("text")))
		}
	}
	return strings.Join(texts, " ")
}

func TestGlob(t *testing.T) {
	d := newDesk(t, map[string]string{
		"a.md": "", "b.txt": "", "docs/c.md": "", "docs/sub/d.md": "", "docs/sub/e.txt": "",
		".env": "", ".github/ci.yml": "", "docs/.draft.md": "", ".git/config.md": "", "docs/.git/x.md": "", "z[1].txt": "", "docs.md": "",
	})
	for _, tt := range []struct {
		pattern, path, want string
		hidden              bool
	}{
		{"*.md", ".", "a.md docs.md", false},
		{"*", ".", "a.md b.txt docs.md z[1].txt", false},
		{"**/*.md", ".", "a.md docs.md docs/c.md docs/sub/d.md", false},
		{"**", "docs", "docs/c.md docs/sub/d.md docs/sub/e.txt", false},
		{"docs/**", ".", "docs/c.md docs/sub/d.md docs/sub/e.txt", false},
		{"docs/*/*", ".", "docs/sub/d.md docs/sub/e.txt", false},
		{"docs/c.md", ".", "docs/c.md", false},
		{"docs", ".", "", false},
		{"*.{md,txt}", "docs/sub", "docs/sub/d.md docs/sub/e.txt", false},
		{"{docs,docs/sub}/*.md", ".", "docs/c.md docs/sub/d.md", false},
		{"[ab].*", ".", "a.md b.txt", false},
		{"?.md", ".", "a.md", false},
		{`z\[1\].txt`, ".", "z[1].txt", false},
		{"**/*.md", ".", "a.md docs.md docs/.draft.md docs/c.md docs/sub/d.md", true},
		{".github/*", ".", ".github/ci.yml", false},
		{"**/.draft.md", ".", "docs/.draft.md", false},
		{".env", ".", ".env", false},
		{"nope/**", ".", "", false},
		{"*", "docs/", "docs/c.md", false},
		{"*", "docs/../docs/sub", "docs/sub/d.md docs/sub/e.txt", false},
		{"*.MD", ".", "", false},
	} {
		got := fsTexts(d.must("fs.glob", "pattern", tt.pattern, "path", tt.path, "hidden", tt.hidden))
		if got != tt.want {
			t.Errorf("fs.glob(%q, %q, hidden=%v) = %q, want %q", tt.pattern, tt.path, tt.hidden, got, tt.want)
		}
	}
	if got := fsTexts(d.must("fs.glob", "pattern", "**/*.md", "limit", int64(2))); got != "a.md docs.md" {
		t.Errorf("fs.glob with limit 2 = %q, want the first two", got)
	}
	d.fails(value.Invalid, ">= 1", "fs.glob", "pattern", "*", "limit", int64(0))
	d.fails(value.Failed, "File not found: nope", "fs.glob", "pattern", "*", "path", "nope")
	d.fails(value.Failed, "a.md is not a folder", "fs.glob", "pattern", "*", "path", "a.md")
}

// The folder that has to be readable is the one that the pattern names
// outright, and of what is below only what is granted is shown.
func TestGlobAndSearchStayWithinTheGrant(t *testing.T) {
	d := newDesk(t, map[string]string{"docs/a.md": "word", "docs/in/b.md": "word", "secret/c.md": "word", "docs-evil/d.md": "word"})
	d.grant("fs.read:docs/**")
	for _, tt := range []struct {
		name string
		args []value.Value
		want string
	}{
		{"fs.glob", []value.Value{"pattern", "**", "path", "docs"}, "docs/a.md docs/in/b.md"},
		{"fs.glob", []value.Value{"pattern", "docs/**/*.md"}, "docs/a.md docs/in/b.md"},
		{"fs.glob", []value.Value{"pattern", d.dir + "/docs/*.md"}, "docs/a.md"},
		{"fs.search", []value.Value{"pattern", "word", "path", "docs"}, "docs/a.md:1:word docs/in/b.md:1:word"},
	} {
		if got := fsTexts(d.must(tt.name, tt.args...)); got != tt.want {
			t.Errorf("%s(%v) = %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
	d.fails(value.Denied, "fs.read:.", "fs.glob", "pattern", "**")
	d.fails(value.Denied, "fs.read:.", "fs.glob", "pattern", "{docs,secret}/*")
	d.fails(value.Denied, "fs.read:secret", "fs.glob", "pattern", "secret/*")
	d.fails(value.Denied, "fs.read:secret", "fs.glob", "pattern", "docs/../secret/*")
	d.fails(value.Denied, "fs.read:docs-evil", "fs.list", "path", "docs-evil")
	d.fails(value.Denied, "fs.read:.", "fs.search", "pattern", "word")
	d.grant("fs.read:.", "fs.read:docs", "fs.read:docs/*.md")
	for name, want := range map[string]string{"fs.glob": "docs/a.md", "fs.search": "docs/a.md:1:word"} {
		pattern := map[string]string{"fs.glob": "**", "fs.search": "word"}[name]
		if got := fsTexts(d.must(name, "pattern", pattern)); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := fsNamesOf(d.must("fs.list")); got != "docs/" {
		t.Errorf("fs.list() = %q, want only what may be read", got)
	}
	row := d.row("fs.glob")
	args, err := row.Bind(nil, value.NewDict("pattern", "**"))
	rowtest.NoError(t, err)
	out, err := row.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{})
	if err != nil || !value.Equal(out.Value, value.List{}) {
		t.Errorf("fs.glob with the zero grant = %v, %v, want nothing", out.Value, err)
	}
}

func TestGlobPatternsThatAreTooDear(t *testing.T) {
	d := newDesk(t, map[string]string{strings.Repeat("a", 200): ""})
	d.fails(value.Invalid, "alternatives", "fs.glob", "pattern", strings.Repeat("{a,a}", 30)+"x")
	d.fails(value.Invalid, "alternatives", "fs.glob", "pattern", strings.Repeat("{a,{a,{a,b}}}", 9))
	d.fails(value.Invalid, "alternatives", "fs.search", "pattern", "x", "glob", strings.Repeat("{a,a}", 30))
	d.fails(value.Invalid, "bytes", "fs.glob", "pattern", strings.Repeat("*", 2000))
	rowtest.Within(t, "a pattern of many stars", func() {
		d.must("fs.glob", "pattern", strings.Repeat("*a", 100)+"b")
		d.must("fs.glob", "pattern", strings.Repeat("**/", 100)+"b")
		d.must("fs.glob", "pattern", strings.Repeat("{a,a}", 6)+strings.Repeat("*a", 50)+"b")
	})
}

// What fs.glob finds is what doublestar finds on the same files.
func TestGlobAgreesWithDoublestar(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "", "ab": "", "b/a": "", "b/ab/a": "", "b/ab/ba": "", "ba/b/a/b": "", "a.b/ab": ""})
	fsys := os.DirFS(d.dir)
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.SampledFrom([]string{"**", "*", "a", "b", "ab", "?", "?b", "[ab]", "[!a]", "{a,b}", "{a,ab}*", "*b", "a*", "{b/a,b/ab}", "a.b"})
		pattern := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(rt, "parts"), "/")
		want, err := doublestar.Glob(fsys, pattern, doublestar.WithFilesOnly())
		if err != nil {
			rt.Fatalf("doublestar.Glob(%q): %v", pattern, err)
		}
		slices.Sort(want)
		if got, want := fsTexts(d.must("fs.glob", "pattern", pattern)), strings.Join(slices.Compact(want), " "); got != want {
			rt.Fatalf("fs.glob(%q) = %q, want %q", pattern, got, want)
		}
	})
}

func TestSearch(t *testing.T) {
	d := newDesk(t, map[string]string{
		"a.txt": "one\nTwo two\r\n\nthree", "src/b.py": "def two():\n    pass\n", "src/deep/c.py": "x = 2 # two\n",
		"bin": "two\x00two", "latin": "caf\xe9 two\n", ".env": "two", "src/.git/x": "two", "dots": "a.b\naxb\n",
	})
	for _, tt := range []struct {
		name string
		args []value.Value
		want string
	}{
		{"everywhere", []value.Value{"pattern", "two"}, "a.txt:2:Two two latin:1:caf\uFFFD two src/b.py:1:def two(): src/deep/c.py:1:x = 2 # two"},
		{"line start", []value.Value{"pattern", "^[a-z]+$"}, "a.txt:1:one a.txt:4:three dots:2:axb"},
		{"no case", []value.Value{"pattern", "TWO", "ignore_case", true, "glob", "*.txt"}, "a.txt:2:Two two"},
		{"name glob at any depth", []value.Value{"pattern", "two", "glob", "*.py"}, "src/b.py:1:def two(): src/deep/c.py:1:x = 2 # two"},
		{"path glob", []value.Value{"pattern", "two", "glob", "src/*.py"}, "src/b.py:1:def two():"},
		{"glob relative to path", []value.Value{"pattern", "two", "path", "src", "glob", "deep/*"}, "src/deep/c.py:1:x = 2 # two"},
		{"one file", []value.Value{"pattern", "e$", "path", "a.txt"}, "a.txt:1:one a.txt:4:three"},
		{"text", []value.Value{"pattern", "a.b", "regex", false}, "dots:1:a.b"},
		{"regex", []value.Value{"pattern", "a.b", "path", "dots"}, "dots:1:a.b dots:2:axb"},
		{"parentheses as text", []value.Value{"pattern", "two()", "regex", false}, "src/b.py:1:def two():"},
		{"limit", []value.Value{"pattern", "e", "limit", int64(1)}, "a.txt:1:one"},
		{"hidden", []value.Value{"pattern", "two", "hidden", true, "glob", ".*"}, ".env:1:two"},
		{"nothing", []value.Value{"pattern", "zebra"}, ""},
		{"an empty line", []value.Value{"pattern", "^$", "glob", "a.txt"}, "a.txt:3:"},
	} {
		if got := fsTexts(d.must("fs.search", tt.args...)); got != tt.want {
			t.Errorf("%s: fs.search(%v) = %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
	d.fails(value.Invalid, "not a regular expression", "fs.search", "pattern", "(")
	d.fails(value.Invalid, "not a regular expression", "fs.search", "pattern", `(a)\1`)
	d.fails(value.Invalid, "1 to 1000 bytes", "fs.search", "pattern", "")
	d.fails(value.Failed, "File not found: nope", "fs.search", "pattern", "x", "path", "nope")
}

func TestSearchCutsLongLines(t *testing.T) {
	d := newDesk(t, map[string]string{
		"long":  strings.Repeat("é", 5000) + "needle" + strings.Repeat("é", 5000),
		"start": "needle" + strings.Repeat("x", 5000),
		"far":   strings.Repeat("x", 100<<10) + "needle",
	})
	found := d.must("fs.search", "pattern", "needle").(value.List)
	if len(found) != 2 {
		t.Fatalf("fs.search found %d lines, want 2: beyond 64 KB of a line nothing is looked for", len(found))
	}
	for _, item := range found {
		text := item.(*value.Dict).Text("text")
		if len(text) > fsShownLine+10 || !strings.Contains(text, "needle") || !utf8.ValidString(text) || !strings.Contains(text, "…") {
			t.Errorf("%s: text of %d bytes %.40q…, want a cut one with the match", item.(*value.Dict).Text("path"), len(text), text)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	d := newDesk(t, nil)
	line := strings.Repeat("a", 1023) + "\n"
	for i := range 9 {
		rowtest.PutFile(t, d.dir, fmt.Sprintf("f%d", i), strings.Repeat(line, 8<<10))
	}
	d.fails(value.Limit, "more than 64 MB to search", "fs.search", "pattern", "zebra")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := d.run(ctx, "fs.search", "pattern", strings.Repeat("(a?){50}", 20)+"b", "glob", "f0")
	rowtest.Wrong(t, err, value.Timeout, "time", "a search that is slow")
}

func TestSearchAndGlobLeaveOutWhatIsTooLargeOrTooMuch(t *testing.T) {
	d := newDesk(t, map[string]string{"big": strings.Repeat("needle\n", 100), "small": "needle"})
	small := deskAt(t, &Options{Root: d.dir, Limits: Limits{Read: 50, Entries: 1}})
	if got := fsTexts(small.must("fs.search", "pattern", "needle")); got != "small:1:needle" {
		t.Errorf("fs.search = %q, want the file that can be read", got)
	}
	small.fails(value.Limit, "big is larger", "fs.search", "pattern", "needle", "path", "big")
	if got := fsTexts(small.must("fs.glob", "pattern", "*", "limit", int64(50))); got != "big" {
		t.Errorf("fs.glob = %q, want no more than the limit of the host", got)
	}
}
