package cassidy_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy"
)

// TestToolsInsideAvailable checks that a check which lists the tools, and so asks itself,
// runs once and ends.
func TestToolsInsideAvailable(t *testing.T) {
	t.Parallel()
	h := openIn(t, newRuntime(t, nil), cassidy.Source{}, &cassidy.Options{NoBuiltins: true})
	var asked atomic.Int32
	asks := cassidy.AvailableFunc(func(context.Context) error {
		asked.Add(1)
		if len(h.Tools()) != 1 {
			return errors.New("no tools")
		}
		return nil
	})
	if err := cassidy.AddTool(h, cassidy.Tool{Name: "a", Description: "T."}, func(context.Context, struct{}) (int, error) { return 1, nil }, asks); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if list := h.Tools(); len(list) != 1 { // whether the inner list or the check gives up first
			t.Errorf("the tools are %+v, want one", list)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the check ran %d times, want once", n)
	}
}
