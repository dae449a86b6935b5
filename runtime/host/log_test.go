package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLogger checks that the host logs that an audit fails, once in a row, and
// neither arguments nor results.
func TestLogger(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var fails error
	records := 0
	r := newRig(t, func(o *host.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Audit = func(e tool.Event) error {
			if _, ok := e.Data.(tool.Audit); !ok {
				t.Errorf("the audit got %+v", e)
			}
			records++
			return fails
		}
	})
	r.script("token: str", "return token", "needs = ['use:x'], risky = True")
	events := r.Subscribe(t.Context(), host.EventFilter{})
	call := func() (told int) {
		t.Helper()
		if _, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("token", "hunter2")}); value.KindOf(err) != value.Denied {
			t.Fatalf("the call gave %v, want it denied", err)
		}
		for len(events) > 0 {
			e := <-events
			if line, ok := e.Data.(tool.Log); ok && strings.Contains(line.Message, "not recorded: disk full") {
				told++
			}
		}
		return told
	}
	if told := call(); told != 0 || records != 1 || log.Len() > 0 {
		t.Errorf("%d records, told %d times, logged %q", records, told, &log)
	}
	fails = errors.New("disk full")
	if told := call() + call(); told != 1 || records != 3 {
		t.Errorf("%d records, told %d times, want once", records, told)
	}
	fails = nil
	call()
	fails = errors.New("disk full")
	if told := call(); told != 1 {
		t.Errorf("told %d times, want it told again", told)
	}
	if text := log.String(); strings.Count(text, "level=ERROR") != 2 || strings.Contains(text, "hunter2") {
		t.Errorf("logged %q", text)
	}
}

// TestLoggerGetsStacks checks that the stack of a panic is logged, and not its value.
func TestLoggerGetsStacks(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	inner := false
	r := newRig(t, func(o *host.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				if !inner {
					panic("hunter2")
				}
				return next(ctx, c)
			}
		}}
		o.Executor = func(context.Context, *tool.Func, tool.Effect, tool.Grant) (tool.Outcome, error) { panic("hunter2") }
	})
	if err := r.Register(tool.Tool{Name: "boom", Description: "Panic."}, func(context.Context, *value.Dict) (value.Value, error) { panic("hunter2") }); err != nil {
		t.Fatal(err)
	}
	r.script("", "time.now()", "")
	for _, c := range []struct{ tool, what string }{{"boom", "a middleware"}, {"boom", "the tool"}, {"t", "time.now"}} {
		log.Reset()
		_, err := r.Call(context.Background(), tool.Call{Tool: c.tool})
		inner = true
		if value.KindOf(err) != value.Internal || !strings.Contains(err.Error(), c.what+" panicked: hunter2") {
			t.Errorf("%s: the call gave %v", c.what, err)
		}
		if text := log.String(); !strings.Contains(text, c.what+" panicked") || !strings.Contains(text, "log_test.go") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: logged %q, want a stack with this file", c.what, text)
		}
	}
}
