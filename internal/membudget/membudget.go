// Package membudget bounds the memory that the calls of a host hold in the host's own process: what they
// have staged, what their effects carry, and their results. It counts the large parts, see [Small].
package membudget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Host is the memory that all calls of a host may hold together. A nil Host bounds nothing. It is
// safe for concurrent use.
//
// A call tree never waits for itself: what exceeds its own share is refused. What is free in the share
// of the tree but not in the host waits until other trees end. Trees that wait for each other cannot
// lock each other up: a grant always leaves so much that the tree which holds the most can have its
// complete share. That tree never waits, so it ends, and the next one is then in its place.
type Host struct {
	most, share int64

	mu      sync.Mutex
	used    int64
	trees   map[*Tree]struct{} // those that hold anything
	waiting []*request         // of the oldest tree first, so that calls end one after the other
	born    int64              // the number of trees so far
}

// A request is what a tree waits for.
type request struct {
	scope *Scope
	n     int64
	given chan struct{} // closed when it has got it, or err is set
	err   error
}

// Default is the memory of a host that sets none, in bytes.
const Default = 160 << 20

// Small is what is not counted one by one, in bytes: files and results of usual size cost nothing.
const Small = 64 << 10

// Copies is how often what an effect carries is in memory while it is carried out: as it arrived or
// was read, as the effect works on it, and as it is recorded or sent.
const Copies = 3

// New returns the memory of a host, in bytes. A call tree may hold three quarters of it.
func New(most int64) *Host {
	return &Host{most: most, share: most / 4 * 3, trees: map[*Tree]struct{}{}}
}

// Used returns how many bytes are held now.
func (h *Host) Used() int64 {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.used
}

// Most returns how many bytes may be held.
func (h *Host) Most() int64 { return h.most }

// A Tree is what a root call and everything that it calls hold. The zero value bounds nothing.
type Tree struct {
	host *Host
	born int64 // the number of the tree in its host, given when it first takes something
	held int64 // host.mu guards it
}

// Tree returns an empty tree of the host.
func (h *Host) Tree() Tree {
	return Tree{host: h}
}

// Of reports whether the tree is one of a host.
func (t *Tree) Of(h *Host) bool { return t.host == h }

// A Scope is a part of what a tree holds that is given back together, such as by the end of an effect.
// The zero value bounds nothing. It is safe for concurrent use.
type Scope struct {
	tree *Tree
	n    int64 // written with tree.host.mu
}

// Scope returns an empty scope of the tree.
func (t *Tree) Scope() Scope { return Scope{tree: t} }

// Beside returns an empty scope of the same tree.
func (s *Scope) Beside() Scope {
	if s == nil {
		return Scope{}
	}
	return Scope{tree: s.tree}
}

// Host returns the host whose memory the scope takes, or nil.
func (s *Scope) Host() *Host {
	if s == nil || s.tree == nil {
		return nil
	}
	return s.tree.host
}

// Take adds so many bytes to the scope. It waits for other trees until ctx ends, which is an error of
// kind Busy. What exceeds the share of the own tree is refused with kind Limit.
func (s *Scope) Take(ctx context.Context, n int64) error {
	r, err := s.ask(n)
	if r == nil {
		return err
	}
	select {
	case <-r.given:
		return r.err
	case <-ctx.Done():
	}
	h := s.tree.host
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.waiting, r)
	if i < 0 {
		return r.err // it has just been served
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	h.serve() // others may have waited behind it
	return value.Errorf(value.Busy, "the calls of this host hold as much memory as they may, %s: stopped waiting", size(h.most)).
		WithLimit(value.LimitMemory).WithHint("call the tool again later; %s", raise)
}

