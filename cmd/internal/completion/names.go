package completion

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
)

// values returns the candidates for the value of a flag; none are files.
func (c *command) values(flag string) []candidate {
	switch flag {
	case "agent":
		return c.agents()
	case "skill":
		return c.skills()
	case "model":
		return c.models()
	}
	return nil
}

// arguments returns the candidates for the argument of a command after others; none are files.
func (c *command) arguments(path, before []string) []candidate {
	name, first := strings.Join(path, " "), len(before) == 0
	switch {
	case slices.Contains([]string{"tool run", "tool example", "tool info", "tool help", "tool schema"}, name) && first,
		slices.Contains([]string{"tool list", "tool overhead", "tool validate", "test"}, name):
		return c.tools()
	case name == "tool run":
		return c.params(before)
	case name == "run" && first:
		return c.workflows()
	case name == "runs answer" && len(before) > 0:
		return []candidate{{"yes", ""}, {"no", ""}, {"done", "an interrupted effect was carried out"}}
	case path != nil && path[0] == "runs" && len(path) == 2 && first && name != "runs list" && name != "runs prune":
		return c.runs()
	case name == "skill show" && first:
		return c.skills()
	case name == "agents show" && first:
		return c.agents()
	case name == "models" && first:
		return candidates(config.BuiltinProviders(), func(name string) candidate { return candidate{name, ""} })
	case (name == "config get" || name == "config set" || name == "config unset") && first:
		fields, _ := config.Fields(c.root(), c.ConfigOptions())
		return candidates(fields, func(f config.Field) candidate { return candidate{f.Name(), ""} })
	case (name == "secret set" || name == "secret rm") && first:
		have, _ := c.ReadConfig("")
		return candidates(slices.Sorted(maps.Keys(have.Secrets)), func(name string) candidate { return candidate{name, ""} })
	case name == "completion" && first:
		return candidates(shells, func(s struct{ name, load string }) candidate { return candidate{s.name, ""} })
	}
	return nil
}

func candidates[T any](list []T, to func(T) candidate) []candidate { return ui.Map(list, to) }

func (c *command) root() string {
	root, _ := c.Root()
	return root
}

// withHost calls do with the host of the working folder, if it can be opened.
func (c *command) withHost(do func(h *host.Host) []candidate) []candidate {
	h, done, err := c.Open()
	if err != nil {
		return nil
	}
	defer done()
	return do(h)
}

func (c *command) tools() []candidate {
	return c.withHost(func(h *host.Host) []candidate {
		return candidates(h.List(), func(t toolset.Head) candidate { return candidate{t.Name, t.Description} })
	})
}

// params returns the parameters of a tool that have no argument yet.
func (c *command) params(before []string) []candidate {
	return c.withHost(func(h *host.Host) (all []candidate) {
		t, err := h.Tool(before[0])
		if err != nil {
			return nil
		}
		for _, p := range t.Params {
			given := func(arg string) bool {
				return strings.HasPrefix(arg, p.Name+"=") || strings.HasPrefix(arg, p.Name+":=")
			}
			if !p.FromHost && !slices.ContainsFunc(before[1:], given) {
				all = append(all, candidate{p.Name + "=", p.Description})
			}
		}
		return all
	})
}

func (c *command) workflows() []candidate {
	return c.withHost(func(h *host.Host) []candidate {
		all, _ := project.DescribedWorkflows(context.Background(), c.root(), c.Scope(), h.Describe)
		return candidates(all, func(w project.Workflow) candidate { return candidate{w.Name, w.Tool.Summary()} })
	})
}

func (c *command) skills() []candidate {
	all, _ := skill.List(c.root(), c.Scope())
	return candidates(all, func(s skill.Skill) candidate { return candidate{s.Key, s.Title} })
}

func (c *command) agents() []candidate {
	files, _ := project.Agents(c.root(), c.Scope())
	return candidates(files, func(f project.Agent) candidate { return candidate{f.Name, f.Description} })
}

// models returns the models that the config names.
func (c *command) models() []candidate {
	have, _ := c.ReadConfig("")
	var all []candidate
	for _, name := range slices.Sorted(maps.Keys(have.Models)) {
		all = append(all, candidate{name, ""})
	}
	for _, name := range slices.Concat(config.BuiltinProviders(), slices.Sorted(maps.Keys(have.Providers))) {
		all = append(all, candidate{name + ":", ""})
	}
	return all
}

// maxRuns is how many runs are candidates, the newest first.
const maxRuns = 50

func (c *command) runs() (all []candidate) {
	_ = c.WithRuns(func(ctx *cli.Context, j *history.Journal) error {
		for r, err := range j.Runs(context.Background(), history.Filter{Limit: maxRuns}) {
			if err == nil {
				all = append(all, candidate{r.ID, r.State.String() + " " + r.Title})
			}
		}
		return nil
	})(nil)
	return append(all, candidate{"last", "the newest run"})
}
