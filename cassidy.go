// Package cassidy opens a host with the usual parts, for programs that embed
// it.
//
//	sandbox.Main(stdlib.Pure()...) // first in main: tools run in processes of their own, this program again
//	…
//	host, err := cassidy.Open(".", &cassidy.Options{TrustProject: true})
//	…
//	defer host.Close()
//	result, err := host.Call(ctx, cassidy.Call{
//		Tool: "word_count",
//		Args: cassidy.NewDict("filepath", "README.md"),
//	})
//
// [Open] finds the tools of a folder: files that end in .star, .lua or .md in
// its .cassidy/tools. They may be a stranger's, so they can be listed but not
// called before somebody has reviewed them: Options.TrustProject says that the
// program has, Options.State where its user has with cassidy trust. Beside them
// stand the built-in tools and those that the program registers itself with
// [AddTool]. See package
// [runtime] for what a host does with a call, and package tool for the words.
package cassidy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/project"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
	"github.com/cassidy-run/cassidy/tools"
)

// Options are what a program may choose. The zero value offers the built-in
// tools, lists those of the folder as untrusted, and has nothing of the user's:
// no personal tools, no environment, no cache, nothing that he trusts.
type Options struct {
	// Home is the user's folder, with tools/, skills/ and config.yaml. ""
	// means none.
	Home string
	// Ceiling says how far above dir to look for the project that it belongs to:
	// up to this folder, which is none itself, as the one in which the user
	// lives. "" means that dir itself is the project.
	Ceiling string
	// Config is a file to read in place of the config.yaml in Home.
	Config string
	// Cache is a folder in which to remember what tools' files declare, so
	// that the next Open reads only those that changed. "" means none.
	Cache string
	// State is the user's folder in which it is remembered what of a project he
	// trusts. "" means that nothing is.
	State string
	// TrustProject says that the folder's tools, skills and notes are the
	// program's own or were reviewed elsewhere: they are used without asking.
	TrustProject bool
	// Env returns the value of an environment variable, for scripts that declare
	// that they need it. [ErrNotFound], or an error of that kind, means that it is
	// not set; any other error is that of the effect. It is called concurrently. An
	// effect does not wait for it longer than its call may take. Nil has none.
	Env func(ctx context.Context, name string) (string, error)
	// Secrets returns the value of a secret that the user's config does not have,
	// in the same way as Env. Scripts never see a value. Nil has none.
	Secrets func(ctx context.Context, name string) (string, error)
	// HTTP wraps the transport of http.*: it is called once by Open, with a base that
	// checks each address as it connects, and what it returns is called for each
	// request, concurrently; see [stdlib.Options].HTTP. The transport sees
	// placeholders where a script sends secrets, as only base puts the values in. A
	// nil result is ErrInvalid. Nil is base.
	HTTP func(base http.RoundTripper) http.RoundTripper
	// Private are addresses inside the user's own network that scripts may
	// reach where they are granted the host, beside those of his config.
	Private []netip.Prefix
	// Roots are the authorities that https trusts. Nil means the system's.
	Roots *x509.CertPool
	// Modules are further effects for scripts; see [runtime.Options].Modules. Each
	// [Func] decides by its Risk whether it asks for approval. With this one they can ask the program's model:
	//
	//	agent.ModelModule(func(context.Context) (model.Model, error) { return m, nil })
	Modules []tool.Module
	// Rules allow, deny or ask for what tools want to do, beside those of the user's
	// config. Of all rules about a capability Deny wins, then Ask.
	Rules []Rule
	// Limits are those of a call whose tool sets none; a zero field means the
	// default. MaxLimits are the most that any call may have, whatever its tool
	// sets, beside those of the user's config; a zero field means no maximum.
	Limits, MaxLimits Limits
	// Commands are rules for commands by their names, beside those of the user's
	// config. For the same name they replace that one's.
	Commands map[string]CommandRule
	// Timeout is the wall time of a call whose tool sets none; 0 means 30 seconds.
	Timeout time.Duration
	// MaxTimeout is the most wall time that any call may have, beside that of the
	// user's config; 0 means no maximum.
	MaxTimeout time.Duration
	// Approver decides on calls of risky tools that no person made. Nil denies
	// them, and parks durable calls; see [ApproveAll].
	Approver Approver
	// Asker answers the questions of scripts. Nil answers none, and parks durable
	// calls; see [runtime.Options].Asker.
	Asker Asker
	// Audit is a file that gets a line of JSON for each effect and call that
	// somebody allowed, or that was refused. It is kept at 10 MB, with the 10 MB
	// before beside it. "" keeps none.
	Audit string
	// Journal is a folder in which durable runs are recorded: what was asked for,
	// and what came of it. It is opened when it is first needed. "" records nothing.
	Journal string
	// Sandbox says where scripts run that are not cassidy's own. "" is what the
	// user's config says, else [Process].
	Sandbox Mode
	// Worker is the program that workers are: one whose main begins with
	// [sandbox.Main]. "" is this one.
	Worker string
	// NoBuiltins leaves out the built-in tools.
	NoBuiltins bool
}

