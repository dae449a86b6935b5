package agents

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// fillAgents adds the agents that the agent files of the project and its user define.
func fillAgents(a *app.App, h *host.Host, o *agent.Options, root string) {
	o.Models = func(ctx context.Context, name string) (model.Model, error) {
		word, err := a.Models().Resolve(name)
		if err != nil {
			return nil, err
		}
		m, err := a.Models().Open(ctx, h, word, o.Format == decision.Native)
		if err != nil {
			e := *value.ErrorOf(err, value.Unavailable)
			return nil, e.WithHint("%s", strings.TrimPrefix(e.Hint+`; or write "model: inherit" in the agent file`, "; or "))
		}
		return m, nil
	}
	o.Agents = []tool.Agent{}
	files, _ := project.Agents(root, a.Scope()) // agents list reports broken ones
	for i := range files {
		d := files[i].Agent
		if files[i].Usable() != nil {
			continue
		}
		if word, err := a.Models().Resolve(d.Model); err == nil { // else the start of the agent fails
			d.Model = word
		}
		if d.Policy != "" { // as it is now
			if p, err := o.Policies(d.Policy); err == nil && p.Location != tool.Builtin {
				d.Script = &p.Script
			}
		}
		o.Agents = append(o.Agents, d)
	}
}

// recordAgents returns the agents in the options of a run, after it has added those of the project
// and its user if there are none.
func recordAgents(a *app.App, h *host.Host, options *value.Dict) ([]tool.Agent, error) {
	const name = "agents" // see [agent.Settings]
	if !options.Has(name) {
		dir, root, err := a.WorkProject()
		if err != nil {
			return nil, err
		}
		find, o := a.Scope(), &agent.Options{}
		o.Policies = func(name string) (agent.Policy, error) { return findPolicy(root, find, name) }
		fillAgents(a, h, o, cmp.Or(root, dir))
		v, err := value.FromGo(o.Agents)
		if err != nil {
			return nil, err
		}
		options.Put(name, v)
	}
	s, err := agent.ReadSettings(options)
	return s.Agents, err
}

// readAgent reads --agent, and returns the model of --model or else of the agent.
func readAgent(a *app.App, ctx *cli.Context, h *host.Host, o *agent.Options) (word string, err error) {
	word = ctx.String("model")
	if !ctx.IsSet("agent") {
		return word, nil
	}
	f, err := FindFile(a, ctx.String("agent"))
	if err == nil {
		err = f.Usable()
	}
	if err == nil && f.Mode == tool.AgentModeSubagent {
		err = value.Errorf(value.Denied, "the agent '%s' is only for other agents: its mode is %s", f.Name, f.Mode).WithHint(`write "mode: all" in %s`, f.Path)
	}
	if err == nil {
		flags := slices.DeleteFunc([]string{"model", "policy", "effort"}, func(name string) bool { return !ctx.IsSet(name) })
		if faults := Faults(a, h, f, flags...); len(faults) > 0 {
			err = faults[0]
		}
	}
	if err != nil {
		return "", err
	}
	for _, w := range append(f.Warnings, UnknownTools(&f.Agent, h)...) {
		a.Note("%s: %s", f.Path, w)
	}
	o.As = &f.Agent
	if word == "" {
		if word, err = a.Models().Resolve(f.Model); err != nil {
			err = value.ErrorOf(err, value.Invalid).WithOp("run the agent '" + f.Name + "'")
		}
	}
	return word, err
}

// ofFile returns the error of a model that cannot be opened. If an agent file has chosen it, the hint
// names another choice.
func ofFile(err error, as *tool.Agent, ctx *cli.Context) error {
	if as == nil || as.Model == "" || ctx.String("model") != "" {
		return err
	}
	e := *value.ErrorOf(err, value.Unavailable)
	own, inGo, _ := strings.Cut(e.Hint, "; in Go, ")
	if inGo != "" {
		inGo = "; in Go, " + inGo
	}
	return e.WithHint("%s", strings.TrimPrefix(own+`; or select another model with --model MODEL; or write "model: inherit" in `+as.Path+inGo, "; or "))
}

// FindFile finds an agent file by the name of its agent.
func FindFile(a *app.App, name string) (*project.Agent, error) {
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	files, broken := project.Agents(root, a.Scope())
	var known []string
	for i := range files {
		if tool.Key(files[i].Name) == tool.Key(name) {
			return &files[i], nil
		}
		known = append(known, files[i].Name)
	}
	for _, e := range broken {
		if tool.Key(strings.TrimSuffix(filepath.Base(e.Pos.File), ".md")) == tool.Key(name) {
			return nil, e
		}
	}
	e := value.Errorf(value.NotFound, "unknown agent %q%s", value.Clean(name, 2*tool.MaxName), value.DidYouMean(name, known))
	if len(known) == 0 {
		return nil, e.WithHint("create an agent with: cassidy agents new NAME")
	}
	return nil, e.WithHint("list the agents with: cassidy agents")
}
