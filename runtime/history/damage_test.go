package history

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const damageSteps = 20

// A ward is a journal whose store changes the data of one run.
type ward struct {
	*Journal
	store  *faultStore
	victim string
	expect map[string]map[string]string // the entries of each run
	stored map[string]journal.Stored    // what is stored of each run
}

// damageable returns a journal of runs in different states.
func damageable(t *testing.T, s storage) *ward {
	t.Helper()
	ctx := context.Background()
	w := &ward{store: &faultStore{Store: s.store()}, expect: map[string]map[string]string{}, stored: map[string]journal.Stored{}}
	w.Journal = openOn(t, w.store)
	for _, id := range []string{"ended", "parked", "open", "other"} {
		l, err := w.Begin(ctx, Run{ID: id, Kind: "run", Title: "a test", Project: "/p", Parent: "a", ForkedFrom: "b", Session: "s"}, script())
		check(t, err)
		for n := 1; n <= damageSteps; n++ {
			p := tool.StepPath{n}
			check(t, l.Intend(ctx, Intent{StepPath: p, Func: "fs.write", Args: stepArgs(n), Kind: tool.Write}))
			if n == 10 {
				check(t, l.Note(ctx, p, value.NewDict("approved", true)))
			}
			check(t, l.Settle(ctx, p, tool.Outcome{Value: stepValue(n)}, nil))
		}
		switch id {
		case "ended":
			check(t, l.End(ctx, "final", tool.Outcome{Value: "the end"}, nil))
		case "parked":
			for _, at := range []string{"21", "22"} {
				asked(t, l, at, Asked{Question: tool.Question{Kind: tool.QuestionAsk, Text: "continue?"}})
				check(t, w.Answer(ctx, id, place(at), 1, tool.Answer{Value: "answer " + at}))
			}
			check(t, l.Park(ctx, "a question", now().Add(time.Hour)))
		default:
			check(t, l.Close())
		}
		w.expect[id], err = readAll(w.Journal, id)
		check(t, err)
		num, err := w.find(ctx, id)
		check(t, err)
		w.stored[id], err = w.store.Load(ctx, num)
		check(t, err)
	}
	return w
}

// tamper changes what the store returns of a run.
func (w *ward) tamper(run string, stored func(*journal.Stored)) {
	w.victim = run
	num := w.stored[run].Row.Num
	damagedCopy := func() journal.Stored {
		was := w.stored[run]
		st := journal.Stored{Row: was.Row, Inbox: slices.Clone(was.Inbox)}
		st.Row.Head = bytes.Clone(was.Row.Head)
		for _, f := range was.Frames {
			st.Frames = append(st.Frames, bytes.Clone(f))
		}
		for i := range st.Inbox {
			st.Inbox[i].Body = bytes.Clone(st.Inbox[i].Body)
		}
		stored(&st)
		return st
	}
	w.store.stored = func(st *journal.Stored) {
		if st.Row.Num == num {
			*st = damagedCopy()
			st.Row.Num = num
		}
	}
	w.store.row = func(r *journal.Row) {
		if r.Num != num {
			return
		}
		st := damagedCopy()
		*r, r.Num = st.Row, num
		if n := len(st.Frames); n > 0 {
			r.First, r.Last = st.Frames[0], st.Frames[n-1]
		}
	}
	w.store.taken = func(m *journal.Message) {
		for _, changed := range damagedCopy().Inbox {
			if changed.Seq == m.Seq {
				*m = changed
			}
		}
	}
}

// inspect reads everything. It fails the test for data that was never recorded, and for
// damage of other runs. It returns the errors for the victim: of Entries, and of Runs.
func (w *ward) inspect(t *testing.T, what string) (entries map[string]string, err, listed error) {
	t.Helper()
	found := 0
	for r, err := range w.Runs(context.Background(), Filter{}) {
		check(t, err)
		found++
		switch {
		case r.ID != w.victim && w.expect[r.ID] != nil && r.Damage != nil:
			t.Errorf("%s: run %s is damaged too: %v", what, r.ID, r.Damage)
		case r.ID == w.victim || r.Damage != nil:
			listed = r.Damage
		}
		if r.Damage == nil && (r.Title != "a test" || r.Project != "/p" || r.Parent != "a" || r.ForkedFrom != "b" || r.Session != "s" || r.Kind != "run" ||
			r.State == Done && r.Result != "the end" || (r.State == Done) != (r.ID == "ended") || r.State != Stuck && (r.State == Parked) != (r.ID == "parked" || !r.Wake.IsZero())) { // a resumed victim is stuck
			t.Errorf("%s: the run is changed: %+v", what, r)
		}
	}
	if found != len(w.expect) {
		t.Errorf("%s: %d runs are listed", what, found)
	}
	for run, want := range w.expect {
		got, e := readAll(w.Journal, run)
		if run == w.victim {
			entries, err = got, e
		} else {
			check(t, e)
		}
		for at, text := range got {
			if text != want[at] && (e == nil || !strings.HasPrefix(want[at], text[:40])) {
				t.Errorf("%s: run %s, step %s has %s, want %s", what, run, at, text, want[at])
			}
		}
		if e == nil && len(got) != len(want) {
			t.Errorf("%s: run %s has lost %d steps without an error", what, run, len(want)-len(got))
		}
	}
	return entries, err, listed
}

