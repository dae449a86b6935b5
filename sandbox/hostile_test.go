package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A hostile worker is this test under another name. It is sealed like any
// other and then does what no script could make an honest one do.
const hostileName = "hostile-"

// hostileModes are what it does when it is called. The call's number and the
// number of the last frame are given; send sends a frame.
var hostileModes = map[string]func(w *hostile, call, seq uint32){
	"oversize":    func(w *hostile, _, _ uint32) { w.raw([]byte{0xff, 0xff, 0xff, 0x7f, 7, 1, 0, 0, 0}) },
	"too-short":   func(w *hostile, _, _ uint32) { w.raw([]byte{1, 0, 0, 0, 7}) },
	"bad-type":    func(w *hostile, call, seq uint32) { w.send(200, call, seq+1, value.List{}) },
	"host-type":   func(w *hostile, call, seq uint32) { w.send(sandbox.SendCall, call, seq+1, value.List{}) },
	"ready-again": func(w *hostile, call, seq uint32) { w.send(sandbox.AnswerReady, call, seq+1, value.List{}) },
	"wrong-call": func(w *hostile, call, seq uint32) {
		w.send(sandbox.AnswerDone, call+1, seq+1, value.List{int64(1), "x"})
	},
	"wrong-seq": func(w *hostile, call, seq uint32) { w.send(sandbox.AnswerDone, call, seq+2, value.List{int64(1), "x"}) },
	"garbage":   func(w *hostile, _, _ uint32) { w.raw([]byte("HTTP/1.1 200 OK\r\n\r\n")) },
	"no-value":  func(w *hostile, call, seq uint32) { w.frame(sandbox.AnswerDone, call, seq+1, []byte{0xff, 0xff}) },
	"no-result": func(w *hostile, call, seq uint32) { w.send(sandbox.AnswerDone, call, seq+1, value.List{"x"}) },
	"too-much": func(w *hostile, call, seq uint32) {
		w.send(sandbox.AnswerDone, call, seq+1, value.List{int64(1), "x", "y"})
	},
	"swells": func(w *hostile, call, seq uint32) {
		var body []byte
		for range 80 { // each of them could be an argument
			body, _ = sandbox.AppendFields(body, value.List{value.List(make([]value.Value, value.MaxNodes-1))})
		}
		w.frame(sandbox.AskEffect, call, seq+1, body)
	},
	"bad-error": func(w *hostile, call, seq uint32) {
		w.send(sandbox.AnswerFailed, call, seq+1, value.List{int64(99), "x"})
	},
	"no-effect": func(w *hostile, call, seq uint32) { w.send(sandbox.AskEffect, call, seq+1, value.List{int64(1)}) },
	"effect-twice": func(w *hostile, call, seq uint32) {
		w.send(sandbox.AskEffect, call, seq+1, value.List{"world.ask", "what", "x"})
		w.send(sandbox.AskEffect, call, seq+2, value.List{"world.ask", "what", "x"})
		w.wait()
	},
	"result-twice": func(w *hostile, call, seq uint32) {
		a := w.make(sandbox.AnswerDone, call, seq+1, value.List{int64(1), "x"})
		w.raw(append(a, w.make(sandbox.AnswerDone, call, seq+2, value.List{int64(1), "x"})...))
	},
	"effect-after-result": func(w *hostile, call, seq uint32) {
		a := w.make(sandbox.AnswerDone, call, seq+1, value.List{int64(1), "x"})
		w.raw(append(a, w.make(sandbox.AskEffect, call, seq+2, value.List{"world.ask", "what", "x"})...))
	},
	"dribble": func(w *hostile, call, seq uint32) {
		for _, b := range w.make(sandbox.AnswerDone, call, seq+1, value.List{int64(1), strings.Repeat("x", 10_000)}) {
			w.raw([]byte{b})
			time.Sleep(10 * time.Millisecond) // it is the attack itself
		}
	},
	"silent": func(w *hostile, _, _ uint32) { w.wait() },
	"spins": func(*hostile, uint32, uint32) {
		for {
			runtime.Gosched()
		}
	},
	"forbidden": func(*hostile, uint32, uint32) { _ = syscall.Mkdir("/tmp/x", 0o777) },
	"exits":     func(*hostile, uint32, uint32) { os.Exit(3) },
	"hangs-up": func(w *hostile, _, _ uint32) {
		w.hangUp()
		w.wait()
	},
	"runs-out": func(w *hostile, _, _ uint32) { // as if it took long to end
		_, _ = os.Stderr.WriteString("fatal error: runtime: cannot allocate memory\n")
		w.hangUp()
		w.wait()
	},
	"claims-death": func(w *hostile, call, seq uint32) {
		w.send(sandbox.AnswerFailed, call, seq+1, value.List{(&value.Error{Kind: value.Unavailable, Err: errors.New("I was killed"), Limit: value.LimitWorker}).Value(), int64(1)})
	},
	"panics": func(*hostile, uint32, uint32) { panic("/etc/passwd \x1b[31m") },
	"drags": func(w *hostile, _, _ uint32) {
		for { // it never does nothing, and never enough to use its budget up
			for start := time.Now(); time.Since(start) < 3*time.Millisecond; {
			}
			time.Sleep(400 * time.Millisecond)
		}
	},
	"insatiable": func(w *hostile, call, seq uint32) {
		for ; ; seq += 2 {
			w.send(sandbox.AskEffect, call, seq+1, value.List{"world.ask", value.NewDict("what", "x")})
			w.read()
		}
	},
	"floods": func(w *hostile, call, seq uint32) {
		for {
			_, _ = os.Stderr.WriteString(strings.Repeat("x", 1<<20)) // whether anybody reads it or not
		}
	},
}

