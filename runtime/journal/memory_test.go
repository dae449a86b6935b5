package journal_test

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/journaltest"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Store {
		s := journal.Memory()
		t.Cleanup(func() { s.Close() })
		return s
	}, nil)
}
