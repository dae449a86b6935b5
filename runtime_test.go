package cassidy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// newRuntime opens a runtime that is closed with the test.
func newRuntime(t *testing.T, o *cassidy.RuntimeOptions) *cassidy.Runtime {
	t.Helper()
	if o == nil {
		o = &cassidy.RuntimeOptions{}
	}
	o.Workers.Program = testworker.Exec()
	r, err := cassidy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func openIn(t *testing.T, r *cassidy.Runtime, src cassidy.Source, o *cassidy.Options) *cassidy.Host {
	t.Helper()
	h, err := r.Open(src, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// starTool is a tool's file.
func starTool(name, body, needs string) string {
	return "def " + name + "():\n    \"\"\"Do it.\"\"\"\n    " + body + "\n\ntool(" + name + ", needs = [" + needs + "])\n"
}

func callOf(t *testing.T, h *cassidy.Host, name string, opts ...cassidy.CallOption) (any, error) {
	t.Helper()
	r, err := h.Call(context.Background(), cassidy.Call{Tool: name}, opts...)
	return r.Value, err
}

// TestSources checks that tools of a folder, of a file system and of a map are the
// same, that a broken file is listed and hides none, and that nothing is trusted
// unless the program says so.
func TestSources(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"one.star":         "load(\"lib/words.star\", \"word\")\n" + starTool("one", "return word", ""),
		"lib/words.star":   "word = 1",
		"bad.star":         "def",
		"workflows/w.star": "def main():\n    return tools.one()\n",
	}
	dir, system := t.TempDir(), fstest.MapFS{}
	for name, text := range files {
		system[name] = &fstest.MapFile{Data: []byte(text)}
		at := filepath.Join(dir, ".cassidy", "tools", name)
		if rest, ok := strings.CutPrefix(name, "workflows/"); ok {
			at = filepath.Join(dir, ".cassidy", "workflows", rest)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r := newRuntime(t, nil)
	for name, src := range map[string]cassidy.Source{"folder": cassidy.Dir(dir), "file system": cassidy.FS(system), "map": cassidy.Scripts(files)} {
		h := openIn(t, r, src, &cassidy.Options{TrustSource: true, NoBuiltins: true})
		if v, err := callOf(t, h, "one"); v != int64(1) || err != nil {
			t.Errorf("%s: one() = %v, %v", name, v, err)
		}
		if broken := h.Broken(); len(broken) != 1 || !strings.HasSuffix(broken[0].Pos.File, "bad.star") || broken[0].Pos.Line != 1 {
			t.Errorf("%s: broken are %v, want bad.star with its position", name, broken)
		}
		if _, err := callOf(t, h, "bad"); !errors.Is(err, cassidy.ErrInvalid) || !strings.Contains(err.Error(), "bad.star") {
			t.Errorf("%s: bad() gave %v, want what is wrong with its file", name, err)
		}
		if got, err := h.Run(context.Background(), "w", nil); got.Value != int64(1) || err != nil {
			t.Errorf("%s: the workflow w gave %v, %v", name, got.Value, err)
		}
		if _, err := h.Run(context.Background(), "v", nil); !errors.Is(err, cassidy.ErrNotFound) {
			t.Errorf("%s: no workflow gave %v", name, err)
		}
		var e *cassidy.Error
		if _, err := callOf(t, h, "w"); !errors.As(err, &e) || !errors.Is(err, cassidy.ErrNotFound) || !strings.Contains(e.Hint, "Host.Run") || !strings.Contains(e.Message(), "is a workflow") {
			t.Errorf("%s: a call of the workflow gave %v, want a hint at Host.Run", name, err)
		}
		h = openIn(t, r, src, &cassidy.Options{NoBuiltins: true})
		if _, err := h.Run(context.Background(), "w", nil); !errors.Is(err, cassidy.ErrDenied) {
			t.Errorf("%s: an untrusted workflow gave %v", name, err)
		}
		if list := h.Tools(); len(list) != 1 || list[0].State != "untrusted" || list[0].Reason == "" {
			t.Errorf("%s: without trust the tools are %+v", name, list)
		}
		if _, err := callOf(t, h, "one"); !errors.Is(err, cassidy.ErrDenied) {
			t.Errorf("%s: an untrusted tool gave %v", name, err)
		}
	}
	h := openIn(t, r, cassidy.Source{}, nil)
	if broken := h.Broken(); len(broken) > 0 || len(h.Tools()) == 0 {
		t.Errorf("without a source there are %d tools, and broken are %v", len(h.Tools()), broken)
	}
	if _, err := h.Call(context.Background(), cassidy.Call{Tool: "read_file", Args: cassidy.NewDict("filepath", "a")}); !errors.Is(err, cassidy.ErrDenied) {
		t.Errorf("a file was read without Options.Dir: %v", err)
	}
}

// TestSwapKeepsWhatWorks checks that a swap to a broken source changes nothing, and
// that a refresh keeps the last good version of a file.
func TestSwapKeepsWhatWorks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	version := func(n string) cassidy.Source {
		return cassidy.Scripts(map[string]string{"one.star": starTool("one", "return "+n, "")})
	}
	system := fstest.MapFS{"one.star": {Data: []byte(starTool("one", "return 1", ""))}}
	h := openIn(t, newRuntime(t, nil), cassidy.FS(system), &cassidy.Options{TrustSource: true})
	says := func(want int64) {
		t.Helper()
		if v, err := callOf(t, h, "one"); v != want || err != nil {
			t.Errorf("one() = %v, %v, want %d", v, err, want)
		}
	}
	says(1)
	system["one.star"] = &fstest.MapFile{Data: []byte("def one(")}
	if err := h.Refresh(ctx); err != nil || len(h.Broken()) != 1 {
		t.Errorf("Refresh: %v, broken %v", err, h.Broken())
	}
	says(1)
	if err := h.Swap(ctx, version("2")); err != nil || len(h.Broken()) != 0 {
		t.Errorf("Swap: %v, broken %v", err, h.Broken())
	}
	says(2)
	if err := h.Swap(ctx, cassidy.Scripts(map[string]string{"one.star": "def", "two.star": starTool("two", "return 2", "")})); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("a swap to a broken source gave %v", err)
	}
	says(2)
	if _, err := callOf(t, h, "two"); !errors.Is(err, cassidy.ErrNotFound) {
		t.Errorf("a tool of the refused source gave %v", err)
	}
	if err := h.Swap(ctx, cassidy.Dir(t.TempDir())); err != nil {
		t.Error(err)
	}
	if _, err := callOf(t, h, "one"); !errors.Is(err, cassidy.ErrNotFound) {
		t.Errorf("a tool of the source before gave %v", err)
	}
}

// TestTenants checks that the runs and questions of one tenant are nobody else's,
// and that two hosts of one tenant share them.
func TestTenants(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRuntime(t, &cassidy.RuntimeOptions{Store: journal.Memory()})
	src := cassidy.Scripts(map[string]string{"ask.star": starTool("ask", "return human.ask(\"Who?\")", "\"human\"")})
	open := func(tenant string) *cassidy.Host {
		return openIn(t, r, src, &cassidy.Options{Tenant: tenant, TrustSource: true})
	}
	ann, bob, annToo := open("ann"), open("bob"), open("ann")
	var parked *cassidy.ParkedError
	if _, err := callOf(t, ann, "ask", cassidy.Durable("r")); !errors.As(err, &parked) || len(parked.Questions) != 1 {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	id := parked.Questions[0].ID
	_, resumed := bob.Resume(ctx, "r")
	for name, err := range map[string]error{
		"Answer": bob.Answer(ctx, id, cassidy.Answer{Value: "Bob"}), "Cancel": bob.Cancel(ctx, "r"), "Resume": resumed,
	} {
		if !errors.Is(err, cassidy.ErrNotFound) {
			t.Errorf("%s of another tenant's run gave %v", name, err)
		}
	}
	for q, err := range bob.Waiting(ctx) {
		t.Errorf("another tenant sees %+v, %v", q, err)
	}
	if _, err := callOf(t, bob, "ask", cassidy.Durable("r")); !errors.Is(err, cassidy.ErrParked) {
		t.Errorf("the same ID for another tenant gave %v, want a run of its own", err)
	}
	if err := annToo.Answer(ctx, id, cassidy.Answer{Value: "Ann"}); err != nil {
		t.Error(err)
	}
	if got, err := annToo.Resume(ctx, "r"); err != nil || got.Value != "Ann" {
		t.Errorf("resumed: %v, %v", got.Value, err)
	}
	runs := 0
	for _, err := range annToo.Runs(ctx, cassidy.RunFilter{}) {
		if runs++; err != nil {
			t.Error(err)
		}
	}
	if runs != 1 {
		t.Errorf("ann has %d runs, want one", runs)
	}
}

// TestCacheOfTenants checks that what was read for one tenant is not believed for
// another one with the same files.
func TestCacheOfTenants(t *testing.T) {
	t.Parallel()
	r, cache := newRuntime(t, nil), t.TempDir()
	src := cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", "")})
	for _, tenant := range []string{"", "ann", "bob"} {
		h := openIn(t, r, src, &cassidy.Options{Tenant: tenant, TrustSource: true, NoBuiltins: true, Cache: cache})
		if v, err := callOf(t, h, "one"); v != int64(1) || err != nil {
			t.Errorf("%q: %v, %v", tenant, v, err)
		}
		if err := h.Close(); err != nil { // the index is written
			t.Error(err)
		}
	}
	found := 0
	err := filepath.WalkDir(cache, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found++
		}
		return err
	})
	if err != nil || found != 3 {
		t.Errorf("there are %d indexes, %v, want one for each tenant", found, err)
	}
}

// TestRuntimeClosed checks that hosts end with their runtime.
func TestRuntimeClosed(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, nil)
	src := cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", ""), "long.star": starTool("long", "time.sleep(20)", "")})
	h := openIn(t, r, src, &cassidy.Options{TrustSource: true})
	own := openIn(t, r, src, nil)
	if err := own.Close(); err != nil {
		t.Error(err)
	}
	if v, err := callOf(t, h, "one"); v != int64(1) || err != nil {
		t.Errorf("after another host was closed: %v, %v", v, err)
	}
	done, began := make(chan error), h.Subscribe(t.Context(), cassidy.EventFilter{})
	go func() {
		_, err := h.Call(context.Background(), cassidy.Call{Tool: "long"})
		done <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Shutdown(ctx); !errors.Is(err, cassidy.ErrCanceled) {
		t.Errorf("Shutdown without time gave %v", err)
	}
	if err := <-done; err == nil { // it was not waited for
		t.Error("the call ended by itself")
	}
	_, err := r.Open(src, nil)
	_, called := callOf(t, h, "one")
	for name, err := range map[string]error{"Open": err, "Call": called, "Refresh": h.Refresh(context.Background())} {
		if !errors.Is(err, cassidy.ErrClosed) {
			t.Errorf("%s after Shutdown gave %v", name, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close after Shutdown: %v", err)
	}
}

// TestNoSuchFolder checks that a source whose folder does not exist is an error, and
// that a swap to it changes nothing.
func TestNoSuchFolder(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	file := configFile(t, "")
	h := openIn(t, r, cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", "")}), &cassidy.Options{TrustSource: true})
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), file} {
		if h, err := r.Open(cassidy.Dir(dir), nil); !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("Open of %s gave %v, %v", dir, h, err)
		}
		if err := h.Swap(t.Context(), cassidy.Dir(dir)); !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("Swap to %s gave %v", dir, err)
		}
		if v, err := callOf(t, h, "one"); v != int64(1) || err != nil {
			t.Errorf("after the swap: %v, %v", v, err)
		}
	}
}

