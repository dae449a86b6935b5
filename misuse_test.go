package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// none is what a tool in Go takes that takes nothing.
type none = struct{}

// addTool adds a tool in Go without arguments.
func addTool(t *testing.T, h *cassidy.Host, name string, f func(context.Context) (any, error)) {
	t.Helper()
	err := cassidy.AddTool(h, cassidy.Tool{Name: name, Description: "Do it."}, func(ctx context.Context, _ none) (any, error) { return f(ctx) })
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in 20 s it did not come true that %s", what)
		}
	}
}

// inHand is what a process holds: goroutines, descriptors and child processes. A test that compares it cannot be
// parallel.
type inHand struct{ goroutines, descriptors, children int }

func held() inHand {
	h := inHand{goroutines: runtime.NumGoroutine()}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.descriptors = len(list)
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		h.children += len(strings.Fields(string(text)))
	}
	return h
}

// nothingLeft checks that what a process holds is what it held before.
func nothingLeft(t *testing.T, before inHand) {
	t.Helper()
	var now inHand
	defer func() {
		if t.Failed() {
			stacks := make([]byte, 1<<16)
			t.Logf("before %+v, now %+v\n%s", before, now, stacks[:runtime.Stack(stacks, true)])
		}
	}()
	eventually(t, "nothing is left", func() bool {
		now = held()
		return now.goroutines <= before.goroutines+2 && now.descriptors <= before.descriptors+2 && now.children <= before.children
	})
}

// TestOpenStartsNothing checks that a host starts a process when its tools are first
// needed, and that Shutdown ends all of them.
func TestOpenStartsNothing(t *testing.T) {
	if _, err := os.Stat("/proc/self/task"); err != nil {
		t.Skip("processes cannot be counted here")
	}
	newRuntime(t, nil) // builds the worker of a test with the race detector
	before := held()
	src := cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", ""), "bad.star": "def"})
	for name, first := range map[string]func(h *cassidy.Host) bool{
		"Tools":  func(h *cassidy.Host) bool { return len(h.Tools()) == 1 },
		"Broken": func(h *cassidy.Host) bool { return len(h.Broken()) == 1 },
		"Call": func(h *cassidy.Host) bool {
			v, err := callOf(t, h, "one")
			return err == nil && v == int64(1)
		},
	} {
		r := newRuntime(t, nil)
		h := openIn(t, r, src, &cassidy.Options{TrustSource: true, NoBuiltins: true})
		if now := held(); now.children > before.children {
			t.Errorf("Open started %d processes", now.children-before.children)
		}
		if !first(h) {
			t.Errorf("the first %s does not see the source", name)
		}
		if now := held(); now.children == before.children {
			t.Errorf("%s started no process", name)
		}
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		nothingLeft(t, before)
	}
}

