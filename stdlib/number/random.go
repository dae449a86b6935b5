package number

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Random returns the module random: number, integer, choice, sample, shuffle and bytes. It
// draws from the random numbers of the call ([tool.Grant]), which [Seed] seeds; they are
// not for secrets.
func Random() tool.Module {
	list := tool.Required("list", tool.TypeArray, "The list. It is not changed.")
	return row.Pure(tool.Module{
		Name: "random",
		Doc: "Random numbers. Each call of a tool has one seed, which is recorded. " +
			"So a resumed or replayed run gets the same numbers. Do not use these numbers for keys or passwords.",
		Funcs: []tool.Func{
			{
				Name: "number", Doc: "Return a random number, at least 0 and less than 1.",
				Returns: "a float", Do: withRandom(func(r *rand.Rand, _ *value.Dict) (value.Value, error) { return r.Float64(), nil }),
			},
			{
				Name: "integer", Doc: "Return a random integer from low to high.",
				Params: []tool.Param{
					tool.Required("low", tool.TypeInteger, "The smallest possible result."),
					tool.Required("high", tool.TypeInteger, "The largest possible result."),
				},
				Returns: "an integer; low and high are possible results", Do: withRandom(randomInt),
			},
			{
				Name: "choice", Doc: "Return a random item of a list.", Params: []tool.Param{list},
				Returns: "the item; an empty list is an error", Do: withRandom(randomChoice),
			},
			{
				Name: "sample", Doc: "Return several random items of a list. No item is repeated.",
				Params:  []tool.Param{list, tool.Required("n", tool.TypeInteger, "The number of items, at most the length of the list.")},
				Returns: "a list in random order", Do: withRandom(randomSample),
			},
			{
				Name: "shuffle", Doc: "Return the items of a list in random order.", Params: []tool.Param{list},
				Returns: "a new list", Do: withRandom(randomShuffle),
			},
			{
				Name: "bytes", Doc: "Return random bytes.",
				Params:  []tool.Param{tool.Required("n", tool.TypeInteger, "The number of bytes, at most 8 MB.")},
				Returns: "the bytes", Do: withRandom(randomBytes),
			},
		},
	})
}

// UUID returns the function uuid, which is called without the name of a module and draws
// as [Random] does.
func UUID() tool.Module {
	return row.Pure(tool.Module{
		Doc: "A unique identifier.",
		Funcs: []tool.Func{{
			Name:    "uuid",
			Doc:     "Return a unique identifier: a random UUID (version 4). A replay of the call returns the same identifier.",
			Returns: `text such as "0b2f6e0e-5a3c-4c7e-9f1d-2d9a1b3c4d5e"`,
			Do:      withRandom(randomUUID),
		}},
	})
}

// withRandom makes a row's Do of a function that draws from the random numbers
// that the call is granted.
func withRandom(f func(r *rand.Rand, a *value.Dict) (value.Value, error)) row.Run {
	return func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if g.Rand == nil {
			return tool.Outcome{}, value.Errorf(value.Denied, "random numbers are unavailable: the call has no seed").WithHint("call the function in a tool or a workflow; in Go, set Grant.Rand")
		}
		r, err := g.Rand()
		if err != nil {
			return tool.Outcome{}, value.AsError(err, value.Internal)
		}
		v, err := f(r, e.Args)
		return row.Outcome(v, err)
	}
}

func randomInt(r *rand.Rand, a *value.Dict) (value.Value, error) {
	low, ok := row.Arg(a, "low").(int64)
	high, also := row.Arg(a, "high").(int64)
	if !ok || !also {
		return nil, row.Invalid("arguments 'low' and 'high' should fit in 64 bits")
	}
	if high < low {
		return nil, row.Invalid("argument 'high' (%d) is less than 'low' (%d)", high, low)
	}
	// The difference may be beyond int64; as uint64 it wraps to what it is.
	if n := uint64(high) - uint64(low) + 1; n != 0 {
		return int64(uint64(low) + r.Uint64N(n)), nil
	}
	return int64(r.Uint64()), nil
}

func randomChoice(r *rand.Rand, a *value.Dict) (value.Value, error) {
	items := a.Elements("list")
	if len(items) == 0 {
		return nil, row.Invalid("the list is empty")
	}
	return items[r.IntN(len(items))], nil
}

func randomSample(r *rand.Rand, a *value.Dict) (value.Value, error) {
	items := a.Elements("list")
	n, ok := row.Arg(a, "n").(int64)
	if !ok || n < 0 || n > int64(len(items)) {
		return nil, row.Invalid("argument 'n' should be from 0 to %d, the length of the list", len(items))
	}
	list := append(value.List{}, items...)
	for i := range int(n) {
		j := i + r.IntN(len(list)-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:n:n], nil
}

func randomShuffle(r *rand.Rand, a *value.Dict) (value.Value, error) {
	list := append(value.List{}, a.Elements("list")...)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, nil
}

func randomBytes(r *rand.Rand, a *value.Dict) (value.Value, error) {
	n, err := row.Size(a, "n", row.MaxText)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n:n], nil
}

func randomUUID(r *rand.Rand, _ *value.Dict) (value.Value, error) {
	high := r.Uint64()&^0xf000 | 0x4000      // version 4
	low := r.Uint64()&^(0b11<<62) | 0b10<<62 // the variant of RFC 9562
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1)), nil
}
