package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/callback"
	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
	"github.com/cassidy-run/cassidy/sandbox/internal/self"
)

// Workers bound the processes of a sandbox. The zero value has the defaults; a negative
// number or time counts as 0.
type Workers struct {
	// Max is how many workers there may be for root calls, which no other call makes;
	// 0 means 128. At Max an idle worker is ended. If none is idle, a root call waits until
	// one is or its context ends, which is an error of kind Busy. A nested call never
	// waits: nested calls may start workers up to twice Max, and fail with Busy beyond.
	Max int
	// PerTenant is how many of them may be of one tenant; 0 means half of Max, rounded
	// up. A program with one tenant sets PerTenant to Max.
	PerTenant int
	// PerTool is how many workers of one script may compute at one time; 0 means two for
	// each processor. A worker that waits for an effect does not count.
	PerTool int
	// Idle is how many idle workers are kept for further calls of their scripts; 0 means
	// 16. The others are ended when they have been idle for IdleTime.
	Idle int
	// IdleTime is how long the idle workers beyond Idle are kept; 0 means 3 seconds.
	IdleTime time.Duration
	// Program is the path of the program to start as a worker, whose main must begin with
	// [Main]. "" is this program.
	Program string
}

// withDefaults returns the bounds with the defaults for what is zero.
func (w Workers) withDefaults() Workers {
	w.Max = cmp.Or(max(0, w.Max), 128)
	w.PerTenant = cmp.Or(max(0, w.PerTenant), (w.Max+1)/2)
	w.PerTool = cmp.Or(max(0, w.PerTool), 2*runtime.GOMAXPROCS(0))
	w.Idle = cmp.Or(max(0, w.Idle), 16)
	w.IdleTime = cmp.Or(max(0, w.IdleTime), 3*time.Second)
	return w
}

// Options say how workers are run. The zero value has the defaults.
type Options struct {
	Workers
	// Strict gives each call a worker of its own, which is ended afterwards.
	Strict bool
	// Unconfined lets workers run where the system cannot confine them. A script then
	// cannot exhaust or block this process, but one that breaks out of its interpreter
	// is not confined. See [Confinement].
	Unconfined bool
	// Running is how many workers may compute at one time; 0 means 16 times PerTool.
	Running int
}

// The processor time of requests that are not calls.
const (
	// describeCPU is for reading what a file declares.
	describeCPU = 500 * time.Millisecond
	// loadCPU is for the top level of a file.
	loadCPU = 2 * time.Second
)

// Process is the [Sandbox] that runs scripts in workers. A script that takes too much
// memory or time, or crashes its interpreter, ends its worker and nothing else. No worker
// runs two scripts.
//
// It is safe for concurrent use; close it when done. The zero value is not usable: see
// [New] and [Pool.Open].
type Process struct {
	pool    *pool
	own     bool // the pool is closed with the sandbox
	closed  atomic.Bool
	tenant  string
	rows    value.List            // the effects, as they are sent to workers
	hash    string                // of the rows
	pure    []byte                // the sums of the functions that workers must have
	effects map[string]*tool.Func // what scripts can ask for, by full name
}

// A Pool is the workers that the sandboxes of several tenants share: [Pool.Open] makes one
// for each. It is safe for concurrent use; close it when done. The zero value is not usable:
// see [NewPool].
type Pool struct{ pool *pool }

// NewPool returns a pool without any worker: workers are started when they are needed. Nil
// options are the zero value. The error is of kind Unavailable where the system cannot
// confine a worker, unless Options.Unconfined is set. It is of kind Invalid where this
// program would be the worker and cannot be: its main does not begin with [Main], or it is
// built with the race detector.
func NewPool(o *Options) (*Pool, error) {
	_, missing := Confinement()
	return newPoolWhere(o, missing)
}

