//go:build amd64 || arm64

package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A bomb starts processes as fast as it can, and counts those that live. It has at most as many as it is
// told, whatever else stops it.
type bomb struct {
	live, most *atomic.Int64 // in a file that all its processes share
	reserved   *atomic.Int64 // what is started, or about to be
	max        int64
}

// mapBomb maps the counters in a file.
func mapBomb(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(4096); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func bombIn(b []byte, limit int64) *bomb {
	at := func(i int) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&b[8*i])) }
	return &bomb{at(0), at(1), at(2), limit}
}

// The methods below run in processes that have a copy of this one's memory and one thread. Their functions check no stack:
// the runtime asks a goroutine to yield through that check, and a copy of the request would stop the process for ever.

// born counts a process or thread that has begun.
//
//go:nosplit
func (b *bomb) born() {
	n := b.live.Add(1)
	for most := b.most.Load(); n > most && !b.most.CompareAndSwap(most, n); most = b.most.Load() {
	}
}

// fork starts a process by a system call and returns its PID, or 0 in it. It is -1 where that fails or
// the bomb is large enough.
//
//go:nosplit
func (b *bomb) fork(nr, flags uintptr) int {
	if b.reserved.Add(1) > b.max {
		b.reserved.Add(-1)
		rest()
		return -1
	}
	pid, _, e := unix.RawSyscall6(nr, flags, 0, 0, 0, 0, 0)
	if e != 0 {
		b.reserved.Add(-1)
		return -1
	}
	if pid == 0 {
		b.born()
	}
	return int(pid)
}

//go:nosplit
func (b *bomb) exit() {
	b.live.Add(-1)
	b.reserved.Add(-1)
	unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}

// rest sleeps for ten milliseconds, without the scheduler, which a forked process does not have.
//
//go:nosplit
func rest() {
	t := unix.Timespec{Nsec: 10e6}
	unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

const justFork = uintptr(unix.SIGCHLD)

// isParentOfTwo starts two processes, and returns false in each of them.
//
//go:nosplit
func (b *bomb) isParentOfTwo() bool {
	first := b.fork(unix.SYS_CLONE, justFork)
	return first != 0 && b.fork(unix.SYS_CLONE, justFork) != 0
}

// run is a bomb of a kind.
func (b *bomb) run(kind string) {
	b.reserved.Add(1)
	b.born()
	switch kind {
	case "doubling":
		for {
			b.fork(unix.SYS_CLONE, justFork)
		}
	case "sessions":
		for {
			if b.fork(unix.SYS_CLONE, justFork) == 0 {
				unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
			}
		}
	case "double fork": // each process has a child that leaves two orphans
		for {
			switch pid := b.fork(unix.SYS_CLONE, justFork); pid {
			case -1:
			case 0:
				unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
				if b.isParentOfTwo() {
					b.exit()
				}
			default:
				unix.RawSyscall6(unix.SYS_WAIT4, uintptr(pid), 0, 0, 0, 0, 0)
			}
		}
	case "replaced": // each process but the first starts two others and ends
		for b.fork(unix.SYS_CLONE, justFork) != 0 {
			rest()
		}
		for {
			if b.isParentOfTwo() {
				b.exit()
			}
		}
	case "vfork": // a chain: each waits for the next one, which does not end
		nr, flags := uintptr(unix.SYS_CLONE), justFork|unix.CLONE_VFORK
		if runtime.GOARCH == "amd64" {
			nr = vforkCall
		}
		for {
			b.fork(nr, flags)
		}
	case "clone3":
		var args [11]uint64
		args[4] = uint64(justFork)
		for {
			if b.fork(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args))) == -1 {
				b.fork(unix.SYS_CLONE, justFork)
			}
		}
	case "parent": // the processes are siblings
		for {
			b.fork(unix.SYS_CLONE, justFork|unix.CLONE_PARENT)
		}
	case "threads":
		for b.reserved.Load() < b.max {
			b.reserved.Add(1)
			begun := make(chan bool)
			go func() {
				runtime.LockOSThread()
				b.born()
				close(begun)
				_, _ = unix.Poll(nil, -1)
			}()
			<-begun
		}
		time.Sleep(time.Hour)
	}
	for {
		rest()
	}
}

const vforkCall = 58 // of amd64

