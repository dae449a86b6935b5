//go:build amd64 || arm64

package sandbox

import (
	"runtime"
	"unsafe"

	"github.com/cassidy-run/cassidy/runtime/value"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What the kernel does with a system call.
const (
	actionAllow uint32 = unix.SECCOMP_RET_ALLOW
	actionKill  uint32 = unix.SECCOMP_RET_KILL_PROCESS // ends the whole process with SIGSYS
)

// actionErrno makes a system call fail with an error and do nothing.
func actionErrno(e unix.Errno) uint32 {
	return unix.SECCOMP_RET_ERRNO | uint32(e)&unix.SECCOMP_RET_DATA
}

// Where struct seccomp_data holds what a filter can look at. The low word of
// an argument comes first: both architectures are little-endian.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

const (
	x32Bit      = 0x40000000 // numbers from here on are amd64's other ABI, with its own table
	maxProgram  = 4096       // BPF_MAXINSNS
	maxArgument = 5
)

// A syscallRule says what happens to one system call when all tests of its
// arguments hold.
type syscallRule struct {
	nr     uint32
	args   []argTest
	action uint32
}

// An argTest holds when argument & mask == value. All 64 bits are looked at,
// also where the kernel ignores the upper half: a value that an honest caller
// would not pass matches nothing.
type argTest struct {
	index       int
	mask, value uint64
}

// equals holds when an argument is exactly this.
func equals(index int, value uint64) argTest { return argTest{index, ^uint64(0), value} }

// without holds when an argument has none of these bits.
func without(index int, bits uint64) argTest { return argTest{index, bits, 0} }

// assembleFilter makes the program that applies the first rule that matches,
// or otherwise. A call that comes in by another architecture's entry, where
// the same numbers mean other calls, kills.
func assembleFilter(arch uint32, otherwise uint32, rules []syscallRule) ([]unix.SockFilter, error) {
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: actionKill},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		bpf.RetConstant{Val: actionKill},
	}
	clobbered := false // the accumulator no longer holds the number
	for _, r := range rules {
		block, err := assembleRule(r)
		if err != nil {
			return nil, err
		}
		if clobbered {
			code = append(code, bpf.LoadAbsolute{Off: offsetNumber, Size: 4})
		}
		code = append(code, block...)
		clobbered = len(r.args) > 0
	}
	code = append(code, bpf.RetConstant{Val: otherwise})
	if len(code) > maxProgram {
		return nil, value.Errorf(value.Internal, "the filter has %d instructions, more than %d", len(code), maxProgram)
	}
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, value.Errorf(value.Internal, "assemble the filter: %w", err)
	}
	prog := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		prog[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return prog, nil
}

// assembleRule makes the instructions of one rule, which fall through to what
// follows them when the rule does not match. It is built from its end, so that
// each jump knows how far the end is.
func assembleRule(r syscallRule) ([]bpf.Instruction, error) {
	block := []bpf.Instruction{bpf.RetConstant{Val: r.action}}
	for i := len(r.args) - 1; i >= 0; i-- {
		a := r.args[i]
		if a.index < 0 || a.index > maxArgument {
			return nil, value.Errorf(value.Internal, "rule for system call %d: there is no argument %d", r.nr, a.index)
		}
		if a.mask == 0 || a.value&^a.mask != 0 {
			return nil, value.Errorf(value.Internal, "rule for system call %d: a test of %#x against %#x always ends the same way", r.nr, a.mask, a.value)
		}
		low := uint32(offsetArgs + 8*a.index)
		block = prependTest(block, low+4, uint32(a.mask>>32), uint32(a.value>>32))
		block = prependTest(block, low, uint32(a.mask), uint32(a.value))
	}
	return prependJump(block, r.nr), nil
}

