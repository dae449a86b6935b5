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
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDocsPolicies has each policy that the page on agents shows lead an agent
// to its end, in a worker.
func TestDocsPolicies(t *testing.T) {
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "a.txt"), "the answer is 42")
	var names []string
	for _, b := range docBlocks(readPage(t, "docs/agents.md")) {
		if strings.HasPrefix(b.code, "def policy(") || strings.Contains(b.code, "\ndef policy(") {
			putFile(t, filepath.Join(dir, ".cassidy/policies", b.name), b.code)
			names = append(names, b.name)
		}
	}
	if want := []string{"sure.star", "short.star"}; !slices.Equal(names, want) {
		t.Fatalf("the policies are %q, want %q", names, want)
	}
	h := openDocs(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true})
	policies, broken := project.Policies(dir, &trust.Scope{TrustOnce: true})
	if len(policies) != 2 || len(broken) != 0 {
		t.Fatalf("%d policies and %v, want two", len(policies), broken)
	}
	for _, p := range policies {
		s, err := p.Script(agent.PolicyLibs())
		if err != nil {
			t.Fatal(err)
		}
		m := script.New("m", false, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
			if turn == 0 {
				return `{"tool_decision": {"action": "read_file", "input": {"filepath": "a.txt"}, "status": "continue"}}`, nil
			}
			last, _ := messages[len(messages)-1].(*value.Dict)
			return "TASK COMPLETE: " + last.Text("content"), nil
		})
		a, err := agent.New(h, &agent.Options{
			Model: m, Tools: []string{"read_file"}, Policy: p.Name,
			Policies: func(string) (agent.Policy, error) {
				return agent.Policy{Name: p.Name, Script: s, Location: p.Location}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Run(context.Background(), "What is the answer?")
		if err != nil {
			t.Fatal(err)
		}
		if !r.Success() || len(r.Calls) != 1 || !r.Calls[0].Success {
			t.Errorf("%s ended with %s after %d calls (%q), want an answer after one", p.Name, r.Reason, len(r.Calls), r.Text)
		}
	}
}
