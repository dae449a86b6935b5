package sandbox

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The sizes of a pool.
const (
	// maxCalls and maxAge end a worker's life.
	maxCalls = 10_000
	maxAge   = 10 * time.Minute
)

// A job says which worker a request needs: one of a domain, with a budget of memory.
type job struct {
	domain domain
	memory int64
	script string     // by which it is refused, with the tenant
	rows   value.List // the effects, for a new worker
	pure   []byte     // the sums of the functions that it must have itself
}

// A domain is what a worker is used for, which never changes: one script of one
// tenant, with the same effects. Where files are only read, which the same workers do
// for all of a tenant's, the key is not the script's: one that makes its worker break
// the rules must not keep the others from being read.
type domain struct {
	tenant  string
	effects string // a hash of the rows
	key     string // of the script, or describing
}

// A pool keeps workers: those of the scripts that were called last, and one
// that belongs to nobody yet, so that the next script need not wait for it.
type pool struct {
	opts     Options
	confined bool       // whether a worker must be
	supply   int64      // how much each call may be sent
	turns    *scheduler // of the workers
	starter  *starter
	guard    guard // of the workers

	mu      sync.Mutex
	alive   map[*child]bool
	idle    []*child       // the one that was used last is last
	spare   *child         // which nobody has prepared
	making  sync.WaitGroup // of the spare
	isMade  bool           // being made
	used    bool           // a worker has been given back
	count   int            // of workers, those that are being started among them
	free    chan struct{}  // closed when one may be started or is idle; nil if nobody waits for that
	reaper  *time.Timer    // ends those that idle; nil while there are few
	tenants map[string]int // the workers of each
	refused map[domain]*value.Error
	closed  bool
}

func newPool(o *Options, confined bool) *pool {
	p := &pool{opts: *o, confined: confined, supply: maxSupply, starter: newStarter(),
		alive: map[*child]bool{}, tenants: map[string]int{}, refused: map[domain]*value.Error{}}
	p.guard.workers = p.workers
	p.opts.Workers = p.opts.Workers.withDefaults()
	if p.opts.Running <= 0 {
		p.opts.Running = 16 * p.opts.PerTool // so that a few tools that use all they may leave turns to others
	}
	p.turns = newScheduler(p.opts.Running, p.opts.PerTool)
	return p
}

// get waits for the domain's turn and returns a worker for it: one of its own,
// or, if fresh, one that nobody has used.
func (p *pool) get(ctx context.Context, j job, fresh bool) (*child, error) {
	for {
		if err := p.enter(ctx, j); err != nil {
			return nil, err
		}
		var c *child
		var err error
		if !fresh {
			c = p.take(j)
		}
		var free <-chan struct{}
		if c == nil {
			free = p.nextFree()
			c, err = p.start(j, fresh, p.bounds(ctx))
		}
		if c != nil {
			p.guard.wake()
			return c, nil
		}
		p.turns.leave(j.domain)
		if !errors.Is(err, errFull) {
			return nil, err
		}
		if err := p.awaitFree(ctx, free); err != nil {
			return nil, err
		}
	}
}

// withinKey marks the context of what an effect of a worker does, with its pool.
type withinKey struct{}

// bounds are how many workers there may be for a call, and how many of them of its
// tenant. A call that another one makes must not wait for a worker that may be waiting
// for it.
type bounds struct {
	most, perTenant int
	within          bool // another call
}

func (p *pool) bounds(ctx context.Context) bounds {
	if ctx.Value(withinKey{}) == p {
		return bounds{2 * p.opts.Max, 2 * p.opts.PerTenant, true}
	}
	return bounds{p.opts.Max, p.opts.PerTenant, false}
}

// errFull says that there are so many workers as there may be, and none of them idles.
var errFull = errors.New("all workers are in use")

// awaitFree waits until there may be room for another worker.
func (p *pool) awaitFree(ctx context.Context, free <-chan struct{}) error {
	full := queueError("all workers are in use, of %d", p.opts.Max)
	if p.bounds(ctx).within {
		return full
	}
	select {
	case <-free:
		return nil
	case <-ctx.Done():
		return full
	}
}

// nextFree returns what is closed the next time that a worker may be started or idles.
func (p *pool) nextFree() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == nil {
		p.free = make(chan struct{})
	}
	return p.free
}

