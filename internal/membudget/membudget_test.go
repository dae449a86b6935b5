package membudget_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestOwnShare checks that a tree is refused what exceeds its share, whether it asks at once, in parts, or
// while it waits, and that it then holds what it held before.
func TestOwnShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := membudget.New(400) // 300 for a tree
		tree, other := h.Tree(), h.Tree()
		a, b, c := tree.Scope(), tree.Scope(), other.Scope()
		take := func(s *membudget.Scope, n int64, want error) {
			t.Helper()
			if err := s.Take(t.Context(), n); !errors.Is(err, want) {
				t.Errorf("Take(%d): %v, want %v", n, err, want)
			}
		}
		take(&a, 301, value.ErrLimit)
		take(&a, 100, nil)
		take(&b, 100, nil)
		take(&b, 101, value.ErrLimit)
		take(&c, 50, nil) // the first tree can still have 100 more
		late := make(chan error)
		go func() { late <- c.Take(t.Context(), 260) }()
		synctest.Wait()
		if err := <-late; !errors.Is(err, value.ErrLimit) {
			t.Errorf("more than the share of a tree that waits: %v", err)
		}
		go func() { late <- c.Take(t.Context(), 200) }()
		synctest.Wait()
		b.Move(&a)
		a.Keep(150)
		synctest.Wait()
		select {
		case err := <-late:
			t.Errorf("350 of 400 were given, although the first tree holds 150 of its 300: %v", err)
		default:
		}
		a.End()
		if err := <-late; err != nil || h.Used() != 250 {
			t.Errorf("when the first tree has ended: %v, %d held", err, h.Used())
		}
		c.End()
		if h.Used() != 0 {
			t.Errorf("%d held at the end", h.Used())
		}
	})
}

// TestSiblingsTakeTheShare checks that a request of a tree is refused, and does not wait for ever, when the tree itself
// has got what the request waited for.
func TestSiblingsTakeTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := membudget.New(400)
		tree, other := h.Tree(), h.Tree()
		a, b, c := tree.Scope(), tree.Scope(), other.Scope()
		if err := c.Take(t.Context(), 290); err != nil {
			t.Fatal(err)
		}
		late := make(chan error, 2)
		go func() { late <- a.Take(t.Context(), 200) }()
		go func() { late <- b.Take(t.Context(), 200) }()
		synctest.Wait()
		c.End()
		if first, second := <-late, <-late; (first == nil) == (second == nil) {
			t.Errorf("two requests of 200 of a tree that may hold 300: %v and %v", first, second)
		}
		a.End()
		b.End()
		if h.Used() != 0 {
			t.Errorf("%d held at the end", h.Used())
		}
	})
}

// TestNobodyWaitsForEver has trees take memory in random parts, which all hold while they wait. They all
// get their complete share, no more than the limit is held, and everything is given back.
func TestNobodyWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := membudget.New(1000)
		var all sync.WaitGroup
		for n := range 50 {
			rnd := rand.New(rand.NewPCG(uint64(n), 1))
			all.Go(func() {
				tree := h.Tree()
				staged, carried := tree.Scope(), tree.Scope()
				for left := int64(750); left > 0; {
					part := min(left, 1+rnd.Int64N(300))
					if err := carried.Take(t.Context(), part); err != nil {
						t.Error(err)
					}
					if h.Used() > 1000 {
						t.Errorf("%d held", h.Used())
					}
					carried.Move(&staged)
					left -= part
				}
				staged.End()
			})
		}
		all.Wait()
		if h.Used() != 0 {
			t.Errorf("%d held at the end", h.Used())
		}
	})
}

