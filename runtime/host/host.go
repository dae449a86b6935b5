// Package host runs tools for a model and decides what they may do.
//
// A [Host] has tools, written in Go ([AddTool]) or as scripts ([Host.RegisterScript]), and
// makes calls of them: it looks up the tool, checks the arguments, asks for approval,
// executes the call and checks the result.
//
// Start with package cassidy, which opens a host with the usual parts. Use this package to
// choose the parts yourself.
//
// # Terms
//
// An effect is something that a script asks the host to do, by a call of a function such as
// fs.read; the functions belong to modules, see [tool.Module]. Each effect passes the gate:
// it is checked against the needs of the tool, what its user has granted, and the rules; if
// necessary, somebody is asked; then it is carried out and recorded.
//
// A handler is the Go function of a tool. A call that a handler or an effect makes with its
// context is nested; any other call is a root call.
//
// A run is a root call, or a [Program] such as a workflow or a turn of an agent, with all
// calls and effects below it. It is recorded if the host has a store (Options.Journal) and
// the call is [Durable] or the program has a [Recording]. If its process ends,
// [Host.Resume] executes a recorded run again: its effects then have their recorded outcomes,
// up to the first one without an outcome.
//
// A recorded run is parked while it waits for an answer or a time, in no process. It is due
// when Resume can continue it. It is stuck if its record and its scripts no longer fit
// together; see [Host.Retry].
package host

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/events"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// SavedResults is the folder .cassidy/results of a project, in which the command saves long results of
// tools. What is in it is untrusted, unless TrustedSources has it.
const SavedResults = taint.Saved

