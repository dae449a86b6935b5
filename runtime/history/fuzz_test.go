package history

import (
	"bytes"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// FuzzFrame reads frames of any content. What is read must have one form.
func FuzzFrame(f *testing.F) {
	for _, r := range someRecords(f) {
		f.Add(r)
	}
	store := journal.Memory() // which has no blobs
	f.Fuzz(func(t *testing.T, records []byte) {
		frame := makeFrame(0, sum{}, [][]byte{records})
		readBegun(frame, store)
		_, list, err := openFrame(0, frame)
		if err != nil {
			return
		}
		h := &history{run: Run{ID: "r", Nonce: "n"}, steps: map[string]*step{}}
		for _, r := range list {
			if h.take(r, store) != nil {
				break
			}
		}
		for _, s := range h.sorted() {
			checkStep(t, h, s, store)
		}
	})
}

// checkStep reads the entry of a step, whatever its records hold.
func checkStep(t *testing.T, h *history, s *step, store journal.Store) {
	t.Helper()
	e, err := s.entry(&h.run, store)
	if err != nil {
		return
	}
	if p, err := ParsePlace(e.Place.String()); err != nil || p.String() != s.place.String() {
		t.Errorf("place %v is read as %v, %v", e.Place, p, err)
	}
	if e.Settled.IsZero() != !s.settled && e.Settled.UnixNano() != 0 || len(e.Questions) != s.questions {
		t.Errorf("entry %+v of %+v", e, s)
	}
	for i := range e.Questions {
		q := &e.Questions[i]
		if _, at, n, err := ParseQuestionID(q.ID); err != nil || n != i+1 || at.String() != e.Place.String() {
			t.Errorf("question %d has the ID %q: %v", i+1, q.ID, err)
		}
	}
}

// FuzzSealed reads heads and messages of any content.
func FuzzSealed(f *testing.F) {
	h := head{frames: 3, state: Parked, wake: now(), updated: now()}
	f.Add(h.bytes()[len(sum{}):])
	a := Answered{Answer: tool.Answer{Yes: true, Value: "x", Args: value.NewDict("a", 1), By: "ann"}, At: now()}
	b, err := a.body("r", "1:1")
	check(f, err)
	f.Add(b[len(sum{}):])
	f.Fuzz(func(t *testing.T, bare []byte) {
		sealed := seal(append(make([]byte, len(sum{})), bare...))
		v, err := unseal(sealed)
		if err != nil {
			return
		}
		if again, err := value.Append(make([]byte, len(sum{})), v); err != nil || !bytes.Equal(seal(again), sealed) {
			t.Errorf("a sealed value has two forms")
		}
		if h, err := readHead(sealed); err == nil && !bytes.Equal(h.bytes(), sealed) {
			t.Errorf("the head %+v has two forms", h)
		}
		if a, err := openBody(journal.Message{Key: "1:1", Body: sealed}, "r"); (a == nil) == (err == nil) {
			t.Errorf("an answer is %v, %v", a, err)
		}
		tool.ReadScript(v)
	})
}

// someRecords returns a record of each kind, as they are written.
func someRecords(t testing.TB) (list [][]byte) {
	t.Helper()
	a := Answered{Answer: tool.Answer{Yes: true}}
	q := Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "continue?"}}
	for _, c := range []struct {
		kind   recordKind
		fields []value.Value
	}{
		{runBegun, []value.Value{int64(codecVersion), "r", "run", "title", "v1", "hash", int64(1), value.NewDict("a", 1), nil, value.Tuple{"tenant", "/p", "", "", "nonce", "session"}, nil}},
		{runResumed, []value.Value{"v2", int64(5)}},
		{effectIntended, []value.Value{"3.1", value.Tuple{int64(1), "fs.read", int64(tool.Read)}, value.NewDict("path", "a"), nil}},
		{effectSettled, []value.Value{"3.1", value.Tuple{int64(2), "u", "1"}, usageDict(tool.Usage{Steps: 1}), nil, errorValue(value.Errorf(value.Limit, "x")), "value"}},
		{placeNoted, []value.Value{"3", int64(4), value.NewDict("approved", true)}},
		{questionAsked, []value.Value{"3", int64(1), int64(4), q.content(), nil}},
		{questionAnswered, []value.Value{"3", int64(1), a.value()}},
		{runParked, []value.Value{"a question", int64(4), int64(0)}},
		{runEnded, []value.Value{int64(Done), "final", nil, nil, int64(9), "result"}},
	} {
		r := newRecorder(journal.Memory(), nil)
		r.put(c.fields...)
		rec, err := r.record(c.kind)
		check(t, err)
		list = append(list, rec)
	}
	return append(list, bytes.Join(list[2:4], nil), bytes.Join(list[5:7], nil), []byte{2, 3, 1, 1, 1})
}

// TestSomeRecords checks that the seeds of FuzzFrame are what the codec reads.
func TestSomeRecords(t *testing.T) {
	store, records := journal.Memory(), someRecords(t)[:runEnded]
	if _, err := readBegun(makeFrame(0, sum{}, records[:1]), store); err != nil {
		t.Error(err)
	}
	h := &history{run: Run{ID: "r"}, steps: map[string]*step{}}
	for _, data := range records[1:] {
		r, rest, err := nextRecord(data)
		check(t, err)
		if err := h.take(r, store); err != nil || len(rest) > 0 {
			t.Errorf("a record of kind %d: %v", r.kind, err)
		}
	}
	for _, s := range h.sorted() {
		_, err := s.entry(&h.run, store)
		check(t, err)
	}
}
