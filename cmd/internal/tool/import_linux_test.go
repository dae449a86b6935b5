package tool_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestImportAsks checks that a person chooses operations, sees what was made, and decides on it once.
func TestImportAsks(t *testing.T) {
	for typed, want := range map[string]struct {
		said  string
		names string // of the trusted tools
	}{
		"2-3 login\nv\ny\n": {"trusted 7 files", "create_pet list_pets login"}, // with their tests, and lib
		"9\n5\ny\nv\n\n":    {"nothing was trusted", ""},
		"\n":                {"nothing was imported", ""},
		"all\nn\n":          {"nothing was trusted", ""},
	} {
		t.Run(typed, func(t *testing.T) {
			p := newProject(t)
			person, program := ptytest.Open(t)
			if _, err := person.WriteString(typed); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			env := map[string]string{"CASSIDY_HOME": p.Home, "CASSIDY_WORKER": testworker.Exec()}
			code := app.Run(context.Background(), []string{"--dir", p.Dir, "tool", "import", in(p, "petstore.yaml"), "--openapi"}, &app.World{
				In: program, Out: &out, Err: &errs, Sandbox: apptest.Sandbox(), Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
			}, commands()...)
			if code != 0 || !strings.Contains(errs.String(), want.said) || !strings.Contains(errs.String(), "2 operations cannot be imported") {
				t.Errorf("exit %d\n%s%s\nwant %q", code, out.String(), errs.String(), want.said)
			}
			if strings.Contains(typed, "9") && !strings.Contains(errs.String(), "there is no operation 9") {
				t.Errorf("the wrong number is not reported:\n%s", errs.String())
			}
			for _, name := range strings.Fields(want.names) {
				p.Want([]string{"tool", "validate", name}, 0, name+" is valid and ready to use", "")
				if text := "│ def " + name + "("; !strings.Contains(out.String(), text) {
					t.Errorf("%q was not shown:\n%s", text, out.String())
				}
			}
			list, _, _ := p.Run("trust", "--list")
			if n := strings.Count(list, "_test.star"); n != len(strings.Fields(want.names)) {
				t.Errorf("%d tests are trusted:\n%s", n, list)
			}
		})
	}
}
