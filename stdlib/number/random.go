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

// Random returns the module random. It draws from the random numbers of the call.
func Random() tool.Module {
	list := tool.Required("list", tool.TypeArray, "The list, which stays as it is.")
	return tool.Module{
		Name: "random",
		Doc: "Draws random numbers. A call draws from one seed that is recorded with it, so that a run that is resumed or " +
			"replayed draws the same again. Not for keys and passwords.",
		Funcs: []tool.Func{
			{
				Name: "number", Doc: "Draws a number from 0 up to but without 1.",
				Returns: "a float", Do: randomDo(func(r *rand.Rand, _ *value.Dict) (value.Value, error) { return r.Float64(), nil }),
			},
			{
				Name: "integer", Doc: "Draws an integer from a range.",
				Params: []tool.Param{
					tool.Required("low", tool.TypeInteger, "The least that may come."),
					tool.Required("high", tool.TypeInteger, "The greatest that may come."),
				},
				Returns: "an integer from low to high, both included", Do: randomDo(randomInteger),
			},
			{
				Name: "choice", Doc: "Draws one item of a list.", Params: []tool.Param{list},
				Returns: "the item; an empty list is an error", Do: randomDo(randomChoice),
			},
			{
				Name: "sample", Doc: "Draws several items of a list, each of them at most once.",
				Params:  []tool.Param{list, tool.Required("n", tool.TypeInteger, "How many, at most as many as there are.")},
				Returns: "a list, in the order in which they were drawn", Do: randomDo(randomSample),
			},
			{
				Name: "shuffle", Doc: "Puts the items of a list into a random order.", Params: []tool.Param{list},
				Returns: "a new list", Do: randomDo(randomShuffle),
			},
			{
				Name: "bytes", Doc: "Draws bytes.",
				Params:  []tool.Param{tool.Required("n", tool.TypeInteger, "How many, at most 8 MB.")},
				Returns: "the bytes", Do: randomDo(randomBytes),
			},
		},
	}
}

// UUID returns the function uuid, which is called without the name of a module.
func UUID() tool.Module {
	return tool.Module{
		Doc: "Functions that need no module.",
		Funcs: []tool.Func{{
			Name:    "uuid",
			Doc:     "Makes an identifier that no one else makes: a random UUID (version 4), drawn as the numbers of random are.",
			Returns: `the text, as in "0b2f6e0e-5a3c-4c7e-9f1d-2d9a1b3c4d5e"`,
			Do:      randomDo(randomUUID),
		}},
	}
}

// randomDo makes a row's Do of a function that draws from the random numbers
// that the call is lent.
func randomDo(f func(r *rand.Rand, a *value.Dict) (value.Value, error)) row.Run {
	return func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if g.Rand == nil {
			return tool.Outcome{}, value.Errorf(value.Denied, "this call is lent no random numbers")
		}
		r, err := g.Rand()
		if err != nil {
			return tool.Outcome{}, value.AsError(err, value.Internal)
		}
		v, err := f(r, e.Args)
		return row.Outcome(v, err)
	}
}

func randomInteger(r *rand.Rand, a *value.Dict) (value.Value, error) {
	low, ok := row.Arg(a, "low").(int64)
	high, also := row.Arg(a, "high").(int64)
	if !ok || !also {
		return nil, row.Invalid("low and high should fit 64 bits")
	}
	if high < low {
		return nil, row.Invalid("high (%d) should not be less than low (%d)", high, low)
	}
	// The difference may be beyond int64; as uint64 it wraps to what it is.
	if n := uint64(high) - uint64(low) + 1; n != 0 {
		return int64(uint64(low) + r.Uint64N(n)), nil
	}
	return int64(r.Uint64()), nil
}

func randomChoice(r *rand.Rand, a *value.Dict) (value.Value, error) {
	items := row.Elements(a, "list")
	if len(items) == 0 {
		return nil, row.Invalid("the list is empty")
	}
	return items[r.IntN(len(items))], nil
}

func randomSample(r *rand.Rand, a *value.Dict) (value.Value, error) {
	items := row.Elements(a, "list")
	n, ok := row.Arg(a, "n").(int64)
	if !ok || n < 0 || n > int64(len(items)) {
		return nil, row.Invalid("argument 'n' should be from 0 to %d, as many as there are", len(items))
	}
	list := append(value.List{}, items...)
	for i := range int(n) {
		j := i + r.IntN(len(list)-i)
		list[i], list[j] = list[j], list[i]
	}
	return list[:n:n], nil
}

func randomShuffle(r *rand.Rand, a *value.Dict) (value.Value, error) {
	list := append(value.List{}, row.Elements(a, "list")...)
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