// Options configure a host. The zero value is safe: there are no scripts and no effects, and
// calls that need approval are refused.
type Options struct {
	// Sandbox runs the scripts. Nil: scripts cannot be registered.
	Sandbox sandbox.Sandbox
	// Builtin runs the scripts whose Location is [tool.Builtin], except those that declare
	// limits of memory or processor time. Nil: Sandbox runs them too.
	Builtin sandbox.Sandbox
	// Modules are the effects that scripts may ask for, without those of [Modules]. The
	// functions that a program adds take capabilities named use, such as use:stock/read,
	// which a tool must declare. Depending on its Risk and kind, such a function asks for
	// approval when a tool uses it. The call of the tool itself then needs no approval,
	// unless the tool is Risky or needs other capabilities that act.
	Modules []tool.Module
	// Source is where the scripts come from. [Host.Swap] replaces it.
	Source toolset.Source
	// Discover finds the tools and the invalid files of a source. It is called when the
	// tools are first needed and by [Host.Refresh] and [Host.Swap], and not concurrently.
	// Nil finds nothing. A built-in or personal tool is granted its needs if its Standing
	// has no Granted; any other tool is granted what its Standing has.
	Discover func(ctx context.Context, src toolset.Source) (toolset.Discovered, error)
	// Reserved are the names of built-in tools. No other tool can have one of them, even
	// before the source is searched.
	Reserved []string
	// Agents returns the agents that the files of a source define; see [Host.Agents]. Nil
	// means that there are none.
	Agents func(src toolset.Source) []tool.Agent
	// Workflow finds a workflow of a source by its name, in either spelling. It fails with
	// kind NotFound for an unknown name. It is called concurrently. Nil finds nothing.
	Workflow func(ctx context.Context, src toolset.Source, name string) (Workflow, error)
	// Workflows returns the workflows of a source; see [Host.Workflows]. Nil means that there are none.
	Workflows func(ctx context.Context, src toolset.Source) ([]Workflow, error)
	// Revoked reports whether the trust of a file that its user has to review was revoked, or
	// that of a file that it loads. Beside scripts it is asked about hooks and agent files, as
	// scripts that have only a Path. What is revoked is not started, and a recorded run of it
	// is not resumed. It is called concurrently. Nil means false.
	Revoked func(src toolset.Source, s *tool.Script) bool
	// Presets are lists of names of tools for [Host.Select], by the NAME of preset:NAME.
	Presets map[string][]string
	// WorkDir is the value of the parameters that the host fills in, such as working_dir; see
	// [tool.Param].FromHost.
	WorkDir string
	// Timeout is the wall time of a call whose tool sets none; 0 means
	// tool.DefaultTimeout.
	Timeout time.Duration
	// MaxTimeout is the most wall time that any call may have; 0 means no maximum.
	MaxTimeout time.Duration
	// QuestionTimeout is how long an approval or a question can be answered, also while its
	// run is parked; 0 means forever. After that the call or the effect fails with kind
	// Timeout. The question whether to repeat an effect does not expire.
	QuestionTimeout time.Duration
	// Limits are those of a call whose tool sets none. A zero field means the default; see
	// [tool.DefaultLimits].
	Limits tool.Limits
	// MaxLimits are the maximum of any call, whatever the call or its tool sets. A zero
	// field means no maximum.
	MaxLimits tool.Limits
	// Memory is how many bytes the calls of the host may hold together in its own process: what
	// they have staged, what their effects carry, and their results. A call and everything that it calls may
	// hold three quarters of it. What exceeds that is refused with kind Limit; what the calls of
	// others leave no room for waits until they end, and fails with kind Busy if its own time ends first.
	// 0 means 160 MB.
	Memory int64
	// Rules allow, ask for or deny what tools do. Of all rules about a capability, deny takes
	// precedence over ask, and ask over allow.
	Rules []tool.Rule
	// TrustedSources name sources whose text is trusted, and UntrustedSources others whose text
	// is not: http:HOST, tool:NAME, tool:@GROUP, or fs.read:GLOB for files. After a model has
	// read untrusted text, its calls that send or run something ask for approval, whatever was
	// granted; see docs/approvals.md.
	TrustedSources, UntrustedSources []string
	// Settings returns the settings in force now, which replace Rules, TrustedSources,
	// UntrustedSources, MaxTimeout, MaxLimits and QuestionTimeout. It returns the same pointer as
	// long as nothing changes, and nothing may change what it has returned. Nil and invalid settings
	// keep those before. It is called concurrently: once when a call or a run begins, and before a
	// question is asked, which added rules may make unnecessary. Nil: the settings are those of the options.
	Settings func() *toolset.Settings
	// FileNames returns a function for one run, which finds the other names of a file, such as
	// links that lead to it: a rule that asks or denies covers these names too. See
	// [stdlib.World.FileNames]. Nil: rules see only the path that is used.
	FileNames func() tool.FileNames
	// Approver decides on what needs approval: what a rule asks for, and calls of tools
	// that can act, unless a person made the call or rules allow everything. Nil denies
	// it, and parks a durable call.
	Approver Approver
	// Asker answers the other questions: those of human.ask and human.confirm, and whether
	// to repeat an effect during which a run was interrupted. Nil answers none, and parks
	// a durable call.
	Asker Asker
	// Clock returns the time of events, and the time for sleeping scripts. It is called
	// concurrently. Nil means time.Now. Timeouts are measured by the system's clock.
	// Scripts see [stdlib.Options].Now, and records have [history.Options].Clock.
	Clock func() time.Time
	// Middleware wraps the calls of the host, the first outermost.
	Middleware []Middleware
	// Executor carries out the effects; nil is [Execute].
	Executor Executor
	// Journal opens the journal in which runs are recorded; see [Durable] and
	// [Recording].Kind. It is called whenever the journal is needed, and must return the
	// same one each time. Nil records nothing.
	Journal func() (*history.Journal, error)
	// Admit is called before a recorded run is resumed, for a store in which others begin runs too. An
	// error leaves the run as it is. approved reports whether the approval of everything that the program
	// which began the run may have recorded with it holds here. Admit is called concurrently. Nil admits all
	// runs, with theirs.
	Admit func(ctx context.Context, r Recorded) (approved bool, err error)
	// Project is recorded with each run as the folder of its project, see [history.Run].
	Project string
	// Audit is called with each approval and each refusal. The call waits for it, so that
	// decisions are recorded even if the program dies. It is called concurrently. Its
	// errors fail no call; the first one in a row is reported as a [tool.Log] event. Nil
	// records nothing.
	Audit func(e tool.Event) error
	// Logger gets messages for operators, without arguments, results and secrets. Nil logs
	// nothing.
	Logger *slog.Logger
	// Close is called by [Host.Close], to release the resources of the modules. It may be
	// nil.
	Close func() error
}

