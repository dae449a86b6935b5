package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestLentModulesAreChecked checks that a host refuses effects that any tool
// could use, or none.
func TestLentModulesAreChecked(t *testing.T) {
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	cases := []struct {
		module string
		funcs  []tool.Func
		want   string
	}{
		{"stock", []tool.Func{{Name: "sell", Class: tool.External, Do: do}}, "has no Target"},
		{"stock", []tool.Func{{Name: "sell", Class: tool.Write, Do: do}}, "has no Target"},
		{"stock", []tool.Func{{Name: "count"}}, "has no Do"},
		{"my stock", []tool.Func{{Name: "count", Do: do}}, "no name that a script could write"},
		{"stock", []tool.Func{{Name: "count", Do: do}, {Name: "count", Do: do}}, "there twice"},
	}
	for _, c := range cases {
		_, err := runtime.New(&runtime.Options{Modules: []tool.Module{{Name: c.module, Funcs: c.funcs}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New with %s.%s = %v, want %q", c.module, c.funcs[0].Name, err, c.want)
		}
	}
}

// TestErrorsOfHandlers checks what becomes of the errors that Go programs write.
func TestErrorsOfHandlers(t *testing.T) {
	cases := []struct {
		name string
		err  error
		kind tool.Kind
		text string
	}{
		{"wrapped", fmt.Errorf("sync order 5: %w", tool.Errorf(tool.Unavailable, "the shop is away")), tool.Unavailable, "sync order 5: the shop is away"},
		{"plain", errors.New("no"), tool.Failed, "no"},
		{"cancelled", fmt.Errorf("ask: %w", context.Canceled), tool.Canceled, "ask: context canceled"},
		{"late", context.DeadlineExceeded, tool.Timeout, "context deadline exceeded"},
	}
	for _, c := range cases {
		r := newRig(t, nil)
		if err := r.Register(tool.Tool{Name: "t", Description: "Fail."}, func(context.Context, *tool.Dict) (tool.Value, error) { return nil, c.err }); err != nil {
			t.Fatal(err)
		}
		_, err := r.call()
		if e := tool.ErrorOf(err, tool.Internal); e == nil || e.Kind != c.kind || e.Message() != c.text {
			t.Errorf("%s: error = %v of kind %s, want %q of kind %s", c.name, e, tool.KindOf(err), c.text, c.kind)
		}
	}
	r := newRig(t, nil)
	typedNil := func(context.Context, *tool.Dict) (tool.Value, error) {
		var none *tool.Error
		return "fine", none
	}
	if err := r.Register(tool.Tool{Name: "t", Description: "Succeed."}, typedNil); err != nil {
		t.Fatal(err)
	}
	if got, err := r.call(); err != nil || got.Value != "fine" {
		t.Errorf("a nil *tool.Error as error gave %v, %v, want success", got.Value, err)
	}
}

// TestLimitsOfACallKeepTheTools checks that setting one limit of a call leaves
// the tool's others.
func TestLimitsOfACallKeepTheTools(t *testing.T) {
	r := newRig(t, nil)
	r.script("", "for _ in range(100000): pass", "limits = {'steps': 1000}")
	_, err := r.Call(context.Background(), tool.Call{Tool: "t", Limits: tool.Limits{Result: 100}})
	if err == nil || tool.ErrorOf(err, tool.Internal).Limit != tool.LimitSteps {
		t.Errorf("error = %v, want the tool's own limit of steps", err)
	}
}

// TestACallerCannotChooseAnotherFunction checks that only the handler is called.
func TestACallerCannotChooseAnotherFunction(t *testing.T) {
	r := newRig(t, nil)
	r.script("", "return 'handler'", "")
	got, err := r.Call(context.Background(), tool.Call{Tool: "t", Entry: "_other"})
	if err != nil || got.Value != "handler" {
		t.Errorf("result = %v, %v, want the handler's", got.Value, err)
	}
}

// TestRefresh checks that a search takes out what it found before and nothing
// else, and that a built-in tool keeps its name.
func TestRefresh(t *testing.T) {
	files := map[string]tool.Location{"a": tool.Builtin, "b": tool.Project}
	h, err := runtime.New(&runtime.Options{
		Sandbox: sandbox.NewInline(),
		Discover: func(context.Context) (found []tool.Found, broken []*tool.Error, err error) {
			for name, location := range files {
				found = append(found, tool.Found{Tool: tool.Tool{Name: name, Description: "D.", Location: location}})
			}
			return found, nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *tool.Dict) (tool.Value, error) { return nil, nil }
	own := tool.Tool{Name: "own", Description: "D.", Location: tool.Project}
	if err := h.Register(own, nothing); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace(tool.Tool{Name: "a", Description: "D.", Location: tool.Builtin}, nothing); err == nil {
		t.Error("a program replaced a built-in tool by calling its own one")
	}
	delete(files, "b")
	if err := h.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false, "own": true} {
		if _, err := h.Tool(name); (err == nil) != want {
			t.Errorf("after a refresh the tool %s is there: %v, want %v", name, err == nil, want)
		}
	}
}
