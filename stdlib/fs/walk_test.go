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

func textsOf(v value.Value) string {
	var texts []string
	for _, item := range v.(value.List) {
		switch item := item.(type) {
		case string:
			texts = append(texts, item)
		case *value.Dict:
			if item.Has("skipped") && item.Text("path") == "" {
				continue // a count of what was skipped
			}
			texts = append(texts, fmt.Sprintf("%s:%d:%s", item.Text("path"), item.Int("line"), item.Text("text")))
		}
	}
	return strings.Join(texts, " ")
}

func TestGlob(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
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
		got := textsOf(d.Must("fs.glob", "pattern", tt.pattern, "path", tt.path, "hidden", tt.hidden))
		if got != tt.want {
			t.Errorf("fs.glob(%q, %q, hidden=%v) = %q, want %q", tt.pattern, tt.path, tt.hidden, got, tt.want)
		}
	}
	if got := textsOf(d.Must("fs.glob", "pattern", "**/*.md", "limit", int64(2))); got != "a.md docs.md" {
		t.Errorf("fs.glob with limit 2 = %q, want the first two", got)
	}
	d.Fails(value.Invalid, ">= 1", "fs.glob", "pattern", "*", "limit", int64(0))
	d.Fails(value.Failed, "File not found: nope", "fs.glob", "pattern", "*", "path", "nope")
	d.Fails(value.Failed, "a.md is not a folder", "fs.glob", "pattern", "*", "path", "a.md")
}

// TestSearchReportsProgress checks the reports of searches whose clock advances at each look at it.
func TestSearchReportsProgress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		step  time.Duration
		files map[string]string
		want  []string
	}{
		{time.Millisecond, map[string]string{"a": "x", "b": "x"}, nil},
		{reportEvery, map[string]string{"a": "x", "d/b": ""}, []string{"searching a (0 MB read, 0 found)", "searching a (0 MB read, 1 found)", "searching d/b (0 MB read, 1 found)"}},
		{reportEvery / 16, map[string]string{"large": strings.Repeat("x"+strings.Repeat(" ", 1<<16-2)+"\n", 48)},
			[]string{"searching large (0 MB read, ", "searching large (1 MB read, ", "searching large (2 MB read, "}},
	} {
		dir, now := t.TempDir(), time.Unix(0, 0)
		for name, content := range tt.files {
			rowtest.PutFile(t, dir, name, content)
		}
		d := openProject(t, &Options{Root: dir, Now: func() time.Time { now = now.Add(tt.step); return now }})
		d.Must("fs.search", "pattern", "x") // nobody listens
		var got []string
		d.Emit = func(r tool.Report) { got = append(got, r.(tool.Progress).Message) }
		d.Must("fs.search", "pattern", "x")
		if got = slices.Compact(got); !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("a search with steps of %v reported %q, want %q", tt.step, got, tt.want)
		}
	}
}

