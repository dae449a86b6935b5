package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/apptest"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/test"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/tool"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

func commands() []func(*app.App) *cli.Command {
	return []func(*app.App) *cli.Command{tool.Command, trust.Command, test.Command, check.Command, check.Format}
}

// newProject returns a project with a document in it.
func newProject(t *testing.T) *apptest.Project {
	t.Parallel()
	p := apptest.NewProject(t, commands(), map[string]string{"config.yaml": ""})
	for _, name := range []string{"petstore.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../../../internal/openapi/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		p.Write(name, string(text))
	}
	return p
}

// in returns the path of a file of the project.
func in(p *apptest.Project, name string) string { return filepath.Join(p.Dir, name) }

// TestImportJSON checks the output of --json.
func TestImportJSON(t *testing.T) {
	p := newProject(t)
	out, stderr, code := p.Run("--json", "tool", "import", in(p, "petstore.yaml"), "--all", "--yes")
	var got struct {
		Tools []struct {
			Name, Operation, Host string
			Secrets               []string
		}
		Files   []string
		LeftOut []struct{ Operation, Reason string } `json:"left_out"`
		Trusted bool
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("%v, %d\n%s%s", err, code, out, stderr)
	}
	if len(got.Tools) != 7 || len(got.Files) != 15 || len(got.LeftOut) != 2 || !got.Trusted ||
		got.Tools[1].Name != "list_pets" || !slices.Equal(got.Tools[1].Secrets, []string{"PET_STORE_TOKEN"}) || got.Tools[1].Host != "eu.pets.example.com" {
		t.Errorf("got %+v", got)
	}
	p.Want([]string{"--json", "tool", "import", in(p, "petstore.yaml"), "--list"}, 0, `"left_out":"its body is multipart/form-data`, "")
}
