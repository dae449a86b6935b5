package journaltest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sum returns the name of a blob.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func put(t testing.TB, s journal.Store, text string) (name string) {
	t.Helper()
	name = sum([]byte(text))
	check(t, s.PutBlob(context.Background(), name, []byte(text)))
	return name
}

func has(t testing.TB, s journal.Store, text string) bool {
	t.Helper()
	got, err := s.Blob(context.Background(), sum([]byte(text)), int64(len(text)))
	if err != nil {
		wantKind(t, "Blob", err, value.Failed)
		return false
	}
	if string(got) != text {
		t.Errorf("Blob = %.20q, want %.20q", got, text)
	}
	return true
}

func (s *suite) testBlobs(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	for _, text := range []string{"", "x", strings.Repeat("large ", 100_000)} {
		put(t, a, text)
		put(t, b, text)
		if !has(t, b, text) {
			t.Errorf("the blob of %d bytes is missing", len(text))
		}
	}
	name, wrong := sum([]byte("x")), sum([]byte("y"))
	for _, c := range []struct {
		name string
		size int64
		want string
	}{
		{sum([]byte("never")), 5, "missing"},
		{name, 2, "size"},
		{name, 0, "size"},
		{name, -1, "size"},
		{name, 1 << 50, "size"},
		{wrong, 1, "changed"},
	} {
		if c.name == wrong {
			check(t, a.PutBlob(ctx, wrong, []byte("x")))
		}
		_, err := b.Blob(ctx, c.name, c.size)
		wantKind(t, "Blob", err, value.Failed)
		if err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name)) {
			t.Errorf("Blob = %v, want %q and its name", err, c.want)
		}
	}
	for _, name := range append(hostile(), strings.ToUpper(name), name[1:], name+"0", "../"+name[3:], strings.Repeat("/", 64)) {
		wantKind(t, fmt.Sprintf("PutBlob(%.20q)", name), a.PutBlob(ctx, name, nil), value.Invalid)
		_, err := a.Blob(ctx, name, 0)
		wantKind(t, fmt.Sprintf("Blob(%.20q)", name), err, value.Invalid)
	}
	var wg sync.WaitGroup
	same := bytes.Repeat([]byte("same"), 50_000)
	for i := range 8 {
		wg.Go(func() {
			if err := []journal.Store{a, b}[i%2].PutBlob(ctx, sum(same), same); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if !has(t, b, string(same)) {
		t.Error("a blob that was stored several times in parallel is missing")
	}
}

func (s *suite) testSweepBlobs(t *testing.T) {
	ctx := context.Background()
	a, b := s.both(t)
	later := time.Now().Add(time.Hour)
	names := func(list ...string) func() (map[string]bool, error) {
		m := map[string]bool{}
		for _, text := range list {
			m[sum([]byte(text))] = true
		}
		return func() (map[string]bool, error) { return m, nil }
	}
	never := func() (map[string]bool, error) {
		t.Error("SweepBlobs called named, but no blob is old")
		return nil, nil
	}
	check(t, a.SweepBlobs(ctx, later, never))
	for _, text := range []string{"kept", "old", "touched"} {
		put(t, a, text)
	}
	check(t, a.SweepBlobs(ctx, time.Now().Add(-time.Hour), never))

	failure := errors.New("no names")
	if err := a.SweepBlobs(ctx, later, func() (map[string]bool, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Errorf("SweepBlobs = %v, want the error of named", err)
	}
	for _, text := range []string{"kept", "old", "touched"} {
		if !has(t, b, text) {
			t.Errorf("%q was removed though named failed", text)
		}
	}

	pause := func() { time.Sleep(30 * time.Millisecond) } // file systems count time in steps of up to 10 ms
	pause()
	before := time.Now()
	pause()
	put(t, b, "touched")
	calls := 0
	check(t, b.SweepBlobs(ctx, before, func() (map[string]bool, error) {
		calls++
		put(t, a, "new") // named may use the store
		return names("kept")()
	}))
	if calls != 1 {
		t.Errorf("SweepBlobs called named %d times, want 1", calls)
	}
	for text, want := range map[string]bool{"kept": true, "old": false, "touched": true, "new": true} {
		if has(t, a, text) != want {
			t.Errorf("after the sweep, %q exists: %v, want %v", text, !want, want)
		}
	}
	check(t, a.SweepBlobs(ctx, later, names()))
	for _, text := range []string{"kept", "touched", "new"} {
		if has(t, b, text) {
			t.Errorf("%q was not removed", text)
		}
	}
	put(t, a, "old")
	if !has(t, b, "old") {
		t.Error("a blob that was stored again is missing")
	}
}
