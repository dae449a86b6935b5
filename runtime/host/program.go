package host

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// A Program is a script that runs without being a tool, such as the policy of an agent.
//
// It can compute, use the effects of its Modules, and use the host's effects that need no
// capability. Unless it has Needs, it can read, write and send nothing itself. Calls of tools
// that it makes through its Modules are not restricted by its Needs, but by the rights of the
// caller of the program, and by Most.
//
// A program has no timeout, since it waits for models and people. The limits of steps,
// processor time and memory are those of a call. The program and everything that it calls
// may ask for 10,000 effects, or for [MaxRunEffects] if its run is recorded.
type Program struct {
	Name   string // in events and errors, such as "policy review"
	Script tool.Script
	Entry  string // the name of the function of the script that is called
	// Args are its arguments. A parameter without an argument that has the name of a
	// module gets the module.
	Args *value.Dict
	// Builtin says that the script comes with cassidy, and runs in Options.Builtin.
	Builtin bool
	// Modules are effects that only this run has. The sandbox must have been given their
	// functions.
	Modules []tool.Module
	// Needs are the capabilities of the program itself, such as model, human, tool for
	// calls of any tool, or tool:NAME.
	Needs []tool.Capability
	Wrapping
	ID       string        // of the run; the host makes one up if it is empty
	StepPath tool.StepPath // of its effects; nil for a run of its own
	// Recording is how its run is recorded. The zero value records nothing.
	Recording

	instead
}

// A Wrapping is what happens around the calls that are made for a [Program], directly or not.
type Wrapping struct {
	// FromModel says that a model wrote the script, so that it chose each of the calls.
	FromModel bool
	// Narrow are rules for the program and everything that it calls, besides those of the run.
	// They deny or ask; one that allows is an error of kind Invalid. They are not recorded: a
	// program that is resumed needs the same ones.
	Narrow []tool.Rule
	// Most are the only capabilities that the calls may use. Nil does not restrict them.
	Most []tool.Capability
	// Review is called before a tool that was called for the program, directly or not,
	// changes files. An error refuses the changes. Nil refuses nothing.
	Review func(by *tool.Tool, from tool.Location, changes []tool.Change) error
	// Within returns the context of one effect of the program, which ends with it, so that an
	// effect can be ended without the program. Nil uses that of the program.
	Within func(ctx context.Context, effect string) (context.Context, context.CancelFunc)
	Trace  trace.Mode // what is reported about the lines of the program and of the tools that it calls
	// Middleware wraps the calls, within [Options].Middleware and that of the programs above.
	// Nil wraps nothing.
	Middleware Middleware
}

// A Recording is how the run of a [Program] is recorded. It applies to a program that is not
// run for a call.
type Recording struct {
	// Kind and Title are those of the run in the journal of the host, if it has one. With
	// the Kind "" the run is not recorded there.
	Kind, Title string
	// Session is the ID of the session whose turn the run is, or "".
	Session string
	// Record is the open record of the run, instead of one in the journal, such as a
	// [history.Memory] for a run that is kept elsewhere. Its ID, script and arguments are
	// those of the run; one with recorded effects requires Resume. The run closes it once
	// it has begun. A program that is run for a call cannot have one. Nil means the
	// journal, if Kind is set.
	Record history.Record
	// Returns is the type that the result must have; nil means any.
	Returns *tool.Type
	// Reason returns why the run ended, in one word; it may be nil.
	Reason func(v value.Value, err error) string
	// Options is recorded with the run, for the code that resumes it.
	Options *value.Dict
	// Parks says that the run can be parked: a question that nobody answers, and a long
	// sleep, end [Host.RunProgram] with an error of kind Parked.
	Parks bool
	// Resume continues the run of the program's ID, or of its Record, with the recorded
	// script and arguments. The Modules, Needs and Most must be the same.
	Resume bool

	// Watch is called with each event of the program and of everything that it calls,
	// before that continues, so it must be fast. It is called concurrently. It may be nil.
	Watch func(tool.Event)
	// Start is the event with which the run of the program begins, and End returns the
	// event with which it ends, from the result of the program. If they are nil, both
	// events follow from the Recording; a program without a Kind then has neither. The
	// host sets Kind, Resumed and Duration.
	Start *tool.RunStart
	End   func(v value.Value, err error) tool.RunEnd
}

// instead has what replaces parts of a program that the host itself runs.
type instead struct {
	run    tool.Runner     // instead of the script
	named  func(id string) // gets the ID of the run
	replay *replaying      // instead of a record

	prepared *gate.Callee // see Prepare
}

// Prepare computes what the runs of a program share. It saves time for a program of which many
// copies run concurrently.
func (p *Program) Prepare() { p.prepared = p.asTool() }

// asTool returns the program as a tool, for rules, grants and events.
func (p *Program) asTool() *gate.Callee {
	location := tool.Embedded
	if p.Builtin {
		location = tool.Builtin
	}
	if t := p.prepared; t != nil && t.Name == p.Name && t.Location == location && slices.Equal(t.Needs, p.Needs) {
		return t
	}
	return &gate.Callee{Tool: &tool.Tool{Name: p.Name, Needs: p.Needs, Returns: p.Returns}, Location: location, Granted: p.Needs}
}

