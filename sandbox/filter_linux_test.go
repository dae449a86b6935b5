//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// A callData is a system call as a filter sees it.
type callData struct {
	arch uint32
	nr   uint32
	args [6]uint64
}

// verdict runs an assembled program. The interpreter reads words in network
// order where the kernel reads its own, so each word is written so; the low
// word of an argument comes first in both.
func verdict(t interface{ Fatal(...any) }, prog []unix.SockFilter, c callData) uint32 {
	code := make([]bpf.Instruction, len(prog))
	for i, in := range prog {
		code[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, w := range []uint32{c.nr, c.arch, 0, 0} { // the last two: where from
		data = binary.BigEndian.AppendUint32(data, w)
	}
	for _, a := range c.args {
		data = binary.BigEndian.AppendUint32(data, uint32(a))
		data = binary.BigEndian.AppendUint32(data, uint32(a>>32))
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func mustAssemble(t *testing.T, otherwise uint32, rules ...syscallRule) []unix.SockFilter {
	t.Helper()
	prog, err := assembleFilter(nativeArch(), otherwise, rules)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

const (
	allowed = actionAllow
	killed  = actionKill
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
	eperm, einval, enosys := actionErrno(unix.EPERM), actionErrno(unix.EINVAL), actionErrno(unix.ENOSYS)
	prog := mustAssemble(t, actionKill, workerRules(me)...)
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
		if got := verdict(t, prog, callData{nativeArch(), tt.nr, tt.args}); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
		if got := verdict(t, prog, callData{nativeArch() + 1, tt.nr, tt.args}); got != killed {
			t.Errorf("%s on another architecture: got %#x, want %#x", tt.name, got, killed)
		}
		if got := verdict(t, prog, callData{nativeArch(), tt.nr | x32Bit, tt.args}); got != killed {
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
		always[nr] = actionAllow
	}
	always[unix.SYS_CLONE3] = actionErrno(unix.ENOSYS)
	always[unix.SYS_OPENAT] = actionErrno(unix.EPERM)
	always[unix.SYS_READLINKAT] = actionErrno(unix.EPERM)
	always[unix.SYS_UNAME] = actionErrno(unix.EPERM)
	always[unix.SYS_MADVISE] = actionErrno(unix.EINVAL) // but for the advice above
	if runtime.GOARCH == "amd64" {
		always[amd64Open] = actionErrno(unix.EPERM)
		always[amd64Readlink] = actionErrno(unix.EPERM)
	}
	prog := mustAssemble(t, actionKill, workerRules(4242)...)
	everything := ^uint64(0)
	for nr := range uint32(1024) {
		want, ok := always[nr]
		if !ok {
			want = killed
		}
		odd := [6]uint64{everything, everything, everything, everything, everything, everything}
		if got := verdict(t, prog, callData{nativeArch(), nr, odd}); got != want {
			t.Errorf("system call %d: got %#x, want %#x", nr, got, want)
		}
	}
	for _, nr := range []uint32{x32Bit, x32Bit + 1024, 1 << 31, ^uint32(0)} {
		if got := verdict(t, prog, callData{arch: nativeArch(), nr: nr}); got != killed {
			t.Errorf("system call %#x: got %#x, want %#x", nr, got, killed)
		}
	}
}

func TestAssembleFilter(t *testing.T) {
	one, two, three := actionErrno(1), actionErrno(2), actionErrno(3)
	rules := []syscallRule{
		{10, []argTest{equals(0, 7)}, one},
		{10, []argTest{equals(5, 1<<40|9), without(1, 6)}, two},
		{11, nil, three}, // after a failed match of arguments
		{10, nil, three},
		{10, nil, one}, // never reached: the first wins
		{12, []argTest{{2, 1 << 63, 1 << 63}}, one},
	}
	prog := mustAssemble(t, actionAllow, rules...)
	for _, tt := range []struct {
		name string
		nr   uint32
		args [6]uint64
		want uint32
	}{
		{"first", 10, [6]uint64{7}, one},
		{"low word only", 10, [6]uint64{7 | 1<<32}, three},
		{"second", 10, [6]uint64{5: 1<<40 | 9}, two},
		{"second, one test fails", 10, [6]uint64{1: 4, 5: 1<<40 | 9}, three},
		{"other bits do not matter", 10, [6]uint64{1: ^uint64(6), 5: 1<<40 | 9}, two},
		{"none", 10, [6]uint64{}, three},
		{"after others' arguments", 11, [6]uint64{7}, three},
		{"top bit", 12, [6]uint64{2: 1 << 63}, one},
		{"no top bit", 12, [6]uint64{2: 1<<63 - 1}, actionAllow},
		{"no rule", 13, [6]uint64{7}, actionAllow},
		{"the number of a rule as argument", 13, [6]uint64{10, 11, 12}, actionAllow},
	} {
		if got := verdict(t, prog, callData{nativeArch(), tt.nr, tt.args}); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
	if got := verdict(t, prog, callData{nativeArch() ^ 1, 13, [6]uint64{}}); got != killed {
		t.Errorf("another architecture, otherwise allowed: got %#x, want %#x", got, killed)
	}
}

// TestAssembleFilterFar has rules that no conditional jump can leave.
func TestAssembleFilterFar(t *testing.T) {
	var args []argTest
	for bit := range 64 {
		args = append(args, argTest{bit % 6, 1 << bit, 0})
	}
	prog := mustAssemble(t, actionKill, syscallRule{1, args, actionErrno(1)}, syscallRule{1, nil, actionErrno(2)}, syscallRule{2, nil, actionErrno(3)})
	for bit := range 64 {
		c := callData{arch: nativeArch(), nr: 1}
		c.args[bit%6] = 1 << bit
		if got, want := verdict(t, prog, c), actionErrno(2); got != want {
			t.Errorf("bit %d: got %#x, want %#x", bit, got, want)
		}
	}
	for nr, want := range map[uint32]uint32{1: actionErrno(1), 2: actionErrno(3), 3: killed} {
		if got := verdict(t, prog, callData{arch: nativeArch(), nr: nr}); got != want {
			t.Errorf("system call %d: got %#x, want %#x", nr, got, want)
		}
	}
}

func TestAssembleFilterRefuses(t *testing.T) {
	for name, rules := range map[string][]syscallRule{
		"argument 6":   {{1, []argTest{equals(6, 0)}, actionAllow}},
		"argument -1":  {{1, []argTest{equals(-1, 0)}, actionAllow}},
		"no mask":      {{1, []argTest{{0, 0, 0}}, actionAllow}},
		"never":        {{1, []argTest{{0, 1, 2}}, actionAllow}},
		"never, high":  {{1, []argTest{{0, 1, 1 << 40}}, actionAllow}},
		"too long":     make([]syscallRule, 2100),
		"far too long": make([]syscallRule, 1<<16),
	} {
		if _, err := assembleFilter(nativeArch(), actionKill, rules); value.ErrorOf(err, value.Failed) == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestInstallFilterRefuses(t *testing.T) {
	if err := installFilter(nil); err == nil {
		t.Error("no program: got no error")
	}
	if err := installFilter(make([]unix.SockFilter, maxProgram+1)); err == nil {
		t.Error("a program that is too long: got no error")
	}
}

// TestAssembleFilterMeans compares programs with what their rules say.
func TestAssembleFilterMeans(t *testing.T) {
	word := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 31, 1 << 32, 1<<32 | 1, 1<<63 | 2, ^uint64(0), ^uint64(1)})
	rule := rapid.Custom(func(t *rapid.T) syscallRule {
		r := syscallRule{nr: rapid.Uint32Range(0, 4).Draw(t, "nr"), action: actionErrno(unix.Errno(rapid.IntRange(1, 200).Draw(t, "errno")))}
		for range rapid.IntRange(0, 4).Draw(t, "tests") {
			mask := word.Filter(func(w uint64) bool { return w != 0 }).Draw(t, "mask")
			r.args = append(r.args, argTest{rapid.IntRange(0, 5).Draw(t, "index"), mask, word.Draw(t, "value") & mask})
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rule, 0, 12).Draw(t, "rules")
		c := callData{arch: nativeArch(), nr: rapid.Uint32Range(0, 5).Draw(t, "call")}
		for i := range c.args {
			c.args[i] = word.Draw(t, "argument")
		}
		prog, err := assembleFilter(nativeArch(), actionAllow, rules)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := verdict(t, prog, c), meaning(rules, c, actionAllow); got != want {
			t.Errorf("verdict(%+v) = %#x, want %#x with %+v", c, got, want, rules)
		}
	})
}

// meaning is what rules say of a call.
func meaning(rules []syscallRule, c callData, otherwise uint32) uint32 {
rules:
	for _, r := range rules {
		if r.nr != c.nr {
			continue
		}
		for _, a := range r.args {
			if c.args[a.index]&a.mask != a.value {
				continue rules
			}
		}
		return r.action
	}
	return otherwise
}
