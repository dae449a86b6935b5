package sqlite

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
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func now() time.Time { return time.Now() }

// The test binary is also the other process of some tests: childEnv holds what
// it does, and in which folder.
const childEnv = "CASSIDY_STORE_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		todo, dir, _ := strings.Cut(what, ":")
		map[string]func(dir string){"write": childWrites, "hold": childHolds, "acquire": childAcquires}[todo](dir)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child starts the test binary as another process, and returns it with what it
// prints.
func child(t *testing.T, todo, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+todo+":"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	check(t, err)
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// childWrites writes as fast as it can until it is killed, and prints what is
// durable: RUN FRAMES MESSAGES.
func childWrites(dir string) {
	s, err := Open(dir)
	must(err)
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			id := fmt.Sprintf("p%d-%d", os.Getpid(), i)
			_, err := s.Acquire(ctx, "t", id)
			must(err)
			w := &journal.Write{New: &journal.Row{Tenant: "t", ID: id, Kind: "run"}}
			must(s.Commit(ctx, []*journal.Write{w}))
			for n := 1; ; n++ {
				text := strings.Repeat(fmt.Sprint("value ", n, " "), 200)
				must(s.PutBlob(ctx, sum(text), []byte(text)))
				body := fmt.Sprint(n, " ", sum(text), " ", len(text), " ", strings.Repeat("x", n%2000))
				must(s.Commit(ctx, []*journal.Write{{Num: w.Num, Frames: []journal.Frame{{Seq: int64(n - 1), Body: []byte(body)}}, Head: fmt.Append(nil, n)}}))
				_, err := s.Send(ctx, w.Num, journal.Message{Kind: "k", Key: strconv.Itoa(n)})
				must(err)
				_, _, err = s.Take(ctx, w.Num, "k", strconv.Itoa(n))
				must(err)
				fmt.Fprintf(os.Stdout, "%s %d\n", id, n)
			}
		})
	}
	wg.Wait()
}

// childHolds holds a lease until it is killed.
func childHolds(dir string) {
	s, err := Open(dir)
	must(err)
	_, err = s.Acquire(context.Background(), "", "held")
	must(err)
	fmt.Println("holding")
	for {
		time.Sleep(time.Hour)
	}
}

// childAcquires tries to take a lease, and prints how that went.
func childAcquires(dir string) {
	s, err := Open(dir)
	must(err)
	if _, err = s.Acquire(context.Background(), "", "mine"); err != nil {
		fmt.Println(value.KindOf(err))
		return
	}
	fmt.Println("acquired")
}

// TestKill kills a process that writes at random instants, and looks for
// everything that it reported as durable. CASSIDY_KILLS sets how often.
func TestKill(t *testing.T) {
	t.Parallel()
	loops := testutil.Times(3, 50)
	if n, err := strconv.Atoi(os.Getenv("CASSIDY_KILLS")); err == nil {
		loops = n
	}
	dir, seed := t.TempDir(), uint64(1)
	if testutil.Soak() {
		seed = uint64(now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	steps := 0
	for range loops {
		cmd, out := child(t, "write", dir)
		acked := map[string]int{}
		deadline := time.Duration(random.Int64N(int64(80 * time.Millisecond)))
		var timer *time.Timer
		for out.Scan() {
			if timer == nil { // from the first report, so that there is something to lose
				timer = time.AfterFunc(deadline, func() { cmd.Process.Kill() })
			}
			id, text, _ := strings.Cut(out.Text(), " ")
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(out.Text())
			}
			acked[id] = n
		}
		cmd.Wait()
		s := open(t, dir)
		for id, n := range acked {
			steps += n
			checkKilled(t, s, id, n)
		}
		check(t, s.Close())
	}
	t.Logf("%d durable steps in %d processes", steps, loops)
}

// checkKilled checks that a run holds everything up to its n-th step, and
// nothing but complete steps.
func checkKilled(t *testing.T, s *Store, id string, n int) {
	t.Helper()
	ctx := context.Background()
	row, err := s.Find(ctx, "t", id)
	check(t, err)
	st, err := s.Load(ctx, row.Num)
	check(t, err)
	frames := len(st.Frames)
	if frames < n || frames > n+1 || string(st.Row.Head) != fmt.Sprint(frames) || len(st.Inbox) < n || len(st.Inbox) > frames {
		t.Fatalf("run %s: %d frames and %d messages of %d, and the head %q", id, frames, len(st.Inbox), n, st.Row.Head)
	}
	for i, f := range st.Frames {
		var num, size int64
		var name string
		if _, err := fmt.Sscan(string(f), &num, &name, &size); err != nil || num != int64(i+1) {
			t.Fatalf("run %s: frame %d is %.40q", id, i, f)
		}
		if _, err := s.Blob(ctx, name, size); err != nil {
			t.Fatalf("run %s: %v", id, err)
		}
	}
	for i := range n {
		if _, err := s.Send(ctx, row.Num, journal.Message{Kind: "k", Key: strconv.Itoa(i + 1)}); value.KindOf(err) != value.Conflict {
			t.Fatalf("run %s: what was taken is open again: %v", id, err)
		}
	}
	l, err := s.Acquire(ctx, "t", id) // the lease ended with its process
	check(t, err)
	check(t, l.Release())
}

func TestLeaseOfAnotherProcess(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	cmd, out := child(t, "hold", dir)
	if out.Scan(); out.Text() != "holding" {
		t.Fatal(out.Text())
	}
	s := open(t, dir)
	if _, err := s.Acquire(ctx, "", "held"); value.KindOf(err) != value.Conflict || !s.Held(ctx, "", "held") {
		t.Errorf("Acquire of what another process holds = %v, want a conflict", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if s.Held(ctx, "", "held") {
		t.Error("a process that was killed holds a lease")
	}
	_, err := s.Acquire(ctx, "", "held")
	check(t, err)

	mine, err := s.Acquire(ctx, "", "mine")
	check(t, err)
	for _, want := range []string{"conflict", "acquired"} {
		_, out = child(t, "acquire", dir)
		if out.Scan(); out.Text() != want {
			t.Errorf("another process: %s, want %s", out.Text(), want)
		}
		check(t, mine.Release())
	}
}
