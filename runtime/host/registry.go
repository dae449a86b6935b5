package host

import (
	"context"
	"errors"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A registry is the tools of a host, in layers that are replaced one at a time.
type registry struct {
	searching chan struct{} // has a value during a search: there is one search at a time

	mu   sync.Mutex // guards what follows
	src  toolset.Source
	now  *catalog
	seen bool // now is in use: the next change copies it
}

// A catalog is the tools of a host at one time. A catalog in use does not change: a call and
// everything that it calls use the catalog of the time when the call began.
type catalog struct {
	host     *Host
	layers   [layers][]*offered
	reserved map[string]bool             // the keys of built-in tools
	tools    map[string]*offered         // by key
	names    []string                    // the keys, in the order in which tools are listed
	flows    map[string]bool             // the keys of workflows that are not tools
	broken   []*value.Error              // the files without a usable tool
	searched bool                        // the source was searched
	err      error                       // of the search, or nil
	answers  *checkResults[*gate.Callee] // of the tools' own checks whether they can be used here
}

// An offered is a tool with everything that is needed to call it. Before complete it has only
// its head.
type offered struct {
	head   *toolset.Head
	tool   *toolset.Info // nil until it is complete
	callee *gate.Callee  // the same for calls
	run    tool.Runner
	load   func() (tool.Script, error) // nil for a tool written in Go

	found *toolset.Found // the source of complete, or nil
	once  sync.Once
	err   error // of complete
}

// newOffered returns a complete tool.
func newOffered(t *toolset.Info, run tool.Runner, load func() (tool.Script, error)) *offered {
	return &offered{head: headOf(t), tool: t, callee: calleeOf(t), run: run, load: load}
}

// complete decodes the tool, the first time that it is called.
func (o *offered) complete() error {
	o.once.Do(func() {
		if o.tool != nil {
			return
		}
		if o.tool, o.err = complete(o.found); o.err == nil {
			o.callee = calleeOf(o.tool)
		}
	})
	return o.err
}

// A layer is where tools come from. Tools are listed in the order of the layers.
type layer uint8

const (
	layerBuiltin layer = iota
	layerSource
	layerUser
	layerScript // of RegisterScript
	layerGo
	layers
)

// layerOf returns the layer of a tool that a search has found.
func layerOf(t *toolset.Head) layer {
	switch t.Location {
	case tool.Builtin:
		return layerBuiltin
	case tool.Personal:
		return layerUser
	}
	return layerSource
}

func (r *registry) begin(h *Host, src toolset.Source, reserved []string) {
	r.searching, r.src = make(chan struct{}, 1), src
	r.now = &catalog{host: h, tools: map[string]*offered{}, reserved: map[string]bool{}, answers: &checkResults[*gate.Callee]{}}
	for _, name := range reserved {
		r.now.reserved[tool.Key(name)] = true
	}
}

// source returns the current source.
func (r *registry) source() toolset.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.src
}

// current returns the current tools, without a search.
func (r *registry) current() *catalog {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seen {
		r.now.name()
		r.seen = true
	}
	return r.now
}

// name sets the names of a catalog before it is used.
func (c *catalog) name() {
	c.names = make([]string, 0, len(c.tools))
	for l := range c.layers {
		for _, o := range c.layers[l] {
			c.names = append(c.names, tool.Key(o.head.Name))
		}
	}
}

// copy returns a catalog that may be changed.
func (c *catalog) copy() *catalog {
	fresh := *c
	fresh.tools = maps.Clone(c.tools)
	for l := range c.layers {
		fresh.layers[l] = slices.Clone(c.layers[l])
	}
	return &fresh
}

// change changes the tools with edit, which must change nothing if it fails.
func (r *registry) change(edit func(c *catalog) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen {
		r.now, r.seen = r.now.copy(), false
	}
	return edit(r.now)
}

// add adds a tool to a layer. It fails with kind Invalid for an invalid name, for a tool without
// a runner, and for a name that another tool has, in either spelling. If replace is set, that
// tool is replaced, unless it is built in.
func (c *catalog) add(l layer, o *offered, replace bool) error {
	t := o.head
	if err := tool.CheckCallName(t.Name); err != nil {
		return err
	}
	if o.run == nil {
		return value.Errorf(value.Invalid, "tool '%s': handler must be a function", t.Name)
	}
	key := tool.Key(t.Name)
	old := c.tools[key]
	switch {
	case t.Location != tool.Builtin && (c.reserved[key] || old != nil && old.head.Location == tool.Builtin):
		return value.Errorf(value.Invalid, "tool '%s' has the name of a built-in tool", t.Name).WithHint("Rename your custom tool")
	case old != nil && !replace:
		return value.Errorf(value.Invalid, "tool '%s' is already registered", t.Name).WithHint("each tool must have a unique name; - and _ are the same")
	case old != nil:
		c.remove(old)
	}
	c.layers[l] = append(c.layers[l], o)
	c.tools[key] = o
	return nil
}