// Open returns a sandbox of a tenant, whose scripts have the functions of these modules:
// pure functions run in the worker, whose program has given them to [Main], the others are
// effects. Two tenants never share a worker; two sandboxes of one tenant with the same
// effects do. A module that is not valid is an error of kind Invalid. Closing the sandbox
// ends no worker.
func (p *Pool) Open(tenant string, modules ...tool.Module) (*Process, error) {
	s := &Process{pool: p.pool, tenant: tenant, effects: map[string]*tool.Func{}}
	if tenant == noTenant {
		return nil, value.Errorf(value.Invalid, "invalid name of a tenant: %q", tenant)
	}
	for _, m := range modules {
		if err := m.CheckKinds(); err != nil {
			return nil, err
		}
		for i := range m.Funcs {
			if f := &m.Funcs[i]; f.Kind != tool.Pure && f.Mode != tool.ModeInternal {
				s.effects[fullName(m.Name, f.Name)] = f
			}
		}
	}
	for name, f := range engineEffects() {
		if s.effects[name] == nil {
			s.effects[name] = f
		}
	}
	var err error
	if s.rows, err = effectRows(modules); err != nil {
		return nil, err
	}
	s.pure = pureSums(modules)
	form, err := value.Append(nil, s.rows)
	if err != nil {
		return nil, value.AsError(err, value.Invalid)
	}
	s.hash = tool.HashBytes(form)
	return s, nil
}

// Close ends all workers. Calls in progress, and later ones, fail with kind Canceled. The
// error is always nil.
func (p *Pool) Close() error {
	p.pool.close()
	return nil
}

// New returns a sandbox with a [Pool] of its own, which is closed with it. All workers may
// be of its one tenant: Workers.PerTenant is ignored. Options and errors are those of
// [NewPool], modules those of [Pool.Open].
func New(o *Options, modules ...tool.Module) (*Process, error) {
	_, missing := Confinement()
	return newProcess(o, missing, modules)
}

// newProcess is New on a system that lacks what missing names; nil lacks nothing.
func newProcess(o *Options, missing error, modules []tool.Module) (*Process, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.PerTenant = opts.Workers.withDefaults().Max // there is one tenant
	pool, err := newPoolWhere(&opts, missing)
	if err != nil {
		return nil, err
	}
	p, err := pool.Open("", modules...)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	p.own = true
	return p, nil
}

// newPoolWhere is NewPool on a system that lacks what missing names; nil lacks nothing.
func newPoolWhere(o *Options, missing error) (*Pool, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	switch {
	case os.Args[0] == workerName:
		return nil, value.Errorf(value.Invalid, "a worker cannot start workers").
			WithHint("call sandbox.Main first in main")
	case opts.Program == "" && !self.Ready():
		return nil, value.Errorf(value.Invalid, "this program cannot be its own worker: main does not call sandbox.Main first").
			WithHint("call sandbox.Main(stdlib.Pure()...) first in main, or in TestMain")
	case opts.Program == "" && raceDetector:
		return nil, value.Errorf(value.Invalid, "a program built with -race cannot be a worker: the race detector exceeds the memory limit").
			WithHint("build a worker without -race and set Workers.Program to its path")
	}
	if missing != nil && !opts.Unconfined {
		return nil, missing
	}
	return &Pool{newPool(&opts, missing == nil)}, nil
}

// nextInput is the effect with which a prompt, a script whose path ends in promptSuffix, asks for its
// next input. Each input has the budget of a call, and an error ends only the input.
const (
	nextInput    = "repl.next"
	promptSuffix = ".repl"
)

// engineEffects returns the effects that the engine itself asks for, whether a module has them
// or not: the seed of random numbers, what scripts print, and those of prompts.
func engineEffects() map[string]*tool.Func {
	result := callback.Row()
	text := []tool.Param{{Name: "text", Type: tool.Type{Name: tool.TypeString}}}
	report := []tool.Param{{Name: "report", Type: tool.Type{Name: tool.TypeAny}}}
	return map[string]*tool.Func{
		nextInput:       {Name: "next", Kind: tool.Repeatable, Params: report},
		"repl.print":    {Name: "print", Kind: tool.Recorded, Params: text},
		"repl.poll":     {Name: "poll", Kind: tool.Recorded},
		"random.seed":   {Name: "seed", Kind: tool.Recorded},
		callback.Effect: &result,
		"log":           {Name: "log", Kind: tool.Notice, Params: []tool.Param{{Name: "message", Type: tool.Type{Name: tool.TypeString}}}},
	}
}

