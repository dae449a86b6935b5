package cassidy_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
)

// within fails where f takes longer than anything here should.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan none)
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s did not end in 20 s", what)
	}
}

// TestAClosedHost checks what a closed host answers: its tools as it knew them, and for
// the rest that it is closed, without waiting for anything.
func TestAClosedHost(t *testing.T) {
	t.Parallel()
	_, h := onStore(t, filepath.Join(t.TempDir(), "store"), "")
	checks := 0
	for _, name := range []string{"known", "late"} {
		err := cassidy.AddTool(h, cassidy.Tool{Name: name, Description: "Do it."}, func(context.Context, none) (int, error) { return 1, nil },
			cassidy.AvailableFunc(func(context.Context) error { checks++; return errors.New("no printer") }))
		if err != nil {
			t.Fatal(err)
		}
		if name == "known" {
			h.Tools()
		}
	}
	park(t, h, "r")
	ctx := context.Background()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	states := map[string]cassidy.State{}
	within(t, "Tools", func() {
		for _, info := range h.Tools() {
			states[info.Name] = info.State
		}
	})
	if len(states) < 3 || states["known"] != cassidy.NotHere || states["late"] != cassidy.Ready || checks != 1 || len(h.Broken()) != 0 {
		t.Errorf("the tools are %v after %d checks, broken %v, want them as they were", states, checks, h.Broken())
	}
	ends := map[string]func() error{
		"Waiting": func() (last error) {
			for _, last = range h.Waiting(ctx) {
			}
			return last
		},
		"Runs": func() (last error) {
			for _, last = range h.Runs(ctx, cassidy.RunFilter{}) {
			}
			return last
		},
		"Due": func() (last error) {
			for _, last = range h.Due(ctx) {
			}
			return last
		},
		"Events": func() (last error) {
			for _, last = range h.Events(ctx, "r", 0) {
			}
			return last
		},
		"Follow": func() (last error) {
			for _, last = range h.Follow(ctx, "r", 0) {
			}
			return last
		},
		"Subscribe": func() error {
			for range h.Subscribe(ctx, cassidy.EventFilter{}) {
				return nil
			}
			return cassidy.ErrClosed
		},
		"Answer":  func() error { return h.Answer(ctx, "r:1:1", cassidy.Answer{Value: "x"}) },
		"Cancel":  func() error { return h.Cancel(ctx, "r") },
		"Undo":    func() error { _, err := h.Undo(ctx, "r"); return err },
		"Resume":  func() error { _, err := h.Resume(ctx, "r"); return err },
		"Run":     func() error { _, err := h.Run(ctx, "w", nil); return err },
		"Refresh": func() error { return h.Refresh(ctx) },
		"Swap":    func() error { return h.Swap(ctx, asks()) },
		"Remove":  func() error { return h.RemoveTool("known") },
	}
	for name, do := range ends {
		within(t, name, func() {
			if err := do(); !errors.Is(err, cassidy.ErrClosed) {
				t.Errorf("%s of a closed host gave %v, want that it is closed", name, err)
			}
		})
	}
}

// TestAHostThatNeverSearched checks that a host which is closed before it has searched
// its source says so.
func TestAHostThatNeverSearched(t *testing.T) {
	t.Parallel()
	h := openIn(t, newRuntime(t, nil), asks(), &cassidy.Options{TrustSource: true})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if broken := h.Broken(); len(h.Tools()) != 0 || len(broken) != 1 || !errors.Is(broken[0], cassidy.ErrClosed) {
		t.Errorf("there are %d tools, and broken are %v, want that the host is closed", len(h.Tools()), broken)
	}
}

// TestIteratorsEndWithTheHost closes everything in the middle of a loop.
func TestIteratorsEndWithTheHost(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Waiting", "Runs", "Due", "Events"} {
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
		h := openIn(t, r, asks(), &cassidy.Options{TrustSource: true, NoBuiltins: true})
		for _, id := range []string{"a", "b", "c"} {
			question := park(t, h, id)
			if name == "Due" {
				if err := h.Answer(context.Background(), question, cassidy.Answer{Value: "x"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := 0
		end := func() {
			if n++; n == 1 {
				if err := errors.Join(h.Close(), r.Close(), store.Close()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		within(t, name, func() {
			ctx := context.Background()
			switch name {
			case "Waiting":
				for range h.Waiting(ctx) {
					end()
				}
			case "Runs":
				for range h.Runs(ctx, cassidy.RunFilter{}) {
					end()
				}
			case "Due":
				for range h.Due(ctx) {
					end()
				}
			case "Events":
				for range h.Events(ctx, "a", 0) {
					end()
				}
			}
		})
		if n == 0 {
			t.Errorf("%s yielded nothing", name)
		}
	}
}
