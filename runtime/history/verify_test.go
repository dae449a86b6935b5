package history

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestVerify verifies records that nobody has changed, and compares them with heads that
// were kept elsewhere: of the record now, of an earlier one, and of other records.
func TestVerify(t *testing.T) { eachStore(t, testVerify) }

func testVerify(t *testing.T, s storage) {
	ctx := context.Background()
	w := &ward{store: &faultStore{Store: s.store()}, stored: map[string]journal.Stored{}}
	w.Journal = openOn(t, w.store)
	l := begin(t, w.Journal, "r")
	record := func(n int, text string) {
		i := Intent{StepPath: tool.StepPath{n}, Func: "http.post", Args: value.NewDict("n", int64(n), "text", text), Kind: tool.External}
		check(t, l.Intend(ctx, i))
		check(t, l.Settle(ctx, i.StepPath, tool.Outcome{Value: text}, nil))
	}
	record(1, "paid 20")
	record(2, strings.Repeat("large ", inlineMost))
	early, err := w.Verify(ctx, "r", "")
	check(t, err)
	record(3, "paid 30")
	check(t, l.End(ctx, "done", tool.Outcome{Value: "the end"}, nil))
	late, err := w.Verify(ctx, "r", "")
	check(t, err)
	if len(late.Head) != 64 || late.Head == early.Head || late.Frames <= early.Frames || late.At != 0 || late.Run.State != Done {
		t.Errorf("the run is verified as %+v, and before its end as %+v", late, early)
	}
	check(t, begin(t, w.Journal, "other").End(ctx, "done", tool.Outcome{}, nil))
	other, err := w.Verify(ctx, "other", "")
	check(t, err)

	kept := func(head string, at int64) {
		t.Helper()
		v, err := w.Verify(ctx, "r", head)
		if err != nil || v.At != at || v.Head != late.Head {
			t.Errorf("head %.8s: %+v: %v; want frame %d", head, v, err, at)
		}
	}
	kept(early.Head, early.Frames)
	kept(late.Head, late.Frames)
	kept(strings.ToUpper(late.Head), late.Frames)
	fails(t, "the head of another run", second(w.Verify(ctx, "r", other.Head)), value.Conflict, "does not contain the head "+other.Head)
	for _, text := range []string{"x", late.Head[:32], late.Head + "00", strings.Repeat("g", 64)} {
		fails(t, text, second(w.Verify(ctx, "r", text)), value.Invalid, "is not a head")
	}
	fails(t, "no run", second(w.Verify(ctx, "none", "")), value.NotFound, "no run")

	num, err := w.find(ctx, "r")
	check(t, err)
	w.stored["r"], err = w.store.Load(ctx, num)
	check(t, err)
	forged := func(st *journal.Stored) {
		for i := range st.Frames {
			st.Frames[i] = bytes.ReplaceAll(st.Frames[i], []byte("paid 20"), []byte("paid 99"))
		}
		chain(st)
	}
	reset := func(st *journal.Stored) {
		st.Frames, st.Row.State = st.Frames[:early.Frames], Running
		chain(st)
	}
	for what, do := range map[string]func(*journal.Stored){"a chain made anew": forged, "an earlier state": reset} {
		w.tamper("r", do)
		v, err := w.Verify(ctx, "r", "")
		if err != nil || v.Head == late.Head {
			t.Errorf("%s: without a head that was kept, nobody can see it: got %+v: %v", what, v, err)
		}
		fails(t, what, second(w.Verify(ctx, "r", late.Head)), value.Conflict, "does not contain the head")
	}
	w.tamper("r", reset)
	if v, err := w.Verify(ctx, "r", early.Head); err != nil || v.At != early.Frames || v.Frames != v.At {
		t.Errorf("the head of the earlier state: %+v: %v", v, err)
	}
}

// chain computes the hashes of changed frames anew, as somebody can who writes to the store.
func chain(st *journal.Stored) {
	h := head{state: st.Row.State, wake: st.Row.Wake, updated: st.Row.Updated}
	for i, f := range st.Frames {
		h.last = sealFrame(f, int64(i), h.last)
		h.frames++
	}
	st.Row.Head = h.bytes()
}

// TestVerifyReadsEverything changes what is beside the frames of a run: large values, its
// messages, and its script.
func TestVerifyReadsEverything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := &lostBlobs{Store: journal.Memory()}
	j := Open(store, nil)
	l := begin(t, j, "r")
	i := Intent{StepPath: tool.StepPath{1}, Func: "http.post", Args: value.NewDict("text", strings.Repeat("large ", inlineMost)), Kind: tool.External}
	check(t, l.Intend(ctx, i))
	check(t, l.Close())
	_, err := j.Verify(ctx, "r", "")
	check(t, err)
	for name := range store.names {
		store.lost = name
		fails(t, "the value "+name+" is lost", second(j.Verify(ctx, "r", "")), value.Failed, "damaged")
	}
	if len(store.names) != 3 {
		t.Errorf("%d blobs are beside the frames, want two of the arguments and the script", len(store.names))
	}
}

// A lostBlobs is a store that loses a blob.
type lostBlobs struct {
	journal.Store
	names map[string]bool
	lost  string
}

func (s *lostBlobs) PutBlob(ctx context.Context, name string, data []byte) error {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
	return s.Store.PutBlob(ctx, name, data)
}

func (s *lostBlobs) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	if name == s.lost {
		return nil, value.Errorf(value.Failed, "the value is lost")
	}
	return s.Store.Blob(ctx, name, size)
}