// Try is Take if that need not wait, and reports whether it did not.
func (s *Scope) Try(n int64) (done bool, err error) {
	h := s.Host()
	if h == nil || n <= 0 {
		return true, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.tree.born == 0 {
		h.born++
		s.tree.born = h.born
	}
	if err := s.tree.refuses(n); err != nil {
		return true, err
	}
	if len(h.waiting) > 0 && !h.passes(s.tree, n) || !h.fits(s.tree, n) {
		return false, nil
	}
	s.add(n)
	return true, nil
}

// ask takes what is free, or returns a request that waits.
func (s *Scope) ask(n int64) (*request, error) {
	if done, err := s.Try(n); done || err != nil {
		return nil, err
	}
	h := s.tree.host
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &request{scope: s, n: n, given: make(chan struct{})}
	at, _ := slices.BinarySearchFunc(h.waiting, s.tree.born+1, func(r *request, born int64) int { return cmp.Compare(r.scope.tree.born, born) })
	h.waiting = slices.Insert(h.waiting, at, r)
	h.serve() // something may have been given back meanwhile
	return r, nil
}

// End gives back everything in the scope, which can be used again.
func (s *Scope) End() { s.Keep(0) }

// Keep gives back what exceeds n bytes.
func (s *Scope) Keep(n int64) {
	if s == nil || atomic.LoadInt64(&s.n) <= n {
		return
	}
	h := s.tree.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.n > n {
		s.add(n - s.n)
		h.serve()
	}
}

// Set has the scope hold so many bytes, as Take and Keep do. Nothing small is counted.
func (s *Scope) Set(ctx context.Context, n int64) error {
	if s.Host() == nil {
		return nil
	}
	if n <= Small {
		n = 0
	}
	if more := n - atomic.LoadInt64(&s.n); more > 0 {
		return s.Take(ctx, more)
	}
	s.Keep(n)
	return nil
}

// Move moves everything in the scope to another one of the same tree, which ends later.
func (s *Scope) Move(to *Scope) {
	if s == nil || atomic.LoadInt64(&s.n) == 0 {
		return
	}
	if to == nil || to.tree != s.tree {
		s.End()
		return
	}
	s.tree.host.mu.Lock()
	defer s.tree.host.mu.Unlock()
	atomic.StoreInt64(&to.n, to.n+s.n)
	atomic.StoreInt64(&s.n, 0)
}

// The following functions need the lock.

func (s *Scope) add(n int64) {
	t := s.tree
	atomic.StoreInt64(&s.n, s.n+n)
	t.held, t.host.used = t.held+n, t.host.used+n
	if t.held > 0 {
		t.host.trees[t] = struct{}{}
	} else {
		delete(t.host.trees, t)
	}
}

// refuses returns the error of a tree that would hold more than its share, or nil.
func (t *Tree) refuses(n int64) error {
	if t.held+n <= t.host.share {
		return nil
	}
	return value.Limitf(value.LimitMemory, "the call and its nested calls hold more than %s of memory in the host", size(t.host.share)).
		WithHint("write, read or return less at a time, and make fewer calls in parallel; %s", raise)
}

// fits reports whether the host has so much for a tree, and then still the complete share for the tree
// that holds the most.
func (h *Host) fits(t *Tree, n int64) bool {
	largest := t.held + n
	for other := range h.trees {
		largest = max(largest, other.held)
	}
	return h.used+n+h.share-largest <= h.most
}

// passes reports whether a tree does not have to queue: it holds something already, which others wait
// for, or no more than a small part is asked for.
func (h *Host) passes(t *Tree, n int64) bool { return t.held > 0 || n <= h.most/64 }

// serve gives what waits what is free.
func (h *Host) serve() {
	first := true // nothing waits before it
	h.waiting = slices.DeleteFunc(h.waiting, func(r *request) (done bool) {
		t := r.scope.tree
		switch r.err = t.refuses(r.n); {
		case r.err != nil: // its tree has got more meanwhile
		case (first || h.passes(t, r.n)) && h.fits(t, r.n):
			r.scope.add(r.n)
		default:
			first = false
			return false
		}
		close(r.given)
		return true
	})
}

// raise says how the limit is changed.
const raise = "to allow more, set in your config.yaml: limits: {host_memory: BYTES}; in Go, set Options.Memory"

// size shows a limit in words.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

type key struct{}

// A Context is a context whose effects hold memory in a scope.
type Context struct {
	context.Context
	Scope Scope
	owned bool
}

// Value implements [context.Context].
func (c *Context) Value(k any) any {
	if _, ok := k.(key); ok {
		return c
	}
	return c.Context.Value(k)
}

// With returns a [Context] with an empty scope of a tree.
func With(ctx context.Context, t *Tree) *Context { return &Context{Context: ctx, Scope: t.Scope()} }

// EndEffect ends the scope after an effect, unless who asked for the effect does that, see Own.
func (c *Context) EndEffect() {
	if !c.owned {
		c.Scope.End()
	}
}

// Leave gives what the scope holds to that of the context around this one, if it is of the same tree: who called holds
// the result then. Otherwise it is given back.
func (c *Context) Leave() {
	if atomic.LoadInt64(&c.Scope.n) != 0 {
		c.Scope.Move(Of(c.Context))
	}
}

// TreeOf returns the tree of a context, or nil. A call of its host that is made with the context is part of it.
func TreeOf(ctx context.Context) *Tree {
	if s := Of(ctx); s != nil {
		return s.tree
	}
	return nil
}

// Of returns the scope of a context, or nil.
func Of(ctx context.Context) *Scope {
	if c, _ := ctx.Value(key{}).(*Context); c != nil {
		return &c.Scope
	}
	return nil
}

// Own is Of for who asks for effects, and ends the scope itself after each of them when the outcome has
// been sent on.
func Own(ctx context.Context) *Scope {
	c, _ := ctx.Value(key{}).(*Context)
	if c == nil {
		return nil
	}
	c.owned = true
	return &c.Scope
}

// Take takes memory in the scope of a context, if it has one, for something of n bytes that an effect
// carries. It is not counted if it is small.
func Take(ctx context.Context, n int64) error {
	if n <= Small {
		return nil
	}
	return Of(ctx).Take(ctx, Copies*n)
}

// A Growing takes memory in the scope of a context for something that an effect carries and whose size is not known
// before. The zero value has taken nothing.
type Growing struct{ taken int64 }

// step is what a Growing takes at a time, in bytes.
const step = 1 << 20

// To takes what is missing for n bytes, before they are kept. It is not safe for concurrent use.
func (g *Growing) To(ctx context.Context, n int64) error {
	if n <= Small || n <= g.taken {
		return nil
	}
	next := (n + step - 1) / step * step
	if err := Of(ctx).Take(ctx, Copies*(next-g.taken)); err != nil {
		return err
	}
	g.taken = next
	return nil
}

// Acted returns an error of Take for an effect that has already done something, such as a request that was sent. It is of
// kind Failed: nobody repeats the effect because of it, as they would after one of kind Busy or Limit.
func Acted(what string, err error) error {
	return value.Errorf(value.Failed, "%s: %s", what, value.ErrorOf(err, value.Failed).Message()).WithHint("%s", raise)
}
