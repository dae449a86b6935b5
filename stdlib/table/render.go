package table

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Text returns the table as people and models read it.
func (t *Table) Text(ctx context.Context, g tool.Grant) (string, error) {
	return "", nil
}
