package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A rig is a host over a folder of its own.
type rig struct {
	*host.Host
	t   testing.TB
	dir string
}

func newRig(t testing.TB, change func(*host.Options)) *rig {
	t.Helper()
	dir := t.TempDir()
	world, err := stdlib.Open(&stdlib.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	box := sandbox.NewInline(slices.Concat(stdlib.Pure(), world.Modules(), host.Modules())...)
	opts := &host.Options{Sandbox: box, Modules: world.Modules(), WorkDir: dir, Close: world.Close}
	if change != nil {
		change(opts)
	}
	h, err := host.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return &rig{h, t, dir}
}

// script registers a tool named t: the body of its handler, what its
// parameters are, and the fields of its declaration.
func (r *rig) script(params, body, fields string) {
	r.t.Helper()
	body = strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ")
	s := tool.Script{Path: "t.star", Source: fmt.Sprintf("def f(%s):\n    \"Do it.\"\n    %s\n\ntool(f, name = 't', %s)\n", params, body, fields)}
	described, err := r.Describe(context.Background(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	info := toolset.Info{Tool: described.Tool, Standing: toolset.Standing{Location: tool.Project}}
	if err := r.RegisterScript(info, func() (tool.Script, error) { return s, nil }); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) call(args ...value.Value) (tool.Result, error) {
	return r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict(args...), Caller: tool.ByPerson})
}

func (r *rig) file(name string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return "none"
	}
	return string(text)
}

func TestCallRunsAScript(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("n: int, by: int = 2", "return n * by", "returns = 'integer'")
	got, err := r.call("n", 21.0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Value != int64(42) || !got.Success || got.Error != "" {
		t.Errorf("result = %+v, want 42", got)
	}
}

func TestCallFailsWithTheRightKind(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, params, body, fields string
		args                       []value.Value
		kind                       value.Kind
		text                       string
	}{
		{"fail", "", "fail('no such thing')", "", nil, value.Failed, "no such thing"},
		{"bug", "", "return [][1]", "", nil, value.Internal, "index"},
		{"arguments", "n: int", "return n", "", []value.Value{"n", "x"}, value.Invalid, "Parameter 'n' should be integer but got string"},
		{"result", "", "return 'x'", "returns = 'integer'", nil, value.Failed, "Result should be integer but got string"},
		{"undeclared", "", "return fs.read('a.txt')", "", nil, value.Denied, "does not declare that it needs fs.read:a.txt"},
		{"other target", "", "return fs.read('a.txt')", "needs = ['fs.read:docs/**']", nil, value.Denied, "does not declare that it needs fs.read:a.txt"},
		{"steps", "", "for _ in range(10000000): pass", "limits = {'steps': 1000}", nil, value.Limit, "more than 1000 steps"},
		{"effects", "", "for i in range(2000): fs.exists('x')", "needs = ['fs.read']", nil, value.Limit, "more than 1000 effects"},
		{"time", "", "time.sleep(60)", "timeout = 0.05", nil, value.Timeout, "longer than 50ms"},
		{"long result", "", "return 'x' * 2000000", "", nil, value.Limit, "the result is"},
		{"nan", "", "return float('nan')", "", nil, value.Failed, "JSON"},
		{"escape", "", "return fs.read('../x')", "needs = ['fs.read']", nil, value.Security, "../x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.script(c.params, c.body, c.fields)
			got, err := r.call(c.args...)
			var e *value.Error
			if !errors.As(err, &e) {
				t.Fatalf("error = %v, want a *tool.Error", err)
			}
			if e.Kind != c.kind || !strings.Contains(e.Message(), c.text) {
				t.Errorf("error = %s %q, want %s with %q", e.Kind.Type(), e.Message(), c.kind.Type(), c.text)
			}
			if got.Success || got.Error == "" || got.ErrorType != c.kind.Type() {
				t.Errorf("result = %+v, want the same failure", got)
			}
		})
	}
}

func TestAFailedCallLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("ok: bool", `
fs.write('out.txt', 'new')
if fs.read('out.txt') != 'new': fail('own write not seen')
if not ok: fail('after the write')
`, "needs = ['fs.read', 'fs.write']")
	if _, err := r.call("ok", false); err == nil {
		t.Error("the call succeeded, want a failure")
	}
	if got := r.file("out.txt"); got != "none" {
		t.Errorf("after a failed call out.txt = %q, want none", got)
	}
	if _, err := r.call("ok", true); err != nil {
		t.Error(err)
	}
	if got := r.file("out.txt"); got != "new" {
		t.Errorf("after a good call out.txt = %q, want new", got)
	}
}

// TestNarrowNeeds checks that a tool which may read some files of a folder can
// find them there, and sees nothing else of it.
func TestNarrowNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if err := os.Mkdir(filepath.Join(r.dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs/a.txt", "docs/b.md", "c.txt"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.script("", "return [fs.glob('docs/*.txt'), [e['name'] for e in fs.list('docs')], [m['path'] for m in fs.search('x', path = 'docs')]]",
		"needs = ['fs.read:docs/*.txt']")
	got, err := r.call()
	if want := `[["docs/a.txt"],["a.txt"],["docs/a.txt"]]`; err != nil || value.FormatJSON(got.Value, "") != want {
		t.Errorf("it sees %s, %v, want %s", value.FormatJSON(got.Value, ""), err, want)
	}
	for _, path := range []string{"docs/b.md", "c.txt", "."} {
		r := newRig(t, nil)
		r.script("", "return fs.exists('"+path+"')", "needs = ['fs.read:docs/*.txt']")
		if _, err := r.call(); err == nil || value.KindOf(err) != value.Denied {
			t.Errorf("looking at %s = %v, want it denied", path, err)
		}
	}
}

// TestStagedWritesAreCommittedFirst checks that what a call has written is on
// disk before it sleeps, when somebody else may look.
func TestStagedWritesAreCommittedFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "fs.write('a.txt', 'x')\ntime.sleep(0.001)\nfail('after')", "needs = ['fs.write']")
	if _, err := r.call(); err == nil {
		t.Error("the call succeeded, want a failure")
	}
	if got := r.file("a.txt"); got != "x" {
		t.Errorf("a.txt = %q, want it committed before the sleep", got)
	}
}

// TestCommitsDoNotResetLimits checks that a call's limits on writing hold over
// all of it, however often its writes are committed on the way.
func TestCommitsDoNotResetLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "for i in range(300):\n    fs.write('f%d' % i, 'x')\n    if i == 60: time.sleep(0)", "needs = ['fs.write']")
	if _, err := r.call(); err == nil || value.ErrorOf(err, value.Internal).Limit != value.LimitFiles {
		t.Errorf("300 files gave %v, want the limit of files", err)
	}
}

// TestAWrongResultWritesNothing checks that a call whose result is not what its
// tool declares fails as a whole.
func TestAWrongResultWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "fs.write('out.txt', 'x')\nreturn 'no integer'", "returns = 'integer', needs = ['fs.write']")
	if _, err := r.call(); err == nil {
		t.Error("a wrong result passed")
	}
	if got := r.file("out.txt"); got != "none" {
		t.Errorf("out.txt = %q, want none", got)
	}
}

// TestAskingWhetherAToolIsAvailableChangesNothing checks that listing tools,
// which asks each, writes nothing, sleeps for nobody and starts nothing.
func TestAskingWhetherAToolIsAvailableChangesNothing(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"fs.write('pwned.txt', 'x')", "time.sleep(60)"} {
		r := newRig(t, nil)
		s := tool.Script{Path: "t.star", Source: "def here():\n    " + do + "\n    return True\n\ndef f():\n    \"Do it.\"\n\ntool(f, name = 't', available = here, needs = ['fs.write'])\n"}
		described, err := r.Describe(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return s, nil }); err != nil {
			t.Fatal(err)
		}
		if got := r.Tools()[0]; got.State != toolset.NotHere {
			t.Errorf("%s: state = %s, want unavailable", do, got.State)
		}
		if got := r.file("pwned.txt"); got != "none" {
			t.Errorf("listing wrote pwned.txt: %q", got)
		}
	}
}

