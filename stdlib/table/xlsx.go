package table

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

func readXLSX(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	return nil, nil
}
