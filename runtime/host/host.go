// Package host runs tools for a model and decides what they may do.
//
// A [Host] holds tools, some written in Go ([AddTool]) and some in
// scripts ([Host.RegisterScript]), and runs calls of them: look up, check the
// arguments, approve, execute, check and shape the result. Whatever a tool
// asks of the world on the way passes one gate, see gate.go.
//
// Start with package cassidy, which opens a host with the usual parts; use
// this one to choose them yourself.
package host

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/events"
	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// Options are the parts of a host. The zero value is the safe one: no scripts,
// no effects, and nothing that needs approval is run.
type Options struct {
	// Sandbox runs the scripts. Nil: scripts cannot be registered.
	Sandbox sandbox.Sandbox
	// Builtin runs those that come with cassidy, whose Location is
	// [tool.Builtin], but for those that declare limits of memory or processor
	// time. Nil: Sandbox runs them as well.
	Builtin sandbox.Sandbox
	// Modules are the effects that scripts may ask for. What a program lends
	// beside the usual takes capabilities named use, as in use:stock/read; a
	// tool needs to declare them. Such a function asks when it is used, if its Risk
	// or its kind says so: the tool is not asked about before it runs, unless it is
	// risky or needs more that acts. The rows of [Modules] are the host's own and
	// are not given here.
	Modules []tool.Module
	// Source is where the scripts come from. [Host.Swap] replaces it.
	Source Source
	// Discover finds the tools of a source, and the files that are broken. It is
	// asked when the tools are first needed, and again by [Host.Refresh] and
	// [Host.Swap], never twice at a time. Nil finds none. A tool that is built
	// in or personal is granted what it needs; any other has what its Granted says,
	// which may be nothing.
	Discover func(ctx context.Context, src Source) (Discovered, error)
	// Reserved are the names of built-in tools, which no other tool takes, whenever
	// the source is searched.
	Reserved []string
	// Workflow finds a workflow of a source by its name, in either spelling, with an
	// error of kind NotFound where there is none. It is called concurrently. Nil
	// finds none.
	Workflow func(ctx context.Context, src Source, name string) (Workflow, error)
	// Revoked reports whether the trust of a script of a source, or of a file that it
	// loads, was revoked: a recorded run of that script is not resumed. It is called
	// concurrently. Nil revokes nothing.
	Revoked func(src Source, s *tool.Script) bool
	// Presets are named selections of tools, for [Host.Select].
	Presets map[string][]string
	// WorkDir is given to a tool whose parameter working_dir asks for it.
	WorkDir string
	// Timeout is the wall time of a call whose tool sets none; 0 means
	// tool.DefaultTimeout.
	Timeout time.Duration
	// MaxTimeout is the most wall time that any call may have; 0 means no maximum.
	MaxTimeout time.Duration
	// Limits are those of a call whose tool sets none. A zero field means the
	// default; see [tool.DefaultLimits].
	Limits tool.Limits
	// MaxLimits are the most that any call may have, whatever it or its tool sets. A
	// zero field means no maximum.
	MaxLimits tool.Limits
	// Rules are what the user lets tools do unasked, wants to be asked about
	// each time, or refuses. A search replaces them by those that it finds; see
	// [Discovered].
	Rules []tool.Rule
	// Approver decides on what needs approval: calls of tools that can act,
	// unless a person made them or a rule allows all of it, and what a rule
	// wants asked. Nil denies it, and parks a durable call.
	Approver Approver
	// Asker answers the other questions: those of human.ask and human.confirm,
	// and whether to repeat an effect during which a run was interrupted. Nil
	// answers none, and parks a durable call.
	Asker Asker
	// Clock gives the times of events and those until which scripts sleep. It is
	// called concurrently. How long something may take, and how long it is waited
	// for, is measured by the system's clock. Nil means time.Now. The clock that
	// scripts see is [stdlib.Options].Now, that of records [history.Options].Clock.
	Clock func() time.Time
	// Middleware wraps the calls of the host, the first outermost.
	Middleware []Middleware
	// Executor carries out the effects; nil is [Execute].
	Executor Executor
	// Journal opens where runs are recorded; see [Durable] and [Program].Kind. It
	// is called when it is first needed, and must return the same journal each
	// time. Nil records nothing.
	Journal func() (*history.Journal, error)
	// Project is the folder that the recorded runs are found by, or "".
	Project string
	// Audit is called with each decision about what may be done: what somebody allowed,
	// and what was refused. The call waits for it, so that what has happened is
	// recorded even if the program dies then. It is called concurrently. Its first
	// error in a row is reported as a [tool.Log] event, and fails no call. Nil records
	// nothing.
	Audit func(e tool.Event) error
	// Logger gets what an operator needs to know, without arguments, results and
	// secrets. Nil logs nothing.
	Logger *slog.Logger
	// Close is called by [Host.Close]: it releases what the modules hold.
	Close func() error
}

