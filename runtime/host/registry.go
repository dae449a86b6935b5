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
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/texts"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A registry is the tools of a host, in layers that are replaced one at a time.
type registry struct {
	searching chan struct{} // holds whoever searches the source: one search at a time

	mu   sync.Mutex // guards what follows
	src  Source
	now  *catalog
	seen bool // now is: what changes next is a copy of it
}

// A catalog is the tools of a host at one time. One that is seen does not change:
// a call and all that it calls see the catalog that was there when it began.
type catalog struct {
	layers   [layers][]*offered
	reserved map[string]bool     // the keys of built-in tools
	tools    map[string]*offered // by key
	names    []string            // the keys, in the order in which tools are listed
	rules    []tool.Rule         // that hold for calls of now
	flows    map[string]bool     // the keys of workflows that are not tools
	broken   []*value.Error      // the files of the source without a usable tool
	searched bool                // the source was
	err      error               // why it could not be, or nil
	answers  *answers
}

// An offered tool is one with all that it takes to call it. Only its head is there
// before it is complete.
type offered struct {
	head *tool.Head
	tool *tool.Tool // nil until it is complete
	run  tool.Runner
	load func() (tool.Script, error) // of a script; else nil

	found *tool.Found // what it is completed from; else nil
	once  sync.Once
	err   error // why it cannot be
}

// newOffered returns a tool that is complete.
func newOffered(t *tool.Tool, run tool.Runner, load func() (tool.Script, error)) *offered {
	h := t.Head()
	return &offered{head: &h, tool: t, run: run, load: load}
}

// complete decodes what is not there of the tool, the first time.
func (o *offered) complete() error {
	o.once.Do(func() {
		if o.tool != nil {
			return
		}
		t, err := o.found.Tool()
		if err != nil {
			o.err = err
			return
		}
		o.tool = &t
	})
	return o.err
}

// A layer is where tools come from. They are listed in this order.
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
func layerOf(t *tool.Head) layer {
	switch t.Location {
	case tool.Builtin:
		return layerBuiltin
	case tool.Personal:
		return layerUser
	}
	return layerSource
}

func (r *registry) begin(src Source, reserved []string, rules []tool.Rule) {
	r.searching, r.src = make(chan struct{}, 1), src
	r.now = &catalog{tools: map[string]*offered{}, reserved: map[string]bool{}, rules: rules, answers: &answers{}}
	for _, name := range reserved {
		r.now.reserved[tool.Key(name)] = true
	}
}

// source returns where the scripts come from now.
func (r *registry) source() Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.src
}

// current returns the tools without searching for any.
func (r *registry) current() *catalog {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seen {
		r.now.name()
		r.seen = true
	}
	return r.now
}

// name fills in the names of a catalog that is to be seen.
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

// change changes the tools, unless edit fails, which then has changed nothing.
func (r *registry) change(edit func(c *catalog) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen {
		r.now, r.seen = r.now.copy(), false
	}
	return edit(r.now)
}

// add adds a tool to a layer. It fails where the name is not valid or there is no
// way to run it, and where another tool has the name, in either spelling, unless
// replace is set. A built-in tool is never replaced.
func (c *catalog) add(l layer, o *offered, replace bool) error {
	t := o.head
	if err := tool.CheckName(t.Name); err != nil {
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

// found replaces the layers of the scripts by what a search came upon. It returns
// what is broken of the source, with the tools whose names others have.
func (c *catalog) found(d *Discovered, offer func(*tool.Found) *offered) (broken []*value.Error) {
	for l := layerBuiltin; l <= layerUser; l++ {
		for _, o := range c.layers[l] {
			delete(c.tools, tool.Key(o.head.Name))
		}
		c.layers[l] = nil
	}
	c.broken, broken = slices.Concat(d.Broken, d.Beside), slices.Clone(d.Broken)
	if d.Rules != nil {
		c.rules = d.Rules
	}
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
	c.searched, c.err, c.answers = true, nil, &answers{}
	return broken
}

// lookup returns a tool by its name, in either spelling. For an unknown name the
// error, of kind NotFound, names the nearest one; where a broken file has the
// name, what is wrong with the file says more.
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
			return nil, e
		}
	}
	if c.flows[key] {
		return nil, value.Errorf(value.NotFound, "Unknown tool: %s, which is a workflow", name).
			WithHint("run it with: cassidy run %s; a program calls Host.Run", name)
	}
	var near []string
	if key := value.Nearest(key, c.names); key != "" {
		near = append(near, c.tools[key].head.Name)
	}
	err := value.Errorf(value.NotFound, "Unknown tool: %s%s", value.Clean(name, longName), value.DidYouMean(name, near))
	if len(c.names) == 0 {
		return nil, err.WithHint("there are no tools")
	}
	return nil, err.WithHint("the tools are: %s", c.someNames())
}

// longName is how much of the name of an unknown tool is shown: it can come from
// anybody.
const longName = 120

// someNames lists the names for a message, which ten thousand tools would fill.
func (c *catalog) someNames() string {
	const shown = 20
	names := make([]string, 0, shown+1)
	for _, key := range c.names {
		if len(names) == shown {
			names = append(names, "…")
			break
		}
		names = append(names, c.tools[key].head.Name)
	}
	return strings.Join(names, ", ")
}

// list returns all tools, in the order of their layers, but those that cannot be
// completed.
func (c *catalog) list() []*tool.Tool {
	list := make([]*tool.Tool, 0, len(c.names))
	for o := range c.all() {
		if o.complete() == nil {
			list = append(list, o.tool)
		}
	}
	return list
}

