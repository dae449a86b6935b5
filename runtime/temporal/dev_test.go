//go:build temporal

package temporal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/temporal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A devServer is a development server of Temporal, which keeps its data in a file.
type devServer struct {
	tb      testing.TB
	address string
	port    int
	file    string
	process *exec.Cmd
}

// startServer starts a server, which ends with the test.
func startServer(tb testing.TB) *devServer {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	s := &devServer{tb: tb, port: port, address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), file: filepath.Join(tb.TempDir(), "temporal.db")}
	s.start()
	tb.Cleanup(s.kill)
	return s
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *devServer) start() {
	s.tb.Helper()
	program := cmp.Or(os.Getenv("TEMPORAL_CLI"), "temporal")
	s.process = exec.Command(program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(s.port), "--db-filename", s.file, "--log-level", "error")
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		s.tb.Fatalf("start the server of Temporal: %v", err)
	}
	c := s.dial(nil)
	defer c.Close()
	eventually(s.tb, "the server answers", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.CheckHealth(ctx, nil)
		if err == nil {
			_, err = c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
		}
		return err == nil
	})
}

func (s *devServer) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// dial returns a client, with encryption for a key.
func (s *devServer) dial(key *temporal.Key) client.Client {
	s.tb.Helper()
	o := client.Options{HostPort: s.address, Logger: sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
	if key != nil {
		o.DataConverter = temporal.Encrypted(key)
	}
	c, err := client.NewLazyClient(o)
	if err != nil {
		s.tb.Fatal(err)
	}
	return c
}

func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("after two minutes, %s not", what)
		}
	}
}

// A machine is where the effects of the runs of a test happen.
type machine struct {
	tb     testing.TB
	server *devServer
	dir    string
}

func newMachine(tb testing.TB, s *devServer) *machine {
	return &machine{tb: tb, server: s, dir: tb.TempDir()}
}

// hit is an external effect, which is written down with its idempotency key.
func (m *machine) hit() tool.Module {
	return tool.Module{Name: "ext", Funcs: []tool.Func{{
		Name: "hit", Doc: "Act.", Params: []tool.Param{tool.Required("what", "string", "what")}, Kind: tool.External, Risk: tool.RiskSafe,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: "ext"}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			f, err := os.OpenFile(m.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return tool.Outcome{}, err
			}
			if what := e.Args.Text("what"); strings.HasPrefix(what, "once") && slices.Contains(m.effects(), g.Key) {
				return tool.Outcome{}, f.Close() // as a service does that supports idempotency keys
			}
			_, err = fmt.Fprintf(f, "%s %q\n", g.Key, e.Args.Text("what"))
			return tool.Outcome{}, errors.Join(err, f.Close())
		},
	}}}
}

func (m *machine) log() string { return filepath.Join(m.dir, "effects.log") }

// effects returns the keys of the effects that happened.
func (m *machine) effects() (keys []string) {
	data, _ := os.ReadFile(m.log())
	for line := range strings.Lines(string(data)) {
		key, _, _ := strings.Cut(line, " ")
		keys = append(keys, key)
	}
	return keys
}

// store opens a store with the blobs of the machine.
func (m *machine) store(key *temporal.Key) *temporal.Store {
	m.tb.Helper()
	c := m.server.dial(key)
	m.tb.Cleanup(c.Close)
	o := temporal.Options{Client: c, Blobs: temporal.Folder{Path: filepath.Join(m.dir, "blobs"), Key: key}}
	if key != nil {
		o.Converter = temporal.Encrypted(key)
	}
	s, err := temporal.New(o)
	if err != nil {
		m.tb.Fatal(err)
	}
	m.tb.Cleanup(func() { _ = s.Close() })
	return s
}

// host opens a host over a store with scripts, and whatever else o has.
func (m *machine) host(s *temporal.Store, files map[string]string, o cassidy.Options) *cassidy.Host {
	m.tb.Helper()
	rt, err := cassidy.New(&cassidy.RuntimeOptions{Store: s, Sandbox: cassidy.Inline})
	if err != nil {
		m.tb.Fatal(err)
	}
	m.tb.Cleanup(func() { _ = rt.Close() })
	o.Dir, o.TrustSource, o.NoBuiltins = m.dir, true, true
	o.Modules = append(o.Modules, m.hit())
	h, err := rt.Open(cassidy.Scripts(files), &o)
	if err != nil {
		m.tb.Fatal(err)
	}
	return h
}

