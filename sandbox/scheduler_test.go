package sandbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestAFewToolsLeaveTurns checks that eight tools that use all that they may keep
// nobody else from computing.
func TestAFewToolsLeaveTurns(t *testing.T) {
	p := newPool(&Options{}, false)
	defer p.close()
	ctx := context.Background()
	for i := range 8 {
		for range p.opts.PerTool {
			if err := p.turns.await(ctx, domain{key: fmt.Sprint("tool", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := p.turns.await(ended, domain{key: "another"}); err != nil {
		t.Errorf("another tool has to wait: %v", err)
	}
	if err := p.turns.await(ended, domain{key: "tool0"}); err == nil {
		t.Error("a tool got more turns than PerTool")
	}
}

// TestTurnsAreFair has requests of two tenants wait for one that computes: they take
// turns, and so do the tools of one.
func TestTurnsAreFair(t *testing.T) {
	s, ctx := newScheduler(2, 2), context.Background()
	ann1, ann2, bob := domain{"ann", "", "1"}, domain{"ann", "", "2"}, domain{"bob", "", "1"}
	s.count(ann1)
	s.count(ann1)
	got := make(chan string)
	waiting := func(n int) {
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			is := len(s.waiting)
			s.mu.Unlock()
			if is == n {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d wait, want %d", is, n)
			}
		}
	}
	for i, d := range []domain{ann1, ann1, ann2, bob} {
		go func() {
			if err := s.await(ctx, d); err != nil {
				t.Error(err)
			}
			got <- d.tenant + d.key
		}()
		waiting(i + 1)
	}
	var order []string
	for _, ends := range []domain{ann1, ann1, bob, ann2} {
		s.leave(ends)
		order = append(order, <-got)
	}
	if want := []string{"bob1", "ann1", "ann2", "ann1"}; !slices.Equal(order, want) {
		t.Errorf("the turns went to %v, want %v", order, want)
	}
	gone, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if err := s.await(gone, bob); err == nil {
		t.Error("a third one may compute")
	}
	s.close()
	if err := s.await(ctx, bob); err == nil {
		t.Error("a scheduler that is closed gives turns")
	}
}

// TestHalfOfTheWorkersForOneTenant checks the default of PerTenant: half of Max, rounded up.
func TestHalfOfTheWorkersForOneTenant(t *testing.T) {
	for most, want := range map[int]int{0: 64, 1: 1, 2: 1, 3: 2, 4: 2, 5: 3} {
		if got := (Workers{Max: most}).withDefaults().PerTenant; got != want {
			t.Errorf("with Max %d a tenant has %d workers, want %d", most, got, want)
		}
	}
}
