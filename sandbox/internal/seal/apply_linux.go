//go:build amd64 || arm64

package seal

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

const (
	// headroom is what a worker may map beyond its budget. The Go runtime
	// reserves address space in arenas of 64 MB, so that with less a heap could
	// not grow at all.
	headroom = 64 << 20
	// maxStack ends a runaway recursion of our own Go code long before it has
	// used the default of 1 GB. A budget that it would not fit in halves it.
	maxStack = 64 << 20
	// maxOpen leaves room for the few descriptors of the runtime itself.
	maxOpen = 16
	// maxSeconds is a net below the host's own clock, in seconds.
	maxSeconds = uint64(MaxCPU / time.Second)
)

// Apply confines this process permanently: it may map about so many bytes of memory, and
// do nothing that computing does not need. A worker calls it when it has warmed up, and
// before it has read anything of an untrusted author. The error is of kind Invalid if the
// memory is not positive, and Unavailable if a layer is missing.
//
// The process must have been started with the [Environment] and nothing else. Its
// descriptors below 3 are pipes; the runtime's poller adds two (see [Verify]). It must have read every file that it needs, and embed
// time zones. Apply closes inherited descriptors from 3 on. Afterwards a system call that
// is not in workerRules ends the process with SIGSYS.
func Apply(memory int64) error {
	if memory <= 0 {
		return value.Errorf(value.Invalid, "confine the worker: invalid memory limit: %d bytes", memory)
	}
	layers, err := layersFor(memory)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := l.apply(); err != nil {
			return value.Errorf(value.Unavailable, "confine the worker: %s: %w", l.name, err)
		}
	}
	return nil
}

// Environment returns the environment that a worker is started with. Without the first two
// variables the Go runtime holds files of the cgroup open and reads them again and again.
// The third keeps a C library, where there is one, from reserving 64 MB of the worker's
// addresses for each thread.
func Environment() []string {
	return []string{"GOMAXPROCS=2", "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "MALLOC_ARENA_MAX=1"}
}

// ApplyAvailable is [Apply] for a user who has said that workers may be unconfined: layers
// that the system does not have are skipped.
func ApplyAvailable(memory int64) error {
	layers, err := layersFor(memory)
	for _, l := range layers {
		_ = l.apply() // the host knows what is missing, and continues
	}
	return err
}

// A layer is one part of the confinement.
type layer struct {
	name  string
	apply func() error
}

// layersFor returns the layers in the order in which they must be applied: each needs what
// the next takes away.
func layersFor(memory int64) ([]layer, error) {
	filter, err := seccomp.Assemble(seccomp.NativeArch(), seccomp.Kill, workerRules(os.Getpid()))
	if err != nil {
		return nil, err
	}
	return []layer{
		{"inherited descriptors", closeInherited},
		{"poller", startPoller},
		{"resource limits", func() error { return limitResources(memory) }},
		{"capabilities", dropCapabilities},
		{"no_new_privs", forbidPrivileges},
		{"Landlock", closeFiles},
		{"memory of the Go runtime", func() error { return limitRuntime(memory) }},
		{"seccomp", func() error { return seccomp.Install(filter) }},
	}, nil
}

// closeInherited closes what the host's own parent left open to all its
// children, which Go passes on. Such a descriptor has survived an exec; those
// that this process opened itself, as the Go runtime does, would not.
func closeInherited() error {
	open, err := names("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, name := range open {
		fd, err := strconv.Atoi(name)
		if err != nil {
			return err
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd <= 2 || err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue // gone, as what has just listed them, or our own
		}
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("close descriptor %d: %w", fd, err)
		}
	}
	return nil
}

// startPoller makes the runtime open the descriptors of its poller, which it
// otherwise does at the first timer: the filter then need not allow it, and
// the host always counts the same descriptors.
func startPoller() error {
	time.AfterFunc(time.Hour, func() {}).Stop()
	return nil
}

