//go:build amd64 || arm64

package seal

import (
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp"
)

// What Go's own threads look like: they share everything and are no process of
// their own. The C library's threads add CLONE_PARENT_SETTID and
// CLONE_CHILD_CLEARTID, Go's may have CLONE_SETTLS.
const (
	threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	threadMay   = unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID
)

// The futex operations that waiting and waking take. The many others have had
// holes, and nobody here needs them.
const (
	futexWait       = 0
	futexWake       = 1
	futexWaitBitset = 9
	futexWakeBitset = 10
	futexPrivate    = 128
	futexRealtime   = 256
)

// lastClock is the highest number of a clock of the system itself; the clocks
// of other processes have negative numbers.
const lastClock = 15

// The numbers of amd64's older calls, which arm64 does not have.
const (
	amd64Open     = 2
	amd64Readlink = 89
)

// workerRules is what a worker may do: compute, and talk over what it holds.
// What is not here ends it. pid is its own number.
//
// Nothing here lets it make memory executable (that kills too: no honest Go
// code asks), nor open, name or start anything. The calls that Go's library
// tries in passing and can do without fail instead of killing.
func workerRules(pid int) []seccomp.Rule {
	var rules []seccomp.Rule
	allow := func(nr uint32, args ...seccomp.Test) {
		rules = append(rules, seccomp.On(nr, seccomp.Allow, args...))
	}
	fail := func(e unix.Errno, nr uint32, args ...seccomp.Test) {
		rules = append(rules, seccomp.On(nr, seccomp.Errno(e), args...))
	}
	// The most frequent first: the kernel tries them in turn.
	for _, op := range []uint64{futexWait, futexWake, futexWaitBitset, futexWakeBitset} {
		allow(unix.SYS_FUTEX, seccomp.Masked(1, ^uint64(futexPrivate|futexRealtime), op))
	}
	for _, nr := range []uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE,
		unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL,
		unix.SYS_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_RESTART_SYSCALL,
		unix.SYS_MUNMAP, unix.SYS_BRK,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM,
		unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, // each new thread of the C library
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	} {
		allow(nr)
	}
	allow(unix.SYS_CLOCK_GETTIME, seccomp.Without(0, ^uint64(lastClock)))
	allow(unix.SYS_CLOCK_NANOSLEEP, seccomp.Without(0, ^uint64(lastClock))) // the C library's usleep
	allow(unix.SYS_TGKILL, seccomp.Equals(0, uint64(pid)))                  // how Go preempts its threads
	allow(unix.SYS_SCHED_GETAFFINITY, seccomp.Equals(0, 0))

	allow(unix.SYS_MMAP, seccomp.Without(2, unix.PROT_EXEC), seccomp.Masked(3, unix.MAP_ANONYMOUS, unix.MAP_ANONYMOUS))
	allow(unix.SYS_MPROTECT, seccomp.Without(2, unix.PROT_EXEC))
	for _, advice := range []uint64{unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLLAPSE} {
		allow(unix.SYS_MADVISE, seccomp.Equals(2, advice))
	}
	fail(unix.EINVAL, unix.SYS_MADVISE) // advice need not be taken

	allow(unix.SYS_CLONE, seccomp.Masked(0, ^uint64(threadMay), threadFlags))
	fail(unix.ENOSYS, unix.SYS_CLONE3) // its flags lie in memory, where a filter cannot look

	allow(unix.SYS_FCNTL, seccomp.Equals(1, unix.F_GETFD))
	allow(unix.SYS_FCNTL, seccomp.Equals(1, unix.F_GETFL))
	allow(unix.SYS_FCNTL, seccomp.Equals(1, unix.F_SETFL), seccomp.Without(2, unix.O_ASYNC))

	fail(unix.EINVAL, unix.SYS_PRCTL, seccomp.Equals(0, unix.PR_SET_VMA)) // Go names its memory, where it can
	for _, nr := range []uint32{unix.SYS_OPENAT, unix.SYS_READLINKAT, unix.SYS_UNAME} {
		fail(unix.EPERM, nr)
	}
	if runtime.GOARCH == "amd64" {
		fail(unix.EPERM, amd64Open)
		fail(unix.EPERM, amd64Readlink)
	}
	return rules
}
