package host

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// A Program is a script that is run for itself and not as a tool, such as the
// policy of an agent.
//
// It can compute, and ask for the effects that it is lent and for those that
// need no capability: it declares none, and so reads, writes and sends nothing
// itself. What it has done through a lent effect, as a call of a tool, is not
// bounded by that, but by whoever called the program.
//
// It has no time of its own, since it waits for models and people; its steps,
// processor time and memory are those of a call. It may ask for
// [MaxTreeEffects] effects, with those of all that it calls.
type Program struct {
	Name   string // as events and errors name it: "policy review"
	Script tool.Script
	Entry  string // its function
	// Args are its arguments. A parameter for which there is none, and which has
	// the name of a module, is that module.
	Args *value.Dict
	// Builtin says that the script is cassidy's own, and runs where those do.
	Builtin bool
	// Modules are the effects that this run is lent, beside those of the host.
	// The sandbox must know their rows.
	Modules []tool.Module
	// Needs are capabilities that the program has itself, beside what it is lent:
	// as model, human, tool for calls of any tool, or tool:NAME.
	Needs []tool.Capability
	// Review is asked before a tool that was called for the program, however far
	// down, changes files. An error refuses it. Nil refuses nothing.
	Review func(by *tool.Tool, changes []tool.Change) error
	ID     string     // names the run in events; the host makes one up if it is empty
	Place  tool.Place // of its effects; nil for a run of its own
	// Recording is how its run is recorded. The zero value records nothing.
	Recording

	instead
}

// A Recording says how the run of a [Program] is recorded, where the program is
// run for no call.
type Recording struct {
	// Kind and Title are what the run is recorded as in the journal of the host, if
	// it has one. A Kind of "" records nothing there.
	Kind, Title string
	// Session is the ID of the session that the run is a turn of, or "".
	Session string
	// Record is the open record of the run, in place of one in the journal: a
	// [history.Memory] for a run that is kept elsewhere. Its ID, script and arguments
	// are those of the run; one with recorded effects needs Resume. The run closes it,
	// once it has begun. A program that is run for a call is refused with a Record. Nil
	// means the journal, if Kind is set.
	Record history.Record
	// Returns is the type of the result: a run with another one fails. Nil is
	// anything.
	Returns *tool.Type
	// Reason says why the run ended, in a word; nil says nothing.
	Reason func(v value.Value, err error) string
	// Options is recorded with the run: what whoever resumes it needs to know.
	Options *value.Dict
	// Parks says that the run can wait in no process: what nobody is there to
	// answer, and a long sleep, then ends [Host.RunProgram] with an error of kind Parked.
	Parks bool
	// Resume continues the run of the program's ID, or of its Record, with the
	// script and the arguments that it began with: what it has done is answered
	// from the record. It needs the same modules and needs.
	Resume bool

	Reporting
}

// A Reporting says what events tell about the run of a [Program].
type Reporting struct {
	// Watch is called with each event of the program and of what is done for it,
	// however far down, before that continues: it must be quick. It is called
	// concurrently. Nil means that nobody watches.
	Watch func(tool.Event)
	// Start is what the event says with which the run of the program begins, and End
	// returns what that says with which it ends, from what the program returned. Where
	// they are nil, both follow from the Recording; a program without a Kind then has
	// no such events. The host sets Kind, Resumed and Duration.
	Start *tool.RunStart
	End   func(v value.Value, err error) tool.RunEnd
}

// instead is what the host itself runs as a program, where that is no script.
type instead struct {
	run    tool.Runner
	named  func(id string) // gets the ID that the host made up
	replay *replaying      // in place of a record of its own

	prepared *tool.Tool // see Prepare
}

// Prepare makes what the runs of a program share, for one of which many copies run
// at once: it is then not made for each.
func (p *Program) Prepare() { p.prepared = p.asTool() }

// asTool is the program as rules, grants and events see it.
func (p *Program) asTool() *tool.Tool {
	location := tool.Embedded
	if p.Builtin {
		location = tool.Builtin
	}
	if t := p.prepared; t != nil && t.Name == p.Name && t.Location == location && slices.Equal(t.Needs, p.Needs) {
		return t
	}
	return &tool.Tool{Name: p.Name, Location: location, Needs: p.Needs, Granted: p.Needs, Returns: p.Returns}
}

