package project_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// effect executes one effect of the project's modules, as a host does.
func effect(ctx context.Context, root, home, name string, named *value.Dict) (tool.Outcome, error) {
	for _, m := range project.Modules(root, func() *trust.Scope { return mine(home) }) {
		for _, f := range m.Funcs {
			if m.Name+"."+f.Name != name {
				continue
			}
			args, err := f.Bind(nil, named)
			if err != nil {
				return tool.Outcome{}, err
			}
			return f.Do(ctx, tool.Effect{Func: name, Args: args}, tool.Grant{})
		}
	}
	return tool.Outcome{}, fmt.Errorf("unknown effect %s", name)
}

// mine are the options of a user with a home who trusts the project.
func mine(home string) *trust.Scope { return &trust.Scope{Home: home, TrustOnce: true} }

// contextOf reads the context of a project at a level.
func contextOf(t *testing.T, root, home, level string) string {
	t.Helper()
	out, err := effect(t.Context(), root, home, "context.read", value.NewDict("level", level))
	if err != nil {
		t.Fatalf("context.read(%q): %v", level, err)
	}
	text, _ := out.Value.(string)
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r\u0085") {
		t.Errorf("context.read(%q) gave what is no plain text: %q", level, text)
	}
	return text
}

func TestModules(t *testing.T) {
	t.Parallel()
	want := map[string]tool.EffectKind{"context.read": tool.Read, "skill.create": tool.External, "memory.add": tool.Repeatable}
	for _, m := range project.Modules("", func() *trust.Scope { return &trust.Scope{} }) {
		for _, f := range m.Funcs {
			name := m.Name + "." + f.Name
			if f.Mode == tool.ModeInternal {
				continue
			}
			kind, ok := want[name]
			if !ok || f.Kind != kind {
				t.Errorf("%s has kind %v, want %v (%v)", name, f.Kind, kind, ok)
			}
			delete(want, name)
			targets, err := f.Target(&value.Dict{})
			if err != nil || len(targets) != 1 || targets[0].String() != name {
				t.Errorf("Target of %s = %v, %v, want itself", name, targets, err)
			}
			if _, err := tool.ParseCapability(name); err != nil {
				t.Errorf("%s is no capability: %v", name, err)
			}
			if f.Doc == "" || f.Returns == "" || m.Doc == "" {
				t.Errorf("%s is not explained", name)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestContextNames checks the sources of a project's name, and that its full path is
// not disclosed.
func TestContextNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, text, want string }{
		{"", "", "shop"},
		{"go.mod", "// a comment\nmodule example.com/shop/v2\n\ngo 1.26\n", "example.com/shop/v2"},
		{"package.json", `{"name": "@me/shop", "author": {"name": "Ada"}}`, "@me/shop"},
		{"package.json", "{\n  \"version\": \"1\",\n  \"author\": {\n    \"name\": \"Ada\"\n  },\n  \"name\": \"shop-web\"\n}", "shop-web"},
		{"package.json", "{broken", "shop"},
		{"Cargo.toml", "[package]\nname = \"shop-rs\"\n", "shop-rs"},
		{"pyproject.toml", "[project]\nname = \"shop-py\"\n", "shop-py"},
		{"DESCRIPTION", "Package: shopr\nTitle: Shop\n", "shopr"},
		{"go.mod", "module evil\x1b[2J\n", `evil\u001b[2J`},
	} {
		root := filepath.Join(t.TempDir(), "shop")
		put(t, root, "x/y.txt", "")
		if c.file != "" {
			put(t, root, c.file, c.text)
		}
		for _, level := range []string{"minimal", "standard", "comprehensive"} {
			got := contextOf(t, root, t.TempDir(), level)
			if want := "# Project: " + c.want + "\n\nFolder: shop\n"; !strings.HasPrefix(got, want) {
				t.Errorf("%s %q: context.read begins with %.60q, want %q", c.file, c.text, got, want)
			}
			if strings.Contains(got, filepath.Dir(root)) {
				t.Errorf("context.read(%q) contains the path of the project: %s", level, got)
			}
		}
	}
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestContextNotes checks the notes and their order: the user's first, so that the
// project's can be more specific.
func TestContextNotes(t *testing.T) {
	t.Parallel()
	root, home := t.TempDir(), t.TempDir()
	put(t, home, "CASSIDY.md", "note 1")
	put(t, home, "rules/a.md", "note 2")
	put(t, home, "rules/deep/er/b.md", "note 3")
	put(t, root, "CASSIDY.md", "note 4")
	put(t, root, "CASSIDY.local.md", "note 5")
	put(t, root, ".cassidy/CASSIDY.md", "note 6")
	put(t, root, ".cassidy/CASSIDY.local.md", "note 7")
	put(t, root, ".cassidy.md", "note 8")
	put(t, root, ".cassidy/rules/z.md", "note 9")
	put(t, root, ".cassidy/rules/a/b/c.md", "note 0")
	for _, not := range []string{"rules/x.txt", "rules/.hidden.md", "skills/x.txt", "rules.md", "sub/CASSIDY.md"} {
		put(t, root, ".cassidy/"+not, "told by mistake")
	}
	put(t, root, ".cassidy/rules/empty.md", " \n")
	text := contextOf(t, root, home, "minimal")
	var got []string
	for _, part := range strings.Split(text, "note ")[1:] {
		got = append(got, part[:1])
	}
	if want := strings.Split("1234567809", ""); !slices.Equal(got, want) {
		t.Errorf("the notes come in the order %v, want %v:\n%s", got, want, text)
	}
	for _, not := range []string{"told by mistake", "empty.md"} {
		if strings.Contains(text, not) {
			t.Errorf("the notes hold %q:\n%s", not, text)
		}
	}
}

// TestContextOwnFolder checks a project whose .cassidy is the user's own: its notes and
// skills appear once.
func TestContextOwnFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, ".cassidy/CASSIDY.md", "only once")
	put(t, root, ".cassidy/rules/a.md", "rule once")
	put(t, root, ".cassidy/skills/s.md", "---\ndescription: skill once\n---\n")
	text := contextOf(t, root, filepath.Join(root, ".cassidy"), "minimal")
	for _, want := range []string{"only once", "rule once", "skill once"} {
		if n := strings.Count(text, want); n != 1 {
			t.Errorf("%q appears %d times, want 1:\n%s", want, n, text)
		}
	}
}

func TestContextIsCut(t *testing.T) {
	t.Parallel()
	const marker = "\n[Context truncated...]\n"
	root := t.TempDir()
	put(t, root, "CASSIDY.md", strings.Repeat("ä", 5000))
	text := contextOf(t, root, "", "standard")
	if n := strings.Count(text, "ä"); n != 4000 || strings.Contains(text, marker) || !strings.Contains(text, "## Files") {
		t.Errorf("of a long note %d characters are told, want 4000, and the rest too:\n%.200s", n, text)
	}
	put(t, root, "CASSIDY.local.md", strings.Repeat("ö", 100_000))
	text = contextOf(t, root, "", "standard")
	cut, ok := strings.CutSuffix(text, marker)
	if n := utf8.RuneCountInString(cut); !ok || n != 8000 {
		t.Errorf("the context has %d characters, marked: %v; want 8000 and a mark", n, ok)
	}
}

func TestContextGit(t *testing.T) {
	t.Parallel()
	zero, one, two := strings.Repeat("0", 40), strings.Repeat("1", 40), strings.Repeat("2", 40)
	entry := func(from, to, what string) string {
		return from + " " + to + " A B <a@b.example> 1700000000 +0000\t" + what + "\n"
	}
	for _, c := range []struct {
		name, head, log string
		want, not       []string
	}{
		{"a branch", "ref: refs/heads/fix/a-b\n", "", []string{"Git branch: fix/a-b\n"}, []string{"Commits"}},
		{"a commit", one + "\n", "", []string{"Git branch: none (detached at 1111111)"}, nil},
		{"nothing of git", "hello\n", entry(zero, one, "commit: x"), nil, []string{"Git", "Commits"}},
		{"an empty file", "", "", nil, []string{"Git"}},
		{"control characters", "ref: refs/heads/x\x1b[31m\n", "", []string{"Git branch: x\\u001b[31m\n"}, nil},
		{
			"commits", "ref: refs/heads/main\n",
			entry(zero, one, "commit (initial): begin") + entry(one, two, "commit (amend): begin better") + entry(two, two, "checkout: moving") + "damaged\n\n" + entry(two, one, "commit: next: one"),
			[]string{"- 1111111 2023-11-14 next: one\n- 2222222 2023-11-14 begin better\n"}, []string{"a@b.example", "begin\n", "moving", "damaged"},
		},
		{
			"many commits", "ref: refs/heads/main\n",
			strings.Repeat(entry(one, two, "commit: "+strings.Repeat("x", 100)), 5000) + entry(one, two, "commit: last"),
			[]string{"last\n"}, nil,
		},
	} {
		root := t.TempDir()
		put(t, root, ".git/HEAD", c.head)
		put(t, root, ".git/logs/HEAD", c.log)
		text := contextOf(t, root, "", "comprehensive")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the context does not say %q:\n%s", c.name, want, text)
			}
		}
		for _, not := range c.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: the context says %q:\n%s", c.name, not, text)
			}
		}
		if n := strings.Count(text, "2023-11-14"); n > 5 {
			t.Errorf("%s: %d commits, want at most 5", c.name, n)
		}
	}
}

