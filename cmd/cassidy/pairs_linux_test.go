package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// pairTools and pairFlow add 1 to a file 25 times. A change of the file by another process is
// a conflict, and the step is repeated, unless the error says that the addition stayed.
var pairTools = map[string]string{"add": `
def add() -> int:
    """Add 1 to the count."""
    n, _, lines = fs.read("count").partition("\n")
    fs.write("count", str(int(n) + 1) + "\n" + lines)
    return int(n) + 1

tool(add, needs = ["fs.read:count", "fs.write:count"])`}

const pairFlow = `
def main() -> int:
    done = 0
    for i in range(5000):
        if done == 25:
            break
        r = attempt(tools.call, "add")
        if r["ok"] or "could not be undone" in r["error"]:
            done += 1  # somebody else has already built on what it wrote
        elif "changed" not in r["error"]:
            fail(r["error"])
    return done

workflow(main, needs = ["tool:add", "fs.read:count", "fs.write:count"])
`

// TestPairs lets two processes with homes of their own add to one file, to which an editor
// appends lines. It kills both at random moments, and resumes them: each addition is there
// once, no run reports another number of them, and each line is there, or in a file beside it
// to which a conflict has saved it. CASSIDY_SOAK=1 makes 50 pairs.
func TestPairs(t *testing.T) {
	t.Parallel()
	pairs, random := timesOf(t, 1, 50)
	dir := t.TempDir()
	var both []*pairProcess
	for range 2 {
		both = append(both, newPairProcess(t, dir, pairFlow, pairTools))
	}
	questions, lines := 0, 0
	for i := range pairs {
		both[0].Write("count", "0\n")
		stop := make(chan struct{})
		appended := make(chan string)
		go func() { appended <- appendUntil(t, filepath.Join(dir, "count"), stop) }()
		var running sync.WaitGroup
		for k, p := range both {
			delays := make([]time.Duration, random.IntN(5))
			for j := range delays {
				delays[j] = time.Millisecond + time.Duration(random.Int64N(int64(200*time.Millisecond)))
			}
			running.Go(func() { p.complete(fmt.Sprintf("p%d-%d", i, k), delays) })
		}
		running.Wait()
		close(stop)
		written := strings.SplitAfter(<-appended, "\n")
		data, err := os.ReadFile(filepath.Join(dir, "count"))
		count, rest, _ := strings.Cut(string(data), "\n")
		if err != nil || count != "50" {
			t.Errorf("pair %d: the file says %q, %v; want 50; asked %d and %d times", i, count, err, both[0].questions, both[1].questions)
		}
		saved, err := filepath.Glob(filepath.Join(dir, "count.saved-*"))
		if err != nil {
			t.Error(err)
		}
		beside := ""
		for _, file := range saved { // of conflicts in which both files had changed
			data, err := os.ReadFile(file)
			if beside += string(data); err != nil || os.Remove(file) != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		for _, line := range written[:len(written)-1] {
			if n := strings.Count(rest, line); n > 1 || n == 0 && !strings.Contains(beside, line) {
				t.Errorf("pair %d: %d times %q", i, n, line)
			}
		}
		lines += len(written) - 1
		for _, p := range both {
			if p.err != nil {
				t.Errorf("pair %d: %v", i, p.err)
			}
			questions += p.questions
		}
		left, err := filepath.Glob(filepath.Join(dir, ".cassidy-tmp-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("pair %d left %q, %v", i, left, err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs, %d kills, %d questions, %d lines of the editor", pairs, both[0].kills.Load()+both[1].kills.Load(), questions, lines)
}

// appendUntil appends lines to a file as an editor does that takes no locks, and returns them.
func appendUntil(t *testing.T, path string, stop <-chan struct{}) (all string) {
	every := time.NewTicker(15 * time.Millisecond)
	defer every.Stop()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return all
		case <-every.C:
		}
		line := fmt.Sprintf("line %d.\n", i)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(line)
			f.Close()
		}
		if err != nil {
			t.Errorf("append: %v", err)
			return all
		}
		all += line
	}
}

// A pairProcess is a home of a pair, and what happened to its last run.
type pairProcess struct {
	*flowProject
	kills     atomic.Int64
	questions int
	err       error
}

// timesOf returns how often a test with kills repeats what it does: some times, or with
// CASSIDY_SOAK=1 more often. Then its random numbers have a new seed each time, which is logged.
func timesOf(t *testing.T, some, soak int) (times int, random *rand.Rand) {
	t.Helper()
	if !launch.Confined() {
		t.Skip("THIS MACHINE CANNOT CONFINE COMMANDS")
	}
	seed := uint64(1)
	if testutil.Soak() {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return testutil.Times(some, soak), rand.New(rand.NewPCG(seed, 0))
}

// newPairProcess returns a new home for a project with the workflow "all" and some tools, which
// it trusts.
func newPairProcess(t *testing.T, dir, flow string, tools map[string]string) *pairProcess {
	t.Helper()
	p := &flowProject{&apptest.Project{TB: t, Dir: dir, Home: t.TempDir(), Commands: command.Commands()}}
	p.Write(".cassidy/workflows/all.star", flow)
	for name, text := range tools {
		p.Write(".cassidy/tools/"+name+".star", text+"\n")
	}
	p.Want([]string{"trust", "--yes"}, 0, "", "")
	return &pairProcess{flowProject: p}
}

// complete executes a run, kills its process after each of the delays, and continues it until
// it ends.
func (p *pairProcess) complete(id string, delays []time.Duration) {
	p.questions, p.err = 0, nil
	args := []string{"run", "all", "--yes", "--run-id", id}
	for try := range 40 {
		delay := time.Duration(0)
		if try < len(delays) {
			delay = delays[try]
		}
		out, err := p.once(args, delay)
		var run struct {
			State, Reason string
			Result        any
		}
		shown, missing := p.once([]string{"runs", "show", id}, 0)
		if missing != nil {
			if delay > 0 {
				continue // it was killed before the run began
			}
			p.err = fmt.Errorf("the run %s: %w: %s", id, err, out)
			return
		}
		if p.err = json.Unmarshal([]byte(shown), &run); p.err != nil {
			return
		}
		switch {
		case run.State == "done":
			if run.Result != 25.0 {
				p.err = fmt.Errorf("the run %s reports %v additions", id, run.Result)
			}
			return
		case run.State == "parked" && run.Reason == "question":
			p.questions++
			if out, err := p.once([]string{"runs", "answer", id, "yes"}, 0); err != nil {
				p.err = fmt.Errorf("the run %s cannot be answered: %s", id, out)
				return
			}
		case run.State != "running" && run.State != "parked" || delay == 0 && err != nil && try > len(delays):
			p.err = fmt.Errorf("the run %s is %s (%s): %s", id, run.State, run.Reason, out)
			return
		}
		args = []string{"runs", "resume", id}
	}
	p.err = fmt.Errorf("the run %s does not end", id)
}

// once executes a command, and kills it after a delay unless that is 0.
func (p *pairProcess) once(args []string, delay time.Duration) (out string, err error) {
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	if delay > 0 {
		kill := time.AfterFunc(delay, func() {
			if cmd.Process.Kill() == nil {
				p.kills.Add(1)
			}
		})
		defer kill.Stop()
	}
	if err := cmd.Wait(); err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}
