// Package cassidy runs tools for language models: scripts, each in a sandbox, and
// functions of the program.
//
//	sandbox.Main(stdlib.Pure()...) // first in main: scripts run in processes of their own, this program again
//	…
//	host, err := cassidy.Open(".", &cassidy.Options{TrustSource: true})
//	…
//	defer host.Close()
//	result, err := host.Call(ctx, cassidy.Call{
//		Tool: "word_count",
//		Args: cassidy.NewDict("filepath", "README.md"),
//	})
//
// [Open] opens the project in a folder: its tools are the files that end in .star,
// .lua or .md in .cassidy/tools. A server has one [Runtime] and in it a [Host] for
// each of its tenants, see [New] and [Runtime.Open]; their scripts may also come
// from a file system ([FS]) or from memory ([Scripts]).
//
// Scripts can be listed, but not called before they are trusted. Set [Options].TrustSource if
// the program trusts its source, or [Options].State if its user reviews the scripts with the
// command cassidy trust. The built-in tools and the functions that the program adds with
// [AddTool] are trusted.
//
// # What to use
//
// Open a host, which has tools and calls them:
//   - [Open] and [Options]: a host for one project folder
//   - [New], [RuntimeOptions], [Workers] and [Mode]: a runtime, whose hosts share workers
//     and a store; [Process] or [Inline] is where scripts run
//   - [Runtime.Open] and a [Source] from [Dir], [FS] or [Scripts]: a host for each tenant
//
// Call a tool:
//   - [Host], [Call] and [Result]; [Durable] and [Narrow] are a [CallOption]
//   - [Value], [Dict], [List] and [Media] are arguments and results; [NewDict], [Encode]
//     and [Decode] convert Go values
//   - [Error], whose kind errors.Is compares with [ErrInvalid], [ErrDenied] and so on
//   - [Middleware] and [CallFunc] wrap all calls
//
// Write a tool in Go:
//   - [AddTool] and [Tool]; [UndoFunc], [AvailableFunc] and [PreviewFunc] add to it
//   - [Emit] reports the progress of a call
//   - [Module] and [Func] are functions for scripts
//
// Approve and restrict:
//   - [Approver], [ApproverFunc] and [ApproveAll] decide on calls that need approval
//   - [Asker] answers what scripts ask; [Question] and [Answer] are for both
//   - [Rule], a [Capability] with the verdict [Allow] or [Deny], decides without asking
//   - [Limits] bound a call
//
// Follow what happens:
//   - [Event] and [EventFilter], for Host.Subscribe, Host.Events and Host.Follow
//   - [ToolCallStart], [ToolCallEnd] and the other types of Event.Data
//
// Record runs, which survive the process:
//   - [RuntimeOptions].Store, with a [Store] of runtime/journal or runtime/journal/sqlite
//   - [Durable], [ParkedError], and Host.Waiting, Answer, Resume, ResumeDue and Undo
//   - [Run] and [RunFilter], for Host.Runs; [Runtime.Due] yields the runs of all tenants
//
// Many types are aliases of types in lower packages. Their comments list all exported fields
// and methods. In the lists, host, tool, value and history are packages below runtime,
// toolset is runtime/host/toolset, retry is runtime/history/retry, and trace is
// runtime/tool/trace. These packages say more: runtime/host what a host does with a call,
// and runtime/tool what a tool is. Package runtime/agent lets a model call the tools.
package cassidy

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/audit"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
	"github.com/cassidy-run/cassidy/tools"
)

