package number

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Seed returns the effect random.seed, from which the engine gets the seed of a call's
// random numbers. It is recorded, so that a call that is resumed draws the same numbers.
func Seed() tool.Module {
	return tool.Module{Name: "random", Doc: "Random numbers.", Funcs: []tool.Func{{
		Name:    "seed",
		Doc:     "Return the seed of a call's random numbers.",
		Returns: "an unpredictable integer of 64 bits",
		Kind:    tool.Recorded,
		Mode:    tool.ModeInternal,
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			var b [8]byte
			rand.Read(b[:]) // never fails: crypto/rand ends the process instead
			return tool.Outcome{Value: int64(binary.LittleEndian.Uint64(b[:]))}, nil
		},
	}}}
}
