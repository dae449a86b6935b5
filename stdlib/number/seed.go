package number

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Seed returns the effect that the random numbers of a call begin with.
func Seed() tool.Module {
	return tool.Module{Name: "random", Doc: "Random numbers.", Funcs: []tool.Func{{
		Name:     "seed",
		Doc:      "Draw the seed of a call's random numbers.",
		Returns:  "an integer of 64 bits that nobody can foresee",
		Kind:     tool.Recorded,
		Internal: true,
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			var b [8]byte
			rand.Read(b[:]) // never fails: crypto/rand ends the process instead
			return tool.Outcome{Value: int64(binary.LittleEndian.Uint64(b[:]))}, nil
		},
	}}}
}