// remove removes a tool.
func (c *catalog) remove(o *offered) {
	for l := range c.layers {
		c.layers[l] = slices.DeleteFunc(c.layers[l], func(x *offered) bool { return x == o })
	}
	delete(c.tools, tool.Key(o.head.Name))
}

// found replaces the layers of the scripts by the result of a search. It returns the errors of
// the files of the source, including names that other tools have.
func (c *catalog) found(d *toolset.Discovered, offer func(*toolset.Found) *offered) (broken []*value.Error) {
	for l := layerBuiltin; l <= layerUser; l++ {
		for _, o := range c.layers[l] {
			delete(c.tools, tool.Key(o.head.Name))
		}
		c.layers[l] = nil
	}
	c.broken, broken = slices.Concat(d.Broken, d.Beside), slices.Clone(d.Broken)
	c.flows = map[string]bool{}
	for _, name := range d.Workflows {
		c.flows[tool.Key(name)] = true
	}
	for i := range d.Tools {
		o := offer(&d.Tools[i])
		if err := c.add(layerOf(o.head), o, false); err != nil {
			e := *value.ErrorOf(err, value.Invalid)
			e.Pos.File = o.head.Path
			c.broken = append(c.broken, &e)
			if layerOf(o.head) == layerSource {
				broken = append(broken, &e)
			}
		}
	}
	c.searched, c.err, c.answers = true, nil, &checkResults[*gate.Callee]{}
	return broken
}

// lookup returns a tool by its name, in either spelling. For the name of an invalid file it
// returns the error of the file, and for an unknown name an error of kind NotFound that
// suggests the nearest one.
func (c *catalog) lookup(name string) (*offered, error) {
	key := tool.Key(name)
	if o := c.tools[key]; o != nil {
		if err := o.complete(); err != nil {
			return nil, err
		}
		return o, nil
	}
	if c.err != nil {
		return nil, c.err
	}
	for _, e := range c.broken {
		file := path.Base(filepath.ToSlash(e.Pos.File))
		if tool.Key(strings.TrimSuffix(file, path.Ext(file))) == key {
			return nil, e.WithLimit(value.LimitTool)
		}
	}
	if c.flows[key] {
		return nil, value.Errorf(value.NotFound, "Unknown tool: %s is a workflow", name).
			WithHint("run it with: cassidy run %s; in Go, call Host.Run", name)
	}
	return nil, unknown(name, c.heads())
}

// heads returns the heads of the tools.
func (c *catalog) heads() []toolset.Head {
	return value.Map(c.names, func(key string) toolset.Head { return *c.tools[key].head })
}

// longName is how much of the name of an unknown tool is shown, as names can come from anybody.
const longName = 120

// Lookup implements [gate.Tools].
func (c *catalog) Lookup(_ context.Context, name string) (*gate.Callee, error) {
	o, err := c.lookup(name)
	if err != nil {
		return nil, err
	}
	return o.callee, nil
}

// Group implements [gate.Tools].
func (c *catalog) Group(name string) (group string, ok bool) {
	o, err := c.lookup(name)
	if err != nil {
		return "", false
	}
	return o.head.DisplayGroup(), true
}

// List implements [gate.Tools]. It leaves out the tools that cannot be completed.
func (c *catalog) List() []*gate.Callee {
	list := make([]*gate.Callee, 0, len(c.names))
	for o := range c.all() {
		if o.complete() == nil {
			list = append(list, o.callee)
		}
	}
	return list
}

// all yields the tools in the order of their layers. They need not be complete.
func (c *catalog) all() iter.Seq[*offered] {
	return func(yield func(*offered) bool) {
		for l := range c.layers {
			for _, o := range c.layers[l] {
				if !yield(o) {
					return
				}
			}
		}
	}
}

// revoked reports whether the trust of a tool was revoked by its user.
func (c *catalog) revoked(name string) bool {
	o, err := c.lookup(name)
	return err == nil && o.tool.Revoked
}

