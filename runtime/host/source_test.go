package host_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestScripts checks that a source in memory is a file system as others are.
func TestScripts(t *testing.T) {
	t.Parallel()
	names := []string{"a.star", "lib/b.star", "lib/deep/c.star", "workflows/d.star"}
	files := map[string]string{"../out.star": "x", "/abs.star": "x", "": "x"}
	for _, name := range names {
		files[name] = "text of " + name
	}
	src := toolset.Scripts(files)
	if err := fstest.TestFS(src.Files(), names...); err != nil {
		t.Error(err)
	}
	files["a.star"] = "changed"
	if text, err := fs.ReadFile(src.Files(), "a.star"); err != nil || string(text) != "text of a.star" {
		t.Errorf("a.star: %q, %v, want the text that was given", text, err)
	}
}

// A sourceRig is a host whose scripts are those of a source, each read on its own.
type sourceRig struct {
	*host.Host
	searches atomic.Int32
}

func newSourceRig(t *testing.T, src toolset.Source) *sourceRig {
	t.Helper()
	r := &sourceRig{}
	box := sandbox.NewInline(host.Modules()...)
	h, err := host.New(&host.Options{Sandbox: box, Source: src, Discover: func(ctx context.Context, src toolset.Source) (d toolset.Discovered, err error) {
		r.searches.Add(1)
		entries, err := fs.ReadDir(src.Files(), ".")
		for _, e := range entries {
			text, err := fs.ReadFile(src.Files(), e.Name())
			if err != nil {
				return d, err
			}
			s := tool.Script{Path: e.Name(), Source: string(text)}
			x, err := box.Describe(ctx, s)
			if err != nil {
				broken := value.ErrorOf(err, value.Invalid)
				broken.Pos.File = e.Name()
				d.Broken = append(d.Broken, broken)
				continue
			}
			d.Tools = append(d.Tools, found(x, toolset.Standing{Location: tool.Project, Granted: x.Needs}, s))
		}
		return d, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.Host = h
	return r
}

func (r *sourceRig) says(t *testing.T, name string, want value.Value) {
	t.Helper()
	got, err := r.Call(context.Background(), tool.Call{Tool: name})
	if err != nil || got.Value != want {
		t.Errorf("%s gave %v, %v, want %v", name, got.Value, err, want)
	}
}

// TestSwap checks that a host reads its source when it needs the tools and not
// before, and that a swap replaces all of them or nothing.
func TestSwap(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := func(body string) string { return star("one", "", body, "") }
	r := newSourceRig(t, toolset.Scripts(map[string]string{"one.star": one("return 1"), "broken.star": "def", "../x.star": ""}))
	if n := r.searches.Load(); n != 0 {
		t.Errorf("New searched %d times", n)
	}
	r.says(t, "one", int64(1)) // a broken file hides no other
	if list := r.Broken(); len(list) != 2 || r.searches.Load() != 1 {
		t.Errorf("broken are %v after %d searches, want two files after one", list, r.searches.Load())
	}
	err := r.Swap(ctx, toolset.Scripts(map[string]string{"one.star": one("return 2"), "bad.star": "tool(", "worse.star": "1"}))
	if !errors.Is(err, value.ErrInvalid) || !strings.Contains(err.Error(), "bad.star") || !strings.Contains(err.Error(), "worse.star") {
		t.Errorf("the swap to a broken source gave %v, want what is wrong with both files", err)
	}
	r.says(t, "one", int64(1))
	if err := r.Swap(ctx, toolset.Scripts(map[string]string{"one.star": one("return 3"), "two.star": star("two", "", "return 2", "")})); err != nil {
		t.Fatal(err)
	}
	r.says(t, "one", int64(3))
	r.says(t, "two", int64(2))
	if err := r.Refresh(ctx); err != nil || len(r.Tools()) != 2 || len(r.Broken()) != 0 {
		t.Errorf("after a refresh: %v, %d tools, broken %v", err, len(r.Tools()), r.Broken())
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := r.Swap(ended, toolset.Scripts(nil)); !errors.Is(err, value.ErrCanceled) {
		t.Errorf("a swap without time gave %v", err)
	}
	r.says(t, "one", int64(3))
}

// TestCallsKeepTheirTools checks that a call, and what it calls, see the tools
// that there were when it began.
func TestCallsKeepTheirTools(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	version := func(n string) toolset.Source {
		return toolset.Scripts(map[string]string{
			"inner.star": star("inner", "", "return "+n, ""),
			"outer.star": star("outer", "", "tools.swap()\nreturn tools.inner() + 10 * "+n, "needs = ['tool']"),
		})
	}
	r := newSourceRig(t, version("1"))
	err := r.Register(tool.Tool{Name: "swap", Description: "Swap.", Hints: tool.Hints{ReadOnly: true}}, func(context.Context, *value.Dict) (value.Value, error) {
		return nil, r.Swap(ctx, version("2"))
	})
	if err != nil {
		t.Fatal(err)
	}
	r.says(t, "outer", int64(11))
	r.says(t, "outer", int64(22))
}

// TestSearchFails checks that the tools in Go are served while the source cannot be
// read, and that it is searched again when it can.
func TestSearchFails(t *testing.T) {
	t.Parallel()
	away := errors.New("the disk is away")
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(), Discover: func(context.Context, toolset.Source) (toolset.Discovered, error) {
		if away != nil {
			return toolset.Discovered{}, away
		}
		s := tool.Script{Path: "one.star", Source: star("one", "", "return 1", "")}
		return toolset.Discovered{Tools: []toolset.Found{found(tool.Described{Tool: tool.Tool{Name: "one", Description: "One."}}, toolset.Standing{}, s)}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &sourceRig{Host: h}
	if err := h.Register(tool.Tool{Name: "own", Description: "Own."}, func(context.Context, *value.Dict) (value.Value, error) { return "own", nil }); err != nil {
		t.Fatal(err)
	}
	r.says(t, "own", "own")
	if _, err := h.Call(context.Background(), tool.Call{Tool: "one"}); !errors.Is(err, away) {
		t.Errorf("a call of a script gave %v, want why the source cannot be read", err)
	}
	if list := h.Broken(); len(list) != 1 || !errors.Is(list[0], away) {
		t.Errorf("broken are %v, want why the source cannot be read", list)
	}
	away = nil
	r.says(t, "one", int64(1))
}

// TestSearchIsCancelled checks that files which were not read since a caller left, or
// the host was closed, are not taken for broken.
func TestSearchIsCancelled(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 1)
	patient := false
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(), Discover: func(ctx context.Context, _ toolset.Source) (d toolset.Discovered, err error) {
		if begun <- struct{}{}; !patient {
			<-ctx.Done()
			d.Broken = append(d.Broken, value.ErrorOf(ctx.Err(), value.Canceled))
		}
		return d, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := h.Call(ctx, tool.Call{Tool: "one"})
		done <- err
	}()
	<-begun
	cancel()
	if err := <-done; !errors.Is(err, value.ErrCanceled) {
		t.Errorf("the call gave %v", err)
	}
	patient = true
	if list := h.Broken(); len(list) != 0 {
		t.Errorf("after a caller left, broken are %v", list)
	}
	<-begun
	patient = false
	go func() { done <- h.Refresh(context.Background()) }()
	<-begun
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, value.ErrClosed) {
		t.Errorf("a refresh of a closed host gave %v", err)
	}
}

// TestSettingsInForce checks that the settings which are in force replace those of the options for calls
// that begin later, and that invalid ones change nothing.
func TestSettingsInForce(t *testing.T) {
	t.Parallel()
	now := &toolset.Settings{Rules: rules(t, "deny fs.read:a")}
	r := newRig(t, func(o *host.Options) {
		o.Rules = rules(t, "deny fs.read")
		o.Settings = func() *toolset.Settings { return now }
	})
	r.write("a", "a")
	r.write("b", "b")
	r.add("reads.star", star("reads", "name: str", "return fs.read(name)", "needs = ['fs.read']"), nil)
	denied := func(when, want string) {
		t.Helper()
		for _, name := range []string{"a", "b"} {
			_, err := r.Call(context.Background(), tool.Call{Tool: "reads", Args: value.NewDict("name", name)})
			if (err != nil) != (name == want) {
				t.Errorf("%s: reading %s gave %v", when, name, err)
			}
		}
	}
	denied("at first", "a")
	now = &toolset.Settings{Rules: rules(t, "deny fs.read:b")}
	denied("after a change", "b")
	for name, invalid := range map[string]*toolset.Settings{
		"a rule without a capability": {Rules: []tool.Rule{{Verdict: tool.Deny}}},
		"an invalid source":           {UntrustedSources: []string{"fs.write:a"}},
		"a negative limit":            {Maxima: toolset.Maxima{Timeout: -1}},
		"nil":                         nil,
	} {
		now = invalid
		denied("after "+name, "b")
		if _, err := host.New(&host.Options{Settings: func() *toolset.Settings { return invalid }}); (value.KindOf(err) == value.Invalid) != (invalid != nil) {
			t.Errorf("a host with %s gave %v", name, err)
		}
	}
	now = &toolset.Settings{}
	denied("without rules", "")
}
