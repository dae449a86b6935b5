package history

import (
	"context"
	"testing"
)

// asked asks a question at a step and returns its number.
func asked(t *testing.T, r Record, at string, q Question) int {
	t.Helper()
	q.Place = place(at)
	n, err := r.Ask(context.Background(), q)
	check(t, err)
	return n
}
