package cassidy

import (
	"errors"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
)

// records are the runs of a host, in a folder. It is opened when it is first
// needed: most calls record nothing.
type records struct {
	dir string // "" records nothing

	mu      sync.Mutex
	store   *sqlite.Store
	journal *history.Journal
}

// opener is what a host opens its journal with, or nil where nothing is recorded.
func (r *records) opener() func() (*history.Journal, error) {
	if r.dir == "" {
		return nil
	}
	return r.open
}

func (r *records) open() (*history.Journal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal != nil {
		return r.journal, nil
	}
	store, err := sqlite.Open(r.dir)
	if err != nil {
		return nil, err
	}
	r.store, r.journal = store, history.Open(store, nil)
	return r.journal, nil
}

func (r *records) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.journal == nil {
		return nil
	}
	return errors.Join(r.journal.Close(), r.store.Close())
}
