package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestNotesKilled kills runs that keep notes at random moments, and continues them, while another
// run of the same project keeps notes too: each note is there once, and complete. A rule of the user
// allows the notes, since nothing else approves them without a person. CASSIDY_SOAK=1 does so 50 times.
func TestNotesKilled(t *testing.T) {
	t.Parallel()
	times, random := timesOf(t, 2, 50)
	const notes = 15
	dir := t.TempDir()
	p := newPairProcess(t, dir, `
def main(run: str):
    for i in range(15):
        tools.call("remember", note = "note %d of %s,\nsecond line" % (i, run))

workflow(main, needs = ["tool:remember", "memory.add"])
`, nil)
	if err := os.WriteFile(filepath.Join(p.Home, "config.yaml"), []byte("allow: [memory.add]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".cassidy", "memory.md")
	for i := range times {
		var both sync.WaitGroup
		for _, which := range []string{"a", "b"} {
			var delays []time.Duration
			for range 3 {
				delays = append(delays, 30*time.Millisecond+time.Duration(random.Int64N(int64(150*time.Millisecond))))
			}
			both.Go(func() { p.continued(t, fmt.Sprintf("%s%d", which, i), append(delays, 0)) })
		}
		both.Wait()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, which := range []string{"a", "b"} {
			for n := range notes {
				if note := fmt.Sprintf("- note %d of %s%d,\n  second line\n  <!-- ", n, which, i); strings.Count(string(text), note) != 1 {
					t.Errorf("%q is there %d times", note, strings.Count(string(text), note))
				}
			}
		}
		if out, err := p.once([]string{"tool", "run", "get_context"}, 0); err != nil || !strings.Contains(out, "written by models") {
			t.Errorf("the notes are not given to models: %s, %v", out, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d times two runs, %d kills", times, p.kills.Load())
}

// continued executes the run, kills its process after each of the delays, and continues it until it
// has ended. A process can be killed when it has recorded the end of the run, and not yet told it.
func (p *pairProcess) continued(t *testing.T, id string, delays []time.Duration) {
	args := []string{"run", "all", "run=" + id, "--run-id", id}
	for _, delay := range delays {
		out, err := p.once(args, delay)
		if delay == 0 && err != nil {
			t.Errorf("the run %s: %v: %s", id, err, out)
		}
		shown, missing := p.once([]string{"runs", "show", id}, 0)
		if missing != nil { // it was killed before the run began
			continue
		}
		var run struct{ State string }
		if err := json.Unmarshal([]byte(shown), &run); err != nil {
			t.Errorf("the run %s: %v: %s", id, err, shown)
		}
		if run.State == "done" {
			return
		}
		args = []string{"runs", "resume", id}
	}
	t.Errorf("the run %s has not ended", id)
}
