package cassidy_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDocsWorkflows runs the workflows that the page on them shows, with a
// person who says yes, and looks at what they wrote.
func TestDocsWorkflows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "notes/a.md"), "# A\n")
	var names []string
	for _, b := range docBlocks(readPage(t, "docs/workflows.md")) {
		if strings.Contains("\n"+b.code, "\ndef main(") {
			putFile(t, filepath.Join(dir, ".cassidy/workflows", b.name), b.code)
			names = append(names, b.name)
		}
	}
	if want := []string{"digest.star", "page.star", "review.star"}; !slices.Equal(names, want) {
		t.Fatalf("the workflows are %q, want %q", names, want)
	}
	m := script.New("m", false, func(context.Context, value.List, int) (value.Value, error) { return "a letter", nil })
	h := openDocs(t, testhost.On{}, dir, &cassidy.Options{
		TrustSource: true, Approver: host.ApproveAll(),
		Modules: []tool.Module{agent.ModelModule(func(context.Context) (model.Model, error) { return m, nil })},
		Asker:   host.AskerFunc(func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{Yes: true}, nil }),
	})
	err := agent.Register(h, func() (*agent.Options, error) {
		done := script.New("done", false, func(context.Context, value.List, int) (value.Value, error) { return "TASK COMPLETE: no mistakes", nil })
		return &agent.Options{WorkDir: dir, Model: done}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all, broken := project.Workflows(dir, &trust.Scope{TrustOnce: true})
	if len(all) != 3 || len(broken) != 0 {
		t.Fatalf("%d workflows and %v, want three", len(all), broken)
	}
	for i := range all {
		v := runDocWorkflow(t, h, &all[i])
		if all[i].Name == "review" && value.FormatJSON(v, "") != `["no mistakes","no mistakes","no mistakes"]` {
			t.Errorf("the agents of review.star found %v", v)
		}
	}
	if got, want := readPage(t, filepath.Join(dir, "DIGEST.md")), "## notes/a.md\n\na letter\n"; got != want {
		t.Errorf("the digest is %q, want %q", got, want)
	}
	if got, want := readPage(t, filepath.Join(dir, "my-page.md")), "# My Page\n"; got != want {
		t.Errorf("the page is %q, want %q", got, want)
	}
}

func runDocWorkflow(t *testing.T, h *host.Host, w *project.Workflow) value.Value {
	t.Helper()
	if err := w.Describe(t.Context(), h.Describe); err != nil {
		t.Fatal(err)
	}
	script, err := w.Script()
	if err != nil {
		t.Fatal(err)
	}
	given := &value.Dict{}
	if _, ok := w.Tool.Param("title"); ok {
		given.Put("title", "My Page")
	}
	args, err := w.Tool.Check(given)
	if err != nil {
		t.Fatal(err)
	}
	needs := []tool.Capability{{Name: "human"}, {Name: "model"}, {Name: "tool"}}
	out, err := h.RunProgram(t.Context(), &host.Program{Name: w.Name, Script: script, Entry: "main", Args: args, Needs: needs})
	if err != nil {
		t.Errorf("%s: %v", w.Name, err)
	}
	return out.Value
}

// TestDocsRunsGo checks that the Go of the page on runs is that of the examples,
// which are run.
func TestDocsRunsGo(t *testing.T) {
	t.Parallel()
	example := strings.ReplaceAll(readPage(t, "runs_example_test.go"), "\n\t", "\n")
	blocks := strings.Split(readPage(t, "docs/runs.md"), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("docs/runs.md has no Go")
	}
	for _, b := range blocks {
		code, _, ok := strings.Cut(b, "```")
		if !ok || !strings.Contains(example, code) {
			t.Errorf("the Go of docs/runs.md is not in runs_example_test.go:\n%s", code)
		}
	}
}