func fullName(module, function string) string {
	if module == "" {
		return function
	}
	return module + "." + function
}

// Confinement returns what confines a worker on this system, layer by layer, in words for
// people. The error, of kind Unavailable, names what is missing; the layers that are there
// are returned with it. Confinement changes nothing.
func Confinement() ([]string, error) {
	layers, err := seal.Layers()
	if err != nil {
		return layers, value.Errorf(value.Unavailable, "start the sandbox: %w", err).
			WithHint("to run trusted tools without confinement, set in your config.yaml: sandbox: {required: false}")
	}
	return layers, nil
}

// Close has later calls fail with kind Canceled. If the pool is the sandbox's own, it also
// ends all workers, and calls in progress fail. The error is always nil.
func (p *Process) Close() error {
	p.closed.Store(true)
	if p.own {
		p.pool.close()
	}
	return nil
}

// job returns the job of a request for a script, with the key of its domain.
func (p *Process) job(key string, memory int64, script string) job {
	return job{domain{p.tenant, p.hash, key}, memory, script, p.rows, p.pure}
}

// scriptKey returns a key of a script: its path and its hash.
func scriptKey(s tool.Script) string {
	if s.Hash == "" {
		s.Hash = s.Sum()
	}
	return s.Path + "\n" + s.Hash
}

// inFile returns an error of a worker with the file of the script, if it names none: a worker
// that was killed or not free does not.
func inFile(err error, file string) error {
	e := *value.ErrorOf(err, value.Internal)
	if e.Pos.File == "" && (e.Kind == value.Limit || e.Kind == value.Busy) {
		e.Pos.File = file
	}
	return &e
}

// Run implements [Sandbox]. Beside its errors there are those of kind Busy, where all
// workers are in use; Unavailable, where a worker cannot be started or was killed; Security,
// where a worker broke the protocol, after which the script is refused; and Internal, where
// the script crashed its interpreter.
func (p *Process) Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	if err := engine.CheckSize(s); err != nil {
		return tool.Outcome{}, err
	}
	if s.Hash == "" {
		s.Hash = s.Sum() // here, or the worker would do it
	}
	c.Limits = c.Limits.Or(tool.Limits{Steps: tool.DefaultSteps, CPU: tool.DefaultCPU, Memory: tool.DefaultMemory})
	start := time.Now()
	r := &remote{process: p, ctx: context.WithValue(ctx, withinKey{}, p.pool), script: s, call: c, do: do, holds: membudget.Own(ctx)}
	key := scriptKey(s)
	_, err := p.ask(ctx, p.job(key, c.Limits.Memory, key), r.run)
	if err != nil {
		r.out.Value = nil
	}
	r.out.Usage.Effects, r.out.Usage.Wall = r.effects, time.Since(start)
	withTexts(r.out.Lines, &s)
	return r.out, r.withExcerpts(err)
}

// ask has a worker answer a request. If the worker ended before it had begun, another one
// answers.
func (p *Process) ask(ctx context.Context, j job, do func(*child) (answer, error)) (answer, error) {
	if p.closed.Load() {
		return answer{}, errClosed()
	}
	for again := false; ; again = true {
		c, err := p.pool.get(ctx, j, again)
		if err != nil {
			if !again && value.ErrorOf(err, value.Internal).Limit == value.LimitWorker {
				continue // the worker was killed while it was started
			}
			return answer{}, err
		}
		a, err := p.attempt(ctx, j, c, do)
		idle := diedBefore(err)
		switch {
		case idle == nil:
			return a, err
		case again:
			return a, idle.error
		}
	}
}

// diedBefore returns the error of a worker that ended before it had begun, or nil.
func diedBefore(err error) *diedIdle {
	if err == nil {
		return nil
	}
	var idle *diedIdle
	errors.As(err, &idle)
	return idle
}

