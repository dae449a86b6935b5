package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
)

// A weapon is how a process is ended, or which of its workers.
type weapon int

const (
	bySIGKILL weapon = iota
	bySIGTERM
	bySIGHUP
	byWorker // its workers are ended by SIGKILL, one or all, and not the process
	weapons  // how many there are
)

func (w weapon) String() string {
	return [...]string{"SIGKILL", "SIGTERM", "SIGHUP", "worker"}[w]
}

// A blow ends a process, or of its workers the one that is picked. Most of them
// are idle, so an even pick ends all of them.
type blow struct {
	weapon weapon
	pick   int
}

// strike reports whether there was something to end.
func (b blow) strike(p *os.Process) bool {
	signal := unix.SIGKILL
	switch b.weapon {
	case bySIGTERM:
		signal = unix.SIGTERM
	case bySIGHUP:
		signal = unix.SIGHUP
	case byWorker:
		workers := workersOf(p.Pid)
		if len(workers) > 0 && b.pick%2 == 1 {
			one := b.pick % len(workers)
			workers = workers[one : one+1]
		}
		struck := false
		for _, pid := range workers {
			struck = unix.Kill(pid, signal) == nil || struck
		}
		return struck
	}
	return p.Signal(signal) == nil
}

// workersOf returns the workers of a process.
func workersOf(pid int) []int {
	return slices.DeleteFunc(childrenOf(pid), func(child int) bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(child) + "/cmdline") // one that has ended has none
		name, _, _ := bytes.Cut(text, []byte{0})
		return string(name) != "cassidy-worker"
	})
}

// childrenOf returns the IDs of the child processes of a process.
func childrenOf(parent int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat") // one that is gone is not a child
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// asMortal is an environment variable with which the test binary is the command, and is
// struck right before it writes a line: between an event and its record. Its value is the
// line, the weapon and the pick.
const asMortal = "CASSIDY_TEST_DIES_AT"

// What a mortal process prints on standard error when it is struck, and when it
// does not end then.
const (
	wasStruck  = "mortal: struck\n"
	doesNotEnd = "mortal: it does not end\n"
)

// endTime is how long a process may take to end that is asked to.
const endTime = 2 * time.Minute

func mortalProcess() int {
	d := &deadly{w: os.Stdout}
	if _, err := fmt.Sscan(os.Getenv(asMortal), &d.left, &d.blow.weapon, &d.blow.pick); err != nil {
		panic(err)
	}
	ctx, interrupts := app.CatchInterrupts()
	return command.Main(ctx, os.Args[1:], &app.World{In: os.Stdin, Out: d, Err: os.Stderr, Env: os.LookupEnv, Interrupts: interrupts})
}

// A deadly writer strikes the process that writes to it too often.
type deadly struct {
	w    io.Writer
	blow blow
	mu   sync.Mutex
	left int
}

func (d *deadly) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left == 0 {
		d.strike()
	}
	return d.w.Write(p)
}

func (d *deadly) strike() {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	struck := d.blow.strike(self)
	switch {
	case d.blow.weapon == bySIGKILL:
		select {} // nothing can put it off
	case struck:
		_, _ = os.Stderr.WriteString(wasStruck)
	}
	if d.blow.weapon != byWorker {
		time.AfterFunc(endTime, func() {
			_, _ = os.Stderr.WriteString(doesNotEnd)
			_ = self.Kill()
		})
	}
}