// all yields the tools in the order of their layers. They may not be complete.
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

// find is the [finder] of a run that is not recorded.
func (c *catalog) find(_ context.Context, call *tool.Call) (*tool.Tool, tool.Runner, error) {
	o, err := c.lookup(call.Tool)
	if err != nil {
		return nil, nil, err
	}
	return o.tool, o.run, nil
}

func (c *catalog) catalog() *catalog { return c }

// answers are what the tools' own checks have said, whether they can be used
// here. Those that are asked for meanwhile belong to the catalog that asked.
type answers struct {
	mu    sync.Mutex
	said  map[*tool.Tool]error
	asked map[*tool.Tool]*probe
}

// A probe is a check in progress.
type probe struct {
	ended chan struct{}
	until time.Time // when it should have ended
}

// begin returns the answer of a tool's check, if that is known. Otherwise it returns the
// check in progress, or nil: the caller then asks, and calls end.
func (a *answers) begin(t *tool.Tool) (known bool, other *probe, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err, known = a.said[t]; known {
		return true, nil, err
	}
	if other = a.asked[t]; other == nil {
		if a.asked == nil {
			a.said, a.asked = map[*tool.Tool]error{}, map[*tool.Tool]*probe{}
		}
		a.asked[t] = &probe{make(chan struct{}), time.Now().Add(availableTimeout)}
	}
	return false, other, nil
}

// known returns the answer of a tool's check, or nil.
func (a *answers) known(t *tool.Tool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said[t]
}

// end ends the check of a tool, and keeps its answer if it is one.
func (a *answers) end(t *tool.Tool, err error, isAnswer bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if isAnswer {
		a.said[t] = err
	}
	close(a.asked[t].ended)
	delete(a.asked, t)
}

// await waits until a check has ended, or should have. A check that asks for itself, as
// by listing the tools, waits here for its own end.
func (x *probe) await(ctx context.Context, t *tool.Tool) error {
	late := time.NewTimer(time.Until(x.until))
	defer late.Stop()
	select {
	case <-x.ended:
		return nil
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	case <-late.C:
		return notAvailable(t, value.Errorf(value.Unavailable, "its own check has not ended").WithHint("a check must not ask for its own tool, as Host.Tools does"))
	}
}

// tools returns the tools of now. The first time it searches the source; where
// that fails, the tools written in Go are there all the same, and the next call
// searches again.
func (h *Host) tools(ctx context.Context) *catalog {
	c := h.registry.current()
	if c.searched || h.opts.Discover == nil {
		return c
	}
	if err := h.search(ctx, func(c *catalog) (Source, bool) { return h.registry.source(), !c.searched }, nil); err != nil {
		failed := *h.registry.current()
		failed.err = value.AsError(err, value.Failed)
		return &failed
	}
	return h.registry.current()
}

// Refresh searches the source again: new files become tools, changed ones are
// read anew, and those of deleted files go. A file that is broken now keeps the
// last version that was not, if the host has read that, and is listed by
// [Host.Broken]. Tools written in Go stay. Each tool is asked again whether it
// can be used here. Calls that are under way keep the tools that they began with.
func (h *Host) Refresh(ctx context.Context) error {
	if h.opts.Discover == nil {
		return h.registry.change(func(c *catalog) error {
			c.answers = &answers{}
			return nil
		})
	}
	return h.search(ctx, func(*catalog) (Source, bool) { return h.registry.source(), true }, nil)
}

// Swap replaces the source of the host's scripts: all of its tools at once, while
// calls that are under way keep those that they began with. Where a file of the
// new source is broken or has the name of another tool, or it cannot be read,
// nothing changes, and the error is that of errors.Join: its method
// Unwrap() []error returns a [*value.Error] with the position for each such file.
// [Host.Broken] does not list them. Swap fails with kind Invalid for a host that
// searches for no scripts.
func (h *Host) Swap(ctx context.Context, src Source) error {
	if h.opts.Discover == nil {
		return value.Errorf(value.Invalid, "the host searches for no scripts, so there is no source to swap")
	}
	whole := func(broken []*value.Error) error {
		var all []error
		for _, e := range broken {
			all = append(all, e)
		}
		return errors.Join(all...)
	}
	return h.search(ctx, func(*catalog) (Source, bool) { return src, true }, whole)
}

// search searches the source that choose names, if it wants that, and takes what
// it came upon, unless accept fails; nil accepts all.
func (h *Host) search(ctx context.Context, choose func(*catalog) (Source, bool), accept func(broken []*value.Error) error) error {
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
		return value.AsError(cause, value.Canceled) // what was not read yet is not broken
	}
	if named, ok := src.files.(texts.Texts); ok {
		found.Broken = append(found.Broken, named.Misnamed()...)
	}
	if err != nil {
		return err
	}
	if found.Rules, err = checkRules("Discovered.Rules", found.Rules); err != nil {
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
			h.log().Warn("a tool is broken", "file", e.Pos.String(), "kind", e.Kind.String())
		}
		return nil
	})
}

// offer makes a tool of a script that was found.
func (h *Host) offer(f *tool.Found) *offered {
	t := &f.Head
	if t.State == "" {
		t.State = tool.Ready
	}
	if (t.Location == tool.Builtin || t.Location == tool.Personal) && t.Granted == nil && t.State != tool.Untrusted {
		t.Granted = t.Needs
	}
	return &offered{head: t, run: h.scriptRunner(t.Location, t.Limits, f.Load), load: f.Load, found: f}
}
