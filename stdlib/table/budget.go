package table

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

import "github.com/cassidy-run/cassidy/runtime/tool"

// A budget is how much memory an operation may still take for what it makes.
type budget struct{ left, all int64 }

// newBudget returns a third of the memory of the process: slices that grow take
// twice what they hold, and the script has more than one table.
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
		WithHint("take fewer rows or columns with filter, head or select, group them, or declare limits = {\"memory\": …}")
}

// over is the error of what takes more than all of the budget.
func (b *budget) over(what string) *value.Error {
	return overMemory("%s take more than %d MB of memory", what, b.all>>20)
}

// mapEntry is about how many bytes an entry of a map takes beside its key while
// the map grows.
const mapEntry = 64