// Options are what a program may choose of one host. The zero value offers the
// built-in tools, lists those of the source as untrusted, acts on no folder, and has
// nothing of a user's: no personal tools, no environment, no cache, no record of
// trust.
type Options struct {
	// Tenant is the tenant that the host serves. Workers, runs and questions are never
	// shared between tenants, and an ID of another tenant's is ErrNotFound. Two hosts
	// of one tenant share its runs. "" is a tenant too. It is UTF-8 text.
	Tenant string
	// Dir is the project that effects act on: scripts reach the files under it for
	// which they are granted a capability. "" means none: fs and shell are refused.
	Dir string
	// WorkDir is where relative paths begin, a folder inside Dir. "" means Dir.
	WorkDir string
	// TrustSource says that the source is the program's own or was reviewed
	// elsewhere: its tools, workflows, skills and agents, and notes for models such as
	// AGENTS.md, are trusted. Otherwise trust is looked up under State. If the source is not
	// the folder Dir, that is also done for the skills and notes in Dir.
	TrustSource bool
	// Home is the user's folder, with tools/, skills/, agents/ and config.yaml. ""
	// means none.
	Home string
	// Config is a file to read in place of the config.yaml in Home.
	Config string
	// Cache is a folder in which the host keeps what the files of tools declare, so that
	// the next Open reads only the files that have changed. "" means none.
	Cache string
	// State is the folder that records which files of a project its user trusts.
	// "" means that no file is trusted.
	State string
	// Env returns the value of an environment variable, for scripts that declare
	// that they need it. [ErrNotFound], or an error of that kind, means that it is
	// not set; any other error is that of the effect. It is called concurrently. An
	// effect does not wait for it longer than its call may take. Nil has none.
	Env func(ctx context.Context, name string) (string, error)
	// Secrets returns the value of a secret that the user's config does not have, or has
	// in the keyring, in the same way as Env. Scripts never see a value. Nil has none.
	Secrets func(ctx context.Context, name string) (string, error)
	// HTTP wraps the transport of http.*: it is called once by Open, with a base that
	// checks each address as it connects, and what it returns is called for each
	// request, concurrently; see [stdlib.Options].HTTP. The transport sees
	// placeholders where a script sends secrets, as only base puts the values in. A
	// nil result is ErrInvalid. Nil is base.
	HTTP func(base http.RoundTripper) http.RoundTripper
	// Private are addresses inside the user's own network that scripts may
	// reach where they are granted the host, beside those of the user's config.
	Private []netip.Prefix
	// Roots are the authorities that https trusts. Nil means the system's.
	Roots *x509.CertPool
	// Modules are further functions for scripts; see [host.Options].Modules. Each
	// [Func] decides by its Risk whether it asks for approval. With the module of package
	// agent, scripts can ask the model m:
	//
	//	agent.ModelModule(func(context.Context) (model.Model, error) { return m, nil })
	Modules []tool.Module
	// Rules allow, deny or ask for what tools want to do, beside those of the user's
	// config. Of all rules about a capability Deny wins, then Ask.
	Rules []Rule
	// TrustedSources name sources whose text a model may follow, beside those of the user's
	// config, and UntrustedSources others whose text it may not; see
	// [host.Options].TrustedSources.
	TrustedSources, UntrustedSources []string
	// Limits are those of a call whose tool sets none; a zero field means the
	// default. MaxLimits are the most that any call may have, whatever its tool
	// sets, beside those of the user's config; a zero field means no maximum.
	Limits, MaxLimits Limits
	// Memory is how many bytes the calls of the host may hold together in its own process; 0 means
	// what the user's config sets, else 160 MB. See [host.Options].Memory.
	Memory int64
	// Commands are rules for commands by their names, beside those of the user's
	// config. For the same name they replace that one's.
	Commands map[string]CommandRule
	// Timeout is the wall time of a call whose tool sets none; 0 means 30 seconds.
	Timeout time.Duration
	// MaxTimeout is the most wall time that any call may have, beside that of the
	// user's config; 0 means no maximum.
	MaxTimeout time.Duration
	// QuestionTimeout is how long an approval or a question can be answered, also while its
	// run is parked; 0 means as long as the user's config allows. See
	// [host.Options].QuestionTimeout.
	QuestionTimeout time.Duration
	// Approver decides on calls of risky tools that no person made. Nil denies
	// them, and parks durable calls; see [ApproveAll].
	Approver Approver
	// Asker answers the questions of scripts. Nil answers none, and parks durable
	// calls; see [host.Options].Asker.
	Asker Asker
	// Middleware wraps the calls of the host; the first is the outermost. See
	// [host.Middleware].
	Middleware []Middleware
	// Executor carries out the effects of scripts, once they were admitted, granted
	// and recorded: a test fakes them, a trace makes a span of each. It calls [Execute]
	// to carry one out. Nil is Execute.
	Executor Executor
	// Watch makes the host follow the files of its source, if that is a folder, and of Home:
	// within a second after a change it calls [host.Host.Refresh], or after a moment if
	// nothing else changes. If a file has become invalid, its last good version stays. Watch
	// is called after each Refresh, not concurrently, with what is wrong since then: errors of
	// files, tools that are now untrusted, and the error of Refresh, each once until it
	// changes. It must not close the host. Nil means that only Refresh looks for changes. A
	// [Runtime] with many tenants needs one inotify instance for each host that watches.
	Watch func(wrong []*Error)
	// Audit is a file that gets a line of JSON for each effect and call that
	// somebody allowed, or that was refused. It is kept at 10 MB, with the 10 MB
	// before beside it. "" keeps none.
	Audit string
	// Admit decides on recorded runs, which others may have begun, before they are resumed; see
	// [host.Options].Admit. Nil admits all.
	Admit func(ctx context.Context, r host.Recorded) (approved bool, err error)
	// NoBuiltins leaves out the built-in tools.
	NoBuiltins bool
}