// TestTimeHoldsBetweenBuiltins checks that a call that calls one long builtin
// after the other ends when its time is over.
func TestTimeHoldsBetweenBuiltins(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "s = 'word ' * 200000\nfor i in range(100000): text.count(s)\nreturn 'done'", "timeout = 0.1")
	if _, err := r.call(); err == nil || value.KindOf(err) != value.Timeout {
		t.Errorf("error = %v, want a timeout", err)
	}
}

// TestEffectsHavePlacesOfTheirOwn checks that no two effects of a call stand at
// one place, commits among them.
func TestEffectsHavePlacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "fs.write('a', 'x')\ntime.sleep(0)\nfs.read('a')\nfs.write('b', 'x')", "needs = ['fs.read', 'fs.write']")
	var got []string
	stop := hear(t, r.Host, func(e tool.Event) {
		if done, ok := e.Data.(tool.EffectDone); ok {
			got = append(got, done.Step+" "+done.Func)
		}
	})
	if _, err := r.call(); err != nil {
		t.Fatal(err)
	}
	stop()
	want := "1 fs.write, 2.0 fs.commit, 2 time.sleep, 3 fs.read, 4 fs.write, 5 fs.commit"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("effects = %s, want %s", s, want)
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	answer := func(a tool.Answer, err error) host.Approver {
		return host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) { return a, err })
	}
	cases := []struct {
		name    string
		caller  tool.Caller
		approve host.Approver
		kind    value.Kind
		written string
	}{
		{"a person's own call is approved", tool.ByPerson, nil, 0, "a.txt"},
		{"nobody to ask", tool.ByModel, nil, value.Denied, ""},
		{"refused with an error", tool.ByModel, answer(tool.Answer{Yes: true}, errors.New("no")), value.Denied, ""},
		{"approved", tool.ByModel, host.ApproveAll(), 0, "a.txt"},
		{"edited", tool.ByModel, answer(tool.Answer{Yes: true, Args: value.NewDict("to", "b.txt")}, nil), 0, "b.txt"},
		{"edited wrongly", tool.ByModel, answer(tool.Answer{Yes: true, Args: value.NewDict("to", int64(1))}, nil), value.Invalid, ""},
		{"edited wrongly in place", tool.ByModel, host.ApproverFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
			q.Args.Put("to", int64(1))
			return tool.Answer{Yes: true}, nil
		}), value.Invalid, ""},
		{"no word at all", tool.ByModel, answer(tool.Answer{}, nil), value.Denied, ""},
		{"always is no yes", tool.ByModel, answer(tool.Answer{Always: true}, nil), value.Denied, ""},
		{"arguments are no yes", tool.ByModel, answer(tool.Answer{Args: value.NewDict("to", "b.txt")}, nil), value.Denied, ""},
		{"a panic", tool.ByModel, host.ApproverFunc(func(context.Context, tool.Question) (tool.Answer, error) { panic("oh") }), value.Internal, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(o *host.Options) { o.Approver = c.approve })
			r.script("to: str", "fs.write(to, 'x')", "needs = ['fs.write', 'env'], risky = True")
			_, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("to", "a.txt"), Caller: c.caller})
			if c.written == "" {
				if err == nil || value.KindOf(err) != c.kind {
					t.Errorf("error = %v, want kind %s", err, c.kind.Type())
				}
				if files, _ := os.ReadDir(r.dir); len(files) > 0 {
					t.Errorf("files = %v, want none", files)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.file(c.written); got != "x" {
				t.Errorf("%s = %q, want x", c.written, got)
			}
		})
	}
}

// TestApprovalOfARawSchema checks that the arguments of a tool whose schema
// somebody else wrote come through an approval.
func TestApprovalOfARawSchema(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Approver = host.ApproveAll() })
	remote := tool.Tool{Name: "t", Description: "Greet.", Risky: true,
		Schema: []byte(`{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}`)}
	err := r.Register(remote, func(_ context.Context, args *value.Dict) (value.Value, error) { return args.Text("who"), nil })
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("who", "Ada")})
	if err != nil || got.Value != "Ada" {
		t.Errorf("result = %v, %v, want Ada", got.Value, err)
	}
	if _, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("who", 1)}); err == nil || value.KindOf(err) != value.Invalid {
		t.Errorf("error = %v, want invalid arguments", err)
	}
}

