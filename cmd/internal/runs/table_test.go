package runs

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
)

func TestUniquePrefix(t *testing.T) {
	t.Parallel()
	for want, ids := range map[int][]string{
		leastID: {"20261128-201837-88fc23", "parked1", "20261127-201837-88fc23"},
		17:      {"20261128-201837-88fc23", "20261128-201837-77fc23"},
		15:      {"20261128-20183", "20261128-201837-88fc23"},
	} {
		var runs []history.Run
		for _, id := range ids {
			runs = append(runs, history.Run{ID: id})
		}
		if got := uniquePrefix(runs); got != want {
			t.Errorf("uniquePrefix(%q) = %d, want %d", ids, got, want)
		}
	}
}
