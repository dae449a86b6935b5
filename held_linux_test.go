package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A heldWorld is a host with tools that hold much memory, and what its calls hold.
type heldWorld struct {
	*cassidy.Host
	dir    string
	memory atomic.Pointer[membudget.Host]
	most   atomic.Int64              // the most that was held during an effect
	during func(ctx context.Context) // called when a file has been staged, or nil
}

// heldScripts are tools that stage or return four parts of a MB, and others beside them.
var heldScripts = map[string]string{
	"stage.star": `def stage(n: int, then: str = ""):
    """Stage 4 MB."""
    for i in range(4):
        fs.write("out/%d_%d.txt" % (n, i), "x" * 1000000)
    if then == "fail":
        fail("no")
    if then == "loop":
        for i in range(1000000000):
            pass
    if then == "ask":
        human.ask("And now?")
    return n

tool(stage, needs = ["fs.write", "human"], limits = {"steps": 40000000000, "cpu": 60})
`,
	"much.star": "def much(n: int):\n    \"\"\"Return 1 MB.\"\"\"\n    return \"y\" * 1000000\n\ntool(much)\n",
	"reads.star": `def reads(n: int):
    """Read 4 MB in parts of a MB."""
    for i in range(4):
        fs.read("big.txt")
    return n

tool(reads, needs = ["fs.read"])
`,
	"fetches.star": `def fetches(n: int):
    """Get 4 MB in parts of a MB."""
    for path in ["plain", "chunked", "plain", "chunked"]:
        http.get("http://SERVER/" + path)
    return n

tool(fetches, needs = ["http.get:SERVER"])
`,
	"prints.star": `def prints(n: int):
    """Print 2 MB in parts of a MB."""
    for i in range(2):
        shell.run(["head", "-c", "1000000", "big.txt"], check = True)
    return n

tool(prints, needs = ["shell:head", "shell:sh"])
`,
	"small.star": `def small(n: int):
    """Stage a line."""
    fs.write("out/small%d.txt" % n, "small")
    return n

tool(small, needs = ["fs.write"])
`,
	"all.star": `def all(name: str, n: int):
    """Call a tool n times."""
    return [str(r)[:200] for r in tools.call_all([(name, {"n": i}) for i in range(n)])]

tool(all, needs = ["tool", "fs.read", "fs.write", "human"])
`,
	"back.star": `def back(n: int):
    """Move files of a MB there and back again."""
    for i in range(n):
        fs.move("in/%d.txt" % i, "moved.txt")
        fs.move("moved.txt", "in/%d.txt" % i)
    return n

tool(back, needs = ["fs.read", "fs.write"])
`,
}

// newHeldWorld opens a host whose calls may hold 16 MB, and each of them 12 MB.
func newHeldWorld(t *testing.T) *heldWorld {
	t.Helper()
	w := &heldWorld{dir: t.TempDir()}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text := []byte(strings.Repeat("w", 1_000_000))
		if r.URL.Path == "/chunked" {
			_ = http.NewResponseController(rw).Flush() // so that the length is not known
		} else {
			rw.Header().Set("Content-Length", fmt.Sprint(len(text)))
		}
		_, _ = rw.Write(text)
	}))
	t.Cleanup(server.Close)
	for file, text := range heldScripts {
		putFile(t, filepath.Join(w.dir, ".cassidy", "tools", file), strings.ReplaceAll(text, "SERVER", server.Listener.Addr().String()))
	}
	putFile(t, filepath.Join(w.dir, "big.txt"), strings.Repeat("z", 1_000_000))
	for i := range 10 {
		putFile(t, filepath.Join(w.dir, "in", fmt.Sprintf("%d.txt", i)), strings.Repeat("z", 1_000_000))
	}
	o := &cassidy.Options{Config: configFile(t, "http: {private: [127.0.0.1]}\n"), TrustSource: true, Approver: cassidy.ApproveAll(), Memory: 16 << 20, Executor: w.execute}
	h, err := testhost.Open(t, testhost.On{Journal: filepath.Join(t.TempDir(), "runs")}, w.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	w.Host = h
	return w
}

func (w *heldWorld) execute(ctx context.Context, f *tool.Func, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	w.look(ctx)
	out, err := host.Execute(ctx, f, e, g)
	w.look(ctx)
	if w.during != nil && e.Func == "fs.write" && strings.HasSuffix(e.Args.Text("path"), "_3.txt") {
		w.during(ctx)
	}
	return out, err
}

// look notes what is held now.
func (w *heldWorld) look(ctx context.Context) {
	if memory := membudget.Of(ctx).Host(); memory != nil {
		w.memory.Store(memory)
		for used, most := memory.Used(), w.most.Load(); used > most && !w.most.CompareAndSwap(most, used); most = w.most.Load() {
		}
	}
}