// The folder that has to be readable is the one that the pattern names
// outright, and of what is below only what is granted is shown.
func TestGlobAndSearchStayWithinTheGrant(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"docs/a.md": "word", "docs/in/b.md": "word", "secret/c.md": "word", "docs-evil/d.md": "word"})
	d.Grant("fs.read:docs/**")
	for _, tt := range []struct {
		name string
		args []value.Value
		want string
	}{
		{"fs.glob", []value.Value{"pattern", "**", "path", "docs"}, "docs/a.md docs/in/b.md"},
		{"fs.glob", []value.Value{"pattern", "docs/**/*.md"}, "docs/a.md docs/in/b.md"},
		{"fs.glob", []value.Value{"pattern", d.Dir + "/docs/*.md"}, "docs/a.md"},
		{"fs.search", []value.Value{"pattern", "word", "path", "docs"}, "docs/a.md:1:word docs/in/b.md:1:word"},
	} {
		if got := textsOf(d.Must(tt.name, tt.args...)); got != tt.want {
			t.Errorf("%s(%v) = %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
	d.Fails(value.Denied, "fs.read:.", "fs.glob", "pattern", "**")
	d.Fails(value.Denied, "fs.read:.", "fs.glob", "pattern", "{docs,secret}/*")
	d.Fails(value.Denied, "fs.read:secret", "fs.glob", "pattern", "secret/*")
	d.Fails(value.Denied, "fs.read:secret", "fs.glob", "pattern", "docs/../secret/*")
	d.Fails(value.Denied, "fs.read:docs-evil", "fs.list", "path", "docs-evil")
	d.Fails(value.Denied, "fs.read:.", "fs.search", "pattern", "word")
	d.Grant("fs.read:.", "fs.read:docs", "fs.read:docs/*.md")
	for name, want := range map[string]string{"fs.glob": "docs/a.md", "fs.search": "docs/a.md:1:word"} {
		pattern := map[string]string{"fs.glob": "**", "fs.search": "word"}[name]
		if got := textsOf(d.Must(name, "pattern", pattern)); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := namesOf(d.Must("fs.list")); got != "docs/" {
		t.Errorf("fs.list() = %q, want only what may be read", got)
	}
	row := d.Func("fs.glob")
	args, err := row.Bind(nil, value.NewDict("pattern", "**"))
	rowtest.NoError(t, err)
	out, err := row.Do(context.Background(), tool.Effect{Args: args}, tool.Grant{})
	if err != nil || !value.Equal(out.Value, value.List{}) {
		t.Errorf("fs.glob with the zero grant = %v, %v, want nothing", out.Value, err)
	}
}

func TestGlobPatternsThatAreTooDear(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{strings.Repeat("a", 200): ""})
	d.Fails(value.Invalid, "alternatives", "fs.glob", "pattern", strings.Repeat("{a,a}", 30)+"x")
	d.Fails(value.Invalid, "alternatives", "fs.glob", "pattern", strings.Repeat("{a,{a,{a,b}}}", 9))
	d.Fails(value.Invalid, "alternatives", "fs.search", "pattern", "x", "glob", strings.Repeat("{a,a}", 30))
	d.Fails(value.Invalid, "bytes", "fs.glob", "pattern", strings.Repeat("*", 2000))
	rowtest.Within(t, "a pattern of many stars", func() {
		d.Must("fs.glob", "pattern", strings.Repeat("*a", 100)+"b")
		d.Must("fs.glob", "pattern", strings.Repeat("**/", 100)+"b")
		d.Must("fs.glob", "pattern", strings.Repeat("{a,a}", 6)+strings.Repeat("*a", 50)+"b")
	})
}

// What fs.glob finds is what doublestar finds on the same files.
func TestGlobAgreesWithDoublestar(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "", "ab": "", "b/a": "", "b/ab/a": "", "b/ab/ba": "", "ba/b/a/b": "", "a.b/ab": ""})
	fsys := os.DirFS(d.Dir)
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.SampledFrom([]string{"**", "*", "a", "b", "ab", "?", "?b", "[ab]", "[!a]", "{a,b}", "{a,ab}*", "*b", "a*", "{b/a,b/ab}", "a.b"})
		pattern := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(rt, "parts"), "/")
		want, err := doublestar.Glob(fsys, pattern, doublestar.WithFilesOnly())
		if err != nil {
			rt.Fatalf("doublestar.Glob(%q): %v", pattern, err)
		}
		slices.Sort(want)
		if got, want := textsOf(d.Must("fs.glob", "pattern", pattern)), strings.Join(slices.Compact(want), " "); got != want {
			rt.Fatalf("fs.glob(%q) = %q, want %q", pattern, got, want)
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		"a.txt": "one\nTwo two\r\n\nthree", "src/b.py": "def two():\n    pass\n", "src/deep/c.py": "x = 2 # two\n",
		"bin": "two\x00two", "latin": "caf\xe9 two\n", ".env": "two", "src/.git/x": "two", "dots": "a.b\naxb\n",
	})
	for _, tt := range []struct {
		name string
		args []value.Value
		want string
	}{
		{"everywhere", []value.Value{"pattern", "two"}, "a.txt:2:Two two latin:1:café two src/b.py:1:def two(): src/deep/c.py:1:x = 2 # two"},
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
		if got := textsOf(d.Must("fs.search", tt.args...)); got != tt.want {
			t.Errorf("%s: fs.search(%v) = %q, want %q", tt.name, tt.args, got, tt.want)
		}
	}
	d.Fails(value.Invalid, "invalid regular expression", "fs.search", "pattern", "(")
	d.Fails(value.Invalid, "invalid regular expression", "fs.search", "pattern", `(a)\1`)
	d.Fails(value.Invalid, "1 to 1000 bytes", "fs.search", "pattern", "")
	d.Fails(value.Failed, "File not found: nope", "fs.search", "pattern", "x", "path", "nope")
}

