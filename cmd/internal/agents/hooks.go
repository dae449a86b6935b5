package agents

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// HooksFlag returns the flag with which agents run without hooks.
func HooksFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-hooks", Usage: "call no hooks: neither those of the project (.cassidy/hooks.star) nor your own"}
}

// Hooks returns the hooks of the user and of the project, unless --no-hooks is set. An untrusted
// file is an error.
func Hooks(a *app.App) ([]hooks.File, error) {
	if a.NoHooks {
		return nil, nil
	}
	_, root, err := a.WorkProject()
	if err != nil {
		return nil, err
	}
	scripts, err := project.Hooks(root, a.Scope())
	if value.KindOf(err) == value.Denied && err != nil {
		return nil, value.ErrorOf(err, value.Denied).WithHint("review the file: cassidy trust; or run without hooks: --no-hooks")
	}
	return value.Map(scripts, func(s tool.Script) hooks.File { return hooks.File{Path: s.Path, Source: s.Source} }), err
}

// hooksOption is the name of the hooks in the options of the run of a workflow: that of
// [agent.Settings].
const hooksOption = "hooks"

// PutHooks adds the hooks of the agents that a workflow calls to the options of its run. Untrusted
// hooks are left out: then the call of an agent fails.
func PutHooks(a *app.App, options *value.Dict) error {
	files, err := Hooks(a)
	if value.KindOf(err) == value.Denied && err != nil {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := value.FromGo(files)
	if err != nil {
		return err
	}
	if v == nil {
		v = value.List{} // none, also if there are some later
	}
	options.Put(hooksOption, v)
	return nil
}

// recordedHooks returns the hooks in the options of the run of a workflow, or the present ones.
func recordedHooks(a *app.App, options *value.Dict) ([]hooks.File, error) {
	if !options.Has(hooksOption) {
		return Hooks(a)
	}
	s, err := agent.ReadSettings(options)
	return s.Hooks, err
}