// TestContextFiles checks that a large project is summarized, not listed.
func TestContextFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 30 {
		put(t, root, fmt.Sprintf("many/f%02d.txt", i), "12345")
		put(t, root, fmt.Sprintf("dirs/d%02d/x.go", i), "")
	}
	for _, not := range []string{"node_modules/a/a.js", "vendor/b/b.go", ".hidden/c.txt", ".env", "sub/node_modules/d.js"} {
		put(t, root, not, "other people's")
	}
	put(t, root, "a/b/c/d/e/f/deep.py", strings.Repeat("x", 5000))
	text := contextOf(t, root, "", "comprehensive")
	for _, want := range []string{
		"61 files, 5.0 KB: 30 .go, 30 .txt, 1 .py", "many/ (30 files, 150 B)", "… 18 more files", "… 18 more folders",
		"### Largest Files\n\n- a/b/c/d/e/f/deep.py (4.9 KB)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the context does not say %q:\n%s", want, text)
		}
	}
	for _, not := range []string{".js", ".hidden", ".env", "    d/"} {
		if strings.Contains(text, not) {
			t.Errorf("the context says %q:\n%s", not, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := effect(ctx, root, "", "context.read", nil); value.KindOf(err) != value.Canceled {
		t.Errorf("context.read of a cancelled call: %v, want that it is cancelled", err)
	}
}

// TestContextNowhere checks folders with little content.
func TestContextNowhere(t *testing.T) {
	t.Parallel()
	if text := contextOf(t, "", "", "comprehensive"); text != "# Project: none\n\nFolder: none\n" {
		t.Errorf("without a project the context is %q", text)
	}
	root := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if text := contextOf(t, root, filepath.Join(root, "no-home"), "standard"); text != "# Project: empty\n\nFolder: empty\n\n## Files\n\nno files\n" {
		t.Errorf("the context of an empty folder is %q", text)
	}
	if _, err := effect(t.Context(), filepath.Join(root, "gone"), "", "context.read", nil); value.KindOf(err) != value.Failed || strings.Contains(err.Error(), root) {
		t.Errorf("context.read of a folder that is gone: %v", err)
	}
	if _, err := effect(t.Context(), root, "", "context.read", value.NewDict("level", "all")); value.KindOf(err) != value.Invalid {
		t.Errorf("context.read(level=all): %v, want that it is invalid", err)
	}
}
