package cassidy_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDocsHooks has the file that the page on hooks shows watch an agent, in a worker.
func TestDocsHooks(t *testing.T) {
	t.Parallel()
	source := ""
	for _, b := range docBlocks(readPage(t, "docs/hooks.md")) {
		if b.lang == "python" {
			source = b.code
		}
	}
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "private/keys.txt"), "a key")
	h := openDocs(t, testhost.On{Sandbox: cassidy.Process}, dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll()})
	replies := []string{
		`{"tool_decision": {"action": "read_file", "input": {"filepath": "private/keys.txt"}}}`,
		`{"tool_decision": {"action": "write_file", "input": {"filepath": "a.gen.txt", "content": "x"}}}`,
		"TASK COMPLETE: done", "TASK COMPLETE: done, the tests pass",
	}
	var said strings.Builder
	m := script.New("m", false, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
		last, _ := messages[len(messages)-1].(*value.Dict)
		said.WriteString(last.Text("content"))
		return replies[turn], nil
	})
	a, err := agent.New(h, &agent.Options{Model: m, Tools: []string{"read_file", "write_file"}, Hooks: []hooks.File{{Path: "hooks.star", Source: source}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Run(context.Background(), "Work")
	if err != nil || r.Text != "done, the tests pass" {
		t.Errorf("the agent gave %q, %v", r.Text, err)
	}
	for _, want := range []string{"private/ is not for models", `filepath="gen/a.gen.txt"`, "Note: run the tests before you answer", "refused your answer: say which tests you have run"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the model did not get %q:\n%s", want, said.String())
		}
	}
}