// TestFlippedBits flips bits in every frame and in the head of runs.
func TestFlippedBits(t *testing.T) { eachStore(t, testFlippedBits) }

func testFlippedBits(t *testing.T, s storage) {
	testutil.SkipShort(t)
	ctx, w := context.Background(), damageable(t, s)
	random := rand.New(rand.NewPCG(1, 2))
	for _, run := range []string{"ended", "parked", "open"} {
		frames := w.stored[run].Frames
		for i := -1; i < len(frames); i++ {
			data := w.stored[run].Row.Head
			if i >= 0 {
				data = frames[i]
			}
			at, bit := random.IntN(len(data)), random.IntN(8)
			w.tamper(run, func(st *journal.Stored) {
				if i >= 0 {
					st.Frames[i][at] ^= 1 << bit
				} else {
					st.Row.Head[at] ^= 1 << bit
				}
			})
			what := fmt.Sprintf("%s, frame %d of %d, bit %d of byte %d", run, i, len(frames), bit, at)
			got, err, listed := w.inspect(t, what)
			fails(t, what, err, value.Failed, "run '"+run+"' is damaged")
			inEnd := i == len(frames)-1 && run != "open"
			if (i <= 0 || inEnd) && listed == nil {
				t.Errorf("%s: it is listed without an error", what)
			}
			if want := map[int]int{-1: len(w.expect[run]), 0: 0}; i <= 0 && len(got) != want[i] {
				t.Errorf("%s: %d steps are read, want %d", what, len(got), want[i])
			}
			fails(t, what+": Resume", second(w.Resume(ctx, run)), value.Failed, "damaged")
			fails(t, what+": Verify", second(w.Verify(ctx, run, "")), value.Failed, "damaged")
			fails(t, what+": Read", second(w.Read(ctx, run)), value.Failed, "damaged")
			fails(t, what+": Cancel", second(w.Cancel(ctx, run)), value.Failed, "damaged")
			if w.Held(run) {
				t.Fatalf("%s: it is held", what)
			}
		}
	}
}

// TestEveryByteOfAFrame flips a bit in every byte of a frame. The error must name the
// run and the last step, and everything before must be readable.
func TestEveryByteOfAFrame(t *testing.T) {
	t.Parallel()
	w := damageable(t, storage{t, func() journal.Store { return journal.Memory() }})
	const frame, after = 5, "after step 4"
	frames := w.stored["open"].Frames
	for at := range frames[frame] {
		w.tamper("open", func(st *journal.Stored) { st.Frames[frame][at] ^= 0x10 })
		got, err := readAll(w.Journal, "open")
		if err == nil || !strings.Contains(err.Error(), "'open'") || !strings.Contains(err.Error(), after) {
			t.Fatalf("byte %d: the damage is reported as %v", at, err)
		}
		for n := 1; n < 4; n++ {
			if p := fmt.Sprint(n); got[p] != w.expect["open"][p] {
				t.Fatalf("byte %d: step %s is %s", at, p, got[p])
			}
		}
		if len(got) != 4 {
			t.Fatalf("byte %d: %d steps are read", at, len(got))
		}
	}
	for at := range w.stored["open"].Row.Head {
		w.tamper("open", func(st *journal.Stored) { st.Row.Head[at] ^= 0x10 })
		if _, err := readAll(w.Journal, "open"); err == nil || !strings.Contains(err.Error(), "its progress") {
			t.Fatalf("byte %d of the head: the damage is reported as %v", at, err)
		}
	}
}

// TestTampered removes, truncates, moves and exchanges stored data.
func TestTampered(t *testing.T) { eachStore(t, testTampered) }

