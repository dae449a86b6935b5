// Package testhost opens hosts for tests, each in its own runtime, which is closed with
// the test.
package testhost

import (
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/journal/journaltest"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
)

// On configures the runtime of a host. The zero value has workers, also with the race
// detector, and records nothing.
type On struct {
	Sandbox cassidy.Mode
	Journal string // the folder of the store of runs, or ""
	// Resume has the runs executed: the store is a [journal.Remote] whose worker it is. Nil: the host executes them.
	Resume func(tenant, id string)
}

// Open opens a host for a project folder; o may be nil. It is closed with the test.
func Open(tb testing.TB, on On, dir string, o *cassidy.Options) (*cassidy.Host, error) {
	tb.Helper()
	opts := cassidy.Options{}
	if o != nil {
		opts = *o
	}
	opts.Dir = dir
	if opts.Cache == "" {
		opts.Cache = testworker.Cache()
	}
	shared := &cassidy.RuntimeOptions{Sandbox: on.Sandbox, Workers: cassidy.Workers{Program: testworker.Exec()}}
	if on.Journal != "" {
		store, err := sqlite.Open(on.Journal)
		if err != nil {
			return nil, err
		}
		tb.Cleanup(func() { _ = store.Close() })
		if shared.Store = store; on.Resume != nil {
			shared.Store = journaltest.Remote(store, on.Resume)
		}
	}
	r, err := cassidy.New(shared)
	if err != nil {
		return nil, err
	}
	tb.Cleanup(func() { _ = r.Close() })
	return r.Open(cassidy.Dir(dir), &opts)
}
