package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Workers bound the processes of a sandbox. The zero value is what most programs
// want.
type Workers struct {
	// Max is how many there may be for calls that no other call makes; 0 means 128.
	// Where there are so many, one that idles is ended; where none does, a call waits
	// until one is free or its context ends, which is an error of kind Busy. A call
	// that another one makes never waits for that: up to twice as many may be started
	// for these, and then they are Busy.
	Max int
	// PerTenant is how many of them may be of one tenant; 0 means half of Max, rounded
	// up. A program with one tenant sets PerTenant to Max.
	PerTenant int
	// PerTool is how many of one script may compute at one time; 0 means two for each
	// processor. One that waits for an effect does not count.
	PerTool int
	// Idle is how many are kept for scripts that may be called again; 0 means 16.
	// More than that are ended when they have been idle for IdleTime, 0 of which
	// means 3 seconds.
	Idle     int
	IdleTime time.Duration
	// Program is the program to start as a worker. "" is this one, whose main must
	// begin with [Main]; so must the other's.
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

// Options say how workers are run. The zero value is what most programs want.
type Options struct {
	Workers
	// Strict gives each call a process of its own.
	Strict bool
	// Unconfined lets workers run where the system cannot confine them: then a
	// script cannot exhaust or hang the host, but one that breaks out of its
	// interpreter is free. See [Promise].
	Unconfined bool
	// Running is how many workers may compute at one time; 0 means 16 times PerTool.
	Running int
}

// What a script may compute that is no part of a call.
const (
	// describeCPU is for reading what a file declares.
	describeCPU = 500 * time.Millisecond
	// loadCPU is for the top level of a file.
	loadCPU = 2 * time.Second
	// maxWorkerCPU is for all that one worker ever does, where the system can
	// limit that. It is beyond what the host's own clock allows.
	maxWorkerCPU = time.Hour
)

// Process is the [Sandbox] that runs scripts in other processes, in which they
// can compute and do nothing else: what they ask of the world is done by the
// host. A script that takes too much memory or time, or crashes its
// interpreter, costs its worker and no more.
//
// No worker runs two scripts. It is safe for concurrent use; close it when done.
type Process struct {
	pool    *pool
	own     bool // the pool is closed with it
	closed  atomic.Bool
	tenant  string
	rows    value.List            // the effects, as they are sent to a worker
	hash    string                // of these
	pure    []byte                // the sums of the functions that a worker has itself
	effects map[string]*tool.Func // what a script can ask for, by its full name
}

// A Pool is the workers that sandboxes share: those of many tenants, for each of
// which [Pool.Open] makes one. It is safe for concurrent use; close it when done.
type Pool struct{ pool *pool }

// NewPool returns a pool without any worker. Options may be nil. It fails where the
// system cannot confine a worker, unless Options.Unconfined is set, and in a program
// that has not called [Main].
func NewPool(o *Options) (*Pool, error) {
	_, missing := Promise()
	return newPoolWhere(o, missing)
}

// Open returns a sandbox of a tenant, whose scripts have the functions of these
// modules: the pure ones in the worker, whose program has given them to [Main], the
// others as effects. No worker is used for two tenants; two sandboxes of one tenant
// with the same effects share theirs. Closing the sandbox ends no worker.
func (p *Pool) Open(tenant string, modules ...tool.Module) (*Process, error) {
	s := &Process{pool: p.pool, tenant: tenant, effects: map[string]*tool.Func{}}
	if tenant == noTenant {
		return nil, value.Errorf(value.Invalid, "%q cannot be the name of a tenant", tenant)
	}
	for _, m := range modules {
		if err := m.CheckKinds(); err != nil {
			return nil, err
		}
		for i := range m.Funcs {
			if f := &m.Funcs[i]; f.Kind != tool.Pure && !f.Internal {
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

// Close ends all workers. Calls that are under way fail.
func (p *Pool) Close() error {
	p.pool.close()
	return nil
}

// New returns a sandbox with a [Pool] of its own, see [NewPool] and [Pool.Open]. It is
// closed with the sandbox.
func New(o *Options, modules ...tool.Module) (*Process, error) {
	_, missing := Promise()
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
		return nil, value.Errorf(value.Invalid, "a worker cannot have workers").
			WithHint("call sandbox.Main first in the main of the program")
	case opts.Program == "" && !ready.Load():
		return nil, value.Errorf(value.Invalid, "this program cannot be its own worker: its main does not begin with sandbox.Main").
			WithHint("call sandbox.Main(stdlib.Pure()...) first in its main; a test does so in TestMain")
	case opts.Program == "" && raceDetector:
		return nil, value.Errorf(value.Invalid, "a program built with -race cannot be a worker: it needs more memory than a worker may have").
			WithHint("name a worker that is built without it in Workers.Program")
	}
	if missing != nil && !opts.Unconfined {
		return nil, missing
	}
	return &Pool{newPool(&opts, missing == nil)}, nil
}

// engineEffects are those that the engine asks for by itself, with or without
// a row for scripts: the seed of random numbers, and what print says.
func engineEffects() map[string]*tool.Func {
	return map[string]*tool.Func{
		"random.seed": {Name: "seed", Kind: tool.Recorded},
		"log":         {Name: "log", Kind: tool.Notice, Params: []tool.Param{{Name: "message", Type: tool.Type{Name: tool.TypeString}}}},
	}
}

func fullName(module, function string) string {
	if module == "" {
		return function
	}
	return module + "." + function
}

// Promise says in plain words by what this system confines a worker, layer by
// layer. The error, of kind Unavailable, says what is missing.
func Promise() ([]string, error) {
	layers, err := promise()
	if err != nil {
		return layers, value.Errorf(value.Unavailable, "this system cannot confine a worker: %w", err).
			WithHint("sandbox: {required: false} in your config.yaml runs tools all the same; then run only tools that you trust")
	}
	return layers, nil
}

// Close refuses further calls. Where the pool is the sandbox's own it ends all
// workers, and calls that are under way fail.
func (p *Process) Close() error {
	p.closed.Store(true)
	if p.own {
		p.pool.close()
	}
	return nil
}

// job says which worker does something for a script: one of those with a key.
func (p *Process) job(key string, memory int64, script string) job {
	return job{domain{p.tenant, p.hash, key}, memory, script, p.rows, p.pure}
}

// scriptKey names a script by where it is and what it holds.
func scriptKey(s tool.Script) string {
	if s.Hash == "" {
		s.Hash = s.Sum()
	}
	return s.Path + "\n" + s.Hash
}

// inFile gives the error of a worker that was killed, or was not free, the file that it was about.
func inFile(err error, file string) error {
	e := *value.ErrorOf(err, value.Internal)
	if e.Pos.File == "" && (e.Kind == value.Limit || e.Kind == value.Busy) {
		e.Pos.File = file
	}
	return &e
}

// Run implements [Sandbox].
func (p *Process) Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	if err := engine.CheckSize(s); err != nil {
		return tool.Outcome{}, err
	}
	if s.Hash == "" {
		s.Hash = s.Sum() // here, or the worker would do it
	}
	c.Limits = c.Limits.Or(tool.Limits{Steps: tool.DefaultSteps, CPU: tool.DefaultCPU, Memory: tool.DefaultMemory})
	start := time.Now()
	r := &remote{process: p, ctx: context.WithValue(ctx, withinKey{}, p.pool), script: s, call: c, do: do}
	key := scriptKey(s)
	_, err := p.ask(ctx, p.job(key, c.Limits.Memory, key), r.run)
	if err != nil {
		r.out.Value = nil
	}
	r.out.Usage.Effects, r.out.Usage.Wall = r.effects, time.Since(start)
	return r.out, err
}

// ask has a worker do something, and says what came of it. If the worker was
// gone before it had begun, another does it.
func (p *Process) ask(ctx context.Context, j job, do func(*child) (answer, error)) (answer, error) {
	if p.closed.Load() {
		return answer{}, errClosed()
	}
	for again := false; ; again = true {
		c, err := p.pool.get(ctx, j, again)
		if err != nil {
			if !again && value.ErrorOf(err, value.Internal).Limit == value.LimitWorker {
				continue // it was killed while it was started
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

// attempt has one worker do it. A worker that failed to answer is not used
// again; one that broke the rules is the last of its script.
func (p *Process) attempt(ctx context.Context, j job, c *child, do func(*child) (answer, error)) (a answer, err error) {
	keep := false // nor if an effect panics
	defer func() {
		if keep {
			p.pool.put(c)
		} else {
			p.pool.drop(c)
		}
	}()
	// When the call's time is over so is the worker's, whatever it does.
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
		// What it holds is no good start for another call, and a script whose top
		// level ran out of time would be remembered as one that always does.
		keep = a.failed.Kind != value.Limit && a.failed.Kind != value.Timeout
		err = a.failed
	default:
		keep, err = p.fault(j, err)
	}
	return a, err
}

// fault says why a request had no answer, and whether its worker can be used again.
func (p *Process) fault(j job, err error) (keep bool, _ error) {
	var bad *broken
	var unsent *notSent
	switch {
	case errors.As(err, &unsent):
		return true, value.AsError(unsent.error, value.Invalid)
	case errors.As(err, &bad):
		reason := value.ErrorOf(bad.error, value.Security)
		p.pool.refuse(j, reason)
		return false, reason
	}
	return false, err
}

// ended says why a context ended.
func ended(ctx context.Context) *value.Error {
	var cause *value.Error
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e := value.Errorf(value.Timeout, "the time ran out")
		e.Limit = value.LimitWall
		return e
	}
	return value.Errorf(value.Canceled, "the call was cancelled")
}

// A remote is a call that a worker makes, as the host sees it: what the call
// is and where it stands is known here and never asked of the worker.
type remote struct {
	process *Process
	ctx     context.Context
	script  tool.Script
	call    tool.Call
	do      tool.Effector
	effects int
	out     tool.Outcome
}

// run makes the call in a worker.
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
	c.watch.reset(r.call.Limits.CPU)
	a, err := c.request(sendCall, callMessage(r.call), func(name string, args *value.Dict) value.List { return r.serve(c, name, args) })
	if err != nil || a.failed != nil {
		r.out.Usage.Steps = a.steps
		return a, err
	}
	r.out.Usage.Steps = field[int64](&a.fields)
	r.out.Value = a.value()
	return a, c.unless(&a.fields)
}

// serve carries out an effect that the worker asks for. It is checked again,
// since a worker may ask for anything.
func (r *remote) serve(c *child, name string, args *value.Dict) value.List {
	out, err := r.resting(c, name, args)
	if err != nil {
		return c.failure(err)
	}
	return value.List{true, out.Value}
}

// resting carries out an effect while the worker does not count as running.
func (r *remote) resting(c *child, name string, args *value.Dict) (tool.Outcome, error) {
	r.process.pool.rest(c)
	defer r.process.pool.resume(r.ctx, c) // also if the effect panics
	return r.effect(name, args)
}

func (r *remote) effect(name string, args *value.Dict) (tool.Outcome, error) {
	if r.do != nil {
		r.effects++ // as the engine counts: where nobody is asked, nothing was
	}
	f := r.process.effects[name]
	if f == nil || r.do == nil {
		return tool.Outcome{}, value.Errorf(value.Denied, "%s is not available here", name)
	}
	bound, err := rebind(f, args)
	if err != nil {
		return tool.Outcome{}, err
	}
	if err := r.ctx.Err(); err != nil {
		return tool.Outcome{}, ended(r.ctx)
	}
	return r.do(r.ctx, tool.Effect{Func: name, Args: bound, Place: r.call.Place.Child(r.effects)})
}

// rebind checks arguments that a worker says it has bound.
func rebind(f *tool.Func, args *value.Dict) (*value.Dict, error) {
	if f.Rest == "" {
		return f.Bind(nil, args)
	}
	v, _ := args.Get(f.Rest)
	rest, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "%s lacks its other arguments", f.Name)
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

// A notSent is a request that could not be put into a frame; the worker knows
// nothing of it.
type notSent struct{ error }

func (n *notSent) Unwrap() error { return n.error }

func errTraffic(most int64) error { return fmt.Errorf("the call is sent more than %d MB", most>>20) }

// A diedIdle is the error of a worker that ended before it had asked for
// anything or answered: most likely somebody killed it.
type diedIdle struct{ error }

func (d *diedIdle) Unwrap() error { return d.error }
