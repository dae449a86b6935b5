package table

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

func readJSON(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	return nil, nil
}

func readJSONLines(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	return nil, nil
}
