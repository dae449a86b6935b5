package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// knownTools are the tools that the planted scripts can call.
func knownTools() map[string]*tool.Tool {
	text := tool.Type{Name: tool.TypeString}
	return map[string]*tool.Tool{
		"issue": {Name: "issue", Description: "Open an issue.", Schema: []byte(`{"type": "object", "additionalProperties": false, "required": ["title"],
			"properties": {"title": {"type": "string"}, "points": {"type": "integer", "minimum": 1}, "labels": {"type": "array"}, "owner": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}`)},
		"slug":     {Name: "slug", Group: "text", Description: "Make a slug.", Params: []tool.Param{{Name: "text", Type: text, Required: true}}},
		"announce": {Name: "announce", Description: "Publish a note.", Needs: capabilities("fs.read:notes/*.md", "fs.write:published.log", "http.post:*.wiki.example", "secret:WIKI@api.wiki.example", "tool:@text")},
		"clean":    {Name: "clean", Description: "Remove files.", Needs: capabilities("shell:rm", "shell:sh")},
		"word_count": {Name: "word_count", Description: "Count words.", Params: []tool.Param{{Name: "filepath", Type: text, Required: true}},
			Needs: []tool.Capability{{Name: "fs.read"}}},
	}
}

func capabilities(list ...string) []tool.Capability {
	return value.Map(list, func(text string) tool.Capability {
		c, err := tool.ParseCapability(text)
		if err != nil {
			panic(err)
		}
		return c
	})
}

// TestPlanted checks that each planted mistake of testdata is found, at its place, and nothing else.
// Then each fix is applied: no fault with a fix is left, and the text is that of .fixed if there is one.
func TestPlanted(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	c := check.New(check.Options{Modules: modules(t), Tools: knownTools, Test: scripttest.Module().Funcs})
	planted := 0
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		want, texts, fixed := map[string]string{}, map[string]string{}, map[string]string{}
		for _, f := range archive.Files {
			if stem, ok := strings.CutSuffix(f.Name, ".want"); ok {
				want[stem] = string(f.Data)
				continue
			}
			if stem, ok := strings.CutSuffix(f.Name, ".fixed"); ok {
				fixed[stem] = strings.ReplaceAll(string(f.Data), "'''", "```")
				continue
			}
			texts[f.Name] = strings.ReplaceAll(string(f.Data), "'''", "```")
			file := placed(dir, f.Name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(texts[f.Name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range texts {
			stem := strings.TrimSuffix(file, filepath.Ext(file))
			t.Run(stem, func(t *testing.T) {
				path := placed(dir, file)
				found := c.File(path, text)
				planted += len(found)
				if diff := cmp.Diff(want[stem], lines(found)); diff != "" {
					t.Errorf("faults of %s: (-want +got)\n%s\n%s", file, diff, explained(found))
				}
				next, done, left := c.Fix(path, text)
				if want, ok := fixed[stem]; ok {
					if diff := cmp.Diff(want, next); diff != "" {
						t.Errorf("%s after its fixes: (-want +got)\n%s", file, diff)
					}
				}
				for _, d := range left {
					if d.Fix != nil && !d.Fix.Choice {
						t.Errorf("not fixed: %s", format(d))
					}
				}
				for _, d := range found {
					if d.Fix != nil && !d.Fix.Choice && len(done) == 0 {
						t.Errorf("nothing was fixed: %s", format(d))
					}
				}
			})
		}
	}
	if planted < 100 {
		t.Errorf("%d faults were found, want at least 100", planted)
	}
}

func lines(list []diagnostic.Diagnostic) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%d:%d %s %s", d.Pos.Line, d.Pos.Col, d.Severity, d.Code)
		switch {
		case d.Fix != nil && d.Fix.Choice:
			b.WriteString(" choice")
		case d.Fix != nil:
			b.WriteString(" fix")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func explained(list []diagnostic.Diagnostic) string {
	var b strings.Builder
	for _, d := range list {
		fmt.Fprintf(&b, "%d:%d %s\n", d.Pos.Line, d.Pos.Col, format(d))
	}
	return b.String()
}

// placed returns the path of a file of an archive: in the folder tools, unless it names a folder.
func placed(dir, name string) string {
	if strings.Contains(name, "/") && !strings.HasPrefix(name, "lib/") || name == "hooks.star" {
		return filepath.Join(dir, name)
	}
	return filepath.Join(dir, "tools", name)
}