// RunProgram runs a program, and returns the result of its function. With the context of an effect
// or of a handler in Go, it runs for that call, and may do nothing that the call or one of its
// callers may not do. It fails as the script does, with kind Parked if the run waits, and with
// kind Invalid for an invalid program.
func (h *Host) RunProgram(ctx context.Context, p *Program) (tool.Outcome, error) {
	if err := h.valid(); err != nil {
		return tool.Outcome{}, err
	}
	if !h.gate.InCall(ctx) {
		if err := h.inflight.Enter(); err != nil {
			return tool.Outcome{}, err
		}
		defer h.inflight.Leave()
	}
	g, runner, done, err := p.begin(ctx, h)
	defer done()
	switch {
	case err != nil:
		return tool.Outcome{}, err
	case g == nil:
		return h.runElsewhere(ctx, p)
	}
	return g.RunProgram(ctx, runner)
}

// begin returns the pass of a program and its runner; no pass if others execute the program. The caller must call done, also after an
// error. It is a function of its own so that a waiting run does not hold its stack frame. It
// changes a copy of the program, as a record replaces the script and the arguments.
func (given *Program) begin(ctx context.Context, h *Host) (g *gate.Pass, runner tool.Runner, done func(), err error) {
	p := *given
	c := tool.Call{ID: p.ID, Tool: p.Name, Entry: p.Entry, Args: p.Args, StepPath: p.StepPath, Trace: p.Trace, Caller: tool.ByScript}
	if p.FromModel {
		c.Caller = tool.ByModel
	}
	above, done := h.gate.EnterCall(ctx, &c)
	if above == nil && p.isElsewhere(h) {
		return nil, nil, done, nil
	}
	t := p.asTool()
	if err := h.gate.Effects.CheckModules(p.Name, p.Modules); err != nil {
		return nil, nil, done, err
	}
	if err := above.CheckDepth(); err != nil {
		return nil, nil, done, err
	}
	box := h.boxes.Of(t.Location, tool.Limits{})
	if box == nil && p.run == nil {
		return nil, nil, done, value.Errorf(value.Invalid, "run '%s': the host has no sandbox", p.Name).WithHint("set Options.Sandbox")
	}
	narrow, err := rights.CheckNarrow(p.Narrow)
	if err != nil {
		return nil, nil, done, err
	}
	run, err := p.runOf(ctx, h, &c, above)
	if err != nil {
		return nil, nil, done, err
	}
	own := &gate.Program{
		Modules: p.Modules, Most: p.Most, Review: p.Review, Reason: p.Reason, Session: p.Session, Watch: p.Watch, Within: p.Within, Start: p.startEvent(above != nil), End: p.End,
	}
	if p.Middleware != nil {
		own.Middleware = func(next func(context.Context, *tool.Call) (tool.Result, error)) func(context.Context, *tool.Call) (tool.Result, error) {
			return p.Middleware(next)
		}
	}
	g = run.NewProgram(t, c, above, own)
	g.Narrow(narrow)
	if p.run != nil {
		return g, p.run, done, nil
	}
	return g, runnerOf(box, p.Script), done, nil
}

// runnerOf returns the runner of a script in a sandbox.
func runnerOf(box sandbox.Sandbox, s tool.Script) tool.Runner {
	return func(ctx context.Context, c tool.Call, do tool.Effector) (tool.Outcome, error) {
		return box.Run(ctx, s, c, do)
	}
}

// runOf returns the run of a program: that of its caller, a replay, or a new one, which is
// recorded if the program has a kind and the host a journal.
func (p *Program) runOf(ctx context.Context, h *Host, c *tool.Call, above *gate.Pass) (*gate.Run, error) {
	if !p.Resume && replayOf(ctx) == "" {
		if err := h.mayStart(p); err != nil {
			return nil, err
		}
	}
	switch {
	case above != nil && p.Resume:
		return nil, resumedByCall(p.ID)
	case above != nil && p.Record != nil:
		return nil, value.Errorf(value.Invalid, "the program '%s' is part of another run, and cannot have a separate record", p.Name)
	case above != nil:
		return above.Run, nil
	case p.replay != nil:
		c.Args = p.Args
		return p.replay.run, nil
	}
	now := h.tools(ctx)
	narrow, err := rights.ReadNarrow(p.Options)
	if err != nil {
		return nil, gate.Unrecorded(err)
	}
	r := h.gate.NewRun(c.ID, now, narrow).Within(ctx)
	r.Parks = p.Parks
	err = p.open(ctx, r, now, c)
	if err == nil && p.named != nil {
		p.named(r.ID)
	}
	return r, err
}

// startEvent returns the event with which the run of the program begins, or nil: a replay has
// none, and without a Start neither has a program without a Kind or in another run.
func (p *Program) startEvent(part bool) *tool.RunStart {
	if p.replay != nil || p.Start == nil && (p.Kind == "" || part) {
		return nil
	}
	start := tool.RunStart{Task: p.Title}
	if p.Start != nil {
		start = *p.Start
	}
	start.Kind, start.Resumed = p.Kind, p.Resume
	return &start
}

// Check fails with the error of the script of a program if that cannot be run: if it is invalid,
// or its top level fails. It does not call the function of the program.
func (h *Host) Check(ctx context.Context, p *Program) error {
	const none = " " // the name of no function
	q := *p
	q.Entry, q.Args, q.Modules, q.Recording = none, nil, nil, Recording{}
	_, err := h.RunProgram(ctx, &q)
	if e := value.ErrorOf(err, value.Internal); e != nil && strings.HasSuffix(e.Message(), strconv.Quote(none)) {
		return nil // the script is valid, as the function was looked for in it
	}
	return err
}
