package history

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// childRecords records as fast as it can until it is killed, and prints each durable
// intent: RUN STEP.
func childRecords(dir string) {
	s, err := sqlite.Open(dir)
	must(err)
	j, ctx := Open(s, nil), context.Background()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			l, err := j.Begin(ctx, Run{Kind: "run"}, tool.Script{Source: "x"})
			must(err)
			for n := 1; ; n++ {
				p := tool.StepPath{n}
				must(l.Intend(ctx, Intent{StepPath: p, Func: "fs.write", Args: stepArgs(n), Kind: tool.Write}))
				fmt.Fprintf(os.Stdout, "%s %d\n", l.Run().ID, n)
				must(l.Settle(ctx, p, tool.Outcome{Value: stepValue(n)}, nil))
				read := p.Child(1)
				must(l.Intend(ctx, Intent{StepPath: read, Func: "fs.read", Args: stepArgs(n), Kind: tool.Read}))
				must(l.Settle(ctx, read, tool.Outcome{Value: int64(n)}, nil))
			}
		})
	}
	wg.Wait()
}

// TestKill kills a recording process at random moments, and checks that all durable
// records are there. CASSIDY_KILLS sets how often.
func TestKill(t *testing.T) {
	t.Parallel()
	loops := testutil.Times(3, 50)
	if n, err := strconv.Atoi(os.Getenv("CASSIDY_KILLS")); err == nil {
		loops = n
	}
	dir, seed := t.TempDir(), uint64(1)
	if testutil.Soak() {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	steps := 0
	for range loops {
		acked := killed(t, dir, time.Duration(random.Int64N(int64(80*time.Millisecond))))
		j := inFolder(t, dir).open()
		for run, n := range acked {
			steps += n
			checkKilled(t, j, run, n)
		}
	}
	t.Logf("%d durable steps in %d processes", steps, loops)
}

// killed starts a process that records and kills it some time after its first
// durable step. It returns the last durable step of each run.
func killed(t *testing.T, dir string, after time.Duration) map[string]int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	acked := map[string]int{}
	var timer *time.Timer
	for out := bufio.NewScanner(pipe); out.Scan(); {
		if timer == nil {
			timer = time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
		run, text, _ := strings.Cut(out.Text(), " ")
		if acked[run], err = strconv.Atoi(text); err != nil {
			t.Fatal(out.Text())
		}
	}
	cmd.Wait()
	return acked
}

// checkKilled checks that a run has everything up to the intent of step n, and nothing
// that was never recorded.
func checkKilled(t *testing.T, j *Journal, run string, n int) {
	t.Helper()
	got := map[string]Entry{}
	for e, err := range j.Entries(context.Background(), run) {
		check(t, err)
		got[e.StepPath.String()] = e
	}
	for i := 1; i <= n; i++ {
		p := tool.StepPath{i}
		write, read := got[p.String()], got[p.Child(1).String()]
		if write.Intended.IsZero() || !value.Equal(write.Args, stepArgs(i)) {
			t.Fatalf("run %s: the intent of step %d of %d is missing", run, i, n)
		}
		if i < n && (write.Settled.IsZero() || read.Settled.IsZero()) {
			t.Fatalf("run %s: the outcome of step %d is missing, though step %d was begun", run, i, n)
		}
	}
	for at, e := range got {
		want := value.Value(stepValue(e.StepPath[0]))
		if len(e.StepPath) == 2 {
			want = int64(e.StepPath[0])
		}
		if e.Intended.IsZero() || !e.Settled.IsZero() && !value.Equal(e.Outcome.Value, want) {
			t.Fatalf("run %s: step %s has what was never recorded: %v", run, at, e)
		}
	}
	if len(got) > 2*n+2 {
		t.Fatalf("run %s: %d steps, and %d were begun", run, len(got), n)
	}
	check(t, resume(t, j, run).Close()) // its lease ended with its process
}