// attempt has one worker answer a request. A worker that failed to answer is not used again.
// After one that broke the protocol the script is refused.
func (p *Process) attempt(ctx context.Context, j job, c *child, do func(*child) (answer, error)) (a answer, err error) {
	keep := false // also if an effect panics
	defer func() {
		if keep {
			p.pool.put(c)
		} else {
			p.pool.drop(c)
		}
	}()
	// The worker is killed when the context of the call ends.
	c.watch.until(ctx)
	defer c.watch.forget()
	a, err = do(c)
	if ctx.Err() != nil {
		c.kill(ended(ctx))
		if err == nil && a.failed == nil {
			err = ended(ctx) // a result that comes too late is not one
		}
	}
	switch {
	case err == nil && a.failed == nil:
		keep = true
	case err == nil:
		// After a limit its memory is not fit for another call, and a script whose top level ran
		// out of time would be remembered as one that always does.
		keep = a.failed.Kind != value.Limit && a.failed.Kind != value.Timeout
		err = a.failed
	default:
		keep, err = p.fault(j, err)
	}
	return a, err
}

// fault returns why a request has no answer, and whether its worker can be used again.
func (p *Process) fault(j job, err error) (keep bool, _ error) {
	var bad *broken
	var unsent *notSent
	switch {
	case errors.As(err, &unsent):
		return true, value.AsError(unsent.error, value.Invalid)
	case errors.As(err, &bad):
		reason := value.ErrorOf(bad.error, value.Security)
		p.pool.refused.add(j, reason)
		return false, reason
	}
	return false, err
}

// ended returns why a context has ended.
func ended(ctx context.Context) *value.Error {
	var cause *value.Error
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return value.Errorf(value.Timeout, "the call timed out").WithLimit(value.LimitWall)
	}
	return value.Errorf(value.Canceled, "the call was cancelled")
}

// A remote is the host's side of a call in a worker. The script, the call and its state are
// known here, and never taken from the worker.
type remote struct {
	process *Process
	ctx     context.Context
	script  tool.Script
	call    tool.Call
	do      tool.Effector
	effects int
	holds   *membudget.Scope // what its messages take of the host's memory, until they are answered
	out     tool.Outcome
	failed  *value.Error // the last error of an effect that has lines of another script
}

// run makes the call in a worker, which loads the script first if it has not.
func (r *remote) run(c *child) (answer, error) {
	if !c.loaded {
		c.watch.reset(loadCPU)
		a, err := c.request(sendLoad, scriptMessage(r.script), nil)
		if err != nil || a.failed != nil {
			return a, err
		}
		if err := c.unless(&a.fields); err != nil {
			return a, err
		}
		c.loaded = true
	}
	r.out.Lines = nil
	c.watch.reset(r.call.Limits.CPU)
	c.in.admit, c.answered = func(n int) error { return r.admit(c, n) }, r.holds.End
	a, err := c.request(sendCall, callMessage(r.call), func(ask *fields) (value.List, error) { return r.serve(c, ask) })
	c.in.admit, c.answered = nil, nil
	if err != nil {
		return a, err
	}
	if a.failed != nil {
		r.out.Usage.Steps = a.steps
		return a, r.readLines(c, a.lines)
	}
	r.out.Usage.Steps = field[int64](&a.fields)
	r.out.Value = a.value()
	var lines []byte
	if r.call.Trace.Has(trace.Lines) {
		lines = field[[]byte](&a.fields)
	}
	if err := c.unless(&a.fields); err != nil {
		return a, err
	}
	return a, r.readLines(c, lines)
}

// admit takes memory for a message of n bytes that the worker is about to send. A worker that waits does
// not count as running.
func (r *remote) admit(c *child, n int) error {
	if done, err := r.holds.Try(membudget.Copies * int64(n)); done {
		return err
	}
	c.watch.end() // meanwhile it cannot send anything
	r.process.pool.rest(c)
	defer func() {
		r.process.pool.resume(r.ctx, c)
		c.watch.begin()
	}()
	return r.holds.Take(r.ctx, membudget.Copies*int64(n))
}

