package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// open opens the host over the folder to work in, until done is called.
func (c *command) open() (h *host.Host, done func(), err error) {
	dir, err := c.workDir()
	if err != nil {
		return nil, nil, err
	}
	root, inProject := project.Find(dir, c.home(), c.ceiling())
	if !inProject {
		root = dir
	}
	r, closeRuntime, err := c.newRuntime()
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeRuntime())
		}
	}()
	asked := agent.ModelModule(func(ctx context.Context) (model.Model, error) { return c.askedModel(ctx, h) })
	h, err = r.Open(cassidy.Dir(root), &cassidy.Options{
		Dir: root, WorkDir: dir, Home: c.home(), Config: c.config, Cache: c.cache(), Env: c.lookupEnv,
		State: c.state(), TrustSource: c.trustOnce, Modules: []tool.Module{asked},
		Approver: c.approver, Asker: c.asker, Audit: c.auditFile(),
	})
	if err != nil {
		return nil, nil, err
	}
	if c.trustOnce {
		if err := c.tellTrustedOnce(h); err != nil {
			return nil, nil, err
		}
	}
	return h, func() { _ = closeRuntime() }, nil // everything that was reported is written
}

// newRuntime opens a runtime as the user's config wants it, with the store of runs
// where this command makes any.
func (c *command) newRuntime() (*cassidy.Runtime, func() error, error) {
	config, err := config.Read("", &config.Options{Home: c.home(), File: c.config})
	if err != nil {
		return nil, nil, err
	}
	mode, err := cassidy.ParseMode(string(config.Sandbox.Mode))
	if err != nil {
		return nil, nil, err
	}
	o := &cassidy.RuntimeOptions{Sandbox: mode, AllowUnconfined: !config.Sandbox.Confines(), Workers: cassidy.Workers{Program: c.worker()}}
	closeStore := func() error { return nil }
	if dir := c.journal(); dir != "" {
		store, err := sqlite.Open(dir)
		if err != nil {
			return nil, nil, err
		}
		o.Store, closeStore = store, store.Close
	}
	r, err := cassidy.New(o)
	if err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return r, func() error { return errors.Join(r.Close(), closeStore()) }, nil
}

// withHost is a command that needs a host.
func (c *command) withHost(do func(ctx *cli.Context, h *host.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		h, done, err := c.open()
		if err != nil {
			return err
		}
		defer done()
		defer c.interrupts.cancels(h)()
		return do(ctx, h)
	}
}
