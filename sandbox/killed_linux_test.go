package sandbox_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestR43KilledFromOutside checks what becomes of a call whose worker somebody
// kills or stops, and of the next.
func TestR43KilledFromOutside(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGSEGV, syscall.SIGTERM} {
		t.Run("idle "+signal.String(), func(t *testing.T) {
			box := newProcess(t, nil, world)
			nextCallIsRight(t, box)
			box.WaitForSpare()
			for _, pid := range box.Workers() {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
				waitUntilEnded(t, pid)
			}
			if signal == syscall.SIGSTOP {
				_, err := box.Run(context.Background(), echoScript, tool.Call{Args: value.NewDict("value", "x")}, nil)
				if err == nil || value.KindOf(err) != value.Unavailable {
					t.Errorf("a stopped worker gave %v, want unavailable", err)
				}
			}
			nextCallIsRight(t, box)
		})
		t.Run("busy "+signal.String(), func(t *testing.T) {
			box := newProcess(t, nil, world)
			script := tool.Script{Path: "f.star", Source: "def f():\n    world.ask(1)\n    return [all(range(1, (1 << 31) - 1)) for _ in range(1000)]\n\ntool(f)\n"}
			_, err := box.Run(context.Background(), script, tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
				for _, pid := range box.Workers() {
					if err := syscall.Kill(pid, signal); err != nil {
						t.Error(err)
					}
				}
				return tool.Outcome{}, nil
			})
			e := value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != value.Unavailable || e.Hint == "" {
				t.Errorf("the call gave %v, want unavailable, and a hint", err)
			}
			if killed := signal == syscall.SIGKILL || signal == syscall.SIGTERM; killed != (e.Limit == value.LimitWorker) {
				t.Errorf("after %v the limit of %v is %q", signal, err, e.Limit)
			}
			nextCallIsRight(t, box)
		})
		if signal == syscall.SIGSTOP {
			continue // each that was stopped would have to be found out
		}
		t.Run("all "+signal.String(), func(t *testing.T) {
			box := newProcess(t, nil, world)
			inside := make(chan struct{})
			var all sync.WaitGroup
			for range 2 { // two workers of one script at the same time
				all.Go(func() {
					_, err := box.Run(context.Background(), script("f", "return world.ask(1)"), tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
						inside <- struct{}{}
						inside <- struct{}{}
						return tool.Outcome{}, nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			for range 4 {
				<-inside
			}
			all.Wait()
			box.WaitForSpare()
			for _, pid := range box.Workers() {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
				waitUntilEnded(t, pid)
			}
			out, err := box.Run(context.Background(), script("f", "return world.ask(1)"), tool.Call{}, answer)
			if err != nil || out.Value != "answer" {
				t.Errorf("with all workers gone a call gave %v, %v, want an answer", out.Value, err)
			}
			poolIsQuiet(t, box)
		})
	}
}

// waitUntilEnded waits until a worker that was killed has ended, or is stopped:
// on a busy machine it might else do what it is asked next.
func waitUntilEnded(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, state, _ := strings.Cut(string(text), ") ")
		if err != nil || strings.ContainsAny(state[:1], "ZXT") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("worker %d goes on for two minutes after it was killed: %s", pid, state)
		}
		runtime.Gosched()
	}
}

// TestEffectOutlivesWorker kills a worker while an effect is done for it: the
// effect is completed, once, before the call ends with an error.
func TestEffectOutlivesWorker(t *testing.T) {
	box := newProcess(t, nil, world)
	nextCallIsRight(t, box)
	box.WaitForSpare()
	var begun, done int
	_, err := box.Run(context.Background(), script("f", "return world.ask(1)"), tool.Call{}, func(ctx context.Context, _ tool.Effect) (tool.Outcome, error) {
		begun++
		for _, pid := range box.Workers() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			waitUntilEnded(t, pid)
		}
		time.Sleep(50 * time.Millisecond) // the host is to learn of it only afterwards
		if ctx.Err() != nil {
			t.Errorf("the context of the effect has ended: %v", context.Cause(ctx))
		}
		done++
		return tool.Outcome{Value: "answer"}, nil
	})
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Unavailable || e.Limit != value.LimitWorker {
		t.Errorf("the call gave %v, want that its worker was killed", err)
	}
	if begun != 1 || done != 1 {
		t.Errorf("the effect was begun %d times and completed %d times, want once", begun, done)
	}
	nextCallIsRight(t, box)
	poolIsQuiet(t, box)
}

// TestDeathPassesThroughWorkers checks that a worker passes on that another one
// was killed, as its host told it.
func TestDeathPassesThroughWorkers(t *testing.T) {
	box := newProcess(t, nil, world)
	died := value.Errorf(value.Unavailable, "killed")
	died.Limit = value.LimitWorker
	for _, body := range []string{"return world.ask(1)", "return attempt(world.ask, 1)"} {
		_, err := box.Run(context.Background(), script("f", body), tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			return tool.Outcome{}, died
		})
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != value.Unavailable || e.Limit != value.LimitWorker {
			t.Errorf("%s gave %v, want that a worker was killed", body, err)
		}
	}
	nextCallIsRight(t, box)
}
