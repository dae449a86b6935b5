package app

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Engine is a deployment that records and executes runs, as the config names it.
type Engine struct {
	config.Engine
	Secret  string // the value of the secret Key, or ""
	Version string // of this program
}

// A Deployment is an engine that is in use.
type Deployment struct {
	Store journal.Store // also a [journal.Remote]
	Close func() error  // the store, and what it needs
	// Work executes runs until ctx ends, and then gives those in progress some time.
	Work func(ctx context.Context, w Work) error
}

// A Work is what a worker of a deployment executes.
type Work struct {
	Roots  []string   // the folders of the projects
	Host   *host.Host // reads runs
	Jobs   int
	Resume func(ctx context.Context, r host.Recorded) (tool.Result, error)
	Grace  time.Duration                   // for the runs in progress after ctx has ended
	Began  func(queues, warnings []string) // is called when the worker has begun
}

// engine returns the engine of the command, whose kind --engine or the config names; it is "" for this machine.
func (a *App) engine() (config.Engine, error) {
	c, err := a.ReadConfig("")
	e := c.Engine
	e.Kind = cmp.Or(a.engineFlag, e.Kind)
	switch {
	case err != nil:
	case e.Kind == "local":
		e.Kind = ""
	case e.Kind != "" && e.Kind != config.Temporal:
		err = value.Errorf(value.Invalid, "--engine has the unknown value %q%s", value.Clean(e.Kind, 40), value.DidYouMean(e.Kind, config.EngineKinds())).WithHint("use --engine local or --engine temporal")
	}
	return e, err
}

// takeOver has the program for the engine of the command execute it, if this program is another one and that one is installed.
func (a *App) takeOver() error {
	e, err := a.engine()
	if err != nil || e.Kind == "" || a.deploy != nil || a.exec == nil {
		return err
	}
	return a.exec(temporalProgram)
}

// NoKey is the engine.key of a config that does not encrypt.
const NoKey = "none"

// temporalProgram is the program that has what this one lacks for Temporal.
const temporalProgram = "cassidy-temporal"

// deployment opens the engine of the command. It is nil for runs that this machine executes.
func (a *App) deployment() (*Deployment, error) {
	e, err := a.engine()
	if err != nil || e.Kind == "" {
		return nil, err
	}
	if a.deploy == nil {
		return nil, value.Errorf(value.Unavailable, "runs on Temporal need the program %s, which is not installed", temporalProgram).
			WithHint("build it from the source of cassidy: cd cmd/%s && go install .; or execute runs on this machine: --engine local", temporalProgram)
	}
	if e.Blobs == "" {
		e.Blobs = a.inHome("state/temporal")
	}
	if !filepath.IsAbs(e.Blobs) {
		return nil, value.Errorf(value.Invalid, "'engine.blobs' should be the absolute path of a folder but got %s", value.Clean(e.Blobs, 200))
	}
	on := Engine{Engine: e, Version: Version()}
	if e.Key != "" && e.Key != NoKey {
		if on.Secret, err = a.engineKey(e.Key); err != nil {
			return nil, err
		}
	}
	return a.deploy(on)
}

// engineKey returns the value of the secret that encrypts what an engine stores.
func (a *App) engineKey(name string) (string, error) {
	c, err := a.ReadConfig("")
	if err != nil {
		return "", err
	}
	from, known := c.Secrets[name]
	if !known {
		return "", value.Errorf(value.Invalid, "'engine.key' names the secret %s, which the config does not have", value.Clean(name, 80)).WithHint("add it: cassidy secret set %s", name)
	}
	env := func(name string) (string, error) {
		text, _ := a.Env(name)
		return text, nil
	}
	text, err := from.Read(env, func(name string) (string, error) { return a.inKeyring(context.Background(), name) })
	if err == nil && text == "" {
		err = value.ErrNotFound
	}
	if err != nil {
		return "", value.Errorf(value.NotFound, "the secret %s, with which 'engine.key' encrypts runs, has no value", name).WithHint("make one: openssl rand -base64 32 | cassidy secret set %s", name)
	}
	return text, nil
}

// openStore opens the store of runs: that of the engine, or one in a folder.
func (a *App) openStore(dir string) (journal.Store, func() error, error) {
	if d := a.deployed; d != nil {
		return d.Store, func() error { return nil }, nil
	}
	d, err := a.deployment()
	if err != nil {
		return nil, nil, err
	}
	if d != nil {
		return d.Store, d.Close, nil
	}
	store, err := openStore(dir)
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

// Deploy opens the engine of the command, for all that the command does from now on. It returns nil if this machine executes the
// runs. The caller closes it.
func (a *App) Deploy() (d *Deployment, err error) {
	a.deployed, err = a.deployment()
	return a.deployed, err
}

// IsDeployed reports whether Deploy has opened an engine.
func (a *App) IsDeployed() bool { return a.deployed != nil }