// work starts a worker for all runs of the queue.
func (m *machine) work(s *temporal.Store, h *cassidy.Host) {
	m.tb.Helper()
	w := s.Worker(temporal.Work{Host: func(string) (*host.Host, error) { return h, nil }})
	if err := w.Start(); err != nil {
		m.tb.Fatal(err)
	}
	m.tb.Cleanup(w.Stop)
}

// once checks that so many effects happened, each once.
func (m *machine) once(want int) {
	m.tb.Helper()
	keys := m.effects()
	if len(keys) != want {
		m.tb.Errorf("%d effects happened, want %d", len(keys), want)
	}
	if slices.Sort(keys); len(slices.Compact(keys)) != len(keys) {
		m.tb.Error("effects happened twice")
	}
}

// A workerProcess is a worker that can be killed.
type workerProcess struct{ *exec.Cmd }

// startWorker starts a process with a worker.
func (m *machine) startWorker() *workerProcess {
	m.tb.Helper()
	p := &workerProcess{exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), "CASSIDY_TEST_WORKER="+m.server.address, "CASSIDY_TEST_DIR="+m.dir)
	p.SysProcAttr, p.Stderr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, os.Stderr
	if err := p.Start(); err != nil {
		m.tb.Fatal(err)
	}
	m.tb.Cleanup(p.kill)
	return p
}

func (p *workerProcess) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// An outside is a test of the process of a worker, which fails with it.
type outside struct{ testing.TB }

func (outside) Helper()                        {}
func (outside) Cleanup(func())                 {}
func (outside) Fatal(args ...any)              { panic(fmt.Sprint(args...)) }
func (outside) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func TestMain(m *testing.M) {
	if address := os.Getenv("CASSIDY_TEST_WORKER"); address != "" {
		machine := &machine{tb: outside{}, server: &devServer{tb: outside{}, address: address}, dir: os.Getenv("CASSIDY_TEST_DIR")}
		s := machine.store(nil)
		machine.work(s, machine.host(s, files, cassidy.Options{}))
		select {}
	}
	os.Exit(m.Run())
}

// files are the scripts of the tests.
var files = map[string]string{
	"add.star": `def add(a: int, b: int, wait: float = 0.0) -> int:
    """Add.

    Args:
      a: a
      b: b
      wait: seconds
    """
    if wait:
        time.sleep(wait)
    ext.hit("add %d %d" % (a, b))
    return a + b

tool(add, needs = ["use:ext"])
`,
	"once.star": `def once(a: int, b: int) -> int:
    """Add.

    Args:
      a: a
      b: b
    """
    ext.hit("once %d %d" % (a, b))
    return a + b

tool(once, needs = ["use:ext"], hints = {"idempotent": True})
`,
	"workflows/repeatable.star": `def main(n: int):
    """Many idempotent calls."""
    x = 0
    for i in range(n):
        x = tools.once(a = x, b = 1)
    return x
`,
	"fails.star": `def fails(x: int) -> int:
    """Fail.

    Args:
      x: x
    """
    ext.hit("fails %d" % x)
    fail("no luck with %d" % x)

tool(fails, needs = ["use:ext"])
`,
	"risky.star": `def risky(text: str) -> str:
    """Write.

    Args:
      text: text
    """
    fs.write("risky.txt", text)
    ext.hit("risky")
    return text

tool(risky, needs = ["fs.read", "fs.write", "use:ext"])
`,
	"long.star": `def long(n: int) -> str:
    """Long.

    Args:
      n: length
    """
    return "x" * n

tool(long, needs = [], limits = {"result": 9000000})
`,
	"workflows/six.star": `def main(n: int, nap: float = 0.2):
    """All parts.

    Args:
      n: calls
      nap: seconds
    """
    t = time.now()
    dice = random.integer(1, 1000000)
    x = 0
    for i in range(n):
        x = tools.add(a = x, b = i, wait = 0.02)
    progress("added")
    r = tools.call_all([("add", {"a": 100, "b": i, "wait": 0.1}) for i in range(9)] + [("fails", {"x": 7})])
    bad = attempt(tools.fails, x = 3)
    time.sleep(nap)
    w = tools.risky(text = "changed")
    ok = human.confirm("go on?")
    y = 0
    for i in range(n):
        y = tools.add(a = y, b = 2, wait = 0.02)
    return [x, [g["value"] for g in r], r[9]["error"], bad["error"], w, ok, y, dice > 0, time.now() != t]
`,
	"workflows/many.star": `def main(n: int):
    """Many calls.

    Args:
      n: calls
    """
    x = 0
    for i in range(n):
        x = tools.add(a = x, b = 1)
    return x
`,
	"workflows/together.star": `def main(n: int):
    """Calls at the same time.

    Args:
      n: rounds
    """
    x = 0
    for i in range(n):
        x += len(tools.call_all([("add", {"a": i, "b": j, "wait": 0.01 * j}) for j in range(10)]))
    return x
`,
	"workflows/large.star": `def main(n: int, times: int):
    """Large values.

    Args:
      n: bytes
      times: how often
    """
    size = 0
    for i in range(times):
        size += len(tools.long(n = n + i))
        ext_ok = tools.add(a = i, b = 1)
    return [size, tools.long(n = n)]
`,
}