// A Host runs tools; see [New]. It is safe for concurrent use. The methods of a nil or zero Host fail with kind Invalid,
// or return nothing if they return no error. Without a store (Options.Journal), the methods for recorded runs fail with
// kind Invalid.
type Host struct {
	opts     Options
	registry registry
	boxes    boxes
	gate     gate.Gate
	hub      events.Hub
	inflight inflight.Group
	wake     chan struct{} // has a value when ResumeDue has to look for due runs

	kinds   kinds // of runs
	shared  shared
	inForce atomic.Pointer[inForce]

	mu     sync.Mutex
	closed bool
}

// New returns a host. Options may be nil. It fails with kind Invalid for invalid Options: a
// rule that can match nothing, an invalid module, a negative limit, or Discover without a
// Sandbox.
func New(o *Options) (*Host, error) {
	h := &Host{wake: make(chan struct{}, 1), shared: shared{values: map[string]any{}}}
	if o != nil {
		h.opts = *o
	}
	o = &h.opts
	o.setDefaults()
	now, err := o.read(o.first())
	if err != nil {
		return nil, err
	}
	h.inForce.Store(now)
	h.registry.begin(h, o.Source, o.Reserved)
	h.gate.Open(h.parts())
	h.boxes = boxes{Others: o.Sandbox, Builtin: o.Builtin}
	h.kinds.begin()
	if err := h.wrap(o.Middleware); err != nil {
		return nil, err
	}
	for _, m := range o.Modules {
		if err := h.gate.Effects.Provide(m); err != nil {
			return nil, err
		}
	}
	if o.Discover != nil && o.Sandbox == nil {
		return nil, value.Errorf(value.Invalid, "Options.Discover is set, but Options.Sandbox is missing")
	}
	return h, nil
}

