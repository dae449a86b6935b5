package agent_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
)

// A crowd is agents that wait for one model.
type crowd struct {
	agent  *agent.Agent
	native bool
	asked  sync.WaitGroup // how many have not asked it yet
	answer chan struct{}  // closed when it answers
	ended  sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// newCrowd opens a host in which nobody waits yet. journal is a folder for
// its journal, or "".
func newCrowd(tb testing.TB, native bool, journal string) *crowd {
	tb.Helper()
	h, err := testhost.Open(tb, testhost.On{Sandbox: cassidy.Inline, Journal: journal}, tb.TempDir(), &cassidy.Options{TrustSource: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = h.Close() })
	c := &crowd{native: native, answer: make(chan struct{})}
	c.agent, err = agent.New(h, &agent.Options{Model: c, Tools: []string{"read_file", "list_files", "write_file"}})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Name, Native and Ask make it the model.
func (c *crowd) Name() string { return "crowd" }
func (c *crowd) Native() bool { return c.native }
func (c *crowd) Ask(context.Context, *model.Request) (*model.Reply, error) {
	select {
	case <-c.answer:
	default:
		c.asked.Done()
		<-c.answer
	}
	return &model.Reply{Text: "done", Stop: model.StopEnd}, nil
}

// session returns a new session.
func (c *crowd) session(id string) *agent.Session {
	s, err := c.agent.Session(context.Background(), id)
	if err != nil {
		panic(err)
	}
	return s
}

// wait has n agents begin, and returns when all wait.
func (c *crowd) wait(n int) {
	c.asked.Add(n)
	for i := range n {
		s := c.session(fmt.Sprintf("agent-%d", i))
		c.ended.Go(func() {
			if _, err := s.Send(context.Background(), fmt.Sprintf("Count to %d.", i)); err != nil {
				c.mu.Lock()
				c.failed = err
				c.mu.Unlock()
			}
		})
	}
	c.asked.Wait()
}

// release has them all end.
func (c *crowd) release(tb testing.TB) {
	tb.Helper()
	close(c.answer)
	c.ended.Wait()
	if c.failed != nil {
		tb.Error(c.failed)
	}
}

// held is what the program holds in memory.
func held() float64 {
	for range 4 { // the first may only have queued finalizers, and each halves a stack that has become too large
		goruntime.GC()
	}
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// perAgent is what one agent of n that wait holds.
func perAgent(tb testing.TB, native bool, journal string, n int) (each float64, began, ended time.Duration) {
	tb.Helper()
	one := newCrowd(tb, native, "")
	one.wait(1) // what is made once is made now
	one.release(tb)
	c := newCrowd(tb, native, journal)
	before, start := held(), time.Now()
	c.wait(n)
	began = time.Since(start)
	each = (held() - before) / float64(n)
	start = time.Now()
	c.release(tb)
	return each, began, time.Since(start)
}

// perThread is what a goroutine holds that waits, and what a Starlark thread
// does in which a function of Go waits: what nobody can go below.
func perThread(tb testing.TB, n int) (goroutine, thread float64) {
	tb.Helper()
	blocked := func(wait func(started func(), end <-chan struct{})) float64 {
		end := make(chan struct{})
		var started, ended sync.WaitGroup
		before := held()
		started.Add(n)
		for range n {
			ended.Go(func() { wait(started.Done, end) })
		}
		started.Wait()
		each := (held() - before) / float64(n)
		close(end)
		ended.Wait()
		return each
	}
	goroutine = blocked(func(started func(), end <-chan struct{}) {
		started()
		<-end
	})
	program := "def policy(task):\n    return work(task)\n\ndef work(task):\n    return ask(task)\n"
	ask := starlark.NewBuiltin("ask", func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		t.Local("wait").(func())()
		return args[0], nil
	})
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, &starlark.Thread{}, "p.star", program, starlark.StringDict{"ask": ask})
	if err != nil {
		tb.Fatal(err)
	}
	globals.Freeze()
	thread = blocked(func(started func(), end <-chan struct{}) {
		t := &starlark.Thread{}
		t.SetLocal("wait", func() {
			started()
			<-end
		})
		if _, err := starlark.Call(t, globals["policy"], starlark.Tuple{starlark.String("x")}, nil); err != nil {
			tb.Error(err)
		}
	})
	return goroutine, thread
}

// mostPerAgent is what an agent may hold while it waits, with three tools
// offered. 16 KB of it are the stack, of which the two functions of the policy
// and the interpreter between them take 4. The first message takes 4 in the text formats.
// What runs before the model is asked must fit the 16 KB as well: a stack that has grown does not shrink
// while more than a quarter of it is used.
const mostPerAgent = 28 << 10

// waitingSets are the agents that are measured: of a model that has calls of its
// own, of one that is told in a text how to write them, and of a recorded run.
func waitingSets() []waitingSet {
	return []waitingSet{{"native", true, false}, {"text", false, false}, {"journal", true, true}}
}

type waitingSet struct {
	name            string
	native, journal bool
}

// TestAWaitingAgentIsSmall compares the memory of many agents of each kind with the limit. A random part
// of the recorded agents has a larger stack (see RATIONALE.md), so only the benchmark measures those.
func TestAWaitingAgentIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	for _, set := range waitingSets() {
		if set.journal {
			continue
		}
		each, _, _ := perAgent(t, set.native, "", testutil.Times(400, 1000))
		t.Logf("%s: an agent that waits holds %.0f bytes", set.name, each)
		if each > mostPerAgent {
			t.Errorf("%s: an agent that waits holds %.0f bytes, want at most %d", set.name, each, mostPerAgent)
		}
	}
}

// BenchmarkWaitingAgents is 10,000 agents of the built-in policy that wait for a
// model in one process: what each holds of the memory, beside a goroutine and a
// Starlark thread that wait.
func BenchmarkWaitingAgents(b *testing.B) {
	const n = 10_000
	for _, set := range waitingSets() {
		b.Run(set.name, func(b *testing.B) {
			for b.Loop() {
				journal := ""
				if set.journal {
					journal = b.TempDir()
				}
				goroutine, thread := perThread(b, n)
				each, began, ended := perAgent(b, set.native, journal, n)
				b.ReportMetric(each, "B/agent")
				b.ReportMetric(goroutine, "B/goroutine")
				b.ReportMetric(thread, "B/thread")
				b.ReportMetric(float64(began.Microseconds())/n, "begin-µs")
				b.ReportMetric(float64(ended.Microseconds())/n, "end-µs")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