// limitResources sets the kernel's limits. Those on memory are relative to what
// is mapped now: an idle Go process has reserved gigabytes of addresses, and
// how many differs from run to run.
func limitResources(memory int64) error {
	size, data, err := mapped()
	if err != nil {
		return err
	}
	for _, l := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"address space", unix.RLIMIT_AS, size + uint64(memory) + headroom},
		{"data", unix.RLIMIT_DATA, data + uint64(memory) + headroom},
		{"open files", unix.RLIMIT_NOFILE, maxOpen},
		{"file size", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"processor time", unix.RLIMIT_CPU, maxSeconds},
	} {
		// A limit can only be lowered: one that is lower already stays.
		var old unix.Rlimit
		if err := unix.Prlimit(0, l.resource, nil, &old); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		limit := min(l.max, old.Max)
		if err := unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// mapped returns how many bytes of addresses this process has mapped, and how
// many of them the kernel counts as data.
func mapped() (size, data uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	var skip uint64
	if _, err := fmt.Sscan(string(text), &size, &skip, &skip, &skip, &skip, &data); err != nil {
		return 0, 0, fmt.Errorf("read /proc/self/statm: %w", err)
	}
	page := uint64(os.Getpagesize())
	return size * page, data * page, nil
}

// allThreads makes a system call on every thread. Go moves goroutines between
// threads, and each thread has capabilities of its own.
func allThreads(nr, a, b, c uintptr) error {
	if _, _, e := psx.Syscall6(nr, a, b, c, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// dropCapabilities empties all five sets of every thread. The bounding set can
// only be emptied by who has CAP_SETPCAP; without it no_new_privs, which comes
// next, is what keeps a process from gaining from that set.
func dropCapabilities() error {
	if err := allThreads(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	may, err := maySetCapabilities()
	if err != nil {
		return err
	}
	if may {
		// Each drop stops all threads, but a worker's starter has left none to drop.
		drop := func(c uintptr) error { return allThreads(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0) }
		if err := dropBounding(drop); err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := allThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); err != nil {
		return fmt.Errorf("clear the capabilities of the threads: %w", err)
	}
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&none)
	return nil
}

// dropBounding drops each capability of the bounding set of this thread.
func dropBounding(drop func(c uintptr) error) error {
	for c := uintptr(0); ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		switch {
		case errors.Is(err, unix.EINVAL):
			return nil // the kernel knows no more
		case err != nil:
			return fmt.Errorf("clear the capability bounding set: %w", err)
		case held == 0:
			continue
		}
		if err := drop(c); err != nil {
			return fmt.Errorf("clear the capability bounding set: drop capability %d: %w", c, err)
		}
	}
}

// PrepareThread empties the bounding set of capabilities of this thread, which must be
// locked to the goroutine and start workers only: they inherit the set. A worker empties
// its own and checks it; having nothing left to drop saves it milliseconds.
func PrepareThread() {
	if may, err := maySetCapabilities(); err != nil || !may {
		return
	}
	_ = dropBounding(func(c uintptr) error { return unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) }) // or the worker does it
}

// maySetCapabilities reports whether this process has CAP_SETPCAP.
func maySetCapabilities() (bool, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false, fmt.Errorf("read capabilities: %w", err)
	}
	return data[0].Effective&(1<<unix.CAP_SETPCAP) != 0, nil
}

// forbidPrivileges makes sure that nothing this process could ever start has
// more rights than it has. Landlock and seccomp ask for it.
func forbidPrivileges() error {
	return allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// closeFiles lets Landlock refuse everything that this kernel's can: with no
// rule at all, nothing is allowed. Best effort is only for what a kernel's
// version lacks; where it has no Landlock, or it does not hold, this fails.
func closeFiles() error {
	if _, err := landlockVersion(); err != nil {
		return err
	}
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		return err
	}
	return checkLandlock()
}

// checkLandlock tries to open what could be opened a moment ago. The host
// cannot see Landlock from outside, so it is tested here.
func checkLandlock() error {
	fd, err := unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return errors.New("check Landlock: files can still be opened")
	}
	if !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("check Landlock: open a file: %w", err)
	}
	return nil
}

// limitRuntime lets the collector try hard before the kernel says no.
func limitRuntime(memory int64) error {
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(int(min(maxStack, memory/2))) // to grow, a stack is copied into one of twice its size
	return nil
}

// landlockVersion returns the version of this kernel's Landlock.
func landlockVersion() (int, error) {
	v, err := ll.LandlockGetABIVersion()
	switch {
	case err == nil && v >= 1:
		return v, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, errors.New("this kernel has Landlock disabled")
	case err == nil || errors.Is(err, unix.ENOSYS):
		return 0, errors.New("this kernel does not support Landlock")
	}
	return 0, fmt.Errorf("query the Landlock version: %w", err)
}

// seccompAvailable asks the kernel for the two answers that the filter gives.
func seccompAvailable() error {
	for _, action := range []uint32{seccomp.Kill, seccomp.Errno(0)} {
		_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
		if e != 0 {
			return fmt.Errorf("this kernel does not support the required seccomp actions: %w", e)
		}
	}
	return nil
}

// Layers returns what confines a worker on this system, in words for people, and an error
// of kind Unavailable where a required layer is missing. It changes nothing.
func Layers() ([]string, error) {
	version, noLandlock := landlockVersion()
	return layersOf(version, noLandlock, seccompAvailable())
}

// layersOf returns the layers for what the kernel has answered.
func layersOf(version int, noLandlock, noSeccomp error) ([]string, error) {
	layers := []string{
		"separate process: a crash or a hang affects only the worker",
		"resource limits: memory, open files, no written file, no core dump",
		"no capabilities, and no new privileges",
	}
	if noLandlock == nil {
		closed := []string{"no files"}
		if version >= 4 {
			closed = append(closed, "no TCP")
		}
		if version >= 6 {
			closed = append(closed, "no signals and no abstract sockets to other processes")
		}
		layers = append(layers, fmt.Sprintf("Landlock version %d: %s", version, strings.Join(closed, ", ")))
	}
	if noSeccomp == nil {
		layers = append(layers, "seccomp: a forbidden system call ends the process")
	}
	if err := errors.Join(noLandlock, noSeccomp); err != nil {
		text := strings.ReplaceAll(err.Error(), "\n", "; ")
		return layers, value.Errorf(value.Unavailable, "this system cannot confine workers: %s", text).
			WithHint("use Linux 5.13 or newer with landlock in /sys/kernel/security/lsm, or run only tools that you trust")
	}
	return layers, nil
}
