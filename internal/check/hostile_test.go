package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
)

// hostile are texts that are made to exhaust or to crash a reader.
func hostile() map[string]string {
	const many = 250_000
	chain := strings.Repeat("a + ", 15_000) + "a"
	return map[string]string{
		"empty.star":        "",
		"spaces.star":       strings.Repeat(" ", many),
		"lines.star":        strings.Repeat("\n", many),
		"brackets.star":     strings.Repeat("(", many),
		"open.star":         "def open():\n    return " + strings.Repeat("[", 5000),
		"chain.star":        "def chain(a):\n    \"\"\"Add.\"\"\"\n    return " + chain + "\n\ntool(chain)\n",
		"texts.star":        "def texts(a):\n    \"\"\"Add.\"\"\"\n    return fs.read(" + strings.Repeat("a + \"/\" + ", testutil.Times(1_000, 4_000)) + "a)\n\ntool(texts)\n",
		"faults.star":       strings.Repeat("def f(:\n", testutil.Times(many/64, many/8)),
		"unknown.star":      "def unknown():\n" + strings.Repeat("    x = y\n", many/10),
		"loads.star":        strings.Repeat("load(\"lib/a.star\", \"a\")\n", 5_000),
		"quotes.star":       "\"\"\"",
		"cr.star":           "def cr():\r    return x\r\rtool(cr)\r",
		"line.star":         "x = [" + strings.Repeat("'é', ", 30_000) + "y]",
		"bom.star":          "\ufeffdef bom():\n    return x\n",
		"deep.lua":          "return " + strings.Repeat("{", 10_000),
		"minus.lua":         "return " + strings.Repeat("- ", many/2) + "1",
		"ends.lua":          strings.Repeat("local function f()\n", testutil.Times(3_000, 10_000)),
		"faults.lua":        strings.Repeat("x = = 1\n", many/8),
		"names.lua":         strings.Repeat("f(x)\n", many/5),
		"fences.md":         "---\ndescription: x\n---\n" + strings.Repeat("```\n", many/4),
		"tildes.md":         "---\ndescription: x\n---\n" + strings.Repeat("~", many),
		"yaml.md":           "---\n" + strings.Repeat("[", 20_000) + "\n---\n",
		"front.md":          strings.Repeat("---\n", many/4),
		"name\nbreak.star":  "x = y\n",
		"nul.star":          "x = 1\x00\n",
		"nul.lua":           "x = 1\x00\n",
		"invalid.star":      "x = '\xff\xfe'\n",
		"invalid.lua":       "x = '\xff\xfe'\n",
		"invalid.md":        "---\n\xff\n---\n",
		"too_long.star":     strings.Repeat("#", 300<<10),
		"nearly_mega.md":    strings.Repeat("#", 1<<20),
		"not_a_script.py":   "x = 1\n",
		"annotations.star":  "def annotations(" + strings.Repeat("a: list[", 10_000) + "):\n",
		"declarations.star": "a = [1]\n" + strings.Repeat("tool(a)\n", testutil.Times(5_000, 20_000)),
		"needs.star":        "def needs():\n    \"\"\"x\"\"\"\ntool(needs, needs = [" + strings.Repeat("\"fs.read\", ", 10_000) + "])\n",
	}
}

// TestHostile checks texts that are made to exhaust a reader: each check and each fix ends, with faults inside
// of the text, in a quarter of the stack of a worker.
func TestHostile(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	c := check.New(check.Options{Modules: modules(t), Tools: knownTools})
	dir := t.TempDir()
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "tools", name)
			found := c.File(file, text)
			if len(found) == 0 && name != "chain.star" {
				t.Errorf("no faults")
			}
			if len(found) > 500 {
				t.Errorf("%d faults, want at most 500", len(found))
			}
			for _, d := range found {
				if d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(text) || d.Pos.Line < 1 || d.Pos.Col < 1 || d.Message == "" || d.Code == "" {
					t.Fatalf("invalid diagnostic: %+v", d)
				}
			}
			if len(text) < 100_000 {
				c.Fix(file, text)
			}
			_, _ = c.Format(file, text)
		})
	}
}

// growing are texts of about n bytes whose check could take more than n steps: it looks for a name among all names, for a line
// among all lines, or for a column in a line of any length, and it does so again and again.
func growing(n int) map[string]string {
	fill := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	return map[string]string{
		"undefined.star": fill(n/2, func(i int) string { return fmt.Sprintf("def f%d(): pass\n", i) }) + fill(n/2, func(i int) string { return fmt.Sprintf("g%d()\n", i) }),
		"again.star":     fill(n/2, func(i int) string { return fmt.Sprintf("def f%d(): pass\n", i) }) + strings.Repeat("g()\n", n/8),
		"args.star":      "def args():\n    \"\"\"D.\n\n    Args:\n" + fill(n, func(i int) string { return fmt.Sprintf("        a%d: x\n", i) }) + "    \"\"\"\n\ntool(args)\n",
		"wide.star":      "x = [\"é\"" + fill(n, func(i int) string { return fmt.Sprintf(", y%d", i) }) + "]\n",
		"nested.star":    strings.Repeat("x = "+strings.Repeat("(", 90)+strings.Repeat(")", 90)+"\n", n/185),
		"names.lua":      "local é = {\"é\"" + fill(n, func(i int) string { return fmt.Sprintf(", y%d", i) }) + "}\n",
		"params.lua":     "local function params(a" + fill(n, func(i int) string { return fmt.Sprintf(", a%d", i) }) + ") end\n",
		"locals.lua":     "function locals()\n" + fill(n, func(i int) string { return fmt.Sprintf("local a%d = 1\n", i) }) + "end\n",
		"late.lua":       fill(n, func(i int) string { return fmt.Sprintf("x%d = 1\n", i) }) + "if a then\n",
		"do.lua":         strings.Repeat("do\n", n/3),
	}
}

