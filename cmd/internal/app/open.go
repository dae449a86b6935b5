package app

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// Open opens a host on the working folder. Call done to close it.
func (a *App) Open() (h *host.Host, done func(), err error) { return a.open(false) }

// OpenBare opens a host without the project, whose config may be invalid: for commands that
// check the project.
func (a *App) OpenBare() (h *host.Host, done func(), err error) { return a.open(true) }

func (a *App) open(bare bool) (h *host.Host, done func(), err error) {
	if _, _, err := a.WorkProject(); err != nil {
		return nil, nil, err
	}
	r, closeRuntime, err := a.NewRuntime()
	if err != nil {
		return nil, nil, err
	}
	h, endServers, err := a.OpenOn(r, bare)
	if err != nil {
		return nil, nil, errors.Join(err, closeRuntime())
	}
	return h, func() {
		_ = closeRuntime() // all records are written already
		endServers()
	}, nil
}

// OpenOn opens a host of a runtime on the working folder, or one without the project. The runtime closes it; call
// endServers after that.
func (a *App) OpenOn(r *cassidy.Runtime, bare bool) (h *host.Host, endServers func(), err error) {
	dir, root, err := a.WorkProject()
	if err != nil {
		return nil, nil, err
	}
	root = cmp.Or(root, dir)
	asked := agent.ModelModule(func(ctx context.Context) (model.Model, error) { return a.AskedModel(ctx, h) })
	src := cassidy.Dir(root)
	if bare {
		src = cassidy.Source{}
	}
	h, err = r.Open(src, &cassidy.Options{
		Dir: root, WorkDir: dir, Home: a.Home(), Config: a.config, Cache: a.Cache(), Env: lookupEnv(a.Env), Secrets: a.inKeyring,
		State: a.State(), TrustSource: a.trustOnce, Modules: []tool.Module{asked, mcp.Module()},
		Approver: a.approver, Asker: a.asker, Audit: a.AuditFile(), Watch: a.following(), Admit: a.Admit,
	})
	if err != nil {
		return nil, nil, err
	}
	if a.trustOnce {
		if err := a.reportTrustedOnce(h, root); err != nil {
			return nil, nil, errors.Join(err, h.Close())
		}
	}
	if bare {
		return h, func() {}, nil
	}
	return h, a.attachServers(h, root), nil
}

// OpenIn opens a host of a runtime for another folder, o.Dir, with the tools of the project and of
// the user, and with their settings. It changes o.
func (a *App) OpenIn(r *cassidy.Runtime, o *cassidy.Options) (*host.Host, error) {
	dir, root, err := a.WorkProject()
	if err != nil {
		return nil, err
	}
	o.Home, o.Config, o.Cache, o.State, o.TrustSource = a.Home(), a.config, a.Cache(), a.State(), a.trustOnce
	o.Env, o.Secrets, o.Audit = lookupEnv(a.Env), a.inKeyring, a.AuditFile()
	return r.Open(cassidy.Dir(cmp.Or(root, dir)), o)
}

// describers are the processes of a worker that read what files declare.
const describers = 16

// NewRuntime opens a runtime with the user's config, and with the store of runs if the
// command records any.
func (a *App) NewRuntime() (*cassidy.Runtime, func() error, error) {
	config, err := a.ReadConfig("")
	if err != nil {
		return nil, nil, err
	}
	mode := a.sandbox
	if config.Sandbox.Mode != "" {
		if mode, err = cassidy.ParseMode(string(config.Sandbox.Mode)); err != nil {
			return nil, nil, err
		}
	}
	o := &cassidy.RuntimeOptions{Sandbox: mode, AllowUnconfined: !config.Sandbox.Confines(), Workers: cassidy.Workers{Program: a.Worker()}}
	if a.Jobs > 0 { // each run holds a process for its script, also while it waits for an effect; and files are described
		o.Workers.Max = a.Jobs + describers
		o.Workers.PerTenant = o.Workers.Max
	}
	closeStore := func() error { return nil }
	if dir := a.Journal(); dir != "" {
		o.OpenStore = func() (store cassidy.Store, err error) { // when something is first recorded or read
			store, end, err := a.openStore(dir)
			if err == nil {
				closeStore = end
			}
			return store, err
		}
	}
	r, err := cassidy.New(o)
	if err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	return r, func() error { return errors.Join(r.Close(), closeStore()) }, nil
}

// WithHost returns an action that opens a host.
func (a *App) WithHost(do func(ctx *cli.Context, h *host.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		h, done, err := a.Open()
		if err != nil {
			return err
		}
		defer done()
		defer a.Interrupts.Cancels(h)()
		return do(ctx, h)
	}
}

// ConfigOptions locate the user's config.
func (a *App) ConfigOptions() *config.Options { return &config.Options{Home: a.Home(), File: a.config} }

// ReadConfig reads the user's config, and that of a project unless root is "".
func (a *App) ReadConfig(root string) (config.Config, error) {
	return config.Read(root, a.ConfigOptions())
}

// SecretFiles returns the files of the secrets that the user's config names now.
func (a *App) SecretFiles() (files []string, err error) {
	c, err := a.ReadConfig("")
	return config.SecretFiles(c.Secrets), err
}

// inKeyring returns a secret from the keyring of the system, which may ask its user.
func (a *App) inKeyring(ctx context.Context, name string) (string, error) {
	if a.Keyring == nil {
		return "", value.ErrNotFound
	}
	return keyring.Within(ctx, func() (string, error) { return a.Keyring.Get(name) })
}

// SecretState says whether a secret has a value that can be used: it is set, not set, too short, or in a locked keyring.
func (a *App) SecretState(ctx context.Context, from config.SecretSource) string {
	env := func(name string) (string, error) {
		text, _ := a.Env(name)
		return text, nil
	}
	text, err := from.Read(env, func(name string) (string, error) { return a.inKeyring(ctx, name) })
	switch {
	case err != nil && value.KindOf(err) != value.NotFound:
		return "locked"
	case err != nil || text == "":
		return "not set"
	case len(text) < secret.MinLength:
		return "too short"
	}
	return SecretIsSet
}

// SecretIsSet is the state of a secret that has a value.
const SecretIsSet = "set"

// ListRules returns the rules that are in force in a project.
func (a *App) ListRules(root string) ([]config.ListedRule, error) {
	return config.ListRules(root, a.ConfigOptions())
}

// ConfigFile returns the user's config, or "" if there is no home folder.
func (a *App) ConfigFile() string { return cmp.Or(a.config, a.inHome("config.yaml")) }

// Worker returns the program of the workers, or "" for this one. A build with the race
// detector cannot be its own worker.
func (a *App) Worker() string {
	program, _ := a.Env("CASSIDY_WORKER")
	return program
}

// lookupEnv returns the function that reads environment variables for scripts.
func lookupEnv(env func(string) (string, bool)) func(context.Context, string) (string, error) {
	return func(_ context.Context, name string) (string, error) {
		if value, set := env(name); set {
			return value, nil
		}
		return "", value.Errorf(value.NotFound, "the environment variable %s is not set", name).WithHint("export %s=…", name)
	}
}

// Version returns the version of the module, or "(devel)" for a build from source.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