// hostileMain is the main of a hostile worker.
func hostileMain() (handled bool) {
	exe, err := os.Executable()
	mode, ok := strings.CutPrefix(filepath.Base(exe), hostileName)
	if err != nil || !ok {
		return false
	}
	in, out := sandbox.WorkerEnds()
	w := &hostile{in: in, out: out, tells: mode == "tells"}
	for {
		kind, call, body := w.read()
		if kind == sandbox.SendInit {
			if mode == "unsealed" {
				err = nil // it says that it is ready, and is not confined
			} else {
				err = sandbox.Seal(body)
			}
			if err != nil {
				panic(err)
			}
			w.send(sandbox.AnswerReady, call, 1, value.List{})
			continue
		}
		if kind == sandbox.SendLoad && mode != "at-load" {
			w.send(sandbox.AnswerDone, call, 1, value.List{})
			continue
		}
		if w.tells {
			w.send(sandbox.AnswerDone, call, 1, value.List{int64(1), value.List{w.heard, fmt.Sprintf("%q %q", os.Args, os.Environ())}})
			continue
		}
		if mode == "ahead" { // of the call: an answer to the next one
			w.send(sandbox.AnswerDone, call, 1, value.List{int64(1), "x"})
			time.Sleep(50 * time.Millisecond) // it is the attack itself
			w.send(sandbox.AnswerDone, call+1, 1, value.List{int64(1), "ahead"})
			continue
		}
		if act := hostileModes[mode]; act != nil {
			act(w, call, 0)
			continue
		}
		asks(w, mode, call)
	}
}

// asks asks for an effect and gives back what it was told.
func asks(w *hostile, name string, call uint32) {
	w.send(sandbox.AskEffect, call, 1, value.List{strings.TrimPrefix(name, "asks-"), "what", int64(7), "path", "x"})
	_, _, body := w.read()
	list := sandbox.ReadFields(body)
	if len(list) == 0 {
		panic("no reply")
	}
	w.send(sandbox.AnswerDone, call, 3, value.List{int64(1), list})
}

type hostile struct {
	in    *os.File
	out   *os.File
	tells bool
	heard []byte // all that came, ever, for one that tells
}

func (w *hostile) raw(b []byte) { _, _ = w.out.Write(b) } // the host may have had enough