// TestShutdownWaits checks that Shutdown waits for calls, that Close cancels them while
// it does, and that both return when all has ended.
func TestShutdownWaits(t *testing.T) {
	t.Parallel()
	for name, hurry := range map[string]bool{"a call that ends": false, "Close meanwhile": true} {
		r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
		h := openIn(t, r, cassidy.Source{}, nil)
		begun, end := make(chan none), make(chan none)
		addTool(t, h, "long", func(ctx context.Context) (any, error) {
			close(begun)
			select {
			case <-end:
				return "done", nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		called, down := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := callOf(t, h, "long")
			called <- err
		}()
		<-begun
		go func() { down <- r.Shutdown(context.Background()) }()
		eventually(t, "the runtime is shut down", func() bool {
			_, err := callOf(t, h, "none")
			return errors.Is(err, cassidy.ErrClosed)
		})
		select {
		case err := <-down:
			t.Errorf("%s: Shutdown did not wait: %v", name, err)
		default:
		}
		if hurry {
			if err := r.Close(); err != nil {
				t.Errorf("%s: Close gave %v", name, err)
			}
		} else {
			close(end)
		}
		if err := <-called; errors.Is(err, cassidy.ErrClosed) != hurry || !hurry && err != nil {
			t.Errorf("%s: the call gave %v", name, err)
		}
		if err := <-down; err != nil {
			t.Errorf("%s: Shutdown gave %v", name, err)
		}
	}
}

// TestEverythingAtOnce opens hosts, calls, adds tools, swaps, subscribes, records and
// resumes while the runtime is closed. What comes too late fails with kind Closed, and
// nothing is left.
func TestEverythingAtOnce(t *testing.T) {
	newRuntime(t, nil)
	before := held()
	for round, shutdown := range []bool{false, true, false, true} {
		r := newRuntime(t, &cassidy.RuntimeOptions{Store: journal.Memory()})
		src := func(n int) cassidy.Source {
			return cassidy.Scripts(map[string]string{"one.star": starTool("one", "return "+strconv.Itoa(n), ""), "ask.star": starTool("ask", "return human.ask(\"Who?\")", "\"human\"")})
		}
		o := &cassidy.Options{TrustSource: true, NoBuiltins: true}
		h := openIn(t, r, src(1), o)
		ctx, begun := context.Background(), make(chan none)
		var all sync.WaitGroup
		check := func(what string, n int, do func(n int) error) {
			all.Go(func() {
				for i := range 1000 {
					err := do(i)
					if n--; n == 0 {
						begun <- none{}
					}
					if errors.Is(err, cassidy.ErrClosed) {
						return
					}
					if err != nil && !errors.Is(err, cassidy.ErrCanceled) && !errors.Is(err, cassidy.ErrParked) && !errors.Is(err, cassidy.ErrConflict) {
						t.Errorf("round %d: %s gave %v", round, what, err)
					}
				}
			})
		}
		check("Open", 2, func(int) error {
			h, err := r.Open(src(1), o)
			if err != nil {
				return err
			}
			_, err = callOf(t, h, "one")
			return errors.Join(err, h.Close())
		})
		check("Call", 2, func(int) error { _, err := callOf(t, h, "one"); return err })
		check("Durable", 1, func(n int) error {
			_, err := callOf(t, h, "ask", cassidy.Durable(fmt.Sprint("r", n%3)))
			return err
		})
		check("Resume", 0, func(n int) error {
			_, err := h.Resume(ctx, fmt.Sprint("r", n%3))
			if errors.Is(err, cassidy.ErrNotFound) {
				return nil
			}
			return err
		})
		check("Swap", 2, func(n int) error { return h.Swap(ctx, src(n)) })
		check("Refresh", 0, func(int) error { return h.Refresh(ctx) })
		check("AddTool", 5, func(n int) error {
			name := fmt.Sprint("go", n%7)
			err := cassidy.AddTool(h, cassidy.Tool{Name: name, Description: "Do it."}, func(context.Context, none) (int, error) { return n, nil })
			if err != nil {
				return err
			}
			return h.RemoveTool(name)
		})
		check("Subscribe", 5, func(n int) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			events := h.Subscribe(ctx, cassidy.EventFilter{Buffer: n % 4})
			if n%5 == 0 {
				select {
				case _, open := <-events:
					if !open {
						return cassidy.ErrClosed
					}
				case <-time.After(time.Millisecond):
				}
			}
			return nil
		})
		for range 6 { // those that have a number
			<-begun
		}
		var closers sync.WaitGroup
		for i := range 3 {
			closers.Go(func() {
				end := r.Close
				if i == 0 {
					end = h.Close
				} else if shutdown {
					end = func() error { return r.Shutdown(ctx) }
				}
				if err := end(); err != nil {
					t.Errorf("round %d: closing gave %v", round, err)
				}
			})
		}
		closers.Wait()
		all.Wait()
	}
	nothingLeft(t, before)
}

// TestManyHosts opens and closes a thousand hosts, of as many tenants.
func TestManyHosts(t *testing.T) {
	r := newRuntime(t, &cassidy.RuntimeOptions{Store: journal.Memory(), Workers: cassidy.Workers{IdleTime: time.Millisecond}})
	before := held()
	src := cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", "")})
	for i := range testutil.Times(100, 1000) {
		h := openIn(t, r, src, &cassidy.Options{Tenant: fmt.Sprint("tenant ", i), TrustSource: true, NoBuiltins: true})
		if i%20 == 0 {
			if v, err := callOf(t, h, "one", cassidy.Durable("r")); v != int64(1) || err != nil {
				t.Fatalf("host %d gave %v, %v", i, v, err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, before)
}

// TestManyTools adds thousands of tools in Go, and calls and removes them. Twice as many tools
// allocate about twice as much.
func TestManyTools(t *testing.T) {
	allocated := func(many int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		manyTools(t, many)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	n := testutil.Times(500, 5000)
	if half, whole := allocated(n), allocated(2*n); whole > 3*half {
		t.Errorf("%d tools allocate %d bytes, and twice as many %d", n, half, whole)
	}
}

func manyTools(t *testing.T, many int) {
	t.Helper()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	h := openIn(t, r, cassidy.Source{}, &cassidy.Options{NoBuiltins: true})
	for i := range many {
		addTool(t, h, fmt.Sprint("tool_", i), func(context.Context) (any, error) { return i, nil })
	}
	if n := len(h.Tools()); n != many {
		t.Fatalf("there are %d tools", n)
	}
	for i := range many {
		if v, err := callOf(t, h, fmt.Sprint("tool-", i)); v != int64(i) || err != nil {
			t.Fatalf("tool %d gave %v, %v", i, v, err)
		}
	}
	_, err := callOf(t, h, "tool_none")
	if !errors.Is(err, cassidy.ErrNotFound) || len(err.Error())+len(value.ErrorOf(err, value.Failed).Hint) > 2000 {
		t.Errorf("an unknown tool gave %.3000v", err)
	}
	for i := range many {
		if err := h.RemoveTool(fmt.Sprint("tool_", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(h.Tools()); n != 0 {
		t.Errorf("%d tools are left", n)
	}
}

// TestWorkersAreBusy checks that a call waits for a worker until its context ends or its
// time runs out, which is an error of kind Busy, and that a call in a call does not wait.
func TestWorkersAreBusy(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, &cassidy.RuntimeOptions{Workers: cassidy.Workers{Max: 2, PerTenant: 2}})
	files := map[string]string{"inner.star": starTool("inner", "return 1", "")}
	for i := range 3 {
		files[fmt.Sprint("outer", i, ".star")] = starTool(fmt.Sprint("outer", i), "return tools.step() + tools.inner()", `"tool"`)
	}
	src := cassidy.Scripts(files)
	h := openIn(t, r, src, &cassidy.Options{TrustSource: true, NoBuiltins: true})
	short := openIn(t, r, src, &cassidy.Options{TrustSource: true, NoBuiltins: true, Timeout: 100 * time.Millisecond})
	if len(h.Tools()) != 4 || len(short.Tools()) != 4 {
		t.Fatalf("broken are %v and %v", h.Broken(), short.Broken())
	}
	begun, end := make(chan none), make(chan none)
	addTool(t, h, "step", func(ctx context.Context) (any, error) {
		begun <- none{}
		select {
		case <-end:
		case <-ctx.Done():
		}
		return 1, ctx.Err()
	})
	done := make(chan error, 2)
	for i := range 2 {
		go func() {
			v, err := callOf(t, h, fmt.Sprint("outer", i))
			if err == nil && v != int64(2) {
				err = fmt.Errorf("got %v", v)
			}
			done <- err
		}()
		<-begun
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, waited := h.Call(ctx, cassidy.Call{Tool: "outer2"})
	_, timeout := callOf(t, short, "outer2")
	for name, err := range map[string]error{"whose context ends": waited, "whose time runs out": timeout} {
		if !errors.Is(err, cassidy.ErrBusy) {
			t.Errorf("a call %s gave %v", name, err)
		}
	}
	close(end)
	for range 2 { // their calls of inner go beyond Max
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestCloseUnderWorkers checks that a runtime is closed where a
// handler that a script called ignores its context, and ends the worker of that.
func TestCloseUnderWorkers(t *testing.T) {
	newRuntime(t, nil)
	before := held()
	for _, shutdown := range []bool{false, true} {
		r := newRuntime(t, nil)
		h := openIn(t, r, cassidy.Scripts(map[string]string{"count.star": starTool("count", "return tools.step()", `"tool"`)}), &cassidy.Options{TrustSource: true})
		begun, end := make(chan none), make(chan none)
		addTool(t, h, "step", func(context.Context) (any, error) {
			close(begun)
			<-end
			return 1, nil
		})
		done := make(chan error, 1)
		go func() {
			_, err := callOf(t, h, "count")
			done <- err
		}()
		<-begun
		closed := make(chan error, 1)
		go func() {
			if shutdown {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
				defer cancel()
				closed <- r.Shutdown(ctx)
			} else {
				closed <- r.Close()
			}
		}()
		select {
		case ended := <-closed:
			if errors.Is(ended, context.DeadlineExceeded) != shutdown || !shutdown && ended != nil {
				t.Errorf("closed with %v", ended)
			}
		case <-time.After(2 * time.Minute):
			t.Error("the runtime waits for a handler")
		}
		close(end)
		if err := <-done; !errors.Is(err, cassidy.ErrClosed) {
			t.Errorf("the call gave %v", err)
		}
	}
	nothingLeft(t, before)
}