// TestStopsWaiting checks that a request ends with its context, holds nothing then, and no longer stands in the way
// of others.
func TestStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := membudget.New(6400)
		holder, waiter, small := h.Tree(), h.Tree(), h.Tree()
		a, b, c := holder.Scope(), waiter.Scope(), small.Scope()
		if err := a.Take(t.Context(), 4800); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		late := make(chan error)
		go func() { late <- b.Take(ctx, 2000) }()
		synctest.Wait()
		if err := c.Take(t.Context(), 100); err != nil {
			t.Errorf("a small request: %v", err) // it passes the queue
		}
		c.End()
		done, err := c.Try(1000)
		if done || err != nil {
			t.Errorf("a large one that comes later does not wait: %v", err)
		}
		cancel()
		if err := <-late; !errors.Is(err, value.ErrBusy) {
			t.Errorf("after the end of the context: %v, want kind Busy", err)
		}
		if done, err := c.Try(1000); !done || err != nil {
			t.Errorf("when nobody waits any more: %v, %v", done, err)
		}
	})
}

// TestUnbounded checks that what has no host bounds nothing.
func TestUnbounded(t *testing.T) {
	t.Parallel()
	var tree membudget.Tree
	var nobody *membudget.Host
	for _, s := range []membudget.Scope{{}, tree.Scope()} {
		if err := errors.Join(s.Take(t.Context(), 1<<40), s.Set(t.Context(), 1<<40), membudget.Take(membudget.With(t.Context(), &tree), 1<<40), membudget.Take(t.Context(), 1<<40)); err != nil {
			t.Error(err)
		}
		s.End()
	}
	if tree := nobody.Tree(); nobody.Used() != 0 {
		t.Errorf("no host has a tree: %v", tree)
	}
}

// TestGrowing checks that something grows up to the share of its call and no further, and that nobody repeats an effect
// that had acted by then.
func TestGrowing(t *testing.T) {
	t.Parallel()
	h := membudget.New(16 << 20) // 12 MB for a tree
	tree := h.Tree()
	ctx := membudget.With(t.Context(), &tree)
	var g membudget.Growing
	for n := int64(0); n <= 4<<20; n += 32 << 10 {
		if err := g.To(ctx, n); err != nil {
			t.Fatal(err)
		}
		if used := h.Used(); n > membudget.Small && used < membudget.Copies*n || used > membudget.Copies*(n+1<<20) {
			t.Fatalf("%d bytes are held for %d", used, n)
		}
	}
	err := g.To(ctx, 4<<20+1)
	if !errors.Is(err, value.ErrLimit) {
		t.Errorf("beyond the share: %v", err)
	}
	if acted := membudget.Acted("sent", err); value.KindOf(acted) != value.Failed || value.ErrorOf(acted, value.Failed).Limit != "" {
		t.Errorf("after it has acted: %v", acted)
	}
	ctx.EndEffect()
	if h.Used() != 0 {
		t.Errorf("%d held at the end", h.Used())
	}
}

// TestOuterScope checks that what a call leaves goes to who has made the call in the same tree, and that a scope beside
// another one is of its tree.
func TestOuterScope(t *testing.T) {
	t.Parallel()
	h := membudget.New(400)
	tree, other := h.Tree(), h.Tree()
	outer := membudget.With(t.Context(), &tree)
	if !membudget.TreeOf(outer).Of(h) || membudget.TreeOf(outer).Of(nil) || membudget.TreeOf(t.Context()) != nil {
		t.Error("the tree of a context is not that of its scope")
	}
	for _, test := range []struct {
		of   *membudget.Tree
		want int64
	}{{&tree, 100}, {&other, 0}} {
		call := membudget.With(outer, test.of)
		if err := call.Scope.Take(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		call.Leave()
		call.Scope.End()
		if h.Used() != test.want {
			t.Errorf("%d held, want %d", h.Used(), test.want)
		}
		outer.Scope.End()
	}
	beside := outer.Scope.Beside()
	if err := beside.Take(t.Context(), 300); err != nil {
		t.Error(err)
	}
	if err := outer.Scope.Take(t.Context(), 1); !errors.Is(err, value.ErrLimit) {
		t.Errorf("beyond the share of both: %v", err)
	}
	beside.End()
}