func testTampered(t *testing.T, s storage) {
	testutil.SkipShort(t)
	w := damageable(t, s)
	other := w.stored["other"]
	for _, c := range []struct {
		name   string
		do     func(st *journal.Stored)
		want   string // what Entries reports
		listed bool   // whether the list reports it too
	}{
		{"a frame in the middle is missing", func(st *journal.Stored) { st.Frames = slices.Delete(st.Frames, 7, 8) }, "after step 6", false},
		{"the first frame is missing", func(st *journal.Stored) { st.Frames = st.Frames[1:] }, "at its beginning", true},
		{"the last frames are missing", func(st *journal.Stored) { st.Frames = st.Frames[:9] }, "frames are missing", true},
		{"all frames are missing", func(st *journal.Stored) { st.Frames = nil }, "frames are missing", true},
		{"a frame is cut", func(st *journal.Stored) { st.Frames[7] = st.Frames[7][:50] }, "after step 6", false},
		{"a frame is cut to its sums", func(st *journal.Stored) { st.Frames[7] = st.Frames[7][:frameHead] }, "after step 6", false},
		{"a frame is empty", func(st *journal.Stored) { st.Frames[7] = nil }, "after step 6", false},
		{"a frame is longer", func(st *journal.Stored) { st.Frames[7] = append(st.Frames[7], 0) }, "after step 6", false},
		{"frames in another order", func(st *journal.Stored) { st.Frames[7], st.Frames[8] = st.Frames[8], st.Frames[7] }, "after step 6", false},
		{"a frame twice", func(st *journal.Stored) { st.Frames = slices.Insert(st.Frames, 7, st.Frames[7]) }, "after step 7", false},
		{"a frame more", func(st *journal.Stored) {
			f := makeFrame(int64(len(st.Frames)), sum(st.Frames[len(st.Frames)-1][:len(sum{})]), nil)
			st.Frames = append(st.Frames, f)
		}, "its progress", true},
		{"a frame of another run", func(st *journal.Stored) { st.Frames[7] = other.Frames[7] }, "after step 6", false},
		{"all frames of another run", func(st *journal.Stored) { st.Frames = other.Frames }, "at its beginning", true},
		{"the head is missing", func(st *journal.Stored) { st.Row.Head = nil }, "its progress", true},
		{"the head is cut", func(st *journal.Stored) { st.Row.Head = st.Row.Head[:40] }, "its progress", true},
		{"the head of another run", func(st *journal.Stored) { st.Row.Head = other.Row.Head }, "", true},
		{"the state", func(st *journal.Stored) { st.Row.State = Failed }, "its progress", true},
		{"the wake time", func(st *journal.Stored) { st.Row.Wake = st.Row.Wake.Add(1e6) }, "its progress", true},
		{"the time of the state", func(st *journal.Stored) { st.Row.Updated = st.Row.Updated.Add(1e6) }, "its progress", true},
		{"the project", func(st *journal.Stored) { st.Row.Project = "/q" }, "its beginning", true},
		{"the kind", func(st *journal.Stored) { st.Row.Kind = "task" }, "its beginning", true},
		{"the parent", func(st *journal.Stored) { st.Row.Parent = "" }, "its beginning", true},
		{"the fork", func(st *journal.Stored) { st.Row.ForkedFrom = "x" }, "its beginning", true},
		{"the session", func(st *journal.Stored) { st.Row.Session = "x" }, "its beginning", true},
		{"the nonce", func(st *journal.Stored) { st.Row.Nonce += "x" }, "its beginning", true},
		{"the tenant", func(st *journal.Stored) { st.Row.Tenant = "t" }, "its beginning", true},
		{"the ID", func(st *journal.Stored) { st.Row.ID = "else" }, "its beginning", true},
	} {
		for _, run := range []string{"ended", "parked"} {
			w.tamper(run, c.do)
			what := run + ": " + c.name
			_, err, listed := w.inspect(t, what)
			fails(t, what, err, value.Failed, c.want)
			if err != nil && !strings.Contains(err.Error(), "'"+run+"'") || (listed != nil) != c.listed {
				t.Errorf("%s: reported as %v, and in the list as %v", what, err, listed)
			}
			fails(t, what+": Resume", second(w.Resume(context.Background(), run)), value.Failed, "damaged")
			fails(t, what+": Verify", second(w.Verify(context.Background(), run, "")), value.Failed, "damaged")
		}
	}
}

// TestTamperedMessages changes the inbox of a run. Damaged messages, and those of
// another question, are never used as answers.
func TestTamperedMessages(t *testing.T) { eachStore(t, testTamperedMessages) }

