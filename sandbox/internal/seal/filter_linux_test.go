//go:build amd64 || arm64

package seal

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp"
	"github.com/cassidy-run/cassidy/sandbox/internal/seccomp/seccomptest"
)

func mustAssemble(t *testing.T, otherwise uint32, rules ...seccomp.Rule) []unix.SockFilter {
	t.Helper()
	prog, err := seccomp.Assemble(seccomp.NativeArch(), otherwise, rules)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

const (
	allowed = seccomp.Allow
	killed  = seccomp.Kill

	x32Bit = 0x40000000 // numbers from here on are those of amd64's other ABI
)

// TestWorkerRules asserts each rule of the worker's list, with what it lets
// pass and what it stops.
func TestWorkerRules(t *testing.T) {
	const (
		me    = 4242
		high  = 1 << 32 // a bit that a 32-bit argument does not have
		rw    = unix.PROT_READ | unix.PROT_WRITE
		anon  = unix.MAP_ANON | unix.MAP_PRIVATE
		minus = ^uint64(0)
	)
	eperm, einval, enosys := seccomp.Errno(unix.EPERM), seccomp.Errno(unix.EINVAL), seccomp.Errno(unix.ENOSYS)
	prog := mustAssemble(t, seccomp.Kill, workerRules(me)...)
	t.Logf("%d instructions", len(prog))
	for _, tt := range []struct {
		name string
		nr   uint32
		args [6]uint64
		want uint32
	}{
		{"futex wait", unix.SYS_FUTEX, [6]uint64{1, 0}, allowed},
		{"futex wait private", unix.SYS_FUTEX, [6]uint64{1, 128}, allowed},
		{"futex wake", unix.SYS_FUTEX, [6]uint64{1, 1}, allowed},
		{"futex wake private", unix.SYS_FUTEX, [6]uint64{1, 129}, allowed},
		{"futex wait bitset realtime", unix.SYS_FUTEX, [6]uint64{1, 9 | 128 | 256}, allowed},
		{"futex wake bitset", unix.SYS_FUTEX, [6]uint64{1, 10 | 128}, allowed},
		{"futex fd", unix.SYS_FUTEX, [6]uint64{1, 2}, killed},
		{"futex requeue", unix.SYS_FUTEX, [6]uint64{1, 3}, killed},
		{"futex cmp requeue", unix.SYS_FUTEX, [6]uint64{1, 4}, killed},
		{"futex wake op", unix.SYS_FUTEX, [6]uint64{1, 5}, killed},
		{"futex lock pi", unix.SYS_FUTEX, [6]uint64{1, 6 | 128}, killed},
		{"futex wait requeue pi", unix.SYS_FUTEX, [6]uint64{1, 11 | 128}, killed},
		{"futex cmp requeue pi", unix.SYS_FUTEX, [6]uint64{1, 12 | 128}, killed},
		{"futex flag unknown", unix.SYS_FUTEX, [6]uint64{1, 512}, killed},
		{"futex high", unix.SYS_FUTEX, [6]uint64{1, high}, killed},

		{"clock", unix.SYS_CLOCK_GETTIME, [6]uint64{0}, allowed},
		{"clock monotonic", unix.SYS_CLOCK_GETTIME, [6]uint64{1}, allowed},
		{"clock of process", unix.SYS_CLOCK_GETTIME, [6]uint64{2}, allowed},
		{"clock last", unix.SYS_CLOCK_GETTIME, [6]uint64{15}, allowed},
		{"clock unknown", unix.SYS_CLOCK_GETTIME, [6]uint64{16}, killed},
		{"clock of another", unix.SYS_CLOCK_GETTIME, [6]uint64{0xffffffff &^ (me<<3 | 5)}, killed},
		{"clock of another, 64 bits", unix.SYS_CLOCK_GETTIME, [6]uint64{minus &^ (me<<3 | 5)}, killed},
		{"sleep", unix.SYS_CLOCK_NANOSLEEP, [6]uint64{1}, allowed},
		{"sleep on another's clock", unix.SYS_CLOCK_NANOSLEEP, [6]uint64{0xffffffff &^ (me<<3 | 5)}, killed},

		{"signal own thread", unix.SYS_TGKILL, [6]uint64{me, me + 1, 23}, allowed},
		{"signal other process", unix.SYS_TGKILL, [6]uint64{me + 1, me + 1, 9}, killed},
		{"signal parent", unix.SYS_TGKILL, [6]uint64{1, 1, 0}, killed},
		{"signal all", unix.SYS_TGKILL, [6]uint64{minus, 1, 9}, killed},
		{"signal, high", unix.SYS_TGKILL, [6]uint64{me | high, me, 9}, killed},
		{"own affinity", unix.SYS_SCHED_GETAFFINITY, [6]uint64{0}, allowed},
		{"another's affinity", unix.SYS_SCHED_GETAFFINITY, [6]uint64{1}, killed},

		{"mmap", unix.SYS_MMAP, [6]uint64{0, 4096, rw, anon, minus}, allowed},
		{"mmap reserve", unix.SYS_MMAP, [6]uint64{0, 4096, 0, anon | unix.MAP_FIXED | unix.MAP_NORESERVE, minus}, allowed},
		{"mmap droppable", unix.SYS_MMAP, [6]uint64{0, 4096, rw, unix.MAP_ANON | 8, minus}, allowed},
		{"mmap exec", unix.SYS_MMAP, [6]uint64{0, 4096, unix.PROT_EXEC, anon, minus}, killed},
		{"mmap all", unix.SYS_MMAP, [6]uint64{0, 4096, rw | unix.PROT_EXEC, anon, minus}, killed},
		{"mmap file", unix.SYS_MMAP, [6]uint64{0, 4096, rw, unix.MAP_PRIVATE, 1}, killed},
		{"mmap file exec", unix.SYS_MMAP, [6]uint64{0, 4096, unix.PROT_EXEC, unix.MAP_PRIVATE, 1}, killed},
		{"mprotect", unix.SYS_MPROTECT, [6]uint64{0, 4096, rw}, allowed},
		{"mprotect none", unix.SYS_MPROTECT, [6]uint64{0, 4096, 0}, allowed},
		{"mprotect exec", unix.SYS_MPROTECT, [6]uint64{0, 4096, unix.PROT_READ | unix.PROT_EXEC}, killed},
		{"mprotect exec, high", unix.SYS_MPROTECT, [6]uint64{0, 4096, high | unix.PROT_EXEC}, killed},

		{"advice free", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_FREE}, allowed},
		{"advice dontneed", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_DONTNEED}, allowed},
		{"advice hugepage", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_HUGEPAGE}, allowed},
		{"advice nohugepage", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_NOHUGEPAGE}, allowed},
		{"advice collapse", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_COLLAPSE}, allowed},
		{"advice merge", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_MERGEABLE}, einval},
		{"advice poison", unix.SYS_MADVISE, [6]uint64{0, 1, unix.MADV_HWPOISON}, einval},
		{"advice high", unix.SYS_MADVISE, [6]uint64{0, 1, high | unix.MADV_FREE}, einval},

		{"thread", unix.SYS_CLONE, [6]uint64{0x50f00}, allowed},
		{"thread with tls", unix.SYS_CLONE, [6]uint64{0xd0f00}, allowed},
		{"thread of the C library", unix.SYS_CLONE, [6]uint64{0x3d0f00}, allowed},
		{"fork", unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, killed},
		{"vfork", unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, killed},
		{"thread with signal", unix.SYS_CLONE, [6]uint64{0x50f00 | uint64(unix.SIGCHLD)}, killed},
		{"no thread", unix.SYS_CLONE, [6]uint64{0x50f00 &^ unix.CLONE_THREAD}, killed},
		{"no shared memory", unix.SYS_CLONE, [6]uint64{0x50f00 &^ unix.CLONE_VM}, killed},
		{"no shared files", unix.SYS_CLONE, [6]uint64{0x50f00 &^ unix.CLONE_FILES}, killed},
		{"no shared signals", unix.SYS_CLONE, [6]uint64{0x50f00 &^ unix.CLONE_SIGHAND}, killed},
		{"thread, user namespace", unix.SYS_CLONE, [6]uint64{0x50f00 | unix.CLONE_NEWUSER}, killed},
		{"thread, mount namespace", unix.SYS_CLONE, [6]uint64{0x50f00 | unix.CLONE_NEWNS}, killed},
		{"thread, net namespace", unix.SYS_CLONE, [6]uint64{0xd0f00 | unix.CLONE_NEWNET}, killed},
		{"thread, pid namespace", unix.SYS_CLONE, [6]uint64{0xd0f00 | unix.CLONE_NEWPID}, killed},
		{"thread, parent's", unix.SYS_CLONE, [6]uint64{0x50f00 | unix.CLONE_PARENT}, killed},
		{"thread, handle", unix.SYS_CLONE, [6]uint64{0x50f00 | unix.CLONE_PIDFD}, killed},
		{"thread, ptrace", unix.SYS_CLONE, [6]uint64{0x50f00 | unix.CLONE_PTRACE}, killed},
		{"thread, io", unix.SYS_CLONE, [6]uint64{0x50f00 | unix.CLONE_IO}, killed},
		{"thread, high", unix.SYS_CLONE, [6]uint64{0x50f00 | high}, killed},
		{"clone3", unix.SYS_CLONE3, [6]uint64{}, enosys},

		{"fcntl get descriptor flags", unix.SYS_FCNTL, [6]uint64{1, unix.F_GETFD}, allowed},
		{"fcntl get flags", unix.SYS_FCNTL, [6]uint64{1, unix.F_GETFL}, allowed},
		{"fcntl set flags", unix.SYS_FCNTL, [6]uint64{1, unix.F_SETFL, unix.O_NONBLOCK | unix.O_RDWR}, allowed},
		{"fcntl set async", unix.SYS_FCNTL, [6]uint64{1, unix.F_SETFL, unix.O_NONBLOCK | unix.O_ASYNC}, killed},
		{"fcntl set descriptor flags", unix.SYS_FCNTL, [6]uint64{1, unix.F_SETFD, 0}, killed},
		{"fcntl dup", unix.SYS_FCNTL, [6]uint64{1, unix.F_DUPFD}, killed},
		{"fcntl dup cloexec", unix.SYS_FCNTL, [6]uint64{1, unix.F_DUPFD_CLOEXEC}, killed},
		{"fcntl set owner", unix.SYS_FCNTL, [6]uint64{1, unix.F_SETOWN, 1}, killed},
		{"fcntl lock", unix.SYS_FCNTL, [6]uint64{1, unix.F_SETLK}, killed},
		{"fcntl pipe size", unix.SYS_FCNTL, [6]uint64{2, unix.F_SETPIPE_SZ, 1 << 20}, killed},
		{"fcntl get flags, high", unix.SYS_FCNTL, [6]uint64{1, high | unix.F_GETFL}, killed},

		{"name memory", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_VMA}, einval},
		{"prctl name", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_NAME}, killed},
		{"prctl dumpable", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_DUMPABLE}, killed},
		{"prctl ptracer", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_PTRACER}, killed},
		{"prctl seccomp", unix.SYS_PRCTL, [6]uint64{unix.PR_SET_SECCOMP}, killed},

		{"openat", unix.SYS_OPENAT, [6]uint64{}, eperm},
		{"readlinkat", unix.SYS_READLINKAT, [6]uint64{}, eperm},
		{"uname", unix.SYS_UNAME, [6]uint64{}, eperm},
		{"openat2", unix.SYS_OPENAT2, [6]uint64{}, killed},
	} {
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: seccomp.NativeArch(), Nr: tt.nr, Args: tt.args}); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: seccomp.NativeArch() + 1, Nr: tt.nr, Args: tt.args}); got != killed {
			t.Errorf("%s on another architecture: got %#x, want %#x", tt.name, got, killed)
		}
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: seccomp.NativeArch(), Nr: tt.nr | x32Bit, Args: tt.args}); got != killed {
			t.Errorf("%s of x32: got %#x, want %#x", tt.name, got, killed)
		}
	}
}