// TestCheckIsLinear checks texts whose check could need more work than they are longer.
func TestCheckIsLinear(t *testing.T) {
	c := check.New(check.Options{Modules: modules(t), Tools: knownTools})
	dir := t.TempDir()
	for name := range growing(100) {
		testutil.Linear(t, name, 4_000, 200_000, func(n int) {
			if len(c.File(filepath.Join(dir, "tools", name), growing(n)[name])) == 0 {
				t.Errorf("%s: no faults", name)
			}
		})
	}
}

// TestSyntaxFaultsAreBounded checks that a text is parsed again for many faults if it is short, and for few if it is long.
func TestSyntaxFaultsAreBounded(t *testing.T) {
	t.Parallel()
	c := check.New(check.Options{})
	for _, tt := range []struct {
		name, line string
		n, want    int
	}{
		{"a.star", "x = = 1\n", 30, 25}, {"a.star", "x = = 1\n", 30_000, 4}, {"a.star", "x = = 1\n", 5, 5},
		{"a.lua", "x = = 1\n", 30, 25}, {"a.lua", "x = = 1\n", 30_000, 4}, {"a.lua", "x = = 1\n", 5, 5},
	} {
		if got := len(c.File(tt.name, strings.Repeat(tt.line, tt.n))); got != tt.want {
			t.Errorf("%d faults of syntax in %s: %d are listed, want %d", tt.n, tt.name, got, tt.want)
		}
	}
}

// TestRead checks what is not read: each case has one clear message.
func TestRead(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write(filepath.Join(outside, "secret.star"), "x = 1\n")
	if err := os.Mkdir(filepath.Join(root, "folder.star"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link.star")
	if err := os.Symlink(filepath.Join(outside, "secret.star"), link); err != nil {
		t.Skipf("SKIPPED: no links here: %v", err)
	}
	for file, want := range map[string]string{
		filepath.Join(root, "missing.star"): "no such file",
		filepath.Join(root, "folder.star"):  "not a regular file",
		link:                                "the link points outside the project",
		write(filepath.Join(root, "text.txt"), "x"):                       "not a script",
		write(filepath.Join(root, "nul.star"), "x\x00"):                   "NUL byte at offset 1",
		write(filepath.Join(root, "bad.star"), "\xff"):                    "not UTF-8 text",
		write(filepath.Join(root, "l.star"), string(make([]byte, 2<<20))): "longer than 1024 KB",
	} {
		_, err := check.Read(root, file)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s) = %v, want %s", filepath.Base(file), err, want)
		}
	}
	good := write(filepath.Join(root, "good.star"), "x = 1\n")
	if text, err := check.Read(root, good); err != nil || text != "x = 1\n" {
		t.Errorf("Read(good) = %q, %v", text, err)
	}
	if _, err := check.Read("", filepath.Join(outside, "secret.star")); err != nil {
		t.Errorf("Read of a file outside of a project: %v", err)
	}
}

// TestReplace checks that a file that has changed since it was read is kept.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.star")
	if err := os.WriteFile(file, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check.Replace("", file, "old\n", "fixed\n"); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("Replace of a changed file: %v", err)
	}
	if err := check.Replace("", file, "new\n", "fixed\n"); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	info, err := os.Stat(file)
	if string(data) != "fixed\n" || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after Replace: %q, %v, %v", data, info.Mode(), err)
	}
	entries, _ := os.ReadDir(filepath.Dir(file))
	if len(entries) != 1 {
		t.Errorf("%d files are left, want 1", len(entries))
	}
}

// TestFixMakesNoNewErrors checks that fixing the planted mistakes of a file ends with fewer errors.
func TestFixKeepsMeaning(t *testing.T) {
	c := check.New(check.Options{Modules: modules(t), Tools: knownTools})
	const text = "load(\"lib/a.star\", \"a\")\n\ndef keep(path: str) -> str:\n    \"\"\"Read.\"\"\"\n    return http.gett(\"https://api.example.com/\" + pth)[\"text\"]\n\ntool(\n    keep,\n    group = \"text\",\n)\n"
	dir := filepath.Join(t.TempDir(), "tools")
	if err := os.MkdirAll(filepath.Join(dir, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib", "a.star"), []byte("def a():\n    pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fixed, done, left := c.Fix(filepath.Join(dir, "keep.star"), text)
	const want = "\ndef keep(path: str) -> str:\n    \"\"\"Read.\"\"\"\n    return http.get(\"https://api.example.com/\" + path)[\"text\"]\n\ntool(\n    keep,\n    group = \"text\",\n    needs = [\"http.get:api.example.com\"],\n)\n"
	if fixed != want || len(done) != 4 || len(left) != 0 {
		t.Errorf("Fix: %d fixed, %d left\n%s", len(done), len(left), fixed)
	}
	for i, line := range []int{1, 4, 4, 4} { // of the new text
		if i < len(done) && done[i].Pos.Line != line {
			t.Errorf("fix %d is in line %d of the new text, want %d", i, done[i].Pos.Line, line)
		}
	}
	if n := len(done); n > 0 && done[0].Severity == diagnostic.Error && done[0].Fix == nil {
		t.Errorf("a fault without a fix was fixed")
	}
}