// given checks that nothing is held any more, and that no more than the limit was.
func (w *heldWorld) given(t *testing.T, what string) {
	t.Helper()
	if used, most := w.memory.Load().Used(), w.most.Load(); used != 0 || most == 0 || most > 16<<20 {
		t.Errorf("%s: %d bytes are held at the end, and %d were at most, of %d", what, used, most, 16<<20)
	}
}

// TestCallsShareMemory checks that calls which hold much wait for one another, in every way to hold something,
// that small calls beside them are answered, and that everything is given back.
func TestCallsShareMemory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stage", "much", "reads", "fetches", "prints"} {
		w := newHeldWorld(t)
		var all sync.WaitGroup
		for n := range 12 {
			for _, called := range []string{name, "small"} {
				all.Go(func() {
					if _, err := w.Call(t.Context(), cassidy.Call{Tool: called, Args: cassidy.NewDict("n", n)}); err != nil {
						t.Errorf("%s beside %s: %v", called, name, err)
					}
				})
			}
		}
		all.Wait()
		w.given(t, name)
	}
}

// TestATreeHasItsShare checks that a call and what it calls are refused what exceeds their share, also in many
// parts and by changes that cancel out, and that other calls are answered meanwhile.
func TestATreeHasItsShare(t *testing.T) {
	t.Parallel()
	w := newHeldWorld(t)
	for _, c := range []cassidy.Call{
		{Tool: "all", Args: cassidy.NewDict("name", "stage", "n", 12)},
		{Tool: "all", Args: cassidy.NewDict("name", "much", "n", 12)},
		{Tool: "back", Args: cassidy.NewDict("n", 10)},
	} {
		var all sync.WaitGroup
		all.Go(func() {
			r, err := w.Call(t.Context(), c)
			if text := fmt.Sprint(value.FormatJSON(r.Value, ""), err); !strings.Contains(text, "more than 12 MB of memory") {
				t.Errorf("%s %s: %s", c.Tool, c.Args, text)
			}
			if err != nil && (!errors.Is(err, cassidy.ErrLimit) || !strings.Contains(value.ErrorOf(err, value.Failed).Hint, "host_memory")) {
				t.Errorf("%s %s failed with %v", c.Tool, c.Args, err)
			}
		})
		for n := range 4 {
			all.Go(func() {
				if _, err := w.Call(t.Context(), cassidy.Call{Tool: "small", Args: cassidy.NewDict("n", n)}); err != nil {
					t.Errorf("small beside %s: %v", c.Tool, err)
				}
			})
		}
		all.Wait()
		w.given(t, c.Tool)
	}
}

// TestEveryEndGivesBack ends calls that have staged 4 MB in all ways, recorded and not.
func TestEveryEndGivesBack(t *testing.T) {
	w := newHeldWorld(t)
	ends := []struct {
		name, then string
		want       value.Kind
		during     func(t *testing.T, cancel func())
	}{
		{name: "success"},
		{name: "error", then: "fail", want: value.Failed},
		{name: "cancelled", then: "loop", want: value.Canceled, during: func(_ *testing.T, cancel func()) { cancel() }},
		{name: "a panic of an effect", want: value.Internal, during: func(*testing.T, func()) { panic("no") }},
		{name: "a killed worker", then: "loop", want: value.Unavailable, during: func(t *testing.T, _ func()) {
			for _, pid := range workers(t) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}},
		{name: "nobody answers", then: "ask", want: value.Denied},
	}
	for _, durable := range []bool{false, true} {
		for n, end := range ends {
			ctx, cancel := context.WithCancel(t.Context())
			held := int64(0)
			w.during = func(ctx context.Context) {
				if held = membudget.Of(ctx).Host().Used(); end.during != nil {
					end.during(t, cancel)
				}
			}
			var opts []cassidy.CallOption
			want := end.want
			if durable {
				opts = append(opts, cassidy.Durable(fmt.Sprintf("run-%d", n)))
				if end.then == "ask" {
					want = value.Parked
				}
			}
			_, err := w.Call(ctx, cassidy.Call{Tool: "stage", Args: cassidy.NewDict("n", n, "then", end.then)}, opts...)
			cancel()
			if end.name == "success" && err != nil || end.name != "success" && value.KindOf(err) != want && !(durable && value.KindOf(err) == value.Parked) {
				t.Errorf("%s, durable %v: %v, want %v", end.name, durable, err, want)
			}
			if held < 4_000_000 {
				t.Errorf("%s: %d bytes are held when 4 MB are staged", end.name, held)
			}
			w.given(t, end.name)
			w.during = func(context.Context) {}
			for began := time.Now(); end.name == "a killed worker" && time.Since(began) < 2*time.Minute; { // one that was about to start was killed too
				if _, err := w.Call(t.Context(), cassidy.Call{Tool: "stage", Args: cassidy.NewDict("n", 100+n, "then", "")}); value.KindOf(err) != value.Unavailable {
					break
				}
			}
		}
	}
}