// TestWorkerRulesLeaveOut goes through all numbers: what passes whatever its
// arguments are is this list, and what is nowhere here kills.
func TestWorkerRulesLeaveOut(t *testing.T) {
	always := map[uint32]uint32{}
	for _, nr := range []uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_CTL,
		unix.SYS_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_RESTART_SYSCALL, unix.SYS_MUNMAP, unix.SYS_BRK,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM,
		unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
		unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	} {
		always[nr] = seccomp.Allow
	}
	always[unix.SYS_CLONE3] = seccomp.Errno(unix.ENOSYS)
	always[unix.SYS_OPENAT] = seccomp.Errno(unix.EPERM)
	always[unix.SYS_READLINKAT] = seccomp.Errno(unix.EPERM)
	always[unix.SYS_UNAME] = seccomp.Errno(unix.EPERM)
	always[unix.SYS_MADVISE] = seccomp.Errno(unix.EINVAL) // but for the advice above
	if runtime.GOARCH == "amd64" {
		always[amd64Open] = seccomp.Errno(unix.EPERM)
		always[amd64Readlink] = seccomp.Errno(unix.EPERM)
	}
	prog := mustAssemble(t, seccomp.Kill, workerRules(4242)...)
	everything := ^uint64(0)
	for nr := range uint32(1024) {
		want, ok := always[nr]
		if !ok {
			want = killed
		}
		odd := [6]uint64{everything, everything, everything, everything, everything, everything}
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: seccomp.NativeArch(), Nr: nr, Args: odd}); got != want {
			t.Errorf("system call %d: got %#x, want %#x", nr, got, want)
		}
	}
	for _, nr := range []uint32{x32Bit, x32Bit + 1024, 1 << 31, ^uint32(0)} {
		if got := seccomptest.Verdict(t, prog, seccomptest.Call{Arch: seccomp.NativeArch(), Nr: nr}); got != killed {
			t.Errorf("system call %#x: got %#x, want %#x", nr, got, killed)
		}
	}
}
