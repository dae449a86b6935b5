// Package journaltest is the conformance suite of journal stores.
//
// A test of each store calls [Run].
package journaltest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Opener opens a new, empty store and closes it at the end of the test.
type Opener func(t *testing.T) journal.Store

// Run checks that a store satisfies its contract. again opens the storage of s a second
// time, as another process would, and closes that store at the end of the test; it is
// nil if that is impossible.
func Run(t *testing.T, open Opener, again func(t *testing.T, s journal.Store) journal.Store) {
	s := suite{open: open, again: again}
	for _, c := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"Commit", s.testCommit},
		{"CommitAll", s.testCommitAll},
		{"CommitInvalid", s.testCommitInvalid},
		{"Copies", s.testCopies},
		{"Find", s.testFind},
		{"List", s.testList},
		{"Due", s.testDue},
		{"ListStop", s.testListStop},
		{"Tenants", s.testTenants},
		{"Load", s.testLoad},
		{"Delete", s.testDelete},
		{"EachFrame", s.testEachFrame},
		{"Times", s.testTimes},
		{"Writers", s.testWriters},
		{"Inbox", s.testInbox},
		{"Take", s.testTake},
		{"SendWhileTaken", s.testSendWhileTaken},
		{"HostileStrings", s.testHostileStrings},
		{"Blobs", s.testBlobs},
		{"SweepBlobs", s.testSweepBlobs},
		{"Leases", s.testLeases},
		{"LeaseRace", s.testLeaseRace},
		{"Canceled", s.testCanceled},
		{"Close", s.testClose},
		{"CloseWhileWriting", s.testCloseWhileWriting},
	} {
		t.Run(c.name, c.run)
	}
}

type suite struct {
	open  Opener
	again func(t *testing.T, s journal.Store) journal.Store
}

// both opens a store, and returns it with another one on the same storage, or twice.
func (s *suite) both(t *testing.T) (a, b journal.Store) {
	a = s.open(t)
	if s.again == nil {
		return a, a
	}
	return a, s.again(t, a)
}

// closedKind is the kind of errors after Close.
func closedKind() value.Kind { return value.KindOf(journal.ErrClosed()) }

// hostile returns strings that a store must distinguish and return unchanged.
func hostile() []string {
	return []string{
		"", " ", "a", "A", "a.", "a.lock", ".", "..", "../a", "a/b", `a\b`, "con", "nul.txt", "-rf", "t-a", "h-a",
		"a\x00", "a\x00b", "\x00", "\xff\xfe", "ä", "a\u0308", "\u202e", "日本語", "a\nb", "'; DROP TABLE runs; --", "%", "_", "?", "#",
		strings.Repeat("q", 64), strings.Repeat("q", 65), strings.Repeat("é", 40_000),
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantKind checks the kind of an error.
func wantKind(t testing.TB, what string, err error, kind value.Kind) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("%s = %v, want an error of kind %v", what, err, kind)
	}
}

func row(tenant, id string) *journal.Row {
	return &journal.Row{Tenant: tenant, ID: id, Kind: "run", Nonce: "nonce-" + id}
}

// add adds a run without frames and returns its number.
func add(t testing.TB, s journal.Store, r *journal.Row) int64 {
	t.Helper()
	w := &journal.Write{New: r}
	check(t, s.Commit(context.Background(), []*journal.Write{w}))
	if w.Num < 1 {
		t.Fatalf("Commit set the number %d", w.Num)
	}
	return w.Num
}

func frame(seq int64, body string) journal.Frame {
	return journal.Frame{Seq: seq, Body: []byte(body)}
}

// ids lists the IDs of the runs that a filter selects.
func ids(t testing.TB, s journal.Store, f journal.Filter) string {
	t.Helper()
	var list []string
	for r, err := range s.List(context.Background(), f) {
		check(t, err)
		list = append(list, r.ID)
	}
	return strings.Join(list, " ")
}

// same reports whether two rows are equal.
func same(a, b journal.Row) bool {
	heads := bytes.Equal(a.Head, b.Head) && bytes.Equal(a.First, b.First) && bytes.Equal(a.Last, b.Last)
	times := a.Wake.Equal(b.Wake) && a.Updated.Equal(b.Updated)
	a.Head, a.First, a.Last, a.Wake, a.Updated = b.Head, b.First, b.Last, b.Wake, b.Updated
	return heads && times && equalColumns(a, b)
}

func equalColumns(a, b journal.Row) bool {
	return a.Num == b.Num && a.Tenant == b.Tenant && a.ID == b.ID && a.Project == b.Project && a.Kind == b.Kind &&
		a.Parent == b.Parent && a.ForkedFrom == b.ForkedFrom && a.Session == b.Session && a.Nonce == b.Nonce && a.State == b.State
}

// wantFrames checks what Load returns as the frames of a run.
func wantFrames(t testing.TB, s journal.Store, num int64, want ...string) {
	t.Helper()
	st, err := s.Load(context.Background(), num)
	check(t, err)
	var got []string
	for _, f := range st.Frames {
		got = append(got, string(f))
	}
	if !slices.Equal(got, want) {
		t.Errorf("Load(%d).Frames = %q, want %q", num, got, want)
	}
}

// moment is a time that stores keep exactly.
func moment() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC) }