// execute begins a workflow, answers its questions with yes, and returns the run when it has ended.
func execute(tb testing.TB, h *cassidy.Host, workflow, id string, args *value.Dict) host.Recorded {
	tb.Helper()
	if _, err := h.Begin(tb.Context(), workflow, args, cassidy.Durable(id)); err != nil {
		tb.Fatal(err)
	}
	return ended(tb, h, id)
}

// ended answers the questions of a run with yes until it has ended.
func ended(tb testing.TB, h *cassidy.Host, id string) (r host.Recorded) {
	tb.Helper()
	answered := map[string]bool{}
	for end := time.Now().Add(4 * time.Minute); !r.State.Ended(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("the run %s is %v (%s %s)", id, r.State, r.Reason, r.Stuck)
		}
		var err error
		if r, err = h.Recorded(tb.Context(), id); err != nil {
			continue // the server may be down
		}
		for q, err := range h.Waiting(tb.Context()) {
			if err == nil && q.Run == id && !answered[q.ID] {
				tb.Log("asked:", q.Text)
				answered[q.ID] = h.Answer(tb.Context(), q.ID, cassidy.Answer{Yes: true}) == nil
			}
		}
	}
	return r
}

// steps returns what is recorded of the steps of a run, without what differs between two runs.
func steps(tb testing.TB, h *cassidy.Host, id string) (lines []string) {
	tb.Helper()
	for e, err := range host.Operate(h).Steps(tb.Context(), id) {
		if err != nil {
			tb.Fatal(err)
		}
		args := e.Args
		if args.Has("mark") { // random
			args = args.Clone(0)
			args.Put("mark", "")
		}
		line := fmt.Sprintf("%s %s %v %v", e.StepPath, e.Func, args, e.Err)
		if !strings.HasPrefix(e.Func, "time.") && !strings.HasPrefix(e.Func, "random.") {
			line += fmt.Sprintf(" %v", e.Outcome.Value)
		}
		for _, q := range e.Questions {
			line += fmt.Sprintf(" %q %v", q.Text, q.Answer != nil)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestSameRecord compares the record of a workflow with all kinds of steps with that of the same workflow without Temporal.
func TestSameRecord(t *testing.T) {
	m := newMachine(t, startServer(t))
	s := m.store(nil)
	m.work(s, m.host(s, files, cassidy.Options{}))
	client := m.host(m.store(nil), files, cassidy.Options{})
	there := execute(t, client, "six", "six", value.NewDict("n", 3))
	m.once(18)

	local := newMachine(t, nil)
	rt, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory(), Sandbox: cassidy.Inline})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	here, err := rt.Open(cassidy.Scripts(files), &cassidy.Options{Dir: local.dir, TrustSource: true, NoBuiltins: true, Modules: []tool.Module{local.hit()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = here.ResumeDue(ctx, 20*time.Millisecond) }()
	want := execute(t, here, "six", "six", value.NewDict("n", 3))
	if there.State != want.State || value.FormatJSON(there.Result, "") != value.FormatJSON(want.Result, "") {
		t.Errorf("the result is %v %v, want %v %v", there.State, there.Result, want.State, want.Result)
	}
	if got, want := steps(t, client, "six"), steps(t, here, "six"); !slices.Equal(got, want) {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKills kills a worker and the server while a workflow is executed, and starts them again.
func TestKills(t *testing.T) {
	for _, victim := range []string{"worker", "server"} {
		t.Run(victim, func(t *testing.T) {
			m := newMachine(t, startServer(t))
			w := m.startWorker()
			client := m.host(m.store(nil), files, cassidy.Options{})
			if _, err := client.Begin(t.Context(), "repeatable", value.NewDict("n", 120), cassidy.Durable("r")); err != nil {
				t.Fatal(err)
			}
			for _, at := range []int{20, 70} {
				eventually(t, "there are effects", func() bool { return len(m.effects()) >= at })
				if victim == "worker" {
					w.kill()
					w = m.startWorker()
				} else {
					m.server.kill()
					time.Sleep(time.Second)
					m.server.start()
				}
			}
			r := ended(t, client, "r")
			if r.Result != int64(120) {
				t.Errorf("the run is %v: %v, %v", r.State, r.Result, r.Err)
			}
			m.once(120)
		})
	}
}

// TestLong runs more steps than one history can have, one after the other and ten at a time: nobody is asked, as no
// effect is interrupted.
func TestLong(t *testing.T) {
	m := newMachine(t, startServer(t))
	s := m.store(nil)
	m.work(s, m.host(s, files, cassidy.Options{}))
	client := m.host(m.store(nil), files, cassidy.Options{})
	for _, id := range []string{"many", "together"} {
		n := map[string]int{"many": 3000, "together": 300}[id]
		if _, err := client.Begin(t.Context(), id, value.NewDict("n", n), cassidy.Durable(id)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"many", "together"} {
		r := ended(t, client, id)
		if r.Result != int64(3000) {
			t.Errorf("the run is %v: %v, %v", r.State, r.Result, r.Err)
		}
		if asked := strings.Count(strings.Join(steps(t, client, id), "\n"), "? true"); asked > 0 {
			t.Errorf("%d questions were asked", asked)
		}
	}
	m.once(6000)
}

// TestLarge runs a workflow with a value of 8 MB, and one with 50 MB in all.
func TestLarge(t *testing.T) {
	m := newMachine(t, startServer(t))
	s := m.store(nil)
	m.work(s, m.host(s, files, cassidy.Options{}))
	client := m.host(m.store(nil), files, cassidy.Options{})
	for i, c := range []struct{ n, times int }{{8<<20 - 1000, 1}, {1 << 20, 50}, {60 << 10, 200}} {
		r := execute(t, client, "large", fmt.Sprint("r", i), value.NewDict("n", c.n, "times", c.times))
		list, _ := r.Result.(value.List)
		if len(list) != 2 || len(list[1].(string)) != c.n {
			t.Errorf("the run is %v: %v", r.State, r.Err)
		}
	}
}

// TestNoWorker lists and reads runs that nobody executes.
func TestNoWorker(t *testing.T) {
	m := newMachine(t, startServer(t))
	client := m.host(m.store(nil), files, cassidy.Options{})
	w := m.startWorker()
	execute(t, client, "many", "ended", value.NewDict("n", 5))
	if _, err := client.Run(t.Context(), "six", value.NewDict("n", 1), cassidy.Durable("parked")); value.KindOf(err) != value.Parked {
		t.Fatal(err)
	}
	w.kill()
	if _, err := client.Begin(t.Context(), "many", value.NewDict("n", 5), cassidy.Durable("queued")); err != nil {
		t.Fatal(err)
	}
	other := m.host(m.store(nil), files, cassidy.Options{})
	states := map[string]string{}
	eventually(t, "all runs are listed", func() bool {
		for r, err := range other.Runs(t.Context(), cassidy.RunFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			states[r.ID] = r.State.String() + " " + r.Reason
		}
		return len(states) == 3
	})
	if want := map[string]string{"ended": "done final", "parked": "parked approval", "queued": "parked queued"}; !maps.Equal(states, want) {
		t.Errorf("the runs are %v, want %v", states, want)
	}
	for id, least := range map[string]int{"ended": 10, "parked": 15, "queued": 0} {
		if got := steps(t, other, id); len(got) < least {
			t.Errorf("%s has %d steps", id, len(got))
		}
	}
	for q, err := range other.Waiting(t.Context()) {
		if err != nil || q.Run != "parked" {
			t.Errorf("waiting: %v %v", q, err)
		}
		if err := other.Answer(t.Context(), q.ID, cassidy.Answer{Yes: true}); err != nil { // the workflow gets it when there is a worker
			t.Error(err)
		}
	}
}
