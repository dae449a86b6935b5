package lsp_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/cmd/internal/lsp"
	"github.com/cassidy-run/cassidy/cmd/internal/trust"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

// commands returns the commands of the tests.
func commands() []func(*app.App) *cli.Command {
	return []func(*app.App) *cli.Command{lsp.Command, trust.Command}
}

// talk sends messages to cassidy lsp in a project, and returns all that it answers.
func talk(t *testing.T, p *apptest.Project, messages ...string) string {
	t.Helper()
	var in, out, errs bytes.Buffer
	for _, m := range messages {
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(m), m)
	}
	env := map[string]string{"CASSIDY_HOME": p.Home, "CASSIDY_WORKER": testworker.Exec()}
	code := app.Run(context.Background(), []string{"--dir", p.Dir, "lsp"}, &app.World{
		In: &in, Out: &out, Err: &errs, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, commands()...)
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("cassidy lsp: %d\n%s", code, &errs)
	}
	return out.String()
}

const initialize = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}`

func open(file, text string) string {
	return fmt.Sprintf(`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file://%s", "languageId": "x", "version": 1, "text": %q}}}`, filepath.ToSlash(file), text)
}

func ask(id int, method, file string, line, character int) string {
	return fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "textDocument/%s", "params": {"textDocument": {"uri": "file://%s"}, "position": {"line": %d, "character": %d}}}`,
		id, method, filepath.ToSlash(file), line, character)
}

// TestServe checks that the server knows the tools and the libraries of the project, also untrusted ones, and runs nothing.
func TestServe(t *testing.T) {
	p := apptest.NewProject(t, commands(), map[string]string{
		"tools/slug.star":     "def slug(text: str) -> str:\n    \"\"\"Make a slug.\"\"\"\n    return text\n\ndef here():\n    fail(\"this must not run\")\n\ntool(slug, available = here)\n",
		"tools/lib/text.star": "def trim(s):\n    return s\n",
		"config.yaml":         "{}\n",
	})
	p.Write(".cassidy/tools/later.lua", "return tool{ description = \"Not reviewed.\", handler = function() error('this must not run') end }\n")
	file := filepath.Join(p.Dir, ".cassidy", "tools", "page.star")
	markdown := filepath.Join(p.Dir, ".cassidy", "tools", "notes.md")
	text := "load(\"lib/text.star\", \"trim\")\ndef page():\n    return trim(tools.slug(text = 1))\ntool(page)\n"
	out := talk(t, p, initialize, open(file, text),
		ask(2, "definition", file, 2, 12), ask(3, "definition", file, 2, 24), ask(4, "completion", file, 2, 22), ask(5, "hover", file, 2, 24),
		ask(6, "formatting", file, 0, 0), open(markdown, "---\ndescription: x\n---\n```star\ndef notes( a ):\n  return a\n```\n"), ask(7, "formatting", markdown, 0, 0))
	for _, want := range []string{
		`/.cassidy/tools/lib/text.star","range":{"start":{"line":0,"character":4}`, `/.cassidy/tools/slug.star","range"`,
		`"label":"slug"`, `"label":"later"`, "Make a slug.",
		`"newText":"load(\"lib/text.star\", \"trim\")\n\ndef page():\n`, `def notes(a):\n    return a\n`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the answers lack %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "must not run") {
		t.Errorf("a script was run:\n%s", out)
	}
}

func TestLuaCATS(t *testing.T) {
	p := apptest.NewProject(t, commands(), map[string]string{"tools/slug.star": "def slug(text: str):\n    \"\"\"Make a slug.\"\"\"\n\ntool(slug)\n"})
	p.Want([]string{"lsp", "--luacats"}, 0, "", "wrote ")
	text, err := os.ReadFile(filepath.Join(p.Dir, ".cassidy", "cassidy.lua"))
	if err != nil || !strings.Contains(string(text), "function tools.slug(args) end") {
		t.Errorf("the definitions: %v\n%s", err, text)
	}
	p.Want([]string{"lsp", "--luacats", filepath.Join(p.Dir, "missing")}, 2, "", "cassidy lsp --luacats FOLDER")
	p.Want([]string{"lsp", "--luacats", filepath.Join(p.Dir, ".cassidy", "cassidy.lua")}, 2, "", "is not a folder")
	p.Want([]string{"--dir", t.TempDir(), "lsp", "--luacats"}, 2, "", "there is no project in or above the working folder")
	p.Want([]string{"lsp", "somewhere"}, 2, "", "only valid with --luacats")
}