// bombMain is the program of a bomb: the kind, the file of the counters, and how many there are at most.
func bombMain(args []string) {
	limit, _ := strconv.ParseInt(args[2], 10, 64)
	counters, err := mapBomb(args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	bombIn(counters, limit).run(args[0])
}

// TestS07FastBombs checks that nothing outruns the limit of processes, and that processes beside a bomb
// can be started throughout.
func TestS07FastBombs(t *testing.T) {
	t.Parallel()
	needConfined(t)
	if raceBuild {
		t.Skip("a process that the race detector does not know cannot count")
	}
	processes, most := 8, 60
	if testutil.Soak() {
		processes, most = defaultProcesses, 400
	}
	for _, kind := range []string{"doubling", "sessions", "double fork", "replaced", "vfork", "clone3", "parent", "threads"} {
		t.Run(kind, func(t *testing.T) {
			dir, mark, limit := t.TempDir(), markOf(t), processes
			if kind == "threads" {
				limit = max(1, processes/8) // there may be 16 threads for each process
			}
			counters, err := mapBomb(filepath.Join(dir, "counters"))
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(counters)
			ended, beside := make(chan struct{}), make(chan error)
			go func() {
				defer close(beside)
				for n := 0; ; n++ {
					select {
					case <-ended:
						return
					default:
					}
					if err := exec.Command("/bin/true").Run(); err != nil {
						beside <- err
						return
					}
				}
			}()
			var out syncBuffer
			_, err = Run(t.Context(), &tool.Process{
				Path: ownProgram(t), Args: []string{"hostile", "bomb", kind, filepath.Join(dir, "counters"), strconv.Itoa(most), mark},
				Dir: dir, Write: []string{dir}, Processes: limit, Timeout: 10 * time.Minute, Memory: 2 << 30, Stdout: &out, Stderr: &out,
			})
			close(ended)
			for err := range beside {
				t.Errorf("a process beside the bomb: %v", err)
			}
			had, bound := int(bombIn(counters, 0).most.Load()), limit // what is above the limit never runs
			if kind == "threads" {
				bound = limit * threadsPerProcess
			}
			var e *value.Error
			if had > bound || had < 1 || !errors.As(err, &e) || e.Limit != value.LimitProcesses {
				t.Errorf("it had %d at once, want at most %d, and %v, want the limit of processes: %.200s", had, bound, err, out.String())
			}
			if left := heldBy(mark); len(left) > 0 {
				t.Errorf("there stay %d: %q", len(left), left[0])
			}
		})
	}
}

// TestManyForks checks that a command may start any number of processes one after another, and as many at
// once as its limit, some of them threads.
func TestManyForks(t *testing.T) {
	t.Parallel()
	n := testutil.Times(100, 5000)
	lines := []string{
		fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$(($i+1)); /bin/true; done; echo fine", n),
		fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$(($i+1)); /bin/true & [ $(($i%%4)) = 0 ] && wait; done; wait; echo fine", n),
		fmt.Sprintf("b() { i=0; while [ $i -lt %d ]; do i=$(($i+1)); ( /bin/true ); done; }; b & b & b & wait; echo fine", n/3),
		fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$(($i+1)); ( ( setsid /bin/true & ) ); done; sleep 0.1; echo fine", n/6),
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		lines = append(lines,
			fmt.Sprintf("/usr/bin/python3 -c 'import threading\nfor i in range(%d):\n  t = threading.Thread(target=int); t.start(); t.join()\nprint(\"fine\")'", n),
			// A thread that executes a program becomes the first one of the process.
			fmt.Sprintf(`/usr/bin/python3 -Sc 'import os, sys, threading
n = int(sys.argv[1])
if n == 0: print("fine"); sys.exit()
threading.Thread(target=os.execv, args=(sys.executable, [sys.executable, "-Sc", sys.orig_argv[2], str(n - 1)])).start()
threading.Event().wait()' %d`, n/2))
	}
	for _, line := range lines {
		said, exit, err := runShell(t, line, func(p *tool.Process) {
			p.Timeout = 10 * time.Minute
			if p.Processes = 9; strings.Contains(line, "setsid") { // nobody waits for these
				p.Processes = n
			}
		})
		if said != "fine\n" || exit != 0 || err != nil {
			t.Errorf("%s: %q, exit %d, %v", line, said, exit, err)
		}
	}
}