func (w *hostile) make(kind uint8, call, seq uint32, body value.List) []byte {
	b, err := sandbox.AppendFields(nil, body)
	if err != nil {
		panic(err)
	}
	return sandbox.MakeFrame(kind, call, seq, b)
}

func (w *hostile) frame(kind uint8, call, seq uint32, body []byte) {
	w.raw(sandbox.MakeFrame(kind, call, seq, body))
}

func (w *hostile) send(kind uint8, call, seq uint32, body value.List) {
	w.raw(w.make(kind, call, seq, body))
}

func (w *hostile) read() (kind uint8, call uint32, body []byte) {
	kind, call, _, body, err := sandbox.ReadFrame(w.in)
	if err != nil {
		os.Exit(0) // the host has gone
	}
	if w.tells {
		w.heard = append(w.heard, body...)
	}
	return kind, call, body
}

// hangUp closes the connection.
func (w *hostile) hangUp() {
	_ = w.in.Close()
	_ = w.out.Close()
}

func (w *hostile) wait() { time.Sleep(time.Hour) } // select {} alone would be found to be a deadlock

// hostileProcess opens a sandbox whose workers are hostile.
func hostileProcess(t *testing.T, mode string) *sandbox.Process {
	t.Helper()
	exe := testworker.Exec()
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), hostileName+mode)
	if err := testworker.Copy(link, exe); err != nil {
		t.Fatal(err)
	}
	return newProcess(t, &sandbox.Options{Workers: sandbox.Workers{Program: link}}, world)
}

// TestP01HostileWorkers checks that a worker that breaks the protocol is ended
// at once, that its tool is not run again, and that nobody else is affected.
func TestP01HostileWorkers(t *testing.T) {
	skipWithoutWorkers(t)
	// What is no violation, but an accident that may pass.
	passing := map[string]bool{"dribble": true, "silent": true, "spins": true, "exits": true, "panics": true, "floods": true, "drags": true, "hangs-up": true, "runs-out": true, "claims-death": true}
	for mode := range hostileModes {
		t.Run(mode, func(t *testing.T) {
			most := 256 // the host may grow by this many MB, with all others beside
			if mode == "swells" || mode == "insatiable" {
				debug.FreeOSMemory()
				most = 64
			} else {
				t.Parallel()
			}
			box := hostileProcess(t, mode)
			before := residentMB(t)
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // whose end is none of the errors below
			defer cancel()
			call := tool.Call{Args: value.NewDict("value", "x"), Limits: tool.Limits{CPU: 200 * time.Millisecond}}
			switch mode {
			case "drags":
				call.Limits.CPU = 4 * time.Millisecond
			case "swells": // it takes long to make the message
				call.Limits.CPU = time.Minute
			}
			long := strings.Repeat("answer ", 1<<20)
			_, err := box.Run(ctx, echoScript, call, func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
				if mode == "insatiable" {
					return tool.Outcome{Value: long}, nil
				}
				return answer(ctx, e)
			})
			if err == nil {
				t.Fatal("the call succeeded")
			}
			e := value.ErrorOf(err, value.Internal)
			want := value.Security
			if passing[mode] {
				want = value.Unavailable
			}
			if mode == "panics" {
				want = value.Internal
			}
			if mode == "spins" || mode == "runs-out" {
				want = value.Limit
			}
			if e.Kind != want || e.Limit == value.LimitWorker {
				t.Errorf("error = %v of kind %s and limit %q, want %s and no death from outside", e, e.Kind, e.Limit, want)
			}
			if strings.ContainsAny(e.Error(), "\x1b") {
				t.Errorf("error %q holds control characters", e)
			}
			if grown := residentMB(t) - before; grown > most {
				t.Errorf("the host has grown by %d MB, want at most %d", grown, most)
			}
			poolIsQuiet(t, box)
			_, again := box.Run(context.Background(), echoScript, call, answer)
			if quarantined := again != nil && strings.Contains(value.ErrorOf(again, value.Internal).Hint, "the tool is disabled"); quarantined == passing[mode] {
				t.Errorf("the second call gave %v, want quarantine %v", again, !passing[mode])
			}
		})
	}
}