// TestALateResultIsNone checks that a handler that ignores its context has
// nothing of what it returns too late.
func TestALateResultIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Timeout = time.Millisecond })
	err := r.Register(tool.Tool{Name: "t", Description: "Be late."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		<-ctx.Done()
		return "late", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.call(); err == nil || value.KindOf(err) != value.Timeout {
		t.Errorf("result = %v, %v, want a timeout", got.Value, err)
	}
}

func TestGoTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	integer := tool.Type{Name: tool.TypeInteger}
	add := tool.Tool{Name: "add", Description: "Add.", Params: []tool.Param{
		{Name: "a", Type: integer, Required: true}, {Name: "b", Type: integer, Default: int64(1), HasDefault: true},
	}}
	sum := func(_ context.Context, args *value.Dict) (value.Value, error) {
		return args.Int("a") + args.Int("b"), nil
	}
	if err := r.Register(add, sum); err != nil {
		t.Fatal(err)
	}
	got, err := r.Call(context.Background(), tool.Call{Tool: "add", Args: value.NewDict("a", int64(41))})
	if err != nil || got.Value != int64(42) {
		t.Errorf("add(41) = %v, %v, want 42", got.Value, err)
	}
	if err := r.Replace(add, sum); err != nil {
		t.Errorf("Replace: %v", err)
	}
	refused := []tool.Tool{add, {Name: "Bad Name", Description: "x"}, {Name: "empty"}}
	for _, bad := range refused {
		if err := r.Register(bad, sum); err == nil {
			t.Errorf("Register(%q) succeeded, want an error", bad.Name)
		}
	}
	if err := r.Register(tool.Tool{Name: "nothing", Description: "x"}, nil); err == nil {
		t.Error("a tool without a handler was accepted")
	}
}

func TestAPanicIsTheToolsFailure(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	err := r.Register(tool.Tool{Name: "t", Description: "Panics."}, func(context.Context, *value.Dict) (value.Value, error) { panic("oh") })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.call(); err == nil || value.KindOf(err) != value.Internal || !strings.Contains(err.Error(), "oh") {
		t.Errorf("a panic became %v, want an internal error that says oh", err)
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "return 1", "")
	_, err := r.Call(context.Background(), tool.Call{Tool: "tt"})
	e := value.ErrorOf(err, value.Internal)
	if e.Kind != value.NotFound || !strings.HasPrefix(e.Message(), "Unknown tool: tt") {
		t.Errorf("error = %v, want Unknown tool: tt", e)
	}
}

func TestWorkingDirIsTheHosts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("working_dir = ''", "return working_dir", "")
	got, err := r.call()
	if err != nil || got.Value != r.dir {
		t.Errorf("working_dir = %v, %v, want %s", got.Value, err, r.dir)
	}
	if got, err := r.call("working_dir", "/"); err != nil || got.Value != r.dir {
		t.Errorf("with a caller's word working_dir = %v, %v, want %s", got.Value, err, r.dir)
	}
}

func TestEventsOfACall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "emit('chunk')\nprogress('half', done = 1, total = 2)\nprint('said')", "")
	var got []string
	stop := hear(t, r.Host, func(e tool.Event) { got = append(got, e.Type()+" "+e.Tool) })
	if _, err := r.call(); err != nil {
		t.Fatal(err)
	}
	stop()
	want := "tool_call_start t,tool_output_chunk t,progress t,log t,tool_call_end t"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("events = %s, want %s", s, want)
	}
}

// TestParallelCallsDoNotMix checks defect 9 of the documents: what a call tells
// carries its own ID, and two calls of one tool know nothing of each other.
func TestParallelCallsDoNotMix(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("n: int", "emit(str(n))\nlog(str(n))\nreturn n", "")
	told := map[string][]string{} // what each call told
	stop := hear(t, r.Host, func(e tool.Event) {
		told[e.Call] = append(told[e.Call], e.Fields().Text("chunk")+e.Fields().Text("message"))
	})
	var wait sync.WaitGroup
	for n := range 50 {
		wait.Go(func() {
			got, err := r.Call(context.Background(), tool.Call{ID: strconv.Itoa(n), Tool: "t", Args: value.NewDict("n", n)})
			if err != nil || got.Value != int64(n) {
				t.Errorf("call %d = %v, %v", n, got.Value, err)
			}
		})
	}
	wait.Wait()
	stop()
	for n := range 50 {
		id := strconv.Itoa(n)
		if want := "," + id + "," + id + ","; strings.Join(told[id], ",") != want {
			t.Errorf("call %s told %q, want %q", id, strings.Join(told[id], ","), want)
		}
	}
}

