// Package seccomptest runs filters of system calls for tests.
package seccomptest

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A Call is a system call as a filter sees it.
type Call struct {
	Arch uint32
	Nr   uint32
	Args [6]uint64
}

// Verdict runs an assembled program. The interpreter reads words in network
// order where the kernel reads its own, so each word is written so; the low
// word of an argument comes first in both.
func Verdict(t interface{ Fatal(...any) }, prog []unix.SockFilter, c Call) uint32 {
	code := make([]bpf.Instruction, len(prog))
	for i, in := range prog {
		code[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, w := range []uint32{c.Nr, c.Arch, 0, 0} { // the last two: where from
		data = binary.BigEndian.AppendUint32(data, w)
	}
	for _, a := range c.Args {
		data = binary.BigEndian.AppendUint32(data, uint32(a))
		data = binary.BigEndian.AppendUint32(data, uint32(a>>32))
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}
