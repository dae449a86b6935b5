package agents

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/agentfile"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// efforts are the values of --effort.
const efforts = "none, minimal, low, medium, high, xhigh, max"

// Faults returns what names in an agent file do not exist, so that the agent cannot work: its model,
// its policy, its effort, or all of its tools. Each error has the position of the field. The fields
// that are replaced are not checked.
func Faults(a *app.App, h *host.Host, f *project.Agent, replaced ...string) []*value.Error {
	var faults []*value.Error
	check := func(field string, err error) {
		if err == nil || slices.Contains(replaced, field) {
			return
		}
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.File == "" || field == "model" { // the error of a policy may be about its own file
			e.Pos = f.At(field)
		}
		faults = append(faults, &e)
	}
	check("model", checkModel(a, h, f))
	check("policy", checkPolicy(a, f))
	check("effort", checkEffort(f.Effort))
	check("tools", checkTools(&f.Agent, h))
	return faults
}

func checkModel(a *app.App, h *host.Host, f *project.Agent) error {
	word, err := a.Models().Resolve(f.Model)
	if err == nil && strings.HasPrefix(word, "script:") && f.Trusted { // it needs no key
		_, err = a.Models().Open(context.Background(), h, word, false)
	}
	return err
}

func checkPolicy(a *app.App, f *project.Agent) error {
	if f.Policy == "" {
		return nil
	}
	_, err := Policies(a)(f.Policy)
	return err
}

func checkEffort(effort string) error {
	known := strings.Split(efforts, ", ")
	if effort == "" || slices.Contains(known, strings.ToLower(effort)) {
		return nil
	}
	return value.Errorf(value.Invalid, "unknown effort %q%s", value.Clean(effort, 80), value.DidYouMean(effort, known)).WithHint("use one of: \"%s\"", strings.Join(known, `", "`))
}

// checkTools returns an error if the file lists tools and none of them exists.
func checkTools(d *tool.Agent, h *host.Host) error {
	known := knownTools(h)
	if len(d.Tools) == 0 || slices.ContainsFunc(d.Tools, known.has) {
		return nil
	}
	return value.Errorf(value.Invalid, "the agent has no tools: %s", strings.Join(known.unknown(d.Tools), ", ")).
		WithHint("list the tools with: cassidy tool list; for an agent without tools, write \"tools: []\"")
}

// UnknownTools returns a warning for each tool that an agent file names and that does not exist.
func UnknownTools(d *tool.Agent, h *host.Host) []string {
	return knownTools(h).unknown(slices.Concat(d.Tools, d.Without))
}

// toolNames are the tools that agents can have.
type toolNames struct {
	list  []toolset.Info
	names []string
}

func knownTools(h *host.Host) *toolNames {
	k := &toolNames{h.Tools(), []string{"agent", decision.ProgramTool, TodoTool}} // which are registered later
	for i := range k.list {
		k.names = append(k.names, k.list[i].Name)
	}
	return k
}

// has reports whether a word of an agent file selects a tool.
func (k *toolNames) has(word string) bool {
	exists := func(word string) bool {
		return slices.Contains(k.names, tool.Key(word)) || slices.Contains(k.names, word) ||
			slices.ContainsFunc(k.list, func(t toolset.Info) bool { return tool.MatchesWord(word, &t.Tool) })
	}
	return exists(word) || slices.ContainsFunc(agentfile.Aliases(word), exists)
}

// unknown returns a text for each word that selects no tool.
func (k *toolNames) unknown(words []string) (texts []string) {
	for _, word := range words {
		if !k.has(word) {
			texts = append(texts, "unknown tool '"+value.Clean(word, 2*tool.MaxName)+"'"+value.DidYouMean(word, k.names))
		}
	}
	return texts
}