// readLines sets the lines of the outcome. Nil is for lines that were not counted.
func (r *remote) readLines(c *child, form []byte) error {
	if form == nil {
		return nil
	}
	lines, err := readLines(form, &r.script)
	if err != nil || !r.call.Trace.Has(trace.Lines) {
		return c.violation(errMessage.Error())
	}
	r.out.Lines = lines
	return nil
}

// serve carries out an effect that the worker asks for, and returns the reply. The error is
// that of an invalid message.
func (r *remote) serve(c *child, ask *fields) (value.List, error) {
	e := tool.Effect{Func: field[string](ask)}
	if r.call.Trace.Has(trace.Calls) {
		e.Pos = readPosition(ask, &r.script)
	}
	e.Args = ask.args()
	if err := ask.done(); err != nil {
		return nil, err
	}
	prompts := e.Func == nextInput && strings.HasSuffix(r.script.Path, promptSuffix)
	if c.over && !prompts {
		return nil, errUnexpected
	}
	if e.Func == linesEffect && r.call.Trace.Has(trace.Lines) {
		return value.List{true, nil}, r.takeLines(e.Args)
	}
	out, err := r.resting(c, e)
	if prompts && err == nil {
		c.moved, c.over = [2]int64{}, false
		c.watch.reset(r.call.Limits.CPU)
	}
	if err != nil {
		if e := value.ErrorOf(err, value.Internal); e.Excerpts != nil {
			r.failed = e
		}
		return c.failure(err), nil
	}
	return value.List{true, out.Value}, nil
}

// resting carries out an effect; meanwhile the worker does not count as running.
func (r *remote) resting(c *child, e tool.Effect) (tool.Outcome, error) {
	r.process.pool.rest(c)
	defer r.process.pool.resume(r.ctx, c) // also if the effect panics
	return r.effect(e)
}

// effect carries out an effect. Its name and arguments are checked again, since a worker may
// ask for anything.
func (r *remote) effect(e tool.Effect) (tool.Outcome, error) {
	if r.do != nil {
		r.effects++ // like the engine, which counts no effects without an effector
	}
	f := r.process.effects[e.Func]
	if f == nil || r.do == nil {
		return tool.Outcome{}, value.Errorf(value.Denied, "the function %s is not available to this script", e.Func)
	}
	bound, err := rebind(f, e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	if err := r.ctx.Err(); err != nil {
		return tool.Outcome{}, ended(r.ctx)
	}
	e.Args, e.StepPath = bound, r.call.StepPath.Child(r.effects)
	return r.do(r.ctx, e)
}

// rebind checks arguments that a worker has bound.
func rebind(f *tool.Func, args *value.Dict) (*value.Dict, error) {
	if f.Rest == "" {
		return f.Bind(nil, args)
	}
	rest := args.Dict(f.Rest)
	if rest == nil {
		return nil, value.Errorf(value.Invalid, "call %s: the remaining arguments are missing", f.Name)
	}
	named, plain := &value.Dict{}, *f
	plain.Rest = ""
	for k, v := range args.All() {
		if name, _ := k.(string); name != f.Rest {
			named.Put(name, v)
		}
	}
	bound, err := plain.Bind(nil, named)
	if err == nil {
		bound.Put(f.Rest, rest)
	}
	return bound, err
}

// A notSent is the error of a request that could not be put into a frame. The worker has not
// seen it.
type notSent struct{ error }

func (n *notSent) Unwrap() error { return n.error }

// errTraffic returns the error of a call that is sent too much.
func errTraffic(most int64) error {
	return fmt.Errorf("the data sent to the call is larger than %d MB", most>>20)
}

// A diedIdle is the error of a worker that ended before it had sent anything: most likely
// another process killed it.
type diedIdle struct{ error }

func (d *diedIdle) Unwrap() error { return d.error }
