package stdlib

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/clock"
	"github.com/cassidy-run/cassidy/stdlib/fs"
	"github.com/cassidy-run/cassidy/stdlib/human"
	"github.com/cassidy-run/cassidy/stdlib/number"
	"github.com/cassidy-run/cassidy/stdlib/secret"
	"github.com/cassidy-run/cassidy/stdlib/shell"
	"github.com/cassidy-run/cassidy/stdlib/web"
)

// Options say what the effects of scripts may touch. The zero value provides no
// files, no environment, no secrets and no commands, and of the network only the
// public internet.
type Options struct {
	// Root is the project's folder: files outside it do not exist for a
	// script. "" means no files, and no commands.
	Root string
	// WorkDir is where relative paths begin, a folder inside Root. "" means Root.
	WorkDir string
	// Protect names folders and files that no script may change, wherever they
	// are, as the folder with what a user has trusted.
	Protect []string
	// Servers is the file that lists the user's own MCP servers; see [fs.Options].Servers.
	Servers string
	// Unprotected are names of protected files that scripts may change all the same; see
	// [fs.Options].Unprotected.
	Unprotected []string
	// Limits bound what files may cost; see [fs.Limits] for the defaults.
	Limits fs.Limits
	// Env returns the value of an environment variable. An error of kind NotFound,
	// as value.ErrNotFound, means that it is not set; any other one is that of the
	// effect. It is called concurrently, with the context of the effect. Where it
	// does not return when that ends, the effect ends without it. Nil has none.
	Env func(ctx context.Context, name string) (string, error)
	// Secrets returns the value of a secret, in the same way as Env. A value is
	// looked up when it is used, and hidden in what scripts get from then on. An
	// error must not hold a value that was not returned. Nil has none.
	Secrets func(ctx context.Context, name string) (string, error)
	// SecretFiles returns the paths of the files that Secrets reads, see [fs.Options].Secret.
	SecretFiles func() []string
	// Now is the clock that scripts see. It is called concurrently. Nil means
	// time.Now.
	Now func() time.Time
	// Launch runs other programs, confined, as Run of package sandbox/launch does. Nil
	// means that none are run.
	Launch tool.Launcher
	// Commands are the rules for commands, by their names, as [shell.ParseRules] reads
	// them. A command without one may run in the ways in which it only reads, or not at
	// all. Nil means none.
	Commands map[string]shell.Rule
	// Private, Roots and HTTP are those of [web.Options].
	Private []netip.Prefix
	Roots   *x509.CertPool
	HTTP    func(base http.RoundTripper) http.RoundTripper
}

// A World is what the effects of scripts act on: the files of one project, the
// network, the clock, commands, and the environment variables and secrets that are
// provided. It is safe for concurrent use, apart from Close; open one with [Open]. A
// program that wants one area of it uses the package of that area.
type World struct {
	files    *fs.Files
	network  *web.Network
	commands *shell.Commands
	modules  func() []tool.Module
}

// Open returns the world that the options describe; nil options are the zero value.
// The project's folder stays open until [World.Close], and stays the same one when it
// is renamed. Its error is of kind Failed where Root cannot be opened, with that of the
// file system, and of kind Invalid for a WorkDir that is not in it, a rule for a command
// that cannot hold, and an HTTP that returns nil.
func Open(o *Options) (*World, error) {
	if o == nil {
		o = &Options{}
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	secrets := secret.NewBox(o.Secrets)
	network, err := web.New(&web.Options{Private: o.Private, Roots: o.Roots, HTTP: o.HTTP, Secrets: secrets})
	if err != nil {
		return nil, err
	}
	files, err := fs.Open(&fs.Options{Root: o.Root, WorkDir: o.WorkDir, Protect: o.Protect, Servers: o.Servers, Secret: o.SecretFiles, Unprotected: o.Unprotected, Now: now, Limits: o.Limits, Launch: o.Launch})
	if err != nil {
		return nil, err
	}
	commands, err := shell.New(files.Folder, &shell.Options{Launch: o.Launch, Rules: o.Commands})
	if err != nil {
		files.Close()
		return nil, err
	}
	return &World{files, network, commands, func() []tool.Module {
		return []tool.Module{
			files.Module(),
			network.Module(),
			secrets.Module(),
			secret.Env(o.Env, secrets),
			clock.Module(now),
			number.Seed(),
			human.Module(),
			commands.Module(),
			human.Notices(),
		}
	}}, nil
}

// Replace replaces Options.Commands, which shell.CheckRules accepts, Options.Private and
// Options.Unprotected. Effects that begin later use them. Replace must not be called concurrently.
func (w *World) Replace(commands map[string]shell.Rule, private []netip.Prefix, unprotected []string) {
	w.files.Unprotect(unprotected)
	w.commands.Replace(commands)
	w.network.ReplacePrivate(private)
}

// Close closes the project's folder. No effect may be under way.
func (w *World) Close() error { return w.files.Close() }

// FileNames returns the names by which rules cover the files of the project, for one run. They
// are those of the links that exist, and of the folders in which the run looks first.
func (w *World) FileNames() tool.FileNames { return w.files.Project().Names().Of }

// Modules returns the effects, as host.Options.Modules takes them. Functions of
// the mode [tool.ModeInternal] are for the host and the engine: fs.commit writes what a call has
// staged, fs.restore undoes a commit, and random.seed seeds the module of that name. Each
// call returns new modules.
func (w *World) Modules() []tool.Module { return w.modules() }