func TestArgumentsThatWereReadDifferently(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("n: int", "return n", "params = {'n': param(aliases = ['number'])}")
	var notes []string
	stop := hear(t, r.Host, func(e tool.Event) {
		if read, ok := e.Data.(tool.ArgsRead); ok {
			notes = append(notes, read.Notes...)
		}
	})
	got, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("number", "3"), Texts: true})
	stop()
	if err != nil || got.Value != int64(3) {
		t.Errorf("result = %v, %v, want 3", got.Value, err)
	}
	for _, want := range []string{"number: read as n", `number: read "3" as`} {
		if !strings.Contains(strings.Join(notes, " "), want) {
			t.Errorf("told %s, want %s", notes, want)
		}
	}
}

func TestWhatIsLoggedTooMuchIsDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "for i in range(3000): print(i)\nreturn 'ok'", "")
	lines := 0
	stop := hear(t, r.Host, func(e tool.Event) {
		if _, ok := e.Data.(tool.Log); ok {
			lines++
		}
	})
	_, err := r.call()
	if stop(); err != nil || lines != host.MaxLogLines+1 {
		t.Errorf("logged %d lines, %v, want %d and a word about the rest", lines, err, host.MaxLogLines)
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	s := tool.Script{Path: "t.star", Source: "def here():\n    return fs.exists('marker')\n\ndef f():\n    \"Do it.\"\n    return 1\n\ntool(f, name = 't', available = here, needs = ['fs.read'])\n"}
	described, err := r.Describe(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return s, nil }); err != nil {
		t.Fatal(err)
	}
	if got := r.Tools()[0]; got.State != toolset.NotHere || got.Reason == "" {
		t.Errorf("state = %s (%s), want unavailable with a reason", got.State, got.Reason)
	}
	if _, err := r.call(); err == nil || value.KindOf(err) != value.Unavailable {
		t.Errorf("call = %v, want unavailable", err)
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.script("", "log('started')\ntime.sleep(600)", "")
	ctx, cancel := context.WithCancel(context.Background())
	defer hear(t, r.Host, func(e tool.Event) {
		if _, ok := e.Data.(tool.Log); ok {
			cancel()
		}
	})()
	if _, err := r.Call(ctx, tool.Call{Tool: "t"}); err == nil || value.KindOf(err) != value.Canceled {
		t.Errorf("error = %v, want cancelled", err)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *host.Options) { o.Presets = map[string][]string{"small": {"t"}} })
	r.script("", "return 1", "group = 'files'")
	for _, words := range [][]string{nil, {"auto"}, {"all"}, {"@files"}, {"preset:small"}, {"preset:all"}, {"t", "@files"}} {
		got, err := r.Select(words...)
		if err != nil || len(got) != 1 {
			t.Errorf("Select(%v) = %d tools, %v, want 1", words, len(got), err)
		}
	}
	for _, word := range []string{"nope", "@nope", "preset:nope"} {
		if _, err := r.Select(word); err == nil {
			t.Errorf("Select(%s) succeeded", word)
		}
	}
}

// TestSelectDenied checks that a tool that no model may call is not selected with others.
func TestSelectDenied(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]int{
		"deny tool:t": 0, "deny tool:@files": 0, "deny tool": 0, "deny tool:t for u": 1, "ask tool:t": 1, "deny fs.write": 1,
	} {
		r := newRig(t, func(o *host.Options) { o.Rules = rules(t, rule) })
		r.script("", "return 1", "group = 'files'")
		if got, err := r.Select("auto"); err != nil || len(got) != want {
			t.Errorf("%s: Select(auto) = %d tools, %v, want %d", rule, len(got), err, want)
		}
		if got, err := r.Select("t"); err != nil || len(got) != 1 {
			t.Errorf("%s: Select(t) = %d tools, %v, want 1", rule, len(got), err)
		}
	}
}