func TestSearchCutsLongLines(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		"long":  strings.Repeat("é", 5000) + "needle" + strings.Repeat("é", 5000),
		"start": "needle" + strings.Repeat("x", 5000),
		"far":   strings.Repeat("x", 100<<10) + "needle",
	})
	found := d.Must("fs.search", "pattern", "needle").(value.List)
	if last := found[len(found)-1].(*value.Dict); len(found) != 3 || last.Text("path") != "far" || last.Int("line") != 1 || last.Text("skipped") != "line too long: the last 36870 bytes were not searched" {
		t.Fatalf("fs.search = %s, want 2 lines, and what was not searched: beyond 64 KB of a line nothing is looked for", value.FormatJSON(found, ""))
	}
	found = found[:2]
	for _, item := range found {
		text := item.(*value.Dict).Text("text")
		if len(text) > 510 || !strings.Contains(text, "needle") || !utf8.ValidString(text) || !strings.Contains(text, "…") {
			t.Errorf("%s: text of %d bytes %.40q…, want a cut one with the match", item.(*value.Dict).Text("path"), len(text), text)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	line := strings.Repeat("a", 1023) + "\n"
	for i := range 9 {
		rowtest.PutFile(t, d.Dir, fmt.Sprintf("f%d", i), strings.Repeat(line, 8<<10))
	}
	if got := d.Must("fs.search", "pattern", "zebra").(value.List); len(got) != 0 {
		t.Errorf("fs.search = %s, want nothing left out of 72 MB", value.FormatJSON(got, ""))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := d.Run(ctx, "fs.search", "pattern", strings.Repeat("(a?){50}", 20)+"b", "glob", "f0")
	rowtest.Wrong(t, err, value.Timeout, "time", "a search that is slow")
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = d.Run(ctx, "fs.search", "pattern", strings.Repeat("(a?){50}", 20)+`b\n`, "glob", "f0")
	rowtest.Wrong(t, err, value.Timeout, "time", "a search over lines that is slow")
}

// TestSearchCountsWhatItSkips shows all that a search has not looked into.
func TestSearchCountsWhatItSkips(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		"a.txt": "needle\n1\n2\n", "x.bin": "needle\x00", "y.bin": "needle\x00", ".gitignore": "out/\n", "out/a": "needle", "out/b": "needle",
		".hidden/a": "needle", "big.txt": strings.Repeat("x\n", 5<<20),
	})
	const binary, ignored, hidden = "2 binary files", "1 file or folder that ignore files exclude", "2 files or folders whose names begin with a dot"
	for _, tt := range []struct{ pattern, path, want string }{
		{"needle", ".", "a.txt:1:needle, " + binary + ", " + ignored},
		{"zebra", ".", binary + ", " + ignored + ", " + hidden},
		{`needle\n`, "a.txt", "a.txt:1:needle"},
		{`needle\nz`, ".", "big.txt: larger than 8 MB, so not searched with a pattern for several lines, " + binary + ", " + ignored + ", " + hidden},
		{"needle", "x.bin", "x.bin: binary file"},
	} {
		var got []string
		for _, item := range d.Must("fs.search", "pattern", tt.pattern, "path", tt.path, "ignored", false).(value.List) {
			item := item.(*value.Dict)
			switch {
			case !item.Has("skipped"):
				got = append(got, textsOf(value.List{item}))
			case item.Text("path") == "":
				got = append(got, item.Text("skipped"))
			default:
				got = append(got, item.Text("path")+": "+item.Text("skipped"))
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("a search for %s in %s: %s, want %s", tt.pattern, tt.path, got, tt.want)
		}
	}
	many := newProject(t, map[string]string{"a": strings.Repeat("x\n", 20_000)})
	got := many.Must("fs.search", "pattern", "^x$", "limit", int64(10_000), "after", int64(1)).(value.List)
	if len(got) != 10_000 {
		t.Errorf("a search with lines around returns %d items", len(got))
	}
	many = newProject(t, map[string]string{"a": strings.Repeat(strings.Repeat("x", 1000)+"\n", 20_000)})
	got = many.Must("fs.search", "pattern", "^x", "limit", int64(10_000)).(value.List)
	if last := got[len(got)-1].(*value.Dict); last.Text("skipped") != "everything after the first lines, which fill the result" || len(got) != maxFoundText/503+2 {
		t.Errorf("long lines: %d items, and the last is %s", len(got), last)
	}
}

func TestSearchAndGlobLeaveOutWhatIsTooLargeOrTooMuch(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"big": strings.Repeat("needle\n", 100), "small": "needle"})
	small := openProject(t, &Options{Root: d.Dir, Limits: Limits{Read: 50, Entries: 1}})
	if got := textsOf(small.Must("fs.search", "pattern", "needle")); got != "big:1:needle" {
		t.Errorf("fs.search = %q, want the first line of a file that is too large to read in one piece", got)
	}
	if got := small.Must("fs.read", "path", "big", "offset", int64(100), "limit", int64(5)); got != "needle\n" {
		t.Errorf("fs.read of the last line = %q", got)
	}
	if got := small.Must("fs.read", "path", "big", "offset", int64(101)); got != "" {
		t.Errorf("fs.read after the last line = %q, want nothing", got)
	}
	small.Fails(value.Limit, "the requested lines from line 2 on have more than 50 bytes", "fs.read", "path", "big", "offset", int64(2), "limit", int64(8))
	if got := small.Must("fs.glob", "pattern", "*", "total", true); !value.Equal(got, value.NewDict("paths", value.List{"big"}, "total", int64(2), "ignored", int64(0))) {
		t.Errorf("fs.glob with total = %s", value.FormatJSON(got, ""))
	}
	small.Fails(value.Limit, "too many files", "fs.list")
	if got := small.Must("fs.list", "total", true).(*value.Dict); got.Int("total") != 2 || len(got.Elements("entries")) != 1 {
		t.Errorf("fs.list with total = %s", value.FormatJSON(got, ""))
	}
	if got := textsOf(small.Must("fs.glob", "pattern", "*", "limit", int64(50))); got != "big" {
		t.Errorf("fs.glob = %q, want no more than the limit of the host", got)
	}
}

// TestX10GlobTime checks that a pattern that takes long to match takes a bounded time of
// the host.
func TestX10GlobTime(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(strings.Repeat("a", 60)+"/", 30)
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("%s%s%d", deep, strings.Repeat("a", 200), i)] = "text"
	}
	d := newProject(t, files)
	pattern := strings.Repeat("**/*{a,aa}*/", 6) + "b"
	for _, effect := range [][]value.Value{{"fs.glob", "pattern", pattern}, {"fs.search", "pattern", "x", "glob", pattern}} {
		late := time.AfterFunc(2*time.Minute, func() { panic("a pattern is matched for two minutes") })
		_, err := d.Run(context.Background(), effect[0].(string), effect[1:]...)
		if late.Stop(); err != nil && value.KindOf(err) != value.Limit {
			t.Errorf("%s: %v", effect[0], err)
		}
	}
	l := d.files.look(context.Background(), tool.Grant{})
	l.matching = maxMatching
	if _, err := l.matches("*", "x"); value.KindOf(err) != value.Limit || !strings.Contains(err.Error(), "the time limit of 1s is exceeded") {
		t.Errorf("matches after the time is over: %v", err)
	}
}