// TestScriptsWithoutSuffix checks that a text that is named after its tool is reported.
func TestScriptsWithoutSuffix(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	files := map[string]string{"one": starTool("one", "return 1", ""), "two.star": starTool("two", "return 2", ""), "lib/notes": "any", "_draft": "any"}
	h := openIn(t, r, cassidy.Scripts(files), &cassidy.Options{TrustSource: true})
	broken := h.Broken()
	if len(broken) != 1 || !errors.Is(broken[0], cassidy.ErrInvalid) || !strings.Contains(broken[0].Hint, "one.star") {
		t.Errorf("broken are %v, want one with a hint", broken)
	}
	if v, err := callOf(t, h, "two"); v != int64(2) || err != nil {
		t.Errorf("the other tool gave %v, %v", v, err)
	}
	if err := h.Swap(t.Context(), cassidy.Scripts(files)); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("the swap gave %v", err)
	}
}

// TestRuntimeOptions checks what cannot be.
func TestRuntimeOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*cassidy.RuntimeOptions{
		"no such mode": {Sandbox: 7}, "no such program": {Workers: cassidy.Workers{Program: filepath.Join(t.TempDir(), "none")}},
		"a folder": {Workers: cassidy.Workers{Program: t.TempDir()}},
	} {
		if r, err := cassidy.New(o); !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("%s: New gave %v, %v", name, r, err)
		}
	}
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	strict, required := configFile(t, "sandbox: strict\n"), configFile(t, "sandbox: {required: true}\n")
	for name, o := range map[string]*cassidy.Options{
		"a stricter config": {Config: strict}, "a config that wants to be confined": {Config: required},
		"WorkDir without Dir": {WorkDir: "."}, "no such folder": {Dir: filepath.Join(t.TempDir(), "none")},
	} {
		if h, err := r.Open(cassidy.Source{}, o); !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("%s: Open gave %v, %v", name, h, err)
		}
	}
	if h, err := new(cassidy.Runtime).Open(cassidy.Source{}, nil); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("the zero Runtime: Open gave %v, %v", h, err)
	}
	h := openIn(t, r, cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", "")}), &cassidy.Options{TrustSource: true})
	if _, err := callOf(t, h, "one", cassidy.Durable("r")); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("a durable call without a store gave %v", err)
	}
}