// Open opens a host over the project folder dir, with a [Runtime] of its own that
// is closed with the host: with the sandbox that the user's config asks for, and
// without a store. Options.Dir is dir unless it is set. See [Runtime.Open]. Options
// may be nil.
func Open(dir string, o *Options) (*Host, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Dir == "" {
		opts.Dir = dir
	}
	config, err := config.Read("", &config.Options{Home: opts.Home, File: opts.Config})
	if err != nil {
		return nil, err
	}
	mode, err := ParseMode(string(config.Sandbox.Mode))
	if err != nil {
		return nil, err
	}
	r, err := New(&RuntimeOptions{Sandbox: mode, AllowUnconfined: !config.Sandbox.Confines()})
	if err != nil {
		return nil, err
	}
	h, err := r.open(Dir(dir), &opts, r.Close)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return h, nil
}

// Open opens a host over a source. It starts no process: the files are described at
// the first Tools, Call or Broken of the host. A broken file is listed by Broken, and
// the rest is served. It fails with kind Closed after Close, and with kind Invalid for
// options that cannot be, or whose config asks for more confinement than the runtime
// gives. Swap and Refresh of the host check the config again. Options may be nil.
//
// Close the host when done; [Runtime.Close] closes those that are left.
func (r *Runtime) Open(src Source, o *Options) (*Host, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	return r.open(src, &opts, func() error { return nil })
}

// open is Open; last is called when the host has been closed.
func (r *Runtime) open(src Source, o *Options, last func() error) (h *Host, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := r.take(nil); err != nil {
		return nil, err
	}
	if err := checkFolder(src); err != nil {
		return nil, err
	}
	finder := newFinder(r, o, src)
	config, err := config.Read(finder.root(src), &config.Options{Home: o.Home, File: o.Config})
	if err == nil {
		err = r.gives(config.Sandbox)
	}
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(o, &config)
	if err != nil {
		return nil, err
	}
	world, err := r.openWorld(o, settings, finder)
	if err != nil {
		return nil, err
	}
	finder.world = world
	finder.begin(&config, settings)
	defer func() {
		if h == nil {
			err = errors.Join(err, world.Close())
		}
	}()
	effects := slices.Concat(world.Modules(), project.Modules(o.Dir, finder.context(o.Dir)), o.Modules)
	modules := slices.Concat(stdlib.Pure(), effects, host.Modules(), agent.Modules())
	inline := sandbox.NewInline(modules...)
	box := sandbox.Sandbox(inline)
	if r.pool != nil {
		workers, err := r.pool.Open(o.Tenant, modules...)
		if err != nil {
			return nil, err
		}
		box, finder.opts.DescribeAll = workers, workers.DescribeAll
	}
	var background sync.WaitGroup
	finder.opts.Describe, finder.opts.DescribeBuiltin, finder.opts.Background = box.Describe, inline.Describe, background.Go
	h, err = host.New(&host.Options{
		Sandbox: box, Builtin: inline, Modules: effects, WorkDir: o.WorkDir, Project: o.Dir,
		Timeout: o.Timeout, Limits: o.Limits, Memory: cmp.Or(o.Memory, config.Limits.Host), Settings: finder.current, FileNames: world.FileNames, Approver: o.Approver, Asker: o.Asker, Clock: r.opts.Clock, Logger: r.opts.Logger, Audit: audit.To(o.Audit),
		Presets: tools.Presets(), Reserved: finder.reserved(), Journal: r.runs(o.Tenant), Source: src, Discover: finder.discover, Workflow: finder.workflow, Workflows: finder.workflows, Agents: finder.agents, Revoked: finder.revoked,
		Middleware: o.Middleware, Executor: o.Executor, Admit: o.Admit,
		Close: func() error {
			finder.unwatch()
			background.Wait()
			r.remove(h)
			return errors.Join(world.Close(), last())
		},
	})
	if err != nil {
		return nil, err
	}
	if err := r.take(h); err != nil {
		return h, errors.Join(err, h.Close())
	}
	if o.Watch != nil {
		finder.watch(h, o.Watch)
	}
	return h, nil
}

