package history

import (
	"bytes"
	"testing"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// FuzzFrame reads frames with any content. Each frame that can be read must have one
// form.
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
		for _, s := range sorted(h.steps) {
			checkStep(t, h, s, store)
		}
	})
}

// checkStep decodes the entry of a step with any records.
func checkStep(t *testing.T, h *history, s *step, store journal.Store) {
	t.Helper()
	e, err := s.entry(&h.run, store)
	if err != nil {
		return
	}
	if p, err := ParseStepPath(e.StepPath.String()); err != nil || p.String() != s.place.String() {
		t.Errorf("place %v is read as %v, %v", e.StepPath, p, err)
	}
	if e.Settled.IsZero() != !s.settled && e.Settled.UnixNano() != 0 || len(e.Questions) != s.questions {
		t.Errorf("entry %+v of %+v", e, s)
	}
	for i := range e.Questions {
		q := &e.Questions[i]
		if _, at, n, err := ParseQuestionID(q.ID); err != nil || n != i+1 || at.String() != e.StepPath.String() {
			t.Errorf("question %d has the ID %q: %v", i+1, q.ID, err)
		}
	}
}

// FuzzSealed reads heads and messages with any content.
func FuzzSealed(f *testing.F) {
	h := head{frames: 3, state: Parked, wake: now(), updated: now()}
	f.Add(h.bytes()[len(sum{}):])
	a := Answered{Answer: tool.Answer{Yes: true, Value: "x", Args: value.NewDict("a", 1), By: "ann"}, At: now()}
	b, err := a.body("r", "1:1")
	check(f, err)
	f.Add(b[len(sum{}):])
	f.Fuzz(func(t *testing.T, bare []byte) {
		sealed := seal(append(make([]byte, len(sum{})), bare...))
		var form answerForm
		if unseal(sealed, &form) == nil {
			if again, err := pack.Append(make([]byte, len(sum{})), &form); err != nil || !bytes.Equal(seal(again), sealed) {
				t.Errorf("a sealed answer has two forms")
			}
		}
		if h, err := readHead(sealed); err == nil && !bytes.Equal(h.bytes(), sealed) {
			t.Errorf("the head %+v has two forms", h)
		}
		if a, err := openBody(journal.Message{Key: "1:1", Body: sealed}, "r"); (a == nil) == (err == nil) {
			t.Errorf("an answer is %v, %v", a, err)
		}
		tool.ReadScript(form.Answer)
	})
}

// someRecords returns a record of each kind, in encoded form.
func someRecords(t testing.TB) (list [][]byte) {
	t.Helper()
	a := Answered{Answer: tool.Answer{Yes: true}}
	q := Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "continue?"}}
	for _, c := range []struct {
		kind   recordKind
		fields []any // values, and pointers to structs
	}{
		{runBegun, []any{int64(codecVersion), &beginHead{"tenant", "r", "run", "title", "v1", "hash", 1, "/p", "", "", "nonce", "session"}, value.NewDict("a", 1), nil, nil}},
		{runResumed, []any{"v2", int64(5)}},
		{effectIntended, []any{"3.1", &intentHead{1, "fs.read", tool.Read}, value.NewDict("path", "a"), nil}},
		{effectSettled, []any{"3.1", &outcomeHead{2, tool.Usage{Steps: 1}, &undoHead{"u", "1"}}, nil, errorValue(value.Errorf(value.Limit, "x")), "value"}},
		{placeNoted, []any{"3", int64(4), value.NewDict("approved", true)}},
		{questionAsked, []any{"3", int64(1), int64(4), q.content(), nil}},
		{questionAnswered, []any{"3", int64(1), a.value()}},
		{runParked, []any{"a question", int64(4), int64(0)}},
		{runEnded, []any{int64(Done), "final", nil, &tool.Usage{}, int64(9), "result"}},
	} {
		r := newRecorder(journal.Memory(), nil)
		for _, field := range c.fields {
			switch field.(type) {
			case *beginHead, *intentHead, *outcomeHead, *tool.Usage:
				r.pack(field)
			default:
				r.put(field)
			}
		}
		rec, err := r.record(c.kind)
		check(t, err)
		list = append(list, rec)
	}
	return append(list, bytes.Join(list[2:4], nil), bytes.Join(list[5:7], nil), []byte{2, 3, 1, 1, 1})
}

// TestSomeRecords checks that the codec reads the seeds of FuzzFrame.
func TestSomeRecords(t *testing.T) {
	t.Parallel()
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
	for _, s := range sorted(h.steps) {
		_, err := s.entry(&h.run, store)
		check(t, err)
	}
}
