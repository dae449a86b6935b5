// Package serve has the commands that execute the runs which others begin: cassidy worker and cassidy serve.
package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// projects are hosts of one runtime, each on a folder.
type projects struct {
	app     *app.App
	runtime *cassidy.Runtime
	close   func() error // the runtime

	mu      sync.Mutex
	open    map[string]*opened // by the working folder
	changed map[string]func()  // by the working folder: called after its files have changed
}

// An opened is a host on a folder.
type opened struct {
	app        *app.App // for this folder
	host       *host.Host
	root       string // of the project
	endServers func()
}

// openProjects opens a runtime for so many runs at the same time. Call end when its runs have ended.
func openProjects(a *app.App, jobs int) (*projects, error) {
	a.Records, a.Jobs = true, jobs
	r, closeRuntime, err := a.NewRuntime()
	if err != nil {
		return nil, err
	}
	return &projects{app: a, runtime: r, close: closeRuntime, open: map[string]*opened{}, changed: map[string]func(){}}, nil
}

// end closes the hosts, which interrupts the runs that are left.
func (p *projects) end() error {
	err := p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.open {
		o.endServers()
	}
	return err
}

// at returns the host on a folder, which it opens the first time.
func (p *projects) at(dir string) (*opened, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.open[dir]; o != nil {
		return o, nil
	}
	a := p.app.Fork(&app.World{In: strings.NewReader(""), Out: io.Discard, Err: p.app.Err, Env: p.app.Env, Keyring: p.app.Keyring})
	a.Dir, a.Records = dir, true
	a.Watch = func(wrong []*value.Error) {
		a.ReportAll(wrong)
		p.mu.Lock()
		changed := p.changed[dir]
		p.mu.Unlock()
		if changed != nil {
			changed()
		}
	}
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	o := &opened{app: a, root: root}
	if p.app.IsDeployed() {
		a.Admit = func(ctx context.Context, r host.Recorded) (bool, error) { return o.admit(ctx, r) }
	}
	h, endServers, err := a.OpenOn(p.runtime, false)
	if err != nil {
		return nil, err
	}
	o.host, o.endServers = h, endServers
	agents.RegisterWithin(a, h)
	if err := agent.RegisterKinds(h, agents.Opener(a, h, true, agent.Options{})); err != nil {
		endServers()
		return nil, errors.Join(err, h.Close())
	}
	p.open[dir] = o
	return o, nil
}

// onChange has do called after the files of each project have changed.
func (p *projects) onChange(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for dir := range p.open {
		p.changed[dir] = do
	}
}

// served returns the projects in folders, for a server.
func (p *projects) served(dirs []string) (list []*serve.Project, err error) {
	names := map[string]bool{}
	for _, dir := range dirs {
		if dir, err = filepath.Abs(cmp.Or(dir, ".")); err != nil {
			return nil, err
		}
		o, err := p.at(dir)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(o.root)
		if names[name] {
			return nil, value.Errorf(value.Invalid, "two projects are named %s", name).WithHint("serve them apart, or rename a folder")
		}
		names[name] = true
		list = append(list, &serve.Project{Name: name, Host: o.host, Resume: p.resume, Within: within, Agent: o.agent, NoModel: o.noModel, Source: o.source, HasSecret: o.hasSecret, AddRules: o.addRules})
	}
	return list, nil
}

// resume continues a run in the folder in which it began, as cassidy runs resume does.
func (p *projects) resume(ctx context.Context, r host.Recorded) (tool.Result, error) {
	return p.resumeAt(ctx, cmp.Or(r.Options.Text(app.DirOption), r.Project), &r)
}

// resumeAt continues a run in a folder.
func (p *projects) resumeAt(ctx context.Context, dir string, r *host.Recorded) (tool.Result, error) {
	o, err := p.at(dir)
	if err != nil {
		return tool.Fail(value.ErrorOf(err, value.Failed), tool.Usage{}), err
	}
	state := &app.RunState{}
	ctx = app.WithRunState(ctx, state)
	if r.Kind == host.WorkflowKind {
		return o.resumeWorkflow(ctx, r)
	}
	if s, err := agent.ReadSettings(r.Options); err == nil {
		open := agents.Opener(o.app, o.host, true, agent.Options{})
		state.Agent = func(ctx context.Context) (*agent.Options, error) { return open(ctx, s) }
	}
	return o.host.Resume(ctx, r.ID)
}

// within returns the context of a call that begins.
func within(ctx context.Context) context.Context { return app.WithRunState(ctx, &app.RunState{}) }

// resumeWorkflow continues the run of a workflow.
func (o *opened) resumeWorkflow(ctx context.Context, r *host.Recorded) (tool.Result, error) {
	p, err := host.ResumedWorkflow(&r.Run)
	if err == nil {
		err = agents.OfWorkflow(ctx, o.app, o.host, p.Options)
	}
	if err == nil {
		ctx, _, err = agent.Metered(ctx, o.host, p, agent.Ceilings{})
	}
	var out tool.Outcome
	if err == nil {
		out, err = o.host.RunProgram(ctx, p)
	}
	if err != nil {
		return tool.Fail(value.ErrorOf(err, value.Failed), out.Usage), err
	}
	return tool.Succeed(out), nil
}

// source returns the script of a tool of the project or of its user.
func (o *opened) source(_ context.Context, t *toolset.Info) (tool.Script, error) {
	file := t.Path
	if t.Location == tool.Project {
		file = filepath.Join(o.root, file)
	}
	if !filepath.IsAbs(file) {
		return tool.Script{}, value.ErrNotFound // it is built in, or of a server
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return tool.Script{}, value.Errorf(value.NotFound, "read %s: %w", t.Path, err)
	}
	return tool.Script{Name: t.Name, Path: t.Path, Source: string(text)}, nil
}

// hasSecret reports whether a secret has a value. The keyring may ask its user, for whom a page does not wait long.
func (o *opened) hasSecret(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conf, err := o.app.ReadConfig("")
	from, named := conf.Secrets[name]
	if !named {
		from.Keyring = name
	}
	return err == nil && o.app.SecretState(ctx, from) == app.SecretIsSet
}

// addRules returns how rules change the user's config, and adds them if store is true.
func (o *opened) addRules(_ context.Context, rules []tool.Rule, store bool) ([]tool.Change, error) {
	change, err := config.AddRules(o.app.ConfigFile(), o.root, rules)
	if err == nil && store {
		err = change.Write()
	}
	if err != nil {
		return nil, err
	}
	diff, err := udiff.ToUnified("config.yaml", "config.yaml", change.Before, udiff.Lines(change.Before, change.After), udiff.DefaultContextLines)
	if err != nil {
		return nil, value.Errorf(value.Internal, "compare %s with its change: %w", change.File, err)
	}
	return []tool.Change{{Path: "config.yaml", Before: stateOf(change.Before), After: stateOf(change.After), Diff: diff}}, nil
}

func stateOf(text string) tool.FileState {
	return tool.FileState{Exists: true, Hash: tool.HashBytes([]byte(text)), Data: []byte(text)}
}

// agent returns an agent for chats: the one of an agent file, or for "" the default one.
func (o *opened) agent(ctx context.Context, name string) (*agent.Agent, error) {
	s, err := agents.Defaults(ctx, o.app, o.host, name)
	if err != nil {
		return nil, err
	}
	return agents.New(o.app, o.host, s)
}

// noModel returns the command that sets up a model, if none is.
func (o *opened) noModel(context.Context) string {
	if name, err := o.app.Models().Name(""); err == nil && name == "" {
		return "cassidy setup"
	}
	return ""
}
