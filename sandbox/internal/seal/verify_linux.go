//go:build amd64 || arm64

package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"

	"golang.org/x/sys/unix"
)

const (
	// maxDescriptors is three pipes and the two of the Go runtime's poller.
	maxDescriptors = 5
	// maxRounds is how often the threads are listed before a process that keeps
	// starting new ones is given up.
	maxRounds = 20
)

// Verify reads from /proc whether a worker is confined as [Apply] does it, and fails with
// kind Unavailable if it is not. Landlock cannot be seen from outside; Apply tries it. The
// caller must hold the process as a child that it has not waited for, so that the PID is
// that of no other process.
func Verify(pid int) error {
	if err := verified(pid); err != nil {
		return value.Errorf(value.Unavailable, "check the confinement of worker %d: %w", pid, err)
	}
	return nil
}

func verified(pid int) error {
	dir := "/proc/" + strconv.Itoa(pid)
	if err := verifyThreads(dir, strconv.Itoa(pid)); err != nil {
		return err
	}
	if err := verifyLimits(dir); err != nil {
		return err
	}
	return verifyDescriptors(dir)
}

// verifyThreads checks each thread. A thread that ends meanwhile is no danger
// but what it has started could be, so threads are listed until none is new.
func verifyThreads(dir, leader string) error {
	bounding, err := mustDropBounding(dir)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for range maxRounds {
		threads, err := names(dir + "/task")
		if err != nil {
			return err
		}
		fresh := false
		for _, id := range threads {
			if seen[id] {
				continue
			}
			seen[id], fresh = true, true
			err := verifyThread(dir+"/task/"+id+"/status", bounding)
			if err != nil && id != leader && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)) {
				continue
			}
			if err != nil {
				return fmt.Errorf("thread %s: %w", id, err)
			}
		}
		if !fresh {
			return nil
		}
	}
	return errors.New("the worker starts threads too fast to check them all")
}

// mustDropBounding reports whether the worker could have emptied its bounding
// set: it could where we could, and it runs as who we are.
func mustDropBounding(dir string) (bool, error) {
	may, err := maySetCapabilities()
	if err != nil || !may {
		return false, err
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return false, fmt.Errorf("stat %s: %w", dir, err)
	}
	return int(st.Uid) == os.Geteuid(), nil
}

// verifyThread reads what the kernel reports of one thread.
func verifyThread(file string, bounding bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	want := map[string]string{"Seccomp": "2", "NoNewPrivs": "1",
		"CapInh": noCapability, "CapPrm": noCapability, "CapEff": noCapability, "CapAmb": noCapability}
	if bounding {
		want["CapBnd"] = noCapability
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if state := value; name == "State" && (strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")) {
			return errors.New("the worker has exited")
		}
		if w, ok := want[name]; ok {
			if value != w {
				return fmt.Errorf("%s: expected %s but got %s", name, w, value)
			}
			delete(want, name)
		}
	}
	for name := range want {
		return fmt.Errorf("the kernel did not report %s", name)
	}
	return nil
}

// noCapability is an empty set, as the kernel prints it.
const noCapability = "0000000000000000"

// verifyLimits checks the limits that are the same for every worker, and that
// those on memory are set at all: their size was the worker's to choose before
// anything foreign reached it.
func verifyLimits(dir string) error {
	text, err := os.ReadFile(dir + "/limits")
	if err != nil {
		return err
	}
	most := map[string]uint64{
		"Max address space": unix.RLIM_INFINITY - 1, "Max data size": unix.RLIM_INFINITY - 1,
		"Max open files": maxOpen, "Max file size": 0, "Max core file size": 0,
		"Max locked memory": 0, "Max msgqueue size": 0, "Max cpu time": maxSeconds,
	}
	for line := range strings.Lines(string(text)) {
		for name, limit := range most {
			rest, ok := strings.CutPrefix(line, name+" ")
			if !ok {
				continue
			}
			columns := strings.Fields(rest) // soft, hard, unit
			if len(columns) < 2 {
				return fmt.Errorf("parse /proc limits: invalid line %q", line)
			}
			if hard, err := strconv.ParseUint(columns[1], 10, 64); err != nil || hard > limit {
				return fmt.Errorf("the limit %s is %s, which is too high", name, columns[1])
			}
			delete(most, name)
		}
	}
	for name := range most {
		return fmt.Errorf("the kernel did not report %s", name)
	}
	return nil
}

// verifyDescriptors checks that the worker holds no file.
func verifyDescriptors(dir string) error {
	open, err := names(dir + "/fd")
	if err != nil {
		return err
	}
	var held []string
	for _, fd := range open {
		target, err := os.Readlink(dir + "/fd/" + fd)
		if err != nil {
			return err
		}
		held = append(held, target)
		if !harmless(target) {
			return fmt.Errorf("the worker has a forbidden open file: %s (descriptor %s)", target, fd)
		}
	}
	if len(held) > maxDescriptors {
		return fmt.Errorf("the worker has %d open descriptors, limit %d: %s", len(held), maxDescriptors, strings.Join(held, " "))
	}
	return nil
}

// harmless reports whether a descriptor is a pipe or the runtime's own.
func harmless(target string) bool {
	return strings.HasPrefix(target, "pipe:[") || target == "anon_inode:[eventpoll]" || target == "anon_inode:[eventfd]"
}

// names returns what a folder of /proc lists.
func names(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// Memory returns how many bytes of memory a process has in use, and false if that is not
// known. It is cheap enough to be called a hundred times a second.
func Memory(pid int) (int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil && pages > 0 // a process that has ended has none
}

// CPUTime returns the processor time of all threads of a process, those that have ended
// too, and false if it is not known. The clock of a process can be read by anyone, to the
// nanosecond and in one system call; /proc/PID/stat counts ticks of 10 ms.
func CPUTime(pid int) (time.Duration, bool) {
	const (
		maxPID    = 1 << 22 // the kernel's; greater ones would not fit into a clock's number
		scheduler = 2       // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	)
	if pid <= 0 || pid > maxPID {
		return 0, false // 0 would be our own clock
	}
	var t unix.Timespec
	if err := unix.ClockGettime(^int32(pid)<<3|scheduler, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
