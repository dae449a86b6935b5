package table

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A budget is the memory that an operation may use for its result.
type budget struct{ left, all int64 }

// newBudget returns a budget of a third of the memory of the process: a slice that grows
// takes up to twice its size, and the script has more than one table.
func newBudget(g tool.Grant) *budget {
	n := int64(tool.DefaultMemory)
	if g.Memory > 0 {
		n = g.Memory
	}
	return &budget{n / 3, n / 3}
}

func (b *budget) take(n int64) error {
	if b.left -= n; b.left >= 0 {
		return nil
	}
	return b.over("the rows").
		WithHint("use fewer rows or columns; in a script, with filter, head or select, or declare limits = {\"memory\": …}")
}

// over returns the error for something that needs more than the entire budget.
func (b *budget) over(what string) *value.Error {
	return row.Limit("out of memory: %s take more than the limit of %d MB", what, b.all>>20)
}

// mapEntry is the approximate number of bytes that a map entry takes in addition to its
// key while the map grows.
const mapEntry = 64