// A Handler is a tool written in Go. It gets checked and complete arguments. It
// must end when its context does: the host waits for it, whatever the time.
// It does not change them: a
// default among them is shared by all calls. Its result is a [value.Value], or
// what [value.FromGo] takes. An error that is not a *[value.Error] is reported as one of kind Failed.
type Handler func(ctx context.Context, args *value.Dict) (value.Value, error)

// A Host runs tools. It is safe for concurrent use.
type Host struct {
	opts     Options
	registry registry
	funcs    map[string]*tool.Func // every effect, as in "fs.read"
	calls    atomic.Int64          // counted to name them

	hub        events.Hub
	unaudited  atomic.Bool // the last decision could not be recorded
	execute    Executor
	middleware CallFunc // nil where there is none
	inflight   inflight.Group
	executing  executing
	approvals  approvals
	wake       chan struct{} // has a value when ResumeDue is to look again

	mu     sync.Mutex
	kinds  map[string]Kind // of runs, by name
	closed bool
}

// New returns a host. Options may be nil.
func New(o *Options) (*Host, error) {
	h := &Host{funcs: map[string]*tool.Func{}, wake: make(chan struct{}, 1)}
	if o != nil {
		h.opts = *o
	}
	rules, err := checkRules("Options.Rules", h.opts.Rules)
	if err != nil {
		return nil, err
	}
	h.registry.begin(h.opts.Source, h.opts.Reserved, rules)
	h.registerOwn()
	h.registerKinds()
	if err := h.wrap(h.opts.Middleware); err != nil {
		return nil, err
	}
	if h.execute = h.opts.Executor; h.execute == nil {
		h.execute = Execute
	}
	if h.opts.Timeout == 0 {
		h.opts.Timeout = tool.DefaultTimeout
	}
	for _, m := range h.opts.Modules {
		if err := h.lend(m); err != nil {
			return nil, err
		}
	}
	if h.opts.Timeout < 0 || h.opts.MaxTimeout < 0 || anyNegative(h.opts.Limits) || anyNegative(h.opts.MaxLimits) {
		return nil, value.Errorf(value.Invalid, "Options.Timeout, MaxTimeout, Limits and MaxLimits must not be negative")
	}
	if h.opts.Discover != nil && h.opts.Sandbox == nil {
		return nil, value.Errorf(value.Invalid, "Options.Discover finds scripts, and there is no Sandbox to run them in")
	}
	return h, nil
}

// lend makes the functions of a module effects that scripts can ask for.
func (h *Host) lend(m tool.Module) error {
	if err := m.CheckKinds(); err != nil {
		return err
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		name := f.Name
		if m.Name != "" {
			name = m.Name + "." + name
		}
		// Repeatable is not here: time.sleep takes no capability.
		acts := f.Kind == tool.Write || f.Kind == tool.External
		switch {
		case m.Name != "" && !identifier(m.Name) || !identifier(f.Name):
			return value.Errorf(value.Invalid, "%q is no name that a script could write", name)
		case h.funcs[name] != nil:
			return value.Errorf(value.Invalid, "the effect %s is there twice", name)
		case f.Do == nil:
			return value.Errorf(value.Invalid, "the effect %s has no Do", name)
		case acts && f.Target == nil && !f.Internal && !f.Calls:
			return value.Errorf(value.Invalid, "the effect %s acts, but has no Target: any tool could use it", name).
				WithHint("give the capabilities that it takes, such as use:%s", name)
		}
		h.funcs[name] = f
	}
	return nil
}

// identifier reports whether a script can write a name.
func identifier(name string) bool {
	for i, r := range name {
		if r != '_' && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && !(i > 0 && '0' <= r && r <= '9') {
			return false
		}
	}
	return name != ""
}

