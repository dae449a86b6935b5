//go:build amd64 || arm64

// Package seccomp assembles filters of system calls from rules, and installs them.
package seccomp

import (
	"runtime"
	"unsafe"

	"github.com/cassidy-run/cassidy/runtime/value"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What the kernel does with a system call: it carries it out, or ends the whole
// process with SIGSYS.
const (
	Allow uint32 = unix.SECCOMP_RET_ALLOW
	Kill  uint32 = unix.SECCOMP_RET_KILL_PROCESS
)

// Errno is what makes a system call fail with an error and do nothing.
func Errno(e unix.Errno) uint32 {
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

// A Rule says what happens to one system call when all tests of its arguments
// hold.
type Rule struct {
	nr     uint32
	args   []Test
	action uint32
}

// On returns the rule that a system call, where all tests of its arguments hold, has
// this outcome.
func On(nr, action uint32, args ...Test) Rule { return Rule{nr, args, action} }

// A Test holds when argument & mask == value. All 64 bits are looked at,
// also where the kernel ignores the upper half: a value that an honest caller
// would not pass matches nothing.
type Test struct {
	index       int
	mask, value uint64
}

// Masked holds when those bits of an argument that mask has are value.
func Masked(index int, mask, value uint64) Test { return Test{index, mask, value} }

// Equals holds when an argument is exactly this.
func Equals(index int, value uint64) Test { return Test{index, ^uint64(0), value} }

// Without holds when an argument has none of these bits.
func Without(index int, bits uint64) Test { return Test{index, bits, 0} }

// Assemble makes the program that applies the first rule that matches, or
// otherwise. A call that comes in by another architecture's entry, where the same
// numbers mean other calls, kills.
func Assemble(arch uint32, otherwise uint32, rules []Rule) ([]unix.SockFilter, error) {
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: Kill},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		bpf.RetConstant{Val: Kill},
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
		return nil, value.Errorf(value.Internal, "the seccomp filter is too large: %d instructions, limit %d", len(code), maxProgram)
	}
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, value.Errorf(value.Internal, "assemble the seccomp filter: %w", err)
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
func assembleRule(r Rule) ([]bpf.Instruction, error) {
	block := []bpf.Instruction{bpf.RetConstant{Val: r.action}}
	for i := len(r.args) - 1; i >= 0; i-- {
		a := r.args[i]
		if a.index < 0 || a.index > maxArgument {
			return nil, value.Errorf(value.Internal, "seccomp rule for system call %d: invalid argument index %d", r.nr, a.index)
		}
		if a.mask == 0 || a.value&^a.mask != 0 {
			return nil, value.Errorf(value.Internal, "seccomp rule for system call %d: the mask %#x can never give the value %#x", r.nr, a.mask, a.value)
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

// Install puts a filter on every thread of this process, permanently. The threads
// need no_new_privs first.
func Install(prog []unix.SockFilter) error {
	if len(prog) == 0 || len(prog) > maxProgram {
		return value.Errorf(value.Internal, "install the seccomp filter: invalid size: %d instructions", len(prog))
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	tid, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(prog)
	switch {
	case e != 0:
		return value.Errorf(value.Unavailable, "install the seccomp filter: %w", e)
	case tid != 0:
		return value.Errorf(value.Unavailable, "install the seccomp filter: thread %d has a different filter", tid)
	}
	return nil
}

// NativeArch returns the architecture that seccomp reports for this program's own
// system calls.
func NativeArch() uint32 {
	if runtime.GOARCH == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}
