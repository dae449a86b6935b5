package table

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// distinct returns the first row of each combination of values.
func (c *call) distinct() (*Table, error) {
	t := c.table()
	indexes, err := t.someColumns(row.Strings(c.args, "columns"))
	if err != nil {
		return nil, err
	}
	seen := map[string]struct{}{}
	budget := newBudget(c.grant)
	var key []byte
	return c.keepRows(func(b *Batch, rows []int) ([]int, error) {
		columns := b.chosen(indexes)
		for i := range b.Rows {
			key, _ = appendRowKey(key[:0], columns, i)
			if _, ok := seen[string(key)]; ok {
				continue
			}
			if err := budget.take(int64(len(key)) + mapEntry); err != nil {
				return nil, err
			}
			seen[string(key)] = struct{}{}
			rows = append(rows, i)
		}
		return rows, nil
	})
}

// someColumns returns the indexes of columns, or of all if there are no names.
func (t *Table) someColumns(names []string) ([]int, error) {
	if len(names) == 0 {
		names = t.names
	}
	return t.columns(names)
}

// A drawn is a selected row, which a later row may replace.
type drawn struct {
	at    int // the row number in the table
	batch *Batch
	row   int // the row number in the batch
}

// sampled returns random rows (reservoir sampling): each row that is read replaces a
// selected row with the probability that makes all rows equally likely. So the rows are
// read once, and only the selected ones are kept.
func (c *call) sampled() (*Table, error) {
	n, err := c.count("n")
	if err != nil {
		return nil, err
	}
	random, err := c.random()
	if err != nil {
		return nil, err
	}
	t := c.table()
	var reservoir []drawn
	first := 0
	budget := newBudget(c.grant)
	err = t.each(c.ctx, c.grant, func(b *Batch) error {
		start := first
		var slots []int
		for i := range b.Rows {
			if at := first + i; at < n {
				slots = append(slots, len(reservoir))
				reservoir = append(reservoir, drawn{at: at})
			} else if slot := random.IntN(at + 1); slot < n {
				slots = append(slots, slot)
				reservoir[slot] = drawn{at: at}
			}
		}
		first += b.Rows
		return budget.take(takeDrawn(reservoir, slots, b, start))
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(reservoir, func(x, y drawn) int { return cmp.Compare(x.at, y.at) })
	all := newBatch(t.types)
	for _, d := range reservoir {
		for i, column := range all.Columns {
			column.addFrom(d.batch.Columns[i], d.row)
		}
		all.Rows++
	}
	return newHeld(t.names, all, t.notes...), nil
}

// takeDrawn copies the selected rows of a batch into these slots, so that the batch is
// not kept. It returns the memory that they take.
func takeDrawn(reservoir []drawn, slots []int, b *Batch, start int) int64 {
	var rows []int
	copied := &Batch{}
	for _, slot := range slots {
		if d := &reservoir[slot]; d.batch == nil { // otherwise the slot is already filled
			d.batch, d.row = copied, len(rows)
			rows = append(rows, d.at-start)
		}
	}
	*copied = *b.pick(rows).owned()
	return copied.size()
}

// random returns the random numbers of a seed, or of the call without one.
func (c *call) random() (*rand.Rand, error) {
	if seed, ok := c.value("seed").(int64); ok {
		return rand.New(rand.NewPCG(uint64(seed), 0)), nil
	}
	if c.grant.Rand == nil {
		return nil, value.Errorf(value.Denied, "random numbers are unavailable: the call has no seed").WithHint("in a script, pass a seed, as in sample(n, seed = 1)")
	}
	return c.grant.Rand()
}
