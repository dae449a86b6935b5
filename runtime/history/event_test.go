package history

import (
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestEventsOfADamagedRecord checks that events before the damage are read, and that
// another tenant sees nothing.
func TestEventsOfADamagedRecord(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	j := Open(store, nil)
	defer j.Close()
	l, err := j.Begin(t.Context(), Run{ID: "r", Kind: "run"}, tool.Script{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		e := tool.Event{Time: time.Now(), Call: "r", Data: tool.ToolCallEnd{Success: true, Result: int64(i)}}
		delivered := false
		l.AddEvent(&e, func() { delivered = true })
		if !delivered || e.Seq != uint64(i+1) {
			t.Errorf("event %d has number %d, delivered: %v", i, e.Seq, delivered)
		}
		if err := j.w.flushAll(); err != nil { // a frame of its own
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	late := tool.Event{Data: tool.Log{}}
	if l.AddEvent(&late, func() {}); late.Seq != 0 {
		t.Errorf("an event after the end has number %d", late.Seq)
	}
	read := func(j *Journal, after uint64) (n int, last error) {
		for e, err := range j.Events(t.Context(), "r", after) {
			if err != nil {
				last = err
				continue
			}
			if end, ok := e.Data.(tool.ToolCallEnd); !ok || end.Result != int64(e.Seq-1) || e.Run != "r" || last != nil {
				t.Errorf("read %+v after %v", e, last)
			}
			n++
		}
		return n, last
	}
	if n, err := read(j, 2); n != 3 || err != nil {
		t.Errorf("after 2 there are %d, %v, want 3", n, err)
	}
	if _, err := read(j.Tenant("other"), 0); value.KindOf(err) != value.NotFound {
		t.Errorf("another tenant got %v, want that it is not found", err)
	}
	h, err := j.history(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	damage := h.head.frames
	err = store.Commit(t.Context(), []*journal.Write{{Num: h.num, Frames: []journal.Frame{{Seq: damage, Body: []byte("damaged")}}}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := read(j, 0); n != 5 || value.KindOf(err) != value.Failed {
		t.Errorf("of a damaged record came %d, %v, want 5 and an error", n, err)
	}
}
