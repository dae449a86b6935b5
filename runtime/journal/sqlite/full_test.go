package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// fill writes frames until that fails, and returns how many were written.
func fill(t *testing.T, s *Store, num int64) (frames int64, err error) {
	t.Helper()
	for ; frames < 10_000; frames++ {
		if err := appendFrame(s, num, frames); err != nil {
			return frames, err
		}
	}
	t.Fatal("the disk does not become full")
	return 0, nil
}

func appendFrame(s *Store, num, seq int64) error {
	w := &journal.Write{Num: num, Frames: []journal.Frame{{Seq: seq, Body: []byte(strings.Repeat("x", 20_000))}}, Head: fmt.Append(nil, seq+1)}
	return s.Commit(context.Background(), []*journal.Write{w})
}

func wantFull(t *testing.T, what string, err error) {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != value.Limit || e.Limit != "disk" || !strings.Contains(e.Hint, "delete other files on this disk first") {
		t.Errorf("%s on a full disk = %v", what, err)
	}
}

// checkFull checks a store whose disk is full: what was written is there, and
// it can write again once there is space.
func checkFull(t *testing.T, s *Store, num, frames int64, err error, free func()) {
	t.Helper()
	ctx := context.Background()
	wantFull(t, "Commit", err)
	st, err := s.Load(ctx, num)
	if err != nil || int64(len(st.Frames)) != frames || string(st.Row.Head) != fmt.Sprint(frames) {
		t.Errorf("%d of %d frames can be read, with the head %q, %v", len(st.Frames), frames, st.Row.Head, err)
	}
	free()
	check(t, appendFrame(s, num, frames))
	st, err = s.Load(ctx, num)
	if err != nil || int64(len(st.Frames)) != frames+1 {
		t.Errorf("%d of %d frames can be read, %v", len(st.Frames), frames+1, err)
	}
}

func TestFullDatabase(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	num := begin(t, s, "", "r")
	pages := func(n int) {
		_, err := s.w.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", n))
		check(t, err)
	}
	pages(100)
	frames, err := fill(t, s, num)
	checkFull(t, s, num, frames, err, func() { pages(1_000_000) })
}