// freed has those look again who wait for a worker. The lock is held.
func (p *pool) freed() {
	if p.free != nil {
		close(p.free)
		p.free = nil
	}
}

// workers returns all workers that there are.
func (p *pool) workers() []*child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.alive))
}

// take returns a worker of the domain that idles, or nil.
func (p *pool) take(j job) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if c := p.idle[i]; c.domain == j.domain && c.memory == j.memory {
			p.idle = slices.Delete(p.idle, i, i+1)
			return c
		}
	}
	return nil
}

// noTenant is that of the spare: no tenant can have this name.
const noTenant = "\x00"

// makeSpare starts a worker for whoever comes next. The lock is held.
func (p *pool) makeSpare() {
	if p.spare != nil || p.isMade || p.closed || p.count >= p.opts.Max {
		return
	}
	p.isMade = true
	p.making.Go(func() {
		c, err := p.spawn(domain{tenant: noTenant}, bounds{p.opts.Max, p.opts.Max, false})
		p.mu.Lock()
		p.isMade = false
		late := err == nil && p.closed
		if err == nil && !late {
			p.spare = c
			p.freed()
		} // else who needs one starts one, and is told why it cannot be
		p.mu.Unlock()
		if late {
			p.end(c)
		}
	})
}

// put takes a worker back that has answered.
func (p *pool) put(c *child) {
	p.turns.leave(c.domain)
	now := time.Now()
	if p.opts.Strict || c.gone() || c.call >= maxCalls || now.Sub(c.born) > maxAge {
		p.end(c)
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.end(c)
		return
	}
	c.idleSince = now
	p.idle = append(p.idle, c)
	if !c.domain.describes() { // for all files two workers do, or as many as there are processors
		if p.used { // a program that makes one call needs no spare
			p.makeSpare()
		}
		p.used = true
	}
	p.freed()
	p.reapLater()
	p.mu.Unlock()
}

// reapLater sees to it that of the workers that idle only some are kept. The lock is
// held.
func (p *pool) reapLater() {
	if p.reaper == nil && !p.closed && len(p.idle) > p.opts.Idle {
		p.reaper = time.AfterFunc(time.Until(p.idle[0].idleSince.Add(p.opts.IdleTime)), p.reap)
	}
}

// reap ends the workers that have been idle for long, but for those that are kept.
func (p *pool) reap() {
	p.mu.Lock()
	p.reaper = nil
	n := 0
	for n < len(p.idle)-p.opts.Idle && time.Since(p.idle[n].idleSince) >= p.opts.IdleTime {
		n++
	}
	old := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.reapLater()
	p.mu.Unlock()
	for _, c := range old {
		p.end(c)
	}
}

// drop ends a worker that is not to be used again.
func (p *pool) drop(c *child) {
	p.turns.leave(c.domain)
	p.end(c)
}

// refuse has nothing of a script run any more, not what waits either.
func (p *pool) refuse(j job, reason *value.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[domain{tenant: j.domain.tenant, key: j.script}] = reason.WithHint("it is not run again until its file changes or the host is started anew")
}

func (p *pool) end(c *child) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.alive, c)
	p.forget(c.domain.tenant)
	p.makeSpare()
}

// start returns a new worker for a job: the spare, if it need not be a fresh one.
func (p *pool) start(j job, fresh bool, b bounds) (c *child, err error) {
	if !fresh {
		c = p.takeSpare(j.domain, b)
	}
	if c == nil {
		if c, err = p.spawn(j.domain, b); err != nil {
			return nil, err
		}
	}
	if err := c.prepare(j, p.confined); err != nil {
		p.end(c)
		if p.opts.Program != "" {
			err = notAWorker(p.opts.Program, err)
		}
		if p.isClosed() {
			return nil, errClosed()
		}
		return nil, err
	}
	return c, nil
}

// takeSpare gives the spare to a domain, if there is one and the tenant may have
// another worker.
func (p *pool) takeSpare(d domain, b bounds) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.spare
	if c == nil || p.tenants[d.tenant] >= b.perTenant {
		return nil
	}
	p.spare = nil
	p.tenants[c.domain.tenant]--
	p.tenants[d.tenant]++
	c.domain = d
	return c
}