// RunProgram runs a program. Made with the context of an effect, or of a handler in
// Go, it is run for that call: it may have nothing done that the call, and
// those above it, may not.
func (h *Host) RunProgram(ctx context.Context, p *Program) (tool.Outcome, error) {
	if h.origin(ctx) == nil {
		if err := h.inflight.Enter(); err != nil {
			return tool.Outcome{}, err
		}
		defer h.inflight.Leave()
	}
	g, runner, done, err := h.begin(ctx, *p)
	defer done()
	if err != nil {
		return tool.Outcome{}, err
	}
	defer g.program.ended(g, nil, errPanicked) // if nothing else has ended it
	switch {
	case g.above != nil:
	case g.run.record.Keeps():
		var out tool.Outcome
		err := g.run.execute(ctx, func(ctx context.Context) (err error) {
			out, err = safely(ctx, g, runner, g.perform)
			out, err = g.end(ctx, out, err)
			return err
		})
		g.program.ended(g, nil, err) // of one that was not executed
		return out, err
	default:
		ctx = g.wall.Open(ctx)
		defer g.wall.Stop()
		h.inflight.Watch(&g.wall)
		defer h.inflight.Forget(&g.wall)
	}
	out, err := safely(ctx, g, runner, g.perform)
	return g.end(ctx, out, err)
}

// begin makes the pass of a program, and what runs it; done is to be called in any
// case. Like end it is a function of its own so that a run that waits does not
// carry its frame, and of the program, which a record may change, it leaves what the
// run needs until its end.
func (h *Host) begin(ctx context.Context, p Program) (g *pass, runner tool.Runner, done func(), err error) {
	c := tool.Call{ID: p.ID, Tool: p.Name, Entry: p.Entry, Args: p.Args, Place: p.Place, Caller: tool.ByScript}
	above, done := h.forWhom(ctx, &c)
	t := p.asTool()
	if err := h.mayProvide(&p); err != nil {
		return nil, nil, done, err
	}
	if depth(above) >= MaxDepth {
		return nil, nil, done, tooDeep()
	}
	c.Limits = h.limits(c, t)
	box := h.boxFor(t.Location, tool.Limits{})
	if box == nil && p.run == nil {
		return nil, nil, done, value.Errorf(value.Invalid, "the host has no sandbox to run '%s' in", p.Name)
	}
	run, err := h.runOf(ctx, &p, &c, above)
	if err != nil {
		return nil, nil, done, err
	}
	g = run.newPass(t, c, above)
	g.program = &program{modules: p.Modules, review: p.Review, reason: p.Reason, session: p.Session, watch: p.Watch, end: p.End}
	g.program.begins(g, &p)
	if p.run != nil {
		return g, p.run, done, nil
	}
	return g, runnerOf(box, p.Script), done, nil
}

// runnerOf runs a script in a sandbox.
func runnerOf(box sandbox.Sandbox, s tool.Script) tool.Runner {
	return func(ctx context.Context, c tool.Call, do tool.Effector) (tool.Outcome, error) {
		return box.Run(ctx, s, c, do)
	}
}

// runOf returns the run that a program is part of: that of its caller, a replay,
// or one of its own, which is recorded where it has a kind and the host a
// journal.
func (h *Host) runOf(ctx context.Context, p *Program, c *tool.Call, above *pass) (*run, error) {
	switch {
	case above != nil && p.Resume:
		return nil, resumedByCall(p.ID)
	case above != nil && p.Record != nil:
		return nil, value.Errorf(value.Invalid, "the program '%s' is part of another run, and has no record of its own", p.Name)
	case above != nil:
		return above.run, nil
	case p.replay != nil:
		c.Args = p.Args
		return p.replay.run, nil
	}
	r := h.newRun(ctx, c.ID)
	narrow, err := narrowedTo(p.Options)
	if err != nil {
		return nil, err
	}
	if narrow != nil {
		r.rules = slices.Concat(r.rules, narrow)
	}
	r.parks = p.Parks
	err = r.open(ctx, p, c)
	if err == nil && p.named != nil {
		p.named(r.id)
	}
	return r, err
}

