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

// A job is what a request needs: a worker of a domain, with a budget of memory.
type job struct {
	domain domain
	memory int64
	script string     // by which it is refused, with the tenant
	rows   value.List // the effects, for a new worker
	pure   []byte     // the sums of the functions that the worker must have itself
}

// A domain is what a worker is used for, which never changes: one script of one tenant, with
// the same effects. Workers that only describe scripts do so for all scripts of a tenant,
// so that their key is not a script's.
type domain struct {
	tenant  string
	effects string // a hash of the rows
	key     string // of the script, or describing
}

// A pool has the workers of the scripts that were called last, and one that has no tenant
// yet, so that the next new script need not wait for a start. Its methods are safe for
// concurrent use, except where they need the lock.
type pool struct {
	opts     Options
	confined bool       // whether a worker must be confined
	supply   int64      // bytes that may be sent to a worker in one call
	turns    *scheduler // of the workers
	starter  *starter
	guard    guard // of the workers
	refused  quarantine
	buffers  sync.Pool // of *[]byte, see child.buffers

	mu     sync.Mutex
	alive  map[*child]bool
	idle   []*child       // the last one was used last
	spare  *child         // not yet prepared for a tenant
	making sync.WaitGroup // of the spare
	isMade bool           // the spare is being started
	used   bool           // a worker has been returned
	slots  slots          // of the workers
	reaper *time.Timer    // ends those that idle; nil while there are few
	closed bool
}

func newPool(o *Options, confined bool) *pool {
	p := &pool{opts: *o, confined: confined, supply: maxSupply, starter: newStarter(),
		alive: map[*child]bool{}, slots: slots{tenants: map[string]int{}}}
	p.guard.workers = p.workers
	p.opts.Workers = p.opts.Workers.withDefaults()
	if p.opts.Running <= 0 {
		p.opts.Running = 16 * p.opts.PerTool // so that a few busy tools leave turns to others
	}
	p.turns = newScheduler(p.opts.Running, p.opts.PerTool)
	return p
}

// get waits for the domain's turn and returns a worker for it: an idle one of its own or, if
// fresh, one that has not been used.
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

// bounds returns how many workers there may be for a call. A nested call must not wait for a
// worker that may be waiting for it, so there may be twice as many.
func (p *pool) bounds(ctx context.Context) bounds {
	if ctx.Value(withinKey{}) == p {
		return bounds{2 * p.opts.Max, 2 * p.opts.PerTenant, true}
	}
	return bounds{p.opts.Max, p.opts.PerTenant, false}
}

// errFull says that no further worker may be started, and none is idle.
var errFull = errors.New("all workers are in use")

// awaitFree waits until another worker may be started.
func (p *pool) awaitFree(ctx context.Context, free <-chan struct{}) error {
	full := queueError("all workers are in use: limit %d", p.opts.Max)
	if p.bounds(ctx).nested {
		return full
	}
	select {
	case <-free:
		return nil
	case <-ctx.Done():
		return full
	}
}

// nextFree returns a channel that is closed when a worker may be started or is idle.
func (p *pool) nextFree() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slots.next()
}

// workers returns all workers.
func (p *pool) workers() []*child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.alive))
}

// take returns an idle worker of the domain, or nil.
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

// noTenant is the tenant of the spare: no other can have this name.
const noTenant = "\x00"

// makeSpare starts a worker for the next new script. The lock is held.
func (p *pool) makeSpare() {
	if p.spare != nil || p.isMade || p.closed || p.slots.used >= p.opts.Max {
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
			p.slots.notify()
		} // else the call that needs a worker starts one, and gets the error
		p.mu.Unlock()
		if late {
			p.end(c)
		}
	})
}

// put returns a worker that has answered.
func (p *pool) put(c *child) {
	p.turns.leave(c.domain)
	now := time.Now()
	if p.opts.Strict || c.gone() || c.calls >= maxCalls || now.Sub(c.born) > maxAge {
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
	if !c.domain.describes() { // a tenant needs few workers to describe files
		if p.used { // a program that makes one call needs no spare
			p.makeSpare()
		}
		p.used = true
	}
	p.slots.notify()
	p.reapLater()
	p.mu.Unlock()
}

// reapLater schedules the end of idle workers if there are too many. The lock is held.
func (p *pool) reapLater() {
	if p.reaper == nil && !p.closed && len(p.idle) > p.opts.Idle {
		p.reaper = time.AfterFunc(time.Until(p.idle[0].idleSince.Add(p.opts.IdleTime)), p.reap)
	}
}

// reap ends the workers that have been idle for IdleTime, except those that are kept.
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

func (p *pool) end(c *child) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.alive, c)
	p.slots.release(c.domain.tenant)
	p.makeSpare()
}

// start returns a new worker for a job: the spare, unless it must be fresh.
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

// takeSpare returns the spare for a domain, or nil if there is none or the tenant may have
// no further worker.
func (p *pool) takeSpare(d domain, b bounds) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.spare
	if c == nil || p.slots.tenantFull(d.tenant, b) {
		return nil
	}
	p.spare = nil
	p.slots.pass(c.domain.tenant, d.tenant)
	c.domain = d
	return c
}

// spawn starts the process of a worker and adds it to the pool.
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
		p.slots.release(d.tenant)
		return nil, errClosed()
	case err != nil:
		p.slots.release(d.tenant)
		return nil, errStart(err)
	}
	c.domain, c.supply, c.buffers, c.born = d, p.supply, &p.buffers, time.Now()
	p.alive[c] = true
	return c, nil
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// reserve takes a slot for one more worker of a tenant. Where there are too many workers it
// ends idle ones: of all tenants, or of this one.
func (p *pool) reserve(tenant string, b bounds) error {
	for {
		p.mu.Lock()
		own := p.slots.tenantFull(tenant, b)
		switch {
		case p.closed:
			p.mu.Unlock()
			return errClosed()
		case p.slots.used < b.most && !own:
			p.slots.hold(tenant)
			p.mu.Unlock()
			return nil
		}
		c := p.unused(tenant, own)
		if c == nil {
			p.mu.Unlock()
			return errFull
		}
		replaces := p.slots.fits(tenant, b)
		if replaces {
			p.slots.hold(tenant) // before the other is ended: its slot is ours
		}
		p.mu.Unlock()
		p.end(c)
		if replaces {
			return nil
		}
	}
}

// unused removes an idle worker from the pool and returns it, one of the tenant if own, or
// nil. The lock is held.
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

// enter waits until one more worker of a domain may compute, or returns why none may.
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
	if err := p.refusal(j); err != nil { // it may have been refused meanwhile
		p.turns.leave(j.domain)
		return err
	}
	return nil
}

// refusal returns why a script may not be run any more, or nil.
func (p *pool) refusal(j job) error {
	if p.isClosed() {
		return errClosed()
	}
	return p.refused.check(j)
}

func queueError(format string, n int) *value.Error {
	return value.Errorf(value.Busy, format, n).WithLimit(value.LimitQueue).WithHint("try again later")
}

func errClosed() *value.Error { return value.Errorf(value.Canceled, "the sandbox is closed") }

// rest ends the turn of a worker while the host carries out an effect for it, which may take
// long and may need other workers. resume begins the next.
func (p *pool) rest(c *child) { p.turns.leave(c.domain) }

// resume waits until the worker may compute again. If its call has ended or the pool is
// closed, the worker is killed, and counts as running until it is dropped.
func (p *pool) resume(ctx context.Context, c *child) {
	defer p.guard.wake() // it may have gone to sleep meanwhile
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
	p.slots.notify()
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
