package cassidy_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/agentfile"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDocsPolicies has each policy that the page on agents shows lead an agent
// to its end, in a worker.
func TestDocsPolicies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "a.txt"), "the answer is 42")
	var names []string
	for _, b := range docBlocks(readPage(t, "docs/agents.md")) {
		if strings.HasPrefix(b.code, "def policy(") || strings.Contains(b.code, "\ndef policy(") {
			putFile(t, filepath.Join(dir, ".cassidy/policies", b.name), b.code)
			names = append(names, b.name)
		}
	}
	if want := []string{"sure.star", "short.star", "drafts.star"}; !slices.Equal(names, want) {
		t.Fatalf("the policies are %q, want %q", names, want)
	}
	h := openDocs(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true})
	policies, broken := project.Policies(dir, &trust.Scope{TrustOnce: true})
	if len(policies) != len(names) || len(broken) != 0 {
		t.Fatalf("%d policies and %v, want %d", len(policies), broken, len(names))
	}
	var o *agent.Options
	if err := agent.Register(h, func() (*agent.Options, error) { return o, nil }); err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		s, err := p.Script(agent.PolicyLibs())
		if err != nil {
			t.Fatal(err)
		}
		m := script.New("m", false, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
			last, _ := messages[len(messages)-1].(*value.Dict)
			if turn == 0 && !strings.Contains(last.Text("content"), "Merge these answers") {
				return `{"tool_decision": {"action": "read_file", "input": {"filepath": "a.txt"}, "status": "continue"}}`, nil
			}
			return "TASK COMPLETE: " + last.Text("content"), nil
		})
		o = &agent.Options{
			Model: m, Tools: []string{"read_file", "agent"}, Policy: p.Name,
			Models: func(context.Context, string) (model.Model, error) { return m, nil },
			Policies: func(name string) (agent.Policy, error) {
				if name != p.Name {
					return agent.Builtin(name)
				}
				return agent.Policy{Name: p.Name, Script: s, Location: p.Location}, nil
			},
		}
		a, err := agent.New(h, o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Run(context.Background(), "What is the answer?")
		if err != nil {
			t.Fatal(err)
		}
		made := len(r.Calls) == 1 && r.Calls[0].Success
		if p.Name == "drafts" { // its agents make the calls
			made = strings.Count(r.Text, "the answer is 42") == 2
		}
		if !r.Success() || !made {
			t.Errorf("%s ended with %s after %d calls (%q), want an answer after one", p.Name, r.Reason, len(r.Calls), r.Text)
		}
	}
}

// TestDocsAgentFile checks that the agent file of the page on agents can be used as it is, and that the
// table has every field.
func TestDocsAgentFile(t *testing.T) {
	t.Parallel()
	page := readPage(t, "docs/agents.md")
	found := 0
	for _, b := range docBlocks(page) {
		if !strings.HasPrefix(b.code, "---\n") {
			continue
		}
		found++
		d, warnings, err := agentfile.Parse("reviewer", "reviewer.md", b.code)
		if err != nil || len(warnings) > 0 || d.Limits.CostUSD != 0.5 || d.Schema == nil || len(d.Rules) != 1 || !strings.HasPrefix(d.Prompt, "You review") {
			t.Errorf("the agent file is %+v, with %q, %v", d, warnings, err)
		}
	}
	if found != 1 {
		t.Errorf("the page has %d agent files, want 1", found)
	}
	_, table, _ := strings.Cut(page, "## Agent files")
	ignored := []string{"background", "color", "hooks", "isolation", "mcpServers", "memory", "permission", "skills", "top_p"}
	for _, field := range agentfile.Fields() {
		if !slices.Contains(ignored, field) && !strings.Contains(table, "`"+field+"`") {
			t.Errorf("the table has no field %s", field)
		}
	}
}

// TestAgentsOfASource checks that the agents of a source can be used if the source is trusted, and that
// Swap replaces them.
func TestAgentsOfASource(t *testing.T) {
	t.Parallel()
	source := func(name string) cassidy.Source {
		return cassidy.Scripts(map[string]string{"agents/" + name + ".md": "---\ndescription: d\n---\nYou are " + name + "."})
	}
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	names := func(h *cassidy.Host) (list []string) {
		for _, a := range h.Agents() {
			list = append(list, a.Name+": "+a.Prompt)
		}
		return list
	}
	for _, trusted := range []bool{true, false} {
		h, err := r.Open(source("one"), &cassidy.Options{TrustSource: trusted})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if got := names(h); trusted != slices.Equal(got, []string{"one: You are one."}) || !trusted && got != nil {
			t.Errorf("trusted %v: the agents are %q", trusted, got)
		}
		if err := h.Swap(t.Context(), source("two")); err != nil {
			t.Fatal(err)
		}
		if got := names(h); trusted && !slices.Equal(got, []string{"two: You are two."}) {
			t.Errorf("after Swap, the agents are %q", got)
		}
	}
}