// Find implements [gate.Tools] for a run that is not recorded.
func (c *catalog) Find(_ context.Context, name string, _ tool.StepPath) (*gate.Callee, tool.Runner, error) {
	o, err := c.lookup(name)
	if err != nil {
		return nil, nil, err
	}
	return o.callee, o.run, nil
}

// tools returns the current tools. The first call searches the source. If the search fails, the
// result has the other tools, and the next call searches again.
func (h *Host) tools(ctx context.Context) *catalog {
	if err := h.valid(); err != nil {
		return &catalog{err: err}
	}
	c := h.registry.current()
	if c.searched || h.opts.Discover == nil {
		return c
	}
	if err := h.search(ctx, func(c *catalog) (toolset.Source, bool) { return h.registry.source(), !c.searched }, nil); err != nil {
		failed := *h.registry.current()
		failed.err = value.AsError(err, value.Failed)
		return &failed
	}
	return h.registry.current()
}

// Refresh searches the source again: new files become tools, changed files are read again, and
// the tools of deleted files are removed. If a file has become invalid, the host keeps the
// last valid version that it has read, and [Host.Broken] lists the file. It has read those that
// were called, and after the first Refresh all of them. Tools written in Go
// stay. The checks whether tools can be used here are made again. Calls in progress keep the
// tools that they began with. If Refresh fails, nothing changes.
func (h *Host) Refresh(ctx context.Context) error {
	if err := h.valid(); err != nil {
		return err
	}
	if h.opts.Discover == nil {
		return h.registry.change(func(c *catalog) error {
			c.answers = &checkResults[*gate.Callee]{}
			return nil
		})
	}
	return h.search(ctx, func(*catalog) (toolset.Source, bool) { return h.registry.source(), true }, nil)
}

// Swap replaces the source of the host's scripts, and with it all of its tools in one step. Calls
// in progress keep the tools that they began with. If a file of the new source is invalid,
// unreadable or has the name of another tool, nothing changes. The error is then that of
// [errors.Join]: its method Unwrap() []error returns a *[value.Error] with the position for
// each such file. Swap fails with kind Invalid for a host without Options.Discover.
func (h *Host) Swap(ctx context.Context, src toolset.Source) error {
	if err := h.valid(); err != nil {
		return err
	}
	if h.opts.Discover == nil {
		return value.Errorf(value.Invalid, "swap the source: the host has no Options.Discover")
	}
	valid := func(broken []*value.Error) error {
		return errors.Join(value.Map(broken, func(e *value.Error) error { return e })...)
	}
	return h.search(ctx, func(*catalog) (toolset.Source, bool) { return src, true }, valid)
}

// search searches the source that choose returns, unless that returns false. It replaces the
// tools by the result if accept succeeds; a nil accept accepts everything.
func (h *Host) search(ctx context.Context, choose func(*catalog) (toolset.Source, bool), accept func(broken []*value.Error) error) error {
	if err := h.inflight.Enter(); err != nil {
		return err
	}
	defer h.inflight.Leave()
	ctx, done := h.inflight.Until(ctx)
	defer done()
	r := &h.registry
	select {
	case r.searching <- struct{}{}:
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
	defer func() { <-r.searching }()
	if err := context.Cause(ctx); err != nil {
		return value.AsError(err, value.Canceled)
	}
	src, wanted := choose(r.current())
	if !wanted {
		return nil
	}
	found, err := h.opts.Discover(ctx, src)
	if cause := context.Cause(ctx); cause != nil {
		return value.AsError(cause, value.Canceled) // unread files are not invalid
	}
	found.Broken = append(found.Broken, src.Misnamed()...)
	if err != nil {
		return err
	}
	return r.change(func(c *catalog) error {
		next := c.copy()
		broken := next.found(&found, h.offer)
		if accept != nil {
			if err := accept(broken); err != nil {
				return err
			}
		}
		if found.Accepted != nil {
			found.Accepted()
		}
		r.src, *c = src, *next
		for _, e := range c.broken {
			h.opts.Logger.Warn("a tool is broken", "file", e.Pos.String(), "kind", e.Kind.String())
		}
		return nil
	})
}

// offer returns the tool of a search result.
func (h *Host) offer(f *toolset.Found) *offered {
	t := &f.Head
	completeStanding(&t.Standing, t.Needs, t.Location == tool.Builtin || t.Location == tool.Personal)
	return &offered{head: t, run: h.boxes.Runner(t.Location, t.Limits, f.Load), load: f.Load, found: f}
}
