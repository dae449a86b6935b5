package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/runtime/engine"
)

func TestKindOf(t *testing.T) {
	for _, test := range []struct {
		file, text string
		want       engine.Kind
	}{
		{".cassidy/tools/slug.star", "def slug(): pass", engine.KindTool},
		{"slug.star", "def slug():\n  pass\ntool(slug)\n", engine.KindTool},
		{"slug.lua", "", engine.KindTool},
		{"slug.md", "", engine.KindTool},
		{".cassidy/tools/slug_test.star", "def test_slug(t): pass", engine.KindTest},
		{".cassidy/tools/lib/text.star", "def slug(): pass", engine.KindLibrary},
		{"page.star", "def main():\n  pass\nworkflow(main)", engine.KindWorkflow},
		{"page.star", "def main():\n  pass\n", engine.KindWorkflow},
		{"mine.star", "def policy(task, agent):\n  pass\n", engine.KindPolicy},
		{"/x/policies/p/.cassidy/workflows/page.star", "def main():\n  pass\n", engine.KindWorkflow},
		{"/x/policies/p/.cassidy/workflows/page.star", "def policy(x):\n  pass\n\ndef main():\n  pass\n", engine.KindWorkflow},
		{"/x/policies/p/.cassidy/tools/part.star", "def part(): pass", engine.KindTool},
		{"/x/policies/p/.cassidy/hooks.star", "def before_call(call): pass", engine.KindHooks},
		{"/x/policies/p/page.star", "def main():\n  pass\n", engine.KindWorkflow},
		{"/x/lib/p/.cassidy/tools/slug.star", "def slug(): pass", engine.KindTool},
		{"/x/lib/p/.cassidy/workflows/page.star", "def main():\n  pass\n", engine.KindWorkflow},
		{"/x/lib/p/.cassidy/page.star", "def main():\n  pass\n", engine.KindWorkflow},
		{"/x/lib/p/page.star", "def main():\n  pass\n", engine.KindWorkflow},
		{"/x/lib/p/slug.star", "def slug():\n  pass\n\ntool(slug)\n", engine.KindTool},
		{"/x/lib/words.star", "def words():\n  pass\n", engine.KindLibrary},
		{".cassidy/tools/lib/workflows/deep.star", "def deep(): pass", engine.KindLibrary},
		{".cassidy/tools/lib/tools/deep.star", "def deep(): pass", engine.KindLibrary},
		{"/x/tools/p/.cassidy/policies/mine.star", "policy = 1\n", engine.KindPolicy},
		{".cassidy/tools/part.star", "def policy(x): pass", engine.KindTool},
		{".cassidy/hooks.star", "def before_call(call): pass", engine.KindHooks},
		{"model.star", "def reply(messages, turn): pass", engine.KindScript},
	} {
		if got := check.KindOf(test.file, test.text); got != test.want {
			t.Errorf("KindOf(%s) = %s, want %s", test.file, got, test.want)
		}
	}
}

// TestFileText checks that the text is checked and not what is on the disk, with the files beside it.
func TestFileText(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib", "x.star"), []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := check.New(check.Options{})
	file := filepath.Join(dir, "slug.star")
	const good = "load(\"lib/x.star\", \"x\")\n\ndef slug():\n    \"\"\"Return x.\"\"\"\n    return x\n\ntool(slug)\n"
	if got := c.File(file, good); len(got) != 0 {
		t.Errorf("File(good) = %v, want nothing", got)
	}
	got := c.File(file, "def slug():\n    \"\"\"Return y.\"\"\"\n    return y\n\ntool(slug)\n")
	if len(got) != 1 || got[0].Pos.Line != 3 || got[0].Pos.Col != 12 || got[0].Message != "undefined: y" {
		t.Errorf("File(bad) = %+v, want one fault at 3:12", got)
	}
}

// TestLibraryFolder checks that load reads the folder lib beside a file, or the one that the file is in, also if the
// project is in another folder with this name.
func TestLibraryFolder(t *testing.T) {
	const (
		words = "def words():\n    \"\"\"Return a word.\"\"\"\n    return \"w\"\n"
		loads = "load(\"lib/words.star\", \"words\")\n\ndef "
		body  = "():\n    \"\"\"Return a word.\"\"\"\n    return words()\n"
	)
	root := filepath.Join(t.TempDir(), "lib", "project")
	for file, text := range map[string]string{
		"lib/words.star":                         words,
		"flow.star":                              loads + "main" + body,
		".cassidy/workflows/lib/words.star":      words,
		".cassidy/workflows/page.star":           loads + "main" + body,
		".cassidy/tools/lib/words.star":          words,
		".cassidy/tools/lib/workflows/deep.star": loads + "deep" + body,
		".cassidy/tools/lib/tools/deep.star":     loads + "deep" + body,
		"lib/deep.star":                          loads + "deep" + body,
	} {
		at := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := check.New(check.Options{})
	files, err := filepath.Glob(filepath.Join(root, "*.star"))
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"lib", ".cassidy/workflows", ".cassidy/tools/lib/workflows", ".cassidy/tools/lib/tools"} {
		found, err := filepath.Glob(filepath.Join(root, more, "*.star"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) != 6 {
		t.Fatalf("the files are %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.File(file, string(text)); len(got) != 0 {
			t.Errorf("File(%s) = %v, want nothing", file, got)
		}
	}
	t.Chdir(filepath.Join(root, "lib"))
	if got := c.File("deep.star", loads+"deep"+body); len(got) != 0 {
		t.Errorf("File(deep.star) = %v, want nothing", got)
	}
}

// TestFilesOfTools checks that a Markdown file beside the tools is one even if its front matter is wrong.
func TestFilesOfTools(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tools/a.md", "tools/README.md", "tools/b.lua", "tools/lib/notes.md", "workflows/w.star", "workflows/notes.md"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("A note.\n---\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := check.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i], _ = filepath.Rel(dir, found[i])
		found[i] = filepath.ToSlash(found[i])
	}
	if want := []string{"tools/a.md", "tools/b.lua", "workflows/w.star"}; !slices.Equal(found, want) {
		t.Errorf("Files = %v, want %v", found, want)
	}
}

// TestFixOfConstants checks that a missing variable is not replaced by a constant that it resembles.
func TestFixOfConstants(t *testing.T) {
	c := check.New(check.Options{})
	for in, want := range map[string]string{"nope": "nope", "none": "None"} {
		text, _, _ := c.Fix("a.star", "def main():\n    \"\"\"Main.\"\"\"\n    return "+in+"\n")
		if got := text[strings.LastIndex(text, " ")+1 : len(text)-1]; got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