// setDefaults sets the defaults of the fields that are zero.
func (o *Options) setDefaults() {
	if o.Executor == nil {
		o.Executor = Execute
	}
	if o.Timeout == 0 {
		o.Timeout = tool.DefaultTimeout
	}
	if o.Memory == 0 {
		o.Memory = membudget.Default
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// parts returns the parts of the gate of the host.
func (h *Host) parts() gate.Parts {
	o := &h.opts
	p := gate.Parts{
		Execute: o.Executor, Audit: o.Audit, FileNames: o.FileNames, Settings: h.settings, CancelParked: h.cancelRecorded,
		Surroundings: gate.Surroundings{Clock: o.Clock, Logger: o.Logger, WorkDir: o.WorkDir, Hub: &h.hub, Inflight: &h.inflight, Memory: membudget.New(o.Memory)},
	}
	if o.Approver != nil {
		p.Approve = o.Approver.Approve
	}
	if o.Asker != nil {
		p.Ask = o.Asker.Ask
	}
	return p
}

// Modules returns the module tools, with the functions by which scripts call other tools. Every
// host has it. A sandbox must be given it too, in addition to Options.Modules. Its functions have
// no Do: each host carries them out itself.
func Modules() []tool.Module { return gate.Modules() }

// Broken returns an error for each file in which the last search found no usable tool, with
// the position and the reason, and the error of the search if that failed. The first call
// searches the source. A closed host returns the errors of the last search, or an error of
// kind Closed if there was none.
func (h *Host) Broken() []*value.Error {
	c := h.tools(context.Background())
	if c.err != nil {
		return append(slices.Clone(c.broken), value.ErrorOf(c.err, value.Failed))
	}
	return slices.Clone(c.broken)
}

// RegisterScript adds a tool written as a script. t contains what [Host.Describe] returned. load
// returns the script, and is called when the tool is first called. The tool is granted its
// needs, unless its Standing has Granted or the state Untrusted. RegisterScript fails with
// kind Invalid for an invalid name, for a name that another tool has, and without a Sandbox.
func (h *Host) RegisterScript(t toolset.Info, load func() (tool.Script, error)) error {
	if err := h.valid(); err != nil {
		return err
	}
	if h.opts.Sandbox == nil {
		return value.Errorf(value.Invalid, "register the tool '%s': the host has no sandbox", t.Name).WithHint("set Options.Sandbox")
	}
	completeStanding(&t.Standing, t.Needs, true)
	o := newOffered(&t, h.boxes.Runner(t.Location, t.Limits, load), load)
	return h.registry.change(func(c *catalog) error { return c.add(layerScript, o, false) })
}

// Describe reads what a tool's file declares, without running it. It fails with kind Invalid for
// an invalid file, and without a Sandbox.
func (h *Host) Describe(ctx context.Context, s tool.Script) (tool.Described, error) {
	if err := h.valid(); err != nil {
		return tool.Described{}, err
	}
	if h.opts.Sandbox == nil {
		return tool.Described{}, value.Errorf(value.Invalid, "read scripts: the host has no sandbox").WithHint("set Options.Sandbox")
	}
	return h.opts.Sandbox.Describe(ctx, s)
}

// Tools returns all tools: the built-in ones, those of the source and of the user, and those
// that the program registered. The first call searches the source; [Host.Broken] returns the
// errors. If a tool has a function that reports whether it can be used here, the function is
// called, and its answer is cached until the next [Host.Refresh]. A tool that cannot be used
// has the State NotHere and a Reason. A closed host neither searches nor calls functions.
// The same holds for List, Tool and Select.
func (h *Host) Tools() (tools []toolset.Info) {
	c := h.tools(context.Background())
	for o := range c.all() {
		tools = append(tools, c.described(o))
	}
	return tools
}

// List returns the heads of all tools, in the order of [Host.Tools]. It is faster than Tools, as
// a head can be read without decoding the tool.
func (h *Host) List() (list []toolset.Head) {
	c := h.tools(context.Background())
	list = make([]toolset.Head, 0, len(c.names))
	for o := range c.all() {
		head := *o.head
		if head.State == toolset.Ready && head.Available != "" {
			t := c.described(o)
			head.State, head.Reason = t.State, t.Reason
		}
		list = append(list, head)
	}
	return list
}

// described returns a tool with its current state.
func (c *catalog) described(o *offered) toolset.Info {
	if err := o.complete(); err != nil {
		return toolset.Info{Tool: tool.Tool{Name: o.head.Name, Description: o.head.Description}, Standing: toolset.Standing{State: toolset.NotHere, Reason: value.ErrorOf(err, value.Failed).Message()}}
	}
	d := *o.tool
	if d.State == toolset.Ready {
		if err := c.listable(o.callee); err != nil {
			d.State, d.Reason = toolset.NotHere, value.ErrorOf(err, value.Unavailable).Message()
		}
	}
	return d
}

// Tool returns a tool by its name, in either spelling, with its state as in [Host.Tools]. It
// fails with kind NotFound for an unknown name.
func (h *Host) Tool(name string) (toolset.Info, error) {
	c := h.tools(context.Background())
	o, err := c.lookup(name)
	if err != nil {
		return toolset.Info{}, err
	}
	return c.described(o), nil
}

// Agents returns the agents that the trusted agent files of the source define, as they are now.
func (h *Host) Agents() []tool.Agent {
	if err := h.valid(); err != nil {
		return nil
	}
	if h.opts.Agents == nil {
		return nil
	}
	return h.opts.Agents(h.registry.source())
}

// Workflows returns the workflows of the source, in the order of their names. Those that nobody has reviewed have the State
// Untrusted and no script, and broken ones are left out.
func (h *Host) Workflows(ctx context.Context) ([]Workflow, error) {
	if err := h.valid(); err != nil {
		return nil, err
	}
	if h.opts.Workflows == nil {
		return nil, nil
	}
	return h.opts.Workflows(ctx, h.registry.source())
}

// Select returns the tools that words select. A word is the name of a tool, "@group",
// "preset:NAME", or "auto" or "all" for every tool, which is also the default. Tools that
// cannot be used here, and those that a rule denies, are left out unless they are named. Select fails with kind Denied for
// the name of an untrusted tool, with NotFound for an unknown name, and with Invalid for an
// unknown group or preset; its error names all words that are wrong.
func (h *Host) Select(words ...string) ([]toolset.Info, error) {
	if err := h.valid(); err != nil {
		return nil, err
	}
	if len(words) == 0 {
		words = []string{"all"}
	}
	var selected []toolset.Info
	var wrong []error
	seen, denied := map[string]bool{}, denies(h.tools(context.Background()))
	for _, word := range words {
		names, err := expand(word, h.Tools, h.opts.Presets)
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, name := range names {
			if name != word && denied(name) {
				continue
			}
			t, err := h.Tool(name)
			if err == nil && t.State != toolset.Ready && t.State != toolset.NotHere {
				err = refusal(&t)
			}
			if key := tool.Key(name); err != nil {
				wrong = append(wrong, err)
			} else if !seen[key] {
				seen[key] = true
				selected = append(selected, t)
			}
		}
	}
	if len(wrong) > 0 {
		return nil, join(wrong)
	}
	return selected, nil
}