// TestX10AnswerAhead checks that what a worker sends while it is idle is not taken for the
// answer to the next call.
func TestX10AnswerAhead(t *testing.T) {
	skipWithoutWorkers(t)
	box := hostileProcess(t, "ahead")
	call := tool.Call{Args: value.NewDict("value", "x")}
	if out, err := box.Run(context.Background(), echoScript, call, answer); err != nil || out.Value != "x" {
		t.Fatalf("the first call gave %v, %v", out.Value, err)
	}
	if out, err := box.Run(context.Background(), echoScript, call, answer); value.KindOf(err) != value.Security {
		t.Errorf("the second call gave %v, %v; want that the worker is refused", out.Value, err)
	}
}

// answer answers any effect.
func answer(context.Context, tool.Effect) (tool.Outcome, error) {
	return tool.Outcome{Value: "answer"}, nil
}

// TestP02HostileEffects checks that a worker gets no effect that a script could
// not ask for, whatever it says.
func TestP02HostileEffects(t *testing.T) {
	skipWithoutWorkers(t)
	for _, name := range []string{"fs.commit", "fs.restore", "tool.call", "world.hidden", "nothing", "world.ask\x00", ""} {
		t.Run(strings.ReplaceAll(name, "\x00", "0"), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			box := hostileProcess(t, "asks-"+strings.ReplaceAll(name, "\x00", "0"))
			out, err := box.Run(context.Background(), echoScript, tool.Call{Args: &value.Dict{}}, func(context.Context, tool.Effect) (tool.Outcome, error) {
				asked.Add(1)
				return tool.Outcome{}, nil
			})
			list, _ := out.Value.(value.List)
			if err != nil || asked.Load() > 0 || len(list) == 0 || list[0] != false {
				t.Errorf("asking for %q gave %v, %v, and %d effects; want it refused", name, out.Value, err, asked.Load())
			}
		})
	}
	t.Run("wrong arguments", func(t *testing.T) {
		box := hostileProcess(t, "asks-random.seed")
		out, err := box.Run(context.Background(), echoScript, tool.Call{Args: &value.Dict{}}, answer)
		list, _ := out.Value.(value.List)
		if err != nil || len(list) == 0 || list[0] != false {
			t.Errorf("wrong arguments gave %v, %v, want them refused", out.Value, err)
		}
	})
}

// TestO03NoPromiseNoStrangers checks that nothing is run where the system, or
// the worker, does not keep what was promised, unless the user has said so.
func TestO03NoPromiseNoStrangers(t *testing.T) {
	skipWithoutWorkers(t)
	run := func(o *sandbox.Options, missing error) error {
		box, err := sandbox.NewWhere(&sandbox.Options{Workers: sandbox.Workers{Program: testworker.Exec()}, Unconfined: o.Unconfined}, missing, stdlib.Pure()...)
		if err != nil {
			return err
		}
		defer box.Close()
		_, err = box.Run(context.Background(), echoScript, tool.Call{Args: value.NewDict("value", "x")}, nil)
		return err
	}
	missing := value.Errorf(value.Unavailable, "no Landlock here")
	if err := run(&sandbox.Options{}, missing); err == nil || !strings.Contains(err.Error(), "no Landlock here") {
		t.Errorf("without a layer: %v, want a refusal that names it", err)
	}
	if err := run(&sandbox.Options{Unconfined: true}, missing); err != nil {
		t.Errorf("without a layer, which the user accepts: %v, want it to run", err)
	}
	box := hostileProcess(t, "unsealed")
	if _, err := box.Run(context.Background(), echoScript, tool.Call{Args: value.NewDict("value", "x")}, nil); err == nil || !strings.Contains(err.Error(), "check the confinement of worker") {
		t.Errorf("a worker that only says it is sealed: %v, want it refused", err)
	}
}
