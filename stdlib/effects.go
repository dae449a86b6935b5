package stdlib

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/clock"
	"github.com/cassidy-run/cassidy/stdlib/fs"
	"github.com/cassidy-run/cassidy/stdlib/human"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/number"
)

// Options say what the effects of scripts may touch. The zero value lends no
// files, no environment and no secret, and of the network only the public part.
type Options struct {
	// Root is the project's folder: files outside it do not exist for a
	// script. "" means no files.
	Root string
	// WorkDir is where relative paths begin, a folder inside Root. "" means Root.
	WorkDir string
	// Protect names folders and files that no script may change, wherever they
	// lie: what a user keeps of what he trusts, above all.
	Protect []string
	// Env returns the value of an environment variable. An error of kind NotFound,
	// as [value.ErrNotFound], means that it is not set; any other one is that of the
	// effect. It is called concurrently, with the context of the effect. Where it
	// does not return when that ends, the effect ends without it. Nil has none.
	Env func(ctx context.Context, name string) (string, error)
	// Now is the clock that scripts see. It is called concurrently. Nil means
	// time.Now.
	Now func() time.Time
	// Launch runs other programs, confined. Nil means that none are run.
	Launch tool.Launcher
	// Commands are the rules for commands, by their names; see [ParseCommands]. Without
	// one a command may run in the ways in which it only reads, or not at all. One
	// that cannot hold is an error of Open.
	Commands map[string]CommandRule
	// Limits bound what files may cost. Zero fields mean the defaults.
	Limits FileLimits
	// Private names the addresses that http may reach beside those of the public
	// internet, as 127.0.0.1/32 for a server on this machine. Nil means none.
	Private []netip.Prefix
	// Roots are the authorities whose certificates http trusts. Nil means the
	// system's.
	Roots *x509.CertPool
	// HTTP wraps the transport of http.*: Open calls it once, with a base that checks
	// each address as it connects, and may be called concurrently. What it returns is
	// called for each request, redirects included, also concurrently. It may answer
	// itself, add headers, or ask base several times; its answers have the bounds of
	// any other, and redirects and secrets in them are checked as always. It sees
	// placeholders where a script sends secrets: base puts the values in, for the
	// host that they were granted for. Answers it sees as they came, so a server that
	// echoes a secret shows it. An effect does not wait for it longer than its time.
	// Its panic is an error of kind Internal; nil is an error of Open. Nil is base.
	HTTP func(base http.RoundTripper) http.RoundTripper
	// Secrets returns the value of a secret, in the same way as Env. A value is
	// looked up when it is used, and hidden in what scripts get from then on. An
	// error must not hold a value that was not returned. Nil has none.
	Secrets func(ctx context.Context, name string) (string, error)
}

// FileLimits bound what the effects on files may cost.
type FileLimits = fs.Limits

// A World is what the effects of scripts act on: the files of one project, the
// network, the clock, and the environment variables and secrets that it is
// lent. It is safe for concurrent use.
type World struct {
	files   *fs.Files
	env     row.Lookup
	now     func() time.Time
	shell   shellWorld
	http    *httpNet
	secrets *secretBox
}

// Open returns the world that the options describe; nil options lend nothing
// but the clock. Its folder stays open until [World.Close], and stays the one
// that it was when it is renamed.
func Open(o *Options) (*World, error) {
	if o == nil {
		o = &Options{}
	}
	for name, rule := range o.Commands {
		if err := rule.valid(name); err != nil {
			return nil, err
		}
	}
	w := &World{
		env: o.Env, now: o.Now, shell: newShellWorld(o),
		secrets: &secretBox{lookup: row.Lookup(o.Secrets).WithoutPanics("Options.Secrets")},
	}
	if w.now == nil {
		w.now = time.Now
	}
	var err error
	if w.http, err = newHTTPNet(o, w.secrets); err != nil {
		return nil, err
	}
	w.files, err = fs.Open(&fs.Options{Root: o.Root, WorkDir: o.WorkDir, Protect: o.Protect, Now: w.now, Limits: o.Limits})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Close gives back the project's folder. No effect may be under way.
func (w *World) Close() error { return w.files.Close() }

// Modules returns the effects as scripts and hosts name them. Rows marked
// Internal are for the host and the engine: fs.commit carries out what a call
// has staged, fs.restore takes a commit back, and random.seed feeds the module
// of that name.
func (w *World) Modules() []tool.Module {
	return []tool.Module{
		w.files.Module(),
		w.httpModule(),
		{Doc: "Secrets that the user lends.", Funcs: w.secretFuncs()},
		{Name: "env", Doc: "Environment variables that the user lends.", Funcs: w.envFuncs()},
		clock.Module(w.now),
		number.Seed(),
		human.Module(),
		w.shellModule(),
		human.Notices(),
	}
}

func (w *World) envFuncs() []tool.Func {
	return []tool.Func{{
		Name:    "get",
		Doc:     "Get the value of an environment variable.",
		Params:  []tool.Param{tool.Required("name", tool.TypeString, "the variable's name"), tool.Optional("default", tool.TypeAny, nil, "what to give where it is not set")},
		Returns: "its value as a string, or the default where it is not set",
		Kind:    tool.Read,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			name, err := envName(args)
			return []tool.Capability{{Name: "env", Target: name}}, err
		},
		Do: w.envGet,
	}}
}

// envName gives the variable's name. One that a capability cannot spell could
// be granted to nobody.
func envName(args *value.Dict) (string, error) {
	name := args.Text("name")
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '=' || r == '*' || r == 0x7f }) {
		return "", value.Errorf(value.Invalid, "%q is not the name of an environment variable", name)
	}
	return name, nil
}

func (w *World) envGet(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	name, err := envName(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	val, set, err := w.env.Get(ctx, "Options.Env", name)
	if stopped := row.Stopped(ctx); stopped != nil {
		return tool.Outcome{}, stopped
	}
	if err != nil {
		return tool.Outcome{}, w.secrets.scrubError(err)
	}
	if !set {
		otherwise, _ := e.Args.Get("default")
		return tool.Outcome{Value: otherwise}, nil
	}
	if !utf8.ValidString(val) {
		return tool.Outcome{}, value.Errorf(value.Failed, "the environment variable %s is not UTF-8 text", name)
	}
	return tool.Outcome{Value: val}, nil
}
