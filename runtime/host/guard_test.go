package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestLentModulesAreChecked checks that a host refuses effects that any tool
// could use, or none.
func TestLentModulesAreChecked(t *testing.T) {
	t.Parallel()
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	cases := []struct {
		module string
		funcs  []tool.Func
		want   string
	}{
		{"stock", []tool.Func{{Name: "count", Do: do}}, "stock.count has an invalid Kind"},
		{"", []tool.Func{{Name: "count", Do: do}}, "function count has an invalid Kind"},
		{"stock", []tool.Func{{Name: "count", Kind: tool.LastEffectKind + 1, Do: do}}, "has an invalid Kind"},
		{"stock", []tool.Func{{Name: "sell", Kind: tool.External, Do: do}}, "has no Target"},
		{"stock", []tool.Func{{Name: "sell", Kind: tool.Write, Do: do}}, "has no Target"},
		{"stock", []tool.Func{{Name: "count", Kind: tool.Read}}, "has no Do"},
		{"my stock", []tool.Func{{Name: "count", Kind: tool.Read, Do: do}}, "invalid name of an effect"},
		{"stock", []tool.Func{{Name: "count", Kind: tool.Read, Do: do}, {Name: "count", Kind: tool.Read, Do: do}}, "is registered twice"},
	}
	for _, c := range cases {
		_, err := host.New(&host.Options{Modules: []tool.Module{{Name: c.module, Funcs: c.funcs}}})
		if value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New with %s.%s = %v, want %q", c.module, c.funcs[0].Name, err, c.want)
		}
	}
}

// TestForgottenKind checks the error for an effect without a kind,
// wherever it is registered.
func TestForgottenKind(t *testing.T) {
	t.Parallel()
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	modules := []tool.Module{{Name: "stock", Funcs: []tool.Func{{Name: "count", Do: do}}}}
	_, fromHost := host.New(&host.Options{Modules: modules})
	r := newProgramRig(t, nil)
	p := r.program("return 1")
	p.Modules = modules
	_, fromProgram := r.RunProgram(context.Background(), p)
	for name, err := range map[string]error{"New": fromHost, "Run": fromProgram} {
		if !errors.Is(err, value.ErrInvalid) || !strings.Contains(value.ErrorOf(err, value.Internal).Hint, "tool.Pure, tool.Recorded, tool.Read, tool.Write") {
			t.Errorf("%s = %v with the hint %q, want the kinds to choose from", name, err, value.ErrorOf(err, value.Internal).Hint)
		}
	}
}

// TestReadsOnly checks that an effect learns that its call can only read files, which
// holds for tools alone, and only for those that need nothing else.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	var got []bool
	see := func(o *host.Options) {
		o.Executor = func(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			got = append(got, g.ReadsOnly)
			return host.Execute(ctx, f, e, g)
		}
	}
	for needs, want := range map[string]bool{"'fs.read'": true, "'fs.read:a', 'fs.read:b'": true, "'fs.read', 'fs.write:b'": false, "'fs.read', 'env:A'": false} {
		r := newRig(t, see)
		r.script("", "return fs.exists('a')", "needs = ["+needs+"]")
		got = nil
		if _, err := r.Call(t.Context(), tool.Call{Tool: "t"}); err != nil || !slices.Equal(got, []bool{want}) {
			t.Errorf("a tool that needs %s: ReadsOnly is %v, %v, want %v", needs, got, err, want)
		}
	}
	r := newProgramRig(t, see)
	got = nil
	_, err := r.RunProgram(t.Context(), r.program("fs.exists('a')"))
	if slices.Contains(got, true) {
		t.Errorf("a program: ReadsOnly is %v, %v, want false", got, err)
	}
}

// TestCallsNeedNoTarget checks that a row that only makes calls needs no Target:
// each call that it makes is judged by itself.
func TestCallsNeedNoTarget(t *testing.T) {
	t.Parallel()
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	h, err := host.New(&host.Options{Modules: []tool.Module{{Name: "stock", Funcs: []tool.Func{
		{Name: "each", Kind: tool.External, Mode: tool.ModeCalls, Do: do}, {Name: "wait", Kind: tool.Repeatable, Do: do},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	_ = h.Close()
}

// TestKindsOfRows checks that each row that comes with cassidy has a valid kind.
func TestKindsOfRows(t *testing.T) {
	t.Parallel()
	world, err := stdlib.Open(&stdlib.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	rows := 0
	for _, m := range slices.Concat(stdlib.Pure(), world.Modules(), host.Modules(), agent.Modules(), project.Modules(t.TempDir(), nil)) {
		if err := m.CheckKinds(); err != nil {
			t.Error(err)
		}
		rows += len(m.Funcs)
	}
	if rows < 150 {
		t.Errorf("only %d rows were checked", rows)
	}
	for _, m := range stdlib.Pure() {
		for _, f := range m.Funcs {
			if f.Kind != tool.Pure {
				t.Errorf("%s.%s is of kind %s, want pure", m.Name, f.Name, f.Kind)
			}
		}
	}
}

// TestErrorsOfHandlers checks what becomes of the errors that Go programs write.
func TestErrorsOfHandlers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		err  error
		kind value.Kind
		text string
	}{
		{"wrapped", fmt.Errorf("sync order 5: %w", value.Errorf(value.Unavailable, "the shop is away")), value.Unavailable, "sync order 5: the shop is away"},
		{"plain", errors.New("no"), value.Failed, "no"},
		{"cancelled", fmt.Errorf("ask: %w", context.Canceled), value.Canceled, "ask: context canceled"},
		{"late", context.DeadlineExceeded, value.Timeout, "context deadline exceeded"},
	}
	for _, c := range cases {
		r := newRig(t, nil)
		if err := r.Register(tool.Tool{Name: "t", Description: "Fail."}, func(context.Context, *value.Dict) (value.Value, error) { return nil, c.err }); err != nil {
			t.Fatal(err)
		}
		_, err := r.call()
		if e := value.ErrorOf(err, value.Internal); e == nil || e.Kind != c.kind || e.Message() != c.text {
			t.Errorf("%s: error = %v of kind %s, want %q of kind %s", c.name, e, value.KindOf(err), c.text, c.kind)
		}
	}
	r := newRig(t, nil)
	typedNil := func(context.Context, *value.Dict) (value.Value, error) {
		var none *value.Error
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
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "for _ in range(100000): pass", "limits = {'steps': 1000}")
	_, err := r.Call(context.Background(), tool.Call{Tool: "t", Limits: tool.Limits{Result: 100}})
	if err == nil || value.ErrorOf(err, value.Internal).Limit != value.LimitSteps {
		t.Errorf("error = %v, want the tool's own limit of steps", err)
	}
}

// TestACallerCannotChooseAnotherFunction checks that only the handler is called.
func TestACallerCannotChooseAnotherFunction(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	files := map[string]tool.Location{"a": tool.Builtin, "b": tool.Project}
	h, err := host.New(&host.Options{
		Sandbox: sandbox.NewInline(),
		Discover: func(context.Context, toolset.Source) (d toolset.Discovered, err error) {
			for name, location := range files {
				d.Tools = append(d.Tools, found(tool.Described{Tool: tool.Tool{Name: name, Description: "D."}}, toolset.Standing{Location: location}, tool.Script{}))
			}
			return d, nil
		},
		Reserved: []string{"a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *value.Dict) (value.Value, error) { return nil, nil }
	own := tool.Tool{Name: "own", Description: "D."}
	if err := h.Register(own, nothing); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace(tool.Tool{Name: "a", Description: "D."}, nothing); err == nil {
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
