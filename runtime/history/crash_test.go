package history

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestKill kills a process that records, at random instants, and looks for all
// that it was promised. CASSIDY_KILLS sets how often.
func TestKill(t *testing.T) {
	loops := 20
	if n, err := strconv.Atoi(os.Getenv("CASSIDY_KILLS")); err == nil {
		loops = n
	}
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	steps := 0
	for range loops {
		cmd, out := child(t, "write", dir)
		acked := map[string]int{}
		deadline := time.Duration(random.Int64N(int64(80 * time.Millisecond)))
		var timer *time.Timer
		for out.Scan() {
			if timer == nil { // from the first record on, so that there is something to lose
				timer = time.AfterFunc(deadline, func() { cmd.Process.Kill() })
			}
			run, text, _ := strings.Cut(out.Text(), " ")
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(out.Text())
			}
			acked[run] = n
		}
		cmd.Wait()
		j := open(t, dir)
		for run, n := range acked {
			steps += n
			checkKilled(t, j, run, n)
		}
		j.Close()
	}
	t.Logf("%d durable steps in %d lives", steps, loops)
}

// checkKilled looks whether a run holds all up to the n-th step, and nothing
// that was never recorded.
func checkKilled(t *testing.T, j *Journal, run string, n int) {
	t.Helper()
	got := map[string]Entry{}
	for e, err := range j.Entries(context.Background(), run) {
		if err != nil {
			t.Fatalf("run %s: %v", run, err)
		}
		got[e.Place.String()] = e
	}
	for i := 1; i <= n; i++ {
		p := tool.Place{i}
		write, read := got[p.String()], got[p.Child(1).String()]
		if write.Intended.IsZero() || !tool.Equal(write.Args, stepArgs(i)) {
			t.Fatalf("run %s: the intent of step %d of %d is not there", run, i, n)
		}
		if i < n && (write.Settled.IsZero() || read.Settled.IsZero()) {
			t.Fatalf("run %s: the outcome of step %d is not there, though step %d was begun", run, i, n)
		}
	}
	for place, e := range got {
		want := tool.Value(stepValue(e.Place[0]))
		if len(e.Place) == 2 {
			want = int64(e.Place[0])
		}
		if e.Intended.IsZero() || !e.Settled.IsZero() && !tool.Equal(e.Outcome.Value, want) {
			t.Fatalf("run %s: step %s holds what was never recorded: %v", run, place, e)
		}
	}
	if len(got) > 2*n+2 {
		t.Fatalf("run %s: %d steps, and %d were begun", run, len(got), n)
	}
	l, err := j.Resume(context.Background(), run) // its lock died with its process
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd, out := child(t, "hold", dir)
	if out.Scan(); out.Text() != "holding" {
		t.Fatal(out.Text())
	}
	j := open(t, dir)
	ctx := context.Background()
	if _, err := j.Resume(ctx, "held"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("Resume of a run that another process holds = %v, want a conflict", err)
	}
	if err := j.Delete(ctx, "held"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("Delete of it = %v, want a conflict", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	l, err := j.Resume(ctx, "held")
	if err != nil {
		t.Fatalf("Resume after its holder was killed: %v", err)
	}
	l.Close()

	mine := begin(t, j, "mine")
	_, out = child(t, "resume", dir)
	if out.Scan(); out.Text() != "conflict" {
		t.Errorf("another process resumes a run in hand: %s", out.Text())
	}
	mine.Close()
	_, out = child(t, "resume", dir)
	if out.Scan(); out.Text() != "resumed" {
		t.Errorf("another process resumes a run that was given up: %s", out.Text())
	}
}
