// Package gate is what calls and their effects pass. It refuses what they may not do; that a
// tool is untrusted or unavailable it learns from the host, see [Callee] and [Tools].
package gate

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/events"
	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An effect is carried out by the gate alone. Each effect that a call asks for passes
// these steps in order, and nothing else calls the function of an effect:
//
//	admit    count it, and refuse it beyond the bounds of a call     admit.go
//	recall   answer it from the record of the run                    recall.go
//	grant    check that it is declared, granted and allowed; ask     grant.go
//	commit   write the staged changes, if the effect could see them  commit.go
//	prepare  do what can be repeated, such as starting a server      do.go
//	intend   record that it is about to be carried out               do.go
//	do       carry it out                                            do.go
//	settle   record its outcome                                      do.go
//
// The state of one effect is in its step, that of one call in its Pass, and that of the
// root call and everything that it calls in their Run.

// A Gate is what the calls and programs of a host pass. It has access to the tools that a
// run calls, and to nothing else of the host. It is safe for concurrent use after Open.
type Gate struct {
	Parts
	Effects effectTable
	// Middleware makes a call in place of Innermost, which it may call. Nil means that
	// there is no middleware.
	Middleware func(ctx context.Context, c *tool.Call) (tool.Result, error)

	last      atomic.Pointer[Settings] // those that were last looked at
	granted   func() []tool.Rule       // the rules that allow something now
	approvals approvalList
	answered  rights.Answered
	executing inflight.Runs
	unaudited atomic.Bool  // the last decision could not be recorded
	calls     atomic.Int64 // the number of calls so far, for their IDs
}

// Parts configure a gate.
type Parts struct {
	// Execute carries out an effect that was admitted, granted and recorded.
	Execute func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error)
	// Approve answers questions about approvals, and Ask all others. Either can be nil.
	Approve, Ask func(ctx context.Context, q tool.Question) (tool.Answer, error)
	Audit        func(e tool.Event) error // records each decision; or nil
	FileNames    func() tool.FileNames    // of the project, for one run; or nil
	Settings     func() *Settings         // those in force now
	// CancelParked cancels a recorded run that this host does not execute any more.
	CancelParked func(ctx context.Context, runID string) error
	Surroundings
}

// Surroundings are what the calls of a host share.
type Surroundings struct {
	Clock    func() time.Time
	Logger   *slog.Logger
	WorkDir  string // the value of the parameters that the host fills in
	Hub      *events.Hub
	Inflight *inflight.Group
	Memory   *membudget.Host
}

// Settings are what can change while a host is open. They do not change themselves: a change makes new
// ones. A run reads those in force when it begins.
type Settings struct {
	Rules   []tool.Rule
	Bounds  rights.Bounds
	Sources taint.Lists // whose text is trusted
}

// Tools are the tools that a run calls, as they were when it began.
type Tools interface {
	// Find returns a tool by its name for a call at a step, and its runner.
	Find(ctx context.Context, name string, at tool.StepPath) (*Callee, tool.Runner, error)
	// Lookup returns a tool by its name, in either spelling, as a call would find it.
	Lookup(ctx context.Context, name string) (*Callee, error)
	// List returns all tools.
	List() []*Callee
	// Usable returns why a tool cannot be used here, or nil. run is its runner, or nil.
	Usable(ctx context.Context, t *Callee, run tool.Runner) error
	rights.Tools
}

// A Callee is a tool as a call finds it: what its author declares, where it comes from,
// and what its user has granted it.
type Callee struct {
	*tool.Tool
	Location   tool.Location
	Path, Hash string            // of the file that declares it, and of what that loads; or ""
	Granted    []tool.Capability // an effect requires its capability here and in Needs
	Refusal    error             // why it cannot be called, or nil
	Foreign    bool              // another program gets the arguments, whatever the hints say
}

// Open sets the parts of the gate, and registers the functions that every host has. Effects.Provide adds
// others.
func (g *Gate) Open(p Parts) {
	g.Parts, g.Effects = p, effectTable{}
	g.granted = func() []tool.Rule { return g.answered.With(g.last.Load().Rules) } // also those added after a run began
	g.look()
	g.registerOwn()
}

// look returns the settings in force. It may look at files, so it is called when a call begins and before
// somebody is asked, and not in between.
func (g *Gate) look() *Settings {
	now := g.Settings()
	if g.last.Load() != now {
		g.last.Store(now)
	}
	return now
}

// changed reports whether the settings have changed since they were last looked at: a question may not be
// necessary then.
func (g *Gate) changed() bool {
	last := g.last.Load()
	return g.look() != last
}

// panicked returns the error of a panic in what, such as "the tool", and logs the stack.
// It does not log the value of the panic, which may hold arguments. name is the name of
// the tool or the effect. The deferred function that recovers calls it.
func (g *Gate) panicked(what, name string, val any) *value.Error {
	g.Logger.Error(what+" panicked", "name", name, "stack", string(debug.Stack()))
	return value.Errorf(value.Internal, "%s panicked: %v", what, val)
}

// EventTime returns the time of an event that happens now.
func (g *Gate) EventTime() time.Time { return g.Clock().UTC().Round(0) }

func (g *Gate) nextID() string { return "call-" + strconv.FormatInt(g.calls.Add(1), 10) }

// A step is one effect on its way through the gate.
type step struct {
	of     *Pass // the call that asks for it
	effect tool.Effect
	fn     *tool.Func // its function; nil if it has none
	number int        // of the effect in its call, from 1
	tries  int        // how often it was intended, in this process and earlier ones

	own      bool              // the function is provided to the program or the handler that asks
	begun    bool              // it is being carried out
	takes    []tool.Capability // the concrete capabilities that fn.Target returned
	exact    tool.Capability   // that fn.Exact returned, or zero
	approved []tool.Capability // those that were approved for this effect
	by       string            // who answered the last question about it, or ""
}

