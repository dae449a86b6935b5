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
				_, err := box.Run(context.Background(), echoScript, tool.Call{Args: tool.NewDict("value", "x")}, nil)
				if err == nil || tool.KindOf(err) != tool.Unavailable {
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
			if err == nil || tool.KindOf(err) != tool.Unavailable {
				t.Errorf("the call gave %v, want unavailable", err)
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
	for deadline := time.Now().Add(time.Minute); ; {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, state, _ := strings.Cut(string(text), ") ")
		if err != nil || strings.ContainsAny(state[:1], "ZXT") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("worker %d goes on for a minute after it was killed: %s", pid, state)
		}
		runtime.Gosched()
	}
}
