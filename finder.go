package cassidy

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/index"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
	"github.com/cassidy-run/cassidy/tools"
)

// A finder finds the tools of a host, in its source, in the home of its user, and
// among those that come with cassidy.
type finder struct {
	opts  project.Options                  // for any source
	gives func(config.SandboxConfig) error // refuses what the runtime does not confine enough
	known atomic.Pointer[index.Known]
	src   atomic.Pointer[Source] // that was found last

	own   *Options // of the program
	fixed bool     // tools could write the user's config, so it is read only when the source is searched
	file  string   // the user's config; "" means that there is none
	live
	found  atomic.Pointer[settings] // at the last search; nil: there was none
	opened config.SandboxConfig     // when the host was opened
	world  *stdlib.World

	watching sync.Mutex // guards what follows
	stop     func()     // ends the watcher of the files; nil: there is none
	closed   bool
}

func newFinder(r *Runtime, o *Options, src Source) *finder {
	user := &config.Options{Home: o.Home, File: o.Config}
	f := &finder{own: o, gives: r.gives, fixed: user.IsWithin(o.Dir), file: user.UserFile(), opts: project.Options{
		Reader: r.reader, Builtin: tools.FS(), Config: o.Config, Cache: o.cache(), Keep: o.Watch != nil,
		Scope: trust.Scope{Home: o.Home, Trust: trust.New(o.State), TrustOnce: o.TrustSource},
	}}
	f.opts.Refuse = protect.Refuse(f.secretFiles)
	if o.NoBuiltins {
		f.opts.Builtin = nil
	}
	f.src.Store(&src)
	return f
}

// context returns what is read beside the tools: skills and notes. What lies in
// another folder than the source is not trusted with it.
func (f *finder) context(dir string) func() *trust.Scope {
	return func() *trust.Scope {
		src := *f.src.Load()
		o := f.options(src).Scope
		o.WorkDir = trust.Below(dir, f.own.WorkDir)
		if at, err := filepath.Abs(src.Folder()); src.Folder() != "" && (err != nil || at != dir) {
			o.TrustOnce = false
		}
		return &o
	}
}

// cache returns the folder of the tenant's index, or "": what the worker of one tenant
// has read is not believed for another.
func (o *Options) cache() string {
	if o.Cache == "" || o.Tenant == "" {
		return o.Cache
	}
	return filepath.Join(o.Cache, "tenant-"+tool.HashBytes([]byte(o.Tenant))[:16])
}

// root returns the folder of a source in which there is a project now, or "".
func (f *finder) root(src Source) string {
	if src.Folder() == "" {
		return ""
	}
	root, ok := project.Find(src.Folder(), f.opts.Home, "")
	if !ok {
		return ""
	}
	return root
}

// checkFolder fails for a source whose folder does not exist: otherwise a mistyped
// path is a host without tools.
func checkFolder(src Source) error {
	dir := src.Folder()
	if dir == "" {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return value.Errorf(value.Invalid, "there is no folder %s", dir).WithHint("pass an existing folder: the root of a project, with its scripts in .cassidy")
	}
	return nil
}

// options returns how a source is searched.
func (f *finder) options(src Source) *project.Options {
	o := f.opts
	o.Files, o.Known = src.Files(), f.known.Load()
	o.Keep = o.Keep || o.Known != nil
	return &o
}

// reserved returns the names of the tools that come with cassidy.
func (f *finder) reserved() []string {
	if f.opts.Builtin == nil {
		return nil
	}
	var names []string
	for _, suffix := range tool.ScriptSuffixes() {
		files, _ := fs.Glob(f.opts.Builtin, "*"+suffix) // the pattern is right
		for _, file := range files {
			names = append(names, strings.TrimSuffix(path.Base(file), suffix))
		}
	}
	return names
}

// discover searches a source.
func (f *finder) discover(ctx context.Context, src Source) (toolset.Discovered, error) {
	if err := checkFolder(src); err != nil {
		return toolset.Discovered{}, err
	}
	root, o := f.root(src), f.options(src)
	p, err := project.Load(ctx, root, o)
	if err == nil {
		err = f.gives(p.Config.Sandbox) // it may have changed since the host was opened
	}
	var now *settings
	if err == nil {
		now, err = settingsOf(f.own, &p.Config)
	}
	if err != nil {
		return toolset.Discovered{}, err
	}
	workflows, others, broken := project.WorkflowTools(ctx, root, o)
	d := toolset.Discovered{Tools: found(append(p.Tools, workflows...)), Workflows: others, Accepted: func() { f.known.Store(p.Known); f.src.Store(&src); f.accept(&p.Config, now) }}
	for _, e := range slices.Concat(p.Broken, broken) {
		if e.Kind == value.Busy {
			return toolset.Discovered{}, e // search again: it says nothing about the file
		}
		if f.isBeside(e.Pos.File) {
			d.Beside = append(d.Beside, e)
		} else {
			d.Broken = append(d.Broken, e)
		}
	}
	return d, nil
}

// found makes what a host takes of the tools of a project.
func found(tools []project.Tool) []toolset.Found {
	list := make([]toolset.Found, len(tools))
	for i := range tools {
		t := &tools[i]
		s := toolset.Standing{Location: t.Location, Path: t.Path, Hash: t.Hash, State: toolset.Ready, Reason: t.Reason, Revoked: t.Revoked, Granted: t.Granted}
		if !t.Trusted {
			s.State = toolset.Untrusted
		}
		list[i] = toolset.Found{Head: toolset.Head{Head: t.Head, Standing: s}, Declared: t.Declared, Load: t.Load}
	}
	return list
}

// workflow finds a workflow by its name, and reads it.
func (f *finder) workflow(ctx context.Context, src Source, name string) (host.Workflow, error) {
	root, o := f.root(src), f.options(src)
	w, err := project.FindWorkflow(root, &o.Scope, name)
	if err == nil {
		err = w.Describe(ctx, o.Describe)
	}
	if err != nil {
		return host.Workflow{}, err
	}
	script, err := w.Script()
	if err != nil {
		return host.Workflow{}, err
	}
	return host.Workflow{Tool: w.Tool.Tool, Script: script, Declared: w.Declared}, nil
}

// workflows returns the workflows that are described.
func (f *finder) workflows(ctx context.Context, src Source) (list []host.Workflow, err error) {
	o := f.options(src)
	all, _ := project.DescribedWorkflows(ctx, f.root(src), &o.Scope, o.Describe) // doctor reports what is broken
	for i := range all {
		w := host.Workflow{Tool: all[i].Tool.Tool, Declared: all[i].Declared}
		if !all[i].Trusted {
			w.State, w.Reason = toolset.Untrusted, all[i].Reason
		} else if w.Script, err = all[i].Script(); err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// agents returns the agents that can be used.
func (f *finder) agents(src Source) []AgentDefinition {
	files, _ := project.Agents(f.root(src), &f.options(src).Scope) // the command lists what is broken
	var list []AgentDefinition
	for i := range files {
		if files[i].Usable() == nil {
			list = append(list, files[i].Agent)
		}
	}
	return list
}

// revoked reports whether nothing of a script, or of a file that it loads, is trusted.
func (f *finder) revoked(src Source, s *tool.Script) bool {
	return trust.NeedsReview(s.Path) && f.options(src).Revoked(f.root(src), s)
}

// isBeside reports whether a file is in the home of the user.
func (f *finder) isBeside(file string) bool {
	home := strings.TrimSuffix(f.opts.Home, "/")
	return home != "" && strings.HasPrefix(file, home+"/")
}