// spawn starts the process of a worker, which is known from then on.
func (p *pool) spawn(d domain, b bounds) (c *child, err error) {
	if err := p.reserve(d.tenant, b); err != nil {
		return nil, err
	}
	if !p.starter.do(func() { c, err = spawn(p.opts.Program) }) {
		err = errClosed()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		if err == nil {
			c.close()
		}
		p.forget(d.tenant)
		return nil, errClosed()
	case err != nil:
		p.forget(d.tenant)
		return nil, value.Errorf(value.Unavailable, "a worker cannot be started: %w", err)
	}
	c.domain, c.supply, c.born = d, p.supply, time.Now()
	p.alive[c] = true
	return c, nil
}

// forget makes the place of a tenant's worker free. The lock is held.
func (p *pool) forget(tenant string) {
	p.count--
	if p.tenants[tenant]--; p.tenants[tenant] == 0 {
		delete(p.tenants, tenant)
	}
	p.freed()
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// reserve makes room for one more worker of a tenant. Where there are too many, those
// that idle have to go: of all, or of the tenant.
func (p *pool) reserve(tenant string, b bounds) error {
	for {
		p.mu.Lock()
		own := p.tenants[tenant] >= b.perTenant
		switch {
		case p.closed:
			p.mu.Unlock()
			return errClosed()
		case p.count < b.most && !own:
			p.hold(tenant)
			p.mu.Unlock()
			return nil
		}
		c := p.unused(tenant, own)
		if c == nil {
			p.mu.Unlock()
			return errFull
		}
		replaces := p.count <= b.most && p.tenants[tenant] <= b.perTenant
		if replaces {
			p.hold(tenant) // before it is gone: its place is ours
		}
		p.mu.Unlock()
		p.end(c)
		if replaces {
			return nil
		}
	}
}

// hold takes a place for a tenant's worker. The lock is held.
func (p *pool) hold(tenant string) {
	p.count++
	p.tenants[tenant]++
}

// unused takes a worker out of the pool that nobody uses, of a tenant alone or of any,
// or returns nil. The lock is held.
func (p *pool) unused(tenant string, own bool) *child {
	for i, c := range p.idle {
		if !own || c.domain.tenant == tenant {
			p.idle = slices.Delete(p.idle, i, i+1)
			return c
		}
	}
	if own {
		return nil
	}
	c := p.spare
	p.spare = nil
	return c
}

// enter waits until one more worker of a domain may compute, if it may at all.
func (p *pool) enter(ctx context.Context, j job) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if err := cmp.Or(p.refusal(j), p.turns.full()); err != nil {
		return err
	}
	if err := p.turns.await(ctx, j.domain); err != nil {
		return err
	}
	if err := p.refusal(j); err != nil { // much may have happened meanwhile
		p.turns.leave(j.domain)
		return err
	}
	return nil
}

// refusal says why a script may not be run any more, or is nil.
func (p *pool) refusal(j job) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed()
	}
	if e := p.refused[domain{tenant: j.domain.tenant, key: j.script}]; e != nil {
		return e
	}
	return nil
}

func queueError(format string, n int) *value.Error {
	e := value.Errorf(value.Busy, format, n)
	e.Limit = value.LimitQueue
	return e.WithHint("try again later")
}

func errClosed() *value.Error { return value.Errorf(value.Canceled, "the sandbox is closed") }

// rest and resume are around what the host does for a worker, which may be
// long and may need other workers.
func (p *pool) rest(c *child) { p.turns.leave(c.domain) }

// resume waits until the worker may compute again. If that cannot be, since its
// call is over or the pool is closed, it is ended, and counted as running until
// it is dropped.
func (p *pool) resume(ctx context.Context, c *child) {
	defer p.guard.wake() // it may have slept while the host worked
	if err := p.turns.await(ctx, c.domain); err != nil {
		c.kill(value.ErrorOf(err, value.Canceled))
		p.turns.count(c.domain)
	}
}

// close ends all workers; the calls of those in use fail.
func (p *pool) close() {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	all := p.idle
	if p.spare != nil {
		all = append(all, p.spare)
	}
	p.idle, p.spare = nil, nil
	p.turns.close()
	p.freed()
	if p.reaper != nil {
		p.reaper.Stop()
	}
	for c := range p.alive {
		c.kill(errClosed())
	}
	p.mu.Unlock()
	for _, c := range all {
		p.end(c)
	}
	p.making.Wait()
	p.guard.closed.Store(true)
	p.guard.done.Wait()
	if first {
		p.starter.close()
	}
}