// A Pass is one call, or one program, on its way through the gate.
type Pass struct {
	Run     *Run
	above   *Pass     // of the call that made this one, or nil
	now     *Settings // those in force when the call began: those of the run, or newer ones in a program
	tool    *Callee
	rights  rights.Rights
	call    tool.Call
	program *Program // nil for a call of a tool

	stage    tool.Stage        // the writes that wait for the end of the call
	staged   membudget.Scope   // what they hold
	holding  membudget.Context // of the call: its scope is what an effect holds that is carried out, or the result
	wall     inflight.Wall
	said     said // about its result
	waited   waited
	quota    quota       // what it has used of the bounds of a call
	consent  consent     // what was approved of it, and what was refused
	recovery recovery    // what differs between its record and the disk
	acted    atomic.Bool // it, or what it called, did something that a repetition would do twice
}

// perform passes an effect of the call through the gate. It is the call's
// [tool.Effector].
func (p *Pass) perform(ctx context.Context, e tool.Effect) (_ tool.Outcome, err error) {
	s, err := p.admit(e)
	if err != nil {
		return tool.Outcome{}, err
	}
	defer func() {
		p.leave(s, err)
		p.holding.EndEffect()
	}()
	if out, done, err := s.recall(ctx); done || err != nil {
		return out, err
	}
	if err := s.authorize(ctx); err != nil {
		return tool.Outcome{}, s.refuse(ctx, err)
	}
	if err := s.prepare(ctx); err != nil {
		return tool.Outcome{}, s.refuse(ctx, err)
	}
	if p.quota.drops(s) {
		return tool.Outcome{}, nil
	}
	if err := s.intend(ctx, s.fn.Kind == tool.Write); err != nil {
		return tool.Outcome{}, err
	}
	out, err := s.do(ctx)
	return out, s.settle(ctx, out, s.mark(ctx, out, err))
}

// authorize grants the effect and commits what it could see. Like the other steps it is a
// function of its own, so that a blocked effect does not hold its stack frame.
func (s *step) authorize(ctx context.Context) error {
	if err := s.grant(ctx); err != nil {
		return err
	}
	return s.commit(ctx)
}

// newPass returns the pass of a call. above is the pass of the call that made it, or nil: the
// pass is then the root of the run.
func (r *Run) newPass(t *Callee, c tool.Call, above *Pass) *Pass {
	p := &Pass{Run: r, above: above, now: r.now, tool: t, call: c, staged: r.held.Scope(), holding: membudget.Context{Scope: r.held.Scope()}}
	p.rights = rights.Rights{Policy: &r.policy, Of: t.Tool, Location: t.Location, Granted: t.Granted}
	if above == nil {
		r.root, r.refused = p, r.held.Scope()
	} else {
		if p.now = above.now; above.program != nil { // which may have begun long ago
			p.now = r.gate.look()
		}
		p.rights.Policy, p.rights.Above = above.rights.Policy, &above.rights
		p.call.Trace |= above.call.Trace
	}
	return p
}

// release gives back what the call holds of the memory of its host. The script or the program that made
// the call holds its result meanwhile.
func (p *Pass) release() {
	p.stage = tool.Stage{} // a failure that is not recorded yet may hold the pass
	p.staged.End()
	switch {
	case p.above == nil:
		p.Run.refused.End()
		p.holding.Leave()
	case p.above.tool.Location != tool.Embedded:
		p.holding.Scope.Move(&p.above.holding.Scope)
	default:
		p.holding.Scope.End()
	}
}

// within returns the context of the call, whose effects hold memory.
func (p *Pass) within(ctx context.Context) context.Context {
	p.holding.Context = ctx
	return &p.holding
}

// depth returns the number of calls from the root to this one; 0 for nil.
func (p *Pass) depth() (n int) {
	for ; p != nil; p = p.above {
		n++
	}
	return n
}

// responsible returns the pass of the outermost call that this one is made for: the root,
// or the call that a program made.
func (p *Pass) responsible() *Pass {
	for p.above != nil && p.above.program == nil {
		p = p.above
	}
	return p
}

// fn returns the function of an effect, or nil if no function has the name. own reports
// that the function is provided to the program or the handler that asks.
func (p *Pass) fn(name string) (f *tool.Func, own bool) {
	if p.program != nil {
		if f := p.program.fn(name); f != nil {
			return f, true
		}
	} else if f := p.tool.Step(name); f != nil {
		return f, true
	}
	return p.Run.gate.Effects.Func(name), false
}

// interrupts reports whether an error ends an effect without an outcome, in any run: the
// run waits, or its record cannot be written or followed.
func interrupts(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && (e.Kind == value.Parked || e.Limit == value.LimitRecord)
}

// callError returns the error of a call or program for its caller. A killed worker ends a
// complete run if that can be resumed; in any other run only the one call fails.
func (r *Run) callError(err error, above *Pass) *value.Error {
	e := Presentable(err)
	if e.Limit == value.LimitWorker && above != nil && !r.record.Keeps() {
		e.Limit = value.LimitCall
	}
	return e
}

// Unrecorded returns the error of something that could not be recorded, or differs from
// what is recorded. It returns the end of a context, and nil, as they are.
func Unrecorded(err error) error {
	if err == nil {
		return nil
	}
	e := *value.ErrorOf(err, value.Unavailable)
	if e.Kind == value.Canceled || e.Kind == value.Timeout {
		return err
	}
	e.Op, e.Limit = "journal", value.LimitRecord
	return &e
}

// entryError returns the recorded error of an entry, or nil.
func entryError(e *history.Entry) error {
	if e.Err == nil {
		return nil
	}
	return e.Err
}