func testTamperedMessages(t *testing.T, s storage) {
	testutil.SkipShort(t)
	ctx, w := context.Background(), damageable(t, s)
	for name, do := range map[string]func(m *journal.Message){
		"cut":    func(m *journal.Message) { m.Body = m.Body[:20] },
		"empty":  func(m *journal.Message) { m.Body = nil },
		"longer": func(m *journal.Message) { m.Body = append(m.Body, 0) },
		"exchanged": func(m *journal.Message) {
			*m = journal.Message{Seq: m.Seq, Kind: m.Kind, Key: m.Key, Body: w.stored["parked"].Inbox[1].Body}
		},
		"another key": func(m *journal.Message) { m.Key = "22:1" },
		"no key":      func(m *journal.Message) { m.Key = "" },
		"another run": func(m *journal.Message) {
			m.Body, _ = (&Answered{Answer: tool.Answer{Value: "x"}}).body("other", m.Key)
		},
		"not an answer": func(m *journal.Message) {
			b, _ := pack.Append(make([]byte, len(sum{})), &answerForm{"parked", m.Key, "x"})
			m.Body = seal(b)
		},
	} {
		w.tamper("parked", func(st *journal.Stored) { do(&st.Inbox[0]) })
		checkTamperedMessage(t, w, name)
	}
	for at := range w.stored["parked"].Inbox[0].Body {
		w.tamper("parked", func(st *journal.Stored) { st.Inbox[0].Body[at] ^= 1 })
		checkTamperedMessage(t, w, fmt.Sprint("byte ", at))
	}
	l := resume(t, w.Journal, "parked") // its record is not damaged
	if a, err := l.Answer(ctx, place("21"), 1); a != nil || value.KindOf(err) != value.Failed || !strings.Contains(err.Error(), "21") {
		t.Errorf("a damaged answer was used: %v, %v", a, err)
	}
	a, err := l.Answer(ctx, place("22"), 1)
	check(t, err)
	checkAnswer(t, a, tool.Answer{Value: "answer 22"})
}

func checkTamperedMessage(t *testing.T, w *ward, what string) {
	t.Helper()
	open, err := w.Questions(context.Background(), "parked")
	fails(t, what, err, value.Failed, "run 'parked' is damaged: ")
	fails(t, what+": Verify", second(w.Verify(context.Background(), "parked", "")), value.Failed, "run 'parked' is damaged: ")
	if len(open) != 2 {
		t.Fatalf("%s: %d questions are open", what, len(open))
	}
	if a := open[0].Answer; a != nil {
		t.Errorf("%s: the first question has the answer %+v", what, a)
	}
	if a := open[1].Answer; a != nil && a.Value != "answer 22" {
		t.Errorf("%s: the second question has the answer %+v", what, a)
	}
	if due, err := dueRuns(w.Journal, now()); len(due) != 0 || value.KindOf(err) != value.Failed {
		t.Errorf("%s: due are %v, %v", what, due, err)
	}
	if _, err, _ := w.inspect(t, what); err != nil {
		t.Errorf("%s: the record is damaged too: %v", what, err)
	}
}

// TestTamperedBlobs reads a run with a missing or changed blob.
func TestTamperedBlobs(t *testing.T) { eachStore(t, testTamperedBlobs) }

func testTamperedBlobs(t *testing.T, s storage) {
	ctx, w := context.Background(), damageable(t, s)
	for what, fail := range map[string]error{"is missing": journal.ErrBlob("x", "is missing"), "has changed": journal.ErrBlob("x", "has changed")} {
		large := int64(len(stepValue(14)))
		w.store.blob = func(size int64) error {
			if size > large-10 && size < large+10 && size > int64(len(stepValue(7)))+10 {
				return fail
			}
			return nil
		}
		got, err := readAll(w.Journal, "open")
		fails(t, what, err, value.Failed, "step 14: the large value x "+what)
		if len(got) != damageSteps-1 {
			t.Errorf("%d steps are read, want all but one", len(got))
		}
		for at, text := range got {
			if text != w.expect["open"][at] {
				t.Errorf("step %s is changed", at)
			}
		}
		l := resume(t, w.Journal, "open") // that step may not be reached again
		for n := 1; n <= damageSteps; n++ {
			e, ok, err := l.Recorded(tool.StepPath{n})
			if !ok || (err != nil) != (n == 14) || n == 14 && (e.Outcome.Value != nil || !e.Settled.IsZero()) {
				t.Errorf("step %d: %+v, %v, %v", n, e, ok, err)
			}
			_, _, err = l.Recall(tool.Effect{Func: "fs.write", Args: stepArgs(n), StepPath: tool.StepPath{n}}, nil)
			if (err != nil) != (n == 14) {
				t.Errorf("step %d is recalled with %v", n, err)
			}
		}
		check(t, l.Close())
		w.store.blob = func(size int64) error { return fail }
		fails(t, "without the script", second(w.Resume(ctx, "open")), value.Failed, "its script: the large value x "+what)
		w.store.blob = nil
	}
}