// Open opens a host over a folder. The project is dir itself, or with
// Options.Ceiling the nearest folder at or above it that holds .cassidy; a script
// can reach files below it, and relative paths begin at dir. A tool's file that is not right
// is no error of Open: see [runtime.Host.Broken]. Options may be nil.
//
// Close the host when done.
func Open(dir string, o *Options) (*runtime.Host, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "open %s: %w", dir, err)
	}
	root, inProject := project.Find(dir, opts.Home, opts.Ceiling)
	if !inProject {
		root = dir
	}
	if err := noneOfOurs(opts.Modules); err != nil {
		return nil, err
	}
	find := &project.Options{
		Reader: readerID(), Builtin: tools.FS(), Home: opts.Home, Config: opts.Config, Cache: opts.Cache,
		Trust: project.NewTrust(opts.State), TrustOnce: opts.TrustProject,
	}
	if opts.NoBuiltins {
		find.Builtin = nil
	}
	lookIn := "" // where tools are looked for
	if inProject {
		lookIn = root
	}
	config, err := project.ReadConfig(lookIn, find)
	if err != nil {
		return nil, err
	}
	world, err := openWorld(root, dir, &opts, &config)
	if err != nil {
		return nil, err
	}
	effects := append(world.Modules(), project.Modules(root, find)...)
	effects = append(effects, opts.Modules...)
	box, err := openBoxes(&opts, config.Sandbox, effects)
	if err != nil {
		return nil, errors.Join(err, world.Close())
	}
	find.Describe, find.DescribeBuiltin, find.DescribeAll = box.strangers.Describe, box.ours.Describe, box.describeAll
	var background sync.WaitGroup
	find.Background = background.Go
	runs := &records{dir: opts.Journal}
	host, err := runtime.New(&runtime.Options{
		Sandbox: box.strangers, Builtin: box.ours, Modules: effects, WorkDir: dir,
		Timeout: opts.Timeout, MaxTimeout: maxTimeout(&opts, &config), Limits: opts.Limits, MaxLimits: opts.MaxLimits.AtMost(config.Limits.Limits), Rules: rules(&opts, &config), Approver: opts.Approver, Asker: opts.Asker,
		Audit: auditTo(opts.Audit), Presets: tools.Presets(), Journal: runs.opener(), Project: root,
		Source: runtime.Dir(lookIn),
		Discover: func(ctx context.Context, src runtime.Source) (runtime.Discovered, error) {
			return discover(ctx, src, find)
		},
		Close: func() error {
			background.Wait()
			return errors.Join(runs.close(), box.close(), world.Close())
		},
	})
	if err != nil {
		return nil, errors.Join(err, runs.close(), box.close(), world.Close())
	}
	return host, nil
}

// openWorld opens what the effects of scripts act on.
func openWorld(root, dir string, o *Options, c *project.Config) (*stdlib.World, error) {
	commands, err := commandRules(o, c)
	if err != nil {
		return nil, err
	}
	world, err := stdlib.Open(&stdlib.Options{
		Root: root, WorkDir: dir, Protect: []string{o.Home, o.State, o.Cache, o.Config, o.Audit}, Env: o.Env, Launch: launcher(c.Sandbox), Commands: commands,
		Secrets: secrets(o, c.Secrets), HTTP: o.HTTP, Private: slices.Concat(o.Private, c.PrivateHosts), Roots: o.Roots,
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Errorf(tool.Invalid, "there is no folder %s", dir)
	}
	return world, err
}

// launcher returns what runs commands, or nil where they cannot be confined and
// must be.
func launcher(c project.SandboxConfig) tool.Launcher {
	if !sandbox.LaunchConfined() && required(c) {
		return nil
	}
	return sandbox.Launch
}

// maxSecret is how long a file may be that holds a secret.
const maxSecret = 64 << 10

// secrets returns how secrets are looked up: where the user's config says, then
// as the program does. They are read when they are used.
func secrets(o *Options, sources map[string]project.SecretSource) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		from, ok := sources[name]
		switch {
		case ok && from.Env != "" && o.Env != nil:
			return o.Env(ctx, from.Env)
		case ok && from.File != "":
			f, err := os.Open(from.File)
			if err != nil {
				return "", tool.ErrNotFound
			}
			defer f.Close()
			text, err := io.ReadAll(io.LimitReader(f, maxSecret))
			if err != nil {
				return "", tool.ErrNotFound
			}
			return strings.TrimRight(string(text), "\r\n"), nil
		case !ok && o.Secrets != nil:
			return o.Secrets(ctx, name)
		}
		return "", tool.ErrNotFound
	}
}

// noneOfOurs refuses a lent function that has the name of a pure one of ours:
// the host, which does not know those, could not.
func noneOfOurs(lent []tool.Module) error {
	ours := map[string]bool{}
	for _, m := range stdlib.Pure() {
		for _, f := range m.Funcs {
			ours[m.Name+"."+f.Name] = true
		}
	}
	for _, m := range lent {
		for _, f := range m.Funcs {
			if name := m.Name + "." + f.Name; ours[name] {
				return tool.Errorf(tool.Invalid, "Options.Modules has %s, which scripts have already", name)
			}
		}
	}
	return nil
}

// readerID names the build of the program: another one may read the same file
// as another tool.
func readerID() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

func discover(ctx context.Context, src runtime.Source, o *project.Options) (runtime.Discovered, error) {
	p, err := project.Load(ctx, src.Folder(), o)
	if err != nil {
		return runtime.Discovered{}, err
	}
	workflows, broken := project.WorkflowTools(ctx, src.Folder(), o)
	return runtime.Discovered{Tools: append(p.Tools, workflows...), Broken: append(p.Broken, broken...)}, nil
}