// grantNeeds grants a tool what it needs, where nobody has said what it is
// granted.
func grantNeeds(t *tool.Tool) {
	if t.Granted == nil && t.State != tool.Untrusted {
		t.Granted = t.Needs
	}
}

// Broken returns the files in which the last search found no usable tool, each
// with its position and reason, and why there was no search if one failed. It
// searches where nobody has yet. Of a closed host it returns those of the last search;
// where there was none, the error is of kind Closed.
func (h *Host) Broken() []*value.Error {
	c := h.tools(context.Background())
	if c.err != nil {
		return append(slices.Clone(c.broken), value.ErrorOf(c.err, value.Failed))
	}
	return slices.Clone(c.broken)
}

// RegisterScript adds a tool written as a script; t is what the sandbox read
// from it. The source is asked for with load, on the first call. The tool is
// granted what it needs, unless its Granted says otherwise or it is untrusted.
func (h *Host) RegisterScript(t tool.Tool, load func() (tool.Script, error)) error {
	if h.opts.Sandbox == nil {
		return value.Errorf(value.Invalid, "the host has no sandbox to run '%s' in", t.Name)
	}
	if t.State == "" {
		t.State = tool.Ready
	}
	grantNeeds(&t)
	o := newOffered(&t, h.scriptRunner(t.Location, t.Limits, load), load)
	return h.registry.change(func(c *catalog) error { return c.add(layerScript, o, false) })
}

func (h *Host) scriptRunner(from tool.Location, limits tool.Limits, load func() (tool.Script, error)) tool.Runner {
	box := h.boxFor(from, limits)
	var loaded atomic.Pointer[tool.Script]
	return func(ctx context.Context, c tool.Call, do tool.Effector) (tool.Outcome, error) {
		s := loaded.Load()
		if s == nil {
			fresh, err := load()
			if err != nil {
				return tool.Outcome{}, err
			}
			s = &fresh
			loaded.Store(s)
		}
		return box.Run(ctx, *s, c, do)
	}
}

// boxFor returns the sandbox of scripts that come from somewhere, or nil. One of
// cassidy's own that declares how much memory or time it may take, since it
// reads what strangers wrote, runs where that is kept.
func (h *Host) boxFor(from tool.Location, l tool.Limits) sandbox.Sandbox {
	if from == tool.Builtin && h.opts.Builtin != nil && l.Memory == 0 && l.CPU == 0 {
		return h.opts.Builtin
	}
	return h.opts.Sandbox
}

// Describe reads what a tool's file declares, without running it.
func (h *Host) Describe(ctx context.Context, s tool.Script) (tool.Tool, error) {
	if h.opts.Sandbox == nil {
		return tool.Tool{}, value.Errorf(value.Invalid, "the host has no sandbox to read scripts in")
	}
	return h.opts.Sandbox.Describe(ctx, s)
}

// Tools returns all tools: the built-in ones, those of the source and of the user,
// and those that the program registered. It searches the source where nobody has
// yet; what is wrong with it says [Host.Broken]. A tool that says by a
// function of its own whether it can be used here is asked, once until the
// next [Host.Refresh]; where it cannot, its State and Reason say so. A closed host
// returns what it knows, and neither searches nor asks. The same holds for List,
// Tool, Groups and Select.
func (h *Host) Tools() []tool.Tool {
	c := h.tools(context.Background())
	tools := make([]tool.Tool, 0, len(c.names))
	for o := range c.all() {
		tools = append(tools, h.described(c, o))
	}
	return tools
}

// List returns what a list shows of all tools, with their states, as [Host.Tools] would:
// most of a tool of thousands need not be decoded for that.
func (h *Host) List() []tool.Head {
	c := h.tools(context.Background())
	list := make([]tool.Head, 0, len(c.names))
	for o := range c.all() {
		head := *o.head
		if head.State == tool.Ready && head.Available != "" {
			t := h.described(c, o)
			head.State, head.Reason = t.State, t.Reason
		}
		list = append(list, head)
	}
	return list
}