// end ends the record of a program, or parks its run.
func (g *pass) end(ctx context.Context, out tool.Outcome, err error) (tool.Outcome, error) {
	if err == nil {
		out.Value, err = g.tool.CheckResult(out.Value)
	}
	if err == nil {
		err = checkSize(out.Value, g.call.Limits.Result)
	}
	if g.above == nil {
		reason := ""
		if g.program.reason != nil {
			reason = g.program.reason(out.Value, err)
		}
		err = g.run.end(ctx, reason, out, err)
	}
	if err != nil {
		err = g.run.presented(err, g.above)
	}
	g.program.ended(g, out.Value, err) // of one that is part of another run
	return out, err
}

// begins reports that a program begins, if its run is one that has a start
// and an end.
func (own *program) begins(g *pass, p *Program) {
	if p.replay != nil || p.Start == nil && (p.Kind == "" || g.above != nil) {
		return
	}
	start := tool.RunStart{Task: p.Title}
	if p.Start != nil {
		start = *p.Start
	}
	start.Kind, start.Resumed = p.Kind, p.Resume
	own.started = time.Now()
	report(g, start)
}

// ended reports how a program ended, once, if its start was reported.
func (p *program) ended(g *pass, v value.Value, err error) {
	if p == nil || p.started.IsZero() {
		return
	}
	end := tool.RunEnd{Success: err == nil}
	switch {
	case p.end != nil:
		end = p.end(v, err)
	case err != nil:
		end.Error = value.ErrorOf(err, value.Failed).Message()
	}
	if end.Reason == "" && p.reason != nil {
		end.Reason = p.reason(v, err)
	}
	end.Duration = time.Since(p.started)
	p.started = time.Time{}
	report(g, end)
}

// Check says whether a program's script can be run: whether it is one, and its
// top level does not fail.
func (h *Host) Check(ctx context.Context, p *Program) error {
	const none = " " // a name that no function has
	q := *p
	q.Entry, q.Args, q.Modules, q.Recording = none, nil, nil, Recording{}
	_, err := h.RunProgram(ctx, &q)
	if e := value.ErrorOf(err, value.Internal); e != nil && strings.HasSuffix(e.Message(), strconv.Quote(none)) {
		return nil // there is no such function: it was looked for in a script that is right
	}
	return err
}

// mayProvide refuses modules that a program cannot be provided with.
func (h *Host) mayProvide(p *Program) error {
	for _, m := range p.Modules {
		if err := m.CheckKinds(); err != nil {
			return err
		}
		for i := range m.Funcs {
			f := &m.Funcs[i]
			name := m.Name + "." + f.Name
			if h.funcs[name] != nil || f.Do == nil {
				return value.Errorf(value.Invalid, "the program '%s' cannot be lent %s", p.Name, name)
			}
		}
	}
	return nil
}

// originKey finds the [origin] of what is done for a call of a host, in its
// [callContext].
type originKey struct{ host *Host }

// An origin is for whom something is done: an effect of a call, or a call of
// a tool that is written in Go.
type origin struct {
	pass  *pass
	id    string // of the first call that is made for it
	place tool.Place
	made  atomic.Int32
}

// doneFor returns the context of what an effect, or a handler, does.
func (p *pass) doneFor(ctx context.Context, id string, place tool.Place) context.Context {
	return &callContext{Context: ctx, host: p.run.host, origin: origin{pass: p, id: id, place: place}}
}

// origin returns for whom something is done, or nil.
func (h *Host) origin(ctx context.Context) *origin {
	o, _ := ctx.Value(originKey{h}).(*origin)
	return o
}

// forWhom finds the call for which another is made, by the context that it is
// made with: it names and places the new one, and stops the other's clock until
// done is called. It is nil for a call that is made for nobody. A call made by
// an effect is at the effect's step; who makes several gives each its own.
func (h *Host) forWhom(ctx context.Context, c *tool.Call) (above *pass, done func()) {
	o := h.origin(ctx)
	if o == nil {
		if c.ID == "" {
			c.ID = h.nextID()
		}
		return nil, func() {}
	}
	id, place := o.next()
	if c.ID == "" {
		c.ID = id
	}
	if c.Place == nil {
		c.Place = place
	}
	o.pass.wall.Pause()
	return o.pass, o.pass.wall.Resume
}
