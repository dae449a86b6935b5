//go:build linux

package sandbox_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// A soak is hostile calls in a row, from scripts and from workers.
type soak struct {
	box     *sandbox.Process
	hostile map[string]*sandbox.Process // by mode
	modes   []string
	attacks []attack
	n       int            // of the call
	rarely  bool           // each attack has been made
	ended   map[string]int // how often a call ended like this
}

// TestR42Soak makes hostile calls in a row, and looks what they leave in the
// host: no descriptor, no zombie, no goroutine, no thread and next to no
// memory. A soak makes 10,000 of them.
func TestR42Soak(t *testing.T) {
	calls := testutil.Times(12, 10_000)
	newProcess(t, nil).Close() // what the runtime opens with the first
	before := look(t)
	s := openSoak(t)
	start := time.Now()
	s.run(t, testutil.Times(12, 100)) // what a host has after a while is not what it had at first
	warm := s.check(t, before, footprint{memory: 1 << 20, threads: 1 << 10})
	t.Logf("%6d calls: %v", s.n, warm)
	for left := calls; left > 0; left -= 1000 {
		s.run(t, min(left, 1000))
		s.rarely = true
		now := s.check(t, before, warm)
		t.Logf("%6d calls: %v, %v a call", s.n, now, (time.Since(start) / time.Duration(s.n)).Round(time.Millisecond))
		if t.Failed() {
			break
		}
	}
	s.close()
	after := look(t)
	t.Logf("closed: %v, as before: %v; ended by %v", after, before, s.ended)
	after.memory, after.threads, before.memory, before.threads = 0, 0, 0, 0
	if after != before {
		t.Errorf("closed, the host has %v, want %v as before", after, before)
	}
}

// openSoak opens a sandbox, and one for each sort of hostile worker that does
// not take its time.
func openSoak(t *testing.T) *soak {
	s := &soak{box: newProcess(t, nil, world), hostile: map[string]*sandbox.Process{}, ended: map[string]int{}}
	all := slices.DeleteFunc(attacks(), func(a attack) bool {
		return a.name == "top level" // which may take two seconds, whatever a call may
	})
	s.attacks = testutil.Sample(all, 10) // each is made twice
	nextCallIsRight(t, s.box)
	slow := []string{"silent", "dribble", "drags", "floods", "spins", "insatiable"}
	for _, mode := range testutil.Sample(slices.Sorted(maps.Keys(hostileModes)), 8) {
		if !slices.Contains(slow, mode) && !sandbox.RaceDetector {
			s.modes = append(s.modes, mode)
			s.hostile[mode] = hostileProcess(t, mode)
			s.worker(t, mode)
		}
	}
	return s
}

func (s *soak) close() {
	s.box.Close()
	for _, box := range s.hostile {
		box.Close()
	}
}

// run makes so many calls. Every fifth is one of a hostile worker.
func (s *soak) run(t *testing.T, calls int) {
	if s.rarely {
		s.attacks = someAttacks() // those that are left out now take the longest
	}
	for range calls {
		s.n++
		if s.n%5 == 0 && len(s.modes) > 0 {
			s.worker(t, s.modes[s.n/5%len(s.modes)])
		} else {
			s.script(t, s.attacks[(s.n-s.n/5)%len(s.attacks)])
		}
		if s.n%10 == 0 {
			nextCallIsRight(t, s.box)
		}
	}
}

func (s *soak) script(t *testing.T, a attack) {
	how, err := a.runWithin(s.box, tool.Limits{CPU: 20 * time.Millisecond, Steps: 200_000})
	s.ended[how]++
	switch how {
	case value.Canceled.String(), value.Timeout.String(), value.Unavailable.String(), value.Security.String():
		t.Errorf("call %d, %s, ended by %v", s.n, a.name, err)
	}
}

func (s *soak) worker(t *testing.T, mode string) {
	one := script(fmt.Sprintf("f%d", s.n), "return 1") // what breaks the rules is not run again
	_, err := s.hostile[mode].Run(context.Background(), one, tool.Call{}, answer)
	if err == nil {
		t.Errorf("call %d, of a worker that is %s, succeeded", s.n, mode)
		return
	}
	s.ended["worker "+value.KindOf(err).String()]++
}

// A footprint is what this process takes of the system.
type footprint struct {
	files, goroutines, zombies int
	threads                    int
	memory                     int // MB
}

func (f footprint) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, %d zombies, %d threads, %d MB", f.files, f.goroutines, f.zombies, f.threads, f.memory)
}

// The bounds of what a host may have more than when it was warm.
const (
	moreMemory = 32 // MB
	// moreThreads: the Go runtime starts a thread where others are in system
	// calls, and ends none. The calls come one after the other, but each has a
	// process to wait for, one to start, and a timer that looks at /proc.
	moreThreads = 8
)

// check compares what the host takes, without what the workers take that idle,
// with what it took before and when it was warm.
func (s *soak) check(t *testing.T, before, warm footprint) footprint {
	t.Helper()
	workers, boxes := 0, 0
	for _, box := range append(slices.Collect(maps.Values(s.hostile)), s.box) {
		poolIsQuiet(t, box)
		box.WaitForGuard()
		workers += box.State().Alive
		boxes++
	}
	now := look(t)
	now.files -= workers * filesOfWorker(t)
	now.goroutines -= boxes // the starter of each
	if now.files != before.files || now.goroutines != before.goroutines || now.zombies != 0 {
		t.Errorf("after %d calls the host has, but for %d workers, %v, want what it had before: %v", s.n, workers, now, before)
	}
	if now.threads > warm.threads+moreThreads {
		t.Errorf("after %d calls the host has %d threads, want %d and few more", s.n, now.threads, warm.threads)
	}
	if now.memory > warm.memory+moreMemory {
		t.Errorf("after %d calls the host holds %d MB, want at most %d", s.n, now.memory, warm.memory+moreMemory)
	}
	return now
}

// filesOfWorker is how many descriptors a worker takes in its host: three pipes,
// and what stands for the process where the kernel has that.
func filesOfWorker(t *testing.T) int {
	t.Helper()
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	files := 3
	if err := p.WithHandle(func(uintptr) {}); err == nil {
		files++
	}
	return files
}

// look measures this process. What is about to end is waited for.
func look(t *testing.T) footprint {
	t.Helper()
	var f footprint
	for deadline := time.Now().Add(2 * time.Minute); ; {
		debug.FreeOSMemory()
		last := f
		f = footprint{len(list(t, "/proc/self/fd/*")), runtime.NumGoroutine(), zombies(t), len(list(t, "/proc/self/task/*")), residentMB(t)}
		if f.goroutines == last.goroutines && f.zombies == 0 || time.Now().After(deadline) {
			return f
		}
	}
}

func list(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// zombies counts the children of this process that have ended and that nobody
// has waited for.
func zombies(t *testing.T) (n int) {
	t.Helper()
	for _, file := range list(t, "/proc/[0-9]*/stat") {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has gone meanwhile
		}
		rest := strings.Fields(string(text)[strings.LastIndex(string(text), ")")+1:])
		if len(rest) > 1 && rest[0] == "Z" && rest[1] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}
