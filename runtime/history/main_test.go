package history

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The test binary is also the other process of some tests: childEnv says what
// it is to do, and in which folder.
const childEnv = "CASSIDY_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		todo, dir, _ := strings.Cut(what, ":")
		map[string]func(dir string){"write": childWrites, "hold": childHolds, "resume": childResumes}[todo](dir)
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func must(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

const writers = 4

// childWrites records as fast as it can until it is killed, and prints each
// intent that is on disk.
func childWrites(dir string) {
	j, err := Open(dir, nil)
	must(err)
	ctx := context.Background()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			l, err := j.Begin(ctx, Run{Kind: "run"}, tool.Script{Source: "x"})
			must(err)
			for n := 1; ; n++ {
				p := tool.Place{n}
				must(l.Intend(ctx, Intent{Place: p, Func: "fs.write", Args: stepArgs(n), Kind: tool.Write}))
				fmt.Fprintf(os.Stdout, "%s %d\n", l.Run().ID, n)
				must(l.Settle(ctx, p, tool.Outcome{Value: stepValue(n)}, nil))
				read := p.Child(1)
				must(l.Intend(ctx, Intent{Place: read, Func: "fs.read", Args: stepArgs(n), Kind: tool.Read}))
				must(l.Settle(ctx, read, tool.Outcome{Value: int64(n)}, nil))
			}
		})
	}
	wg.Wait()
}

// Some steps carry a value that is kept beside the database.
func stepValue(n int) string {
	if n%7 == 0 {
		return strings.Repeat(fmt.Sprint("step ", n, " "), 10_000)
	}
	return fmt.Sprint("value ", n)
}

func stepArgs(n int) *tool.Dict { return tool.NewDict("n", n, "text", strings.Repeat("a", n%300)) }

// childHolds holds a run until it is killed.
func childHolds(dir string) {
	j, err := Open(dir, nil)
	must(err)
	_, err = j.Begin(context.Background(), Run{ID: "held", Kind: "run"}, tool.Script{})
	must(err)
	fmt.Println("holding")
	for {
		time.Sleep(time.Hour)
	}
}

// childResumes tries to resume the run "mine", and prints how that went.
func childResumes(dir string) {
	j, err := Open(dir, nil)
	must(err)
	if _, err = j.Resume(context.Background(), "mine"); err != nil {
		fmt.Println(tool.KindOf(err))
		return
	}
	fmt.Println("resumed")
}
