package sandbox

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// protocol is the version of the frames of a host and a worker. It changes with each of
// their changes.
const protocol = 6

// sumSize is the length of one sum of pureSums, in bytes.
const sumSize = 8

// pureSums returns a sum of each pure function of the modules, over its name and its
// parameters. By these a host checks that the program of a worker has them too.
func pureSums(modules []tool.Module) []byte {
	var sums []uint64
	for _, m := range modules {
		for i := range m.Funcs {
			if f := &m.Funcs[i]; f.Kind == tool.Pure && f.Mode != tool.ModeInternal {
				sums = append(sums, pureSum(m.Name, f))
			}
		}
	}
	slices.Sort(sums)
	list := make([]byte, 0, sumSize*len(sums))
	for _, s := range sums {
		list = binary.LittleEndian.AppendUint64(list, s)
	}
	return list
}

func pureSum(module string, f *tool.Func) uint64 {
	h := fnv.New64a()
	text := func(s string) {
		_, _ = io.WriteString(h, s)
		_, _ = h.Write([]byte{0})
	}
	text(fullName(module, f.Name))
	for i := range f.Params {
		p := &f.Params[i]
		required := "optional"
		if p.Required {
			required = "required"
		}
		text(p.Name)
		text(string(p.Type.Name))
		text(required)
	}
	text(f.Rest)
	return h.Sum64()
}

// lacking returns how many of the wanted sums the modules do not have.
func lacking(wanted []byte, modules []tool.Module) int {
	have := map[string]bool{}
	for sum := range slices.Chunk(pureSums(modules), sumSize) {
		have[string(sum)] = true
	}
	n := 0
	for sum := range slices.Chunk(wanted, sumSize) {
		if !have[string(sum)] {
			n++
		}
	}
	return n
}

// errMismatch returns why a worker does not fit its host.
func errMismatch(format string, args ...any) *value.Error {
	return value.Errorf(value.Invalid, format, args...).
		WithHint("build the worker from the same version, with the same modules in sandbox.Main: go build github.com/cassidy-run/cassidy/cmd/cassidy-worker")
}

// notAWorker returns the error of a program that Workers.Program names, where its process
// breaks the protocol or ends before it is ready.
func notAWorker(program string, err error) error {
	var broke *broken
	var died *diedIdle
	if errors.As(err, &broke) || errors.As(err, &died) {
		return errMismatch("start worker: Workers.Program %s is not a worker of this version: %w", program, err)
	}
	if e := value.ErrorOf(err, value.Unavailable); e.Hint == "" {
		return e.WithHint("call sandbox.Main first in the main of %s", program)
	}
	return err
}
