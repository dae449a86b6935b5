package cassidy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// TestOpenStore checks that a store is opened when something is first recorded, once for all hosts,
// and that its error is that of each run.
func TestOpenStore(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for _, fails := range []error{nil, full} {
		opened := 0
		r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, OpenStore: func() (cassidy.Store, error) {
			opened++
			if fails != nil {
				return nil, fails
			}
			return journal.Memory(), nil
		}})
		for _, tenant := range []string{"a", "b"} {
			h := openIn(t, r, cassidy.Scripts(map[string]string{"one.star": starTool("one", "return 1", "")}), &cassidy.Options{Tenant: tenant, TrustSource: true, NoBuiltins: true})
			if _, err := callOf(t, h, "one"); err != nil || tenant == "a" && opened != 0 {
				t.Fatalf("a call that is not recorded gave %v, and opened the store %d times", err, opened)
			}
			if _, err := callOf(t, h, "one", cassidy.Durable("r")); !errors.Is(err, fails) || opened != 1 {
				t.Errorf("a recorded call gave %v, want %v; the store was opened %d times", err, fails, opened)
			}
		}
		for _, err := range r.Due(context.Background()) {
			if !errors.Is(err, fails) {
				t.Errorf("Due yields %v, want %v", err, fails)
			}
		}
	}
}