// described returns a tool with the state that it is in.
func (h *Host) described(c *catalog, o *offered) tool.Tool {
	if err := o.complete(); err != nil {
		return tool.Tool{Name: o.head.Name, Description: o.head.Description, State: tool.NotHere, Reason: value.ErrorOf(err, value.Failed).Message()}
	}
	d := *o.tool
	if d.State != tool.Ready {
		return d
	}
	if err := h.listable(c, o.tool); err != nil {
		d.State, d.Reason = tool.NotHere, value.ErrorOf(err, value.Unavailable).Message()
	}
	return d
}

// Tool returns a tool by its name, in either spelling, with its state as in
// [Host.Tools].
func (h *Host) Tool(name string) (tool.Tool, error) {
	c := h.tools(context.Background())
	o, err := c.lookup(name)
	if err != nil {
		return tool.Tool{}, err
	}
	return h.described(c, o), nil
}

// Groups counts the tools of each group.
func (h *Host) Groups() map[string]int {
	groups := map[string]int{}
	for o := range h.tools(context.Background()).all() {
		groups[o.head.DisplayGroup()]++
	}
	return groups
}

// Select returns the tools that words name: a tool's name, "@group", or
// "preset:NAME"; "auto", "all" and no word at all mean every tool. Tools that
// cannot be used here are left out unless they are named. To name one that
// nobody has reviewed is an error, and so is an unknown word, which names the
// nearest.
func (h *Host) Select(words ...string) ([]tool.Tool, error) {
	var names []string
	for _, word := range words {
		more, err := h.expand(word)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	if len(words) == 0 {
		names, _ = h.expand("all")
	}
	var selected []tool.Tool
	seen := map[string]bool{}
	for _, name := range names {
		t, err := h.Tool(name)
		if err != nil {
			return nil, err
		}
		if t.State == tool.Untrusted {
			return nil, untrusted(&t)
		}
		if key := tool.Key(name); !seen[key] {
			seen[key] = true
			selected = append(selected, t)
		}
	}
	return selected, nil
}

func (h *Host) expand(word string) ([]string, error) {
	group, isGroup := strings.CutPrefix(word, "@")
	preset, isPreset := strings.CutPrefix(word, "preset:")
	if isPreset && preset != "all" {
		names, ok := h.opts.Presets[preset]
		if !ok {
			known := slices.Sorted(maps.Keys(h.opts.Presets))
			return nil, value.Errorf(value.Invalid, "there is no preset %q%s", preset, value.DidYouMean(preset, known)).
				WithHint("the presets are all, %s", strings.Join(known, ", "))
		}
		return names, nil
	}
	if !isGroup && !isPreset && word != "auto" && word != "all" {
		return []string{word}, nil
	}
	var names []string
	for _, t := range h.Tools() {
		if isGroup && t.DisplayGroup() != group || t.State != tool.Ready {
			continue
		}
		names = append(names, t.Name)
	}
	if isGroup && len(names) == 0 {
		known := slices.Sorted(maps.Keys(h.Groups()))
		return nil, value.Errorf(value.Invalid, "no tools found in group %q%s", group, value.DidYouMean(group, known)).
			WithHint("the groups are %s", strings.Join(known, ", "))
	}
	return names, nil
}

// Overhead estimates what offering tools costs of a model's context, in
// tokens, by name and in all. A tool that there is not counts as an unknown one.
func (h *Host) Overhead(names ...string) (each []int, total int) {
	total = tool.BaseOverhead
	c := h.tools(context.Background())
	for _, name := range names {
		n := tool.UnknownOverhead
		if o, err := c.lookup(name); err == nil {
			n = o.tool.EstimateOverhead()
		}
		each = append(each, n)
		total += n
	}
	return each, total
}

// untrusted is the error of a tool that nobody has reviewed.
func untrusted(t *tool.Tool) error {
	reason := t.Reason
	if reason == "" {
		reason = "nobody has reviewed it yet"
	}
	return value.Errorf(value.Denied, "the tool '%s' is untrusted: %s", t.Name, reason).WithHint("review it with: cassidy trust; a program sets Options.TrustSource for what is its own")
}

// now is the time by the clock of the host.
func (h *Host) now() time.Time {
	if h.opts.Clock == nil {
		return time.Now()
	}
	return h.opts.Clock()
}

func (h *Host) nextID() string { return "call-" + strconv.FormatInt(h.calls.Add(1), 10) }

// clip makes an error's text what is kept of it.
func clip(text string) string { return value.Clean(text, MaxErrorText) }