// prependTest leaves the block unless one word of an argument is as it should be.
func prependTest(block []bpf.Instruction, offset, mask, value uint32) []bpf.Instruction {
	if mask == 0 {
		return block
	}
	block = prependJump(block, value)
	if mask != ^uint32(0) {
		block = append([]bpf.Instruction{bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask}}, block...)
	}
	return append([]bpf.Instruction{bpf.LoadAbsolute{Off: offset, Size: 4}}, block...)
}

// prependJump leaves the block unless the accumulator has this value. A
// conditional jump reaches no further than 255, an unconditional one anywhere.
func prependJump(block []bpf.Instruction, value uint32) []bpf.Instruction {
	if n := len(block); n > 255 {
		return append([]bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: 1},
			bpf.Jump{Skip: uint32(n)},
		}, block...)
	}
	return append([]bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: uint8(len(block))},
	}, block...)
}

// installFilter puts a filter on every thread of this process, for ever.
// The threads need no_new_privs first.
func installFilter(prog []unix.SockFilter) error {
	if len(prog) == 0 || len(prog) > maxProgram {
		return value.Errorf(value.Internal, "a filter of %d instructions", len(prog))
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	tid, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(prog)
	switch {
	case e != 0:
		return value.Errorf(value.Unavailable, "install the filter: %w", e)
	case tid != 0:
		return value.Errorf(value.Unavailable, "install the filter: thread %d has another one", tid)
	}
	return nil
}

// nativeArch is the architecture that seccomp reports for this program's own
// system calls.
func nativeArch() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

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
func workerRules(pid int) []syscallRule {
	var rules []syscallRule
	allow := func(nr uint32, args ...argTest) {
		rules = append(rules, syscallRule{nr, args, actionAllow})
	}
	fail := func(e unix.Errno, nr uint32, args ...argTest) {
		rules = append(rules, syscallRule{nr, args, actionErrno(e)})
	}
	// The most frequent first: the kernel tries them in turn.
	for _, op := range []uint64{futexWait, futexWake, futexWaitBitset, futexWakeBitset} {
		allow(unix.SYS_FUTEX, argTest{1, ^uint64(futexPrivate | futexRealtime), op})
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
	allow(unix.SYS_CLOCK_GETTIME, without(0, ^uint64(lastClock)))
	allow(unix.SYS_CLOCK_NANOSLEEP, without(0, ^uint64(lastClock))) // the C library's usleep
	allow(unix.SYS_TGKILL, equals(0, uint64(pid)))                  // how Go preempts its threads
	allow(unix.SYS_SCHED_GETAFFINITY, equals(0, 0))

	allow(unix.SYS_MMAP, without(2, unix.PROT_EXEC), argTest{3, unix.MAP_ANONYMOUS, unix.MAP_ANONYMOUS})
	allow(unix.SYS_MPROTECT, without(2, unix.PROT_EXEC))
	for _, advice := range []uint64{unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_COLLAPSE} {
		allow(unix.SYS_MADVISE, equals(2, advice))
	}
	fail(unix.EINVAL, unix.SYS_MADVISE) // advice need not be taken

	allow(unix.SYS_CLONE, argTest{0, ^uint64(threadMay), threadFlags})
	fail(unix.ENOSYS, unix.SYS_CLONE3) // its flags lie in memory, where a filter cannot look

	allow(unix.SYS_FCNTL, equals(1, unix.F_GETFD))
	allow(unix.SYS_FCNTL, equals(1, unix.F_GETFL))
	allow(unix.SYS_FCNTL, equals(1, unix.F_SETFL), without(2, unix.O_ASYNC))

	fail(unix.EINVAL, unix.SYS_PRCTL, equals(0, unix.PR_SET_VMA)) // Go names its memory, where it can
	for _, nr := range []uint32{unix.SYS_OPENAT, unix.SYS_READLINKAT, unix.SYS_UNAME} {
		fail(unix.EPERM, nr)
	}
	if runtime.GOARCH == "amd64" {
		fail(unix.EPERM, amd64Open)
		fail(unix.EPERM, amd64Readlink)
	}
	return rules
}
