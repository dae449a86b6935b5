package cassidy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

func TestErrorTargets(t *testing.T) {
	for kind, target := range map[tool.Kind]error{
		tool.Failed: cassidy.ErrFailed, tool.Invalid: cassidy.ErrInvalid, tool.NotFound: cassidy.ErrNotFound,
		tool.Denied: cassidy.ErrDenied, tool.Limit: cassidy.ErrLimit, tool.Canceled: cassidy.ErrCanceled,
		tool.Unavailable: cassidy.ErrUnavailable, tool.Timeout: cassidy.ErrTimeout, tool.Conflict: cassidy.ErrConflict,
		tool.Parked: cassidy.ErrParked, tool.Busy: cassidy.ErrBusy, tool.Closed: cassidy.ErrClosed,
		tool.Unanswered: cassidy.ErrUnanswered,
	} {
		if err := tool.Errorf(kind, "no"); !errors.Is(err, target) {
			t.Errorf("an error of kind %s is not %v", kind, target)
		}
	}
}

// The shapes that programs are compiled against.
var (
	_ func(*cassidy.Host, cassidy.Tool, func(context.Context, struct{}) (int, error), ...cassidy.ToolOption) error = cassidy.AddTool[struct{}, int]

	_ func(func(context.Context, struct{}, int) error) cassidy.ToolOption = cassidy.UndoFunc[struct{}, int]
	_ func(func(context.Context) error) cassidy.ToolOption                = cassidy.AvailableFunc
	_ func(cassidy.Value) (int, error)                                    = cassidy.Decode[int]
	_ func(any) (cassidy.Value, error)                                    = cassidy.Encode
	_ func(...any) *cassidy.Dict                                          = cassidy.NewDict
	_ func(*cassidy.Host, string) error                                   = (*cassidy.Host).RemoveTool
)
