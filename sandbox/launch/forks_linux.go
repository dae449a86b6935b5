//go:build amd64 || arm64

package launch

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A command that starts processes faster than they are counted outruns a count from time to time,
// and leaves no processor to count on. So the supervisor traces the command: the kernel stops each
// process that starts another one, and the other one too, until the supervisor has counted it. A filter that
// holds the system calls instead would have them fail with EINTR in programs that handle signals. RLIMIT_NPROC
// does not bind root, and a cgroup counts threads as processes.

// traceOptions have the kernel stop a thread that starts a process or a thread, trace that as well, and kill
// all of them when the supervisor ends.
const traceOptions = unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// forkSlack is how many dead processes a command may have beside its limit, for which nobody has waited.
const forkSlack = 64

// A forkGate counts the processes of a command. What is above the limit never runs: each of the others may
// start one, which is stopped at once, until all are killed. Except for close and over, it is used by
// one thread of the supervisor, the tracer.
type forkGate struct {
	limit   int          // of processes
	tasks   map[int]bool // the threads that live, and whether they are the first ones of a process
	early   map[int]bool // those that stopped or ended before the thread that started them stopped
	alive   int          // processes in tasks
	started int          // since the dead have been counted

	closed atomic.Bool
	over   chan struct{} // closed when the limit is exceeded
}

func newForkGate(limit int) *forkGate {
	return &forkGate{limit: limit, tasks: map[int]bool{}, early: map[int]bool{}, over: make(chan struct{})}
}

// close lets nothing further start.
func (g *forkGate) close() { g.closed.Store(true) }

func (g *forkGate) exceed() {
	if g.closed.CompareAndSwap(false, true) {
		close(g.over)
	}
}

// attach traces all threads of a process that waits, and so all that they start.
func (g *forkGate) attach(pid int) error {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	for {
		names, err := os.ReadDir(tasks)
		if err != nil {
			return err
		}
		known := len(g.tasks)
		for _, name := range names {
			tid, _ := strconv.Atoi(name.Name())
			if _, ok := g.tasks[tid]; ok {
				continue
			}
			_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, traceOptions, 0, 0)
			if e != 0 && tid == pid {
				return e
			}
			g.add(tid) // if it fails: a thread that has just ended, or that another one's tracing includes
		}
		if len(g.tasks) == known {
			return nil
		}
	}
}

// add counts a thread that has started.
func (g *forkGate) add(tid int) {
	if _, ok := g.tasks[tid]; ok {
		return
	}
	first := firstOfProcess(tid)
	g.tasks[tid] = first
	if !first {
		if len(g.tasks) > threadsPerProcess*g.limit {
			g.exceed()
		}
		return
	}
	if g.alive++; g.alive > g.limit {
		g.exceed()
	}
	if g.started++; g.started >= forkSlack/2 {
		g.started = 0
		if len(descendants(os.Getpid())) >= g.limit+forkSlack/2 {
			g.exceed()
		}
	}
}

// ended counts a thread that has ended.
func (g *forkGate) ended(tid int) {
	first, ok := g.tasks[tid]
	if !ok {
		g.early[tid] = true
		return
	}
	if delete(g.tasks, tid); first {
		g.alive--
	}
}

// stopped counts what a thread that the kernel has stopped has started, and has the thread continue.
func (g *forkGate) stopped(tid int, st syscall.WaitStatus) {
	event, signal := int(st)>>16, int(st.StopSignal())
	switch event {
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE:
		started, err := syscall.PtraceGetEventMsg(tid)
		switch {
		case err != nil: // it has been killed
		case g.early[int(started)]:
			delete(g.early, int(started))
		default:
			g.add(int(started))
		}
		signal = 0
	case unix.PTRACE_EVENT_EXEC: // the thread has become the first one
		if former, err := syscall.PtraceGetEventMsg(tid); err == nil && int(former) != tid {
			g.ended(int(former))
		}
		signal = 0
	case unix.PTRACE_EVENT_STOP:
		if signal != int(unix.SIGTRAP) { // the process is stopped, as by SIGSTOP
			_, _, _ = unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_LISTEN, uintptr(tid), 0, 0, 0, 0)
			return
		}
		if _, known := g.tasks[tid]; !known {
			g.early[tid] = true
			g.add(tid)
		}
		signal = 0
	}
	if !g.closed.Load() {
		_ = syscall.PtraceCont(tid, signal) // fails if it has been killed
	}
}

// firstOfProcess reports whether a thread is the first one of its process: the kernel finds it by both
// numbers.
func firstOfProcess(tid int) bool { return unix.Tgkill(tid, tid, 0) != unix.ESRCH }