// complete makes the folders absolute, and says what cannot be.
func (o *Options) complete() error {
	if o.WorkDir == "" {
		o.WorkDir = o.Dir
	}
	for _, dir := range []*string{&o.Dir, &o.WorkDir} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return value.Errorf(value.Invalid, "open %s: %w", *dir, err)
		}
		*dir = abs
	}
	if !utf8.ValidString(o.Tenant) {
		return value.Errorf(value.Invalid, "Options.Tenant is not UTF-8 text")
	}
	if o.Dir == "" && o.WorkDir != "" {
		return value.Errorf(value.Invalid, "Options.WorkDir is %s, but Options.Dir is not set", o.WorkDir).WithHint("set Options.Dir to the folder of the project")
	}
	return checkNameConflicts(o.Modules)
}

// openWorld opens what the effects of scripts act on.
func (r *Runtime) openWorld(o *Options, s *settings, f *finder) (*stdlib.World, error) {
	world, err := stdlib.Open(&stdlib.Options{
		Root: o.Dir, WorkDir: o.WorkDir, SecretFiles: f.secretFiles, Servers: project.PersonalServers(o.Home), Protect: []string{o.Home, (&config.Options{Home: o.Home, File: o.Config}).UserFile(), o.State, o.Cache, o.Audit}, Env: f.env, Launch: r.launcher(), Commands: s.commands, Unprotected: s.unprotected,
		Secrets: f.secrets, HTTP: o.HTTP, Private: s.private, Roots: o.Roots, Now: r.opts.Clock,
	})
	if errors.Is(err, fs.ErrNotExist) {
		name, dir := "Dir", o.Dir
		if _, err := os.Stat(dir); err == nil {
			name, dir = "WorkDir", o.WorkDir
		}
		return nil, value.Errorf(value.Invalid, "Options.%s: the folder %s does not exist", name, dir).WithHint("create the folder, or set Options.%s to another one", name)
	}
	return world, err
}

// secrets looks up a secret: where the user's config says, then as the program does. A file is read when
// the secret is used.
func (f *finder) secrets(ctx context.Context, name string) (string, error) {
	within := func(get func(context.Context, string) (string, error)) func(string) (string, error) {
		if get == nil {
			return nil
		}
		return func(name string) (string, error) { return get(ctx, name) }
	}
	from, ok := f.now.Load().secrets[name]
	if !ok && f.own.Secrets != nil {
		return f.own.Secrets(ctx, name)
	}
	return from.Read(within(f.own.Env), within(f.own.Secrets))
}

// secretFiles returns the files that hold secrets. No script reads them, as with [finder.env], so none moves or
// removes them either: it could not undo that.
func (f *finder) secretFiles() []string {
	now := f.now.Load()
	if now == nil {
		return nil // the host is not open yet
	}
	return config.SecretFiles(now.secrets)
}

// env looks up an environment variable for a script. It refuses those that hold secrets, of which scripts get
// placeholders only: their values would be in results, in the journal and in fixtures.
func (f *finder) env(ctx context.Context, name string) (string, error) {
	for secret, from := range f.now.Load().secrets {
		if strings.EqualFold(from.Env, name) { // as Windows compares them
			return "", value.Errorf(value.Denied, "the environment variable %s is not given to tools: it holds the secret %s", name, secret).
				WithHint("call secret(%q), and declare the need \"secret:%s@HOST\"", secret, secret)
		}
	}
	if f.own.Env == nil {
		return "", value.ErrNotFound
	}
	return f.own.Env(ctx, name)
}

// checkNameConflicts refuses a module's function that has the name of a pure builtin
// one: the host, which does not have those, cannot.
func checkNameConflicts(modules []tool.Module) error {
	builtin := map[string]bool{}
	for _, m := range stdlib.Pure() {
		for _, f := range m.Funcs {
			builtin[m.Name+"."+f.Name] = true
		}
	}
	for _, m := range modules {
		for _, f := range m.Funcs {
			if name := m.Name + "." + f.Name; builtin[name] {
				return value.Errorf(value.Invalid, "Options.Modules has the function %s, which is built in", name).WithHint("use another name")
			}
		}
	}
	return nil
}
