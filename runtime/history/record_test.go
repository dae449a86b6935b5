package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An implementation is one of the live Records that satisfy the contract. It has one
// run.
type implementation struct {
	begin   func() Record
	resume  func(Record) Record // as a later process does
	send    func(at tool.StepPath, n int, a tool.Answer) error
	cancel  func()
	current func() Run
	entries func() map[string]string
}

func ofJournal(t *testing.T, s storage) implementation {
	ctx, other := context.Background(), s.open()
	return implementation{
		begin:   func() Record { return begin(t, s.open(), "r") },
		resume:  func(r Record) Record { check(t, r.Close()); return resume(t, s.open(), "r") },
		send:    func(at tool.StepPath, n int, a tool.Answer) error { return other.Answer(ctx, "r", at, n, a) },
		cancel:  func() { check(t, second(other.Cancel(ctx, "r"))) },
		current: func() Run { return one(t, other, "r") },
		entries: func() map[string]string {
			got, err := readAll(other, "r")
			check(t, err)
			return got
		},
	}
}

func ofMemory(t *testing.T) implementation {
	var m *Memory
	return implementation{
		begin: func() Record {
			m = NewMemory(Run{ID: "r", Kind: "run", Title: "a test"}, script())
			return m
		},
		resume:  func(r Record) Record { m = r.(*Memory).Resume(); return m },
		send:    func(at tool.StepPath, n int, a tool.Answer) error { return m.Send(at, n, a) },
		cancel:  func() { m.Cancel() },
		current: func() Run { return m.Current() },
		entries: func() map[string]string {
			got := map[string]string{}
			for e, err := range m.Entries() {
				check(t, err)
				got[e.StepPath.String()] = entryText(&e)
			}
			return got
		},
	}
}

// eachRecord runs a test with each live Record.
func eachRecord(t *testing.T, test func(t *testing.T, i implementation)) {
	t.Run("log/sqlite", func(t *testing.T) { test(t, ofJournal(t, onDisk(t))) })
	t.Run("log/memory", func(t *testing.T) {
		m := journal.Memory()
		test(t, ofJournal(t, storage{t, func() journal.Store { return m }}))
	})
	t.Run("memory", func(t *testing.T) { test(t, ofMemory(t)) })
}

// A performer executes a script of effects against a Record, as the host does, and
// records the outcomes.
type performer struct {
	t     *testing.T
	r     Record
	world int // how many effects were executed
	lines []string
}

// do answers an effect from the record, or executes it.
func (p *performer) do(f *tool.Func, e tool.Effect, do func() (tool.Outcome, error)) error {
	p.t.Helper()
	ctx := context.Background()
	entry, what, err := p.r.Recall(e, f)
	if err != nil {
		return err
	}
	var out tool.Outcome
	var failure error
	if what == Known {
		if out = entry.Outcome; entry.Err != nil {
			failure = entry.Err
		}
	} else {
		check(p.t, p.r.Intend(ctx, Intent{StepPath: e.StepPath, Func: e.Func, Args: e.Args, Kind: f.Kind, Change: value.NewDict("was", "x")}))
		out, failure = do()
		if err := p.r.Settle(ctx, e.StepPath, out, failure); err != nil {
			return err
		}
	}
	undo := ""
	if u := out.Undo; u != nil {
		undo = fmt.Sprint(u.Func, u.Args, u.StepPath)
	}
	message := ""
	if failure != nil {
		k := value.ErrorOf(failure, value.Failed)
		message = fmt.Sprint(k.Kind, utf8Text(k.Message()), k.Hint)
	}
	p.lines = append(p.lines, fmt.Sprintf("%s %s = %.60s %s %s %v", e.StepPath, e.Func, value.FormatJSON(out.Value, ""), undo, message, out.Usage))
	return nil
}

// effect executes an effect whose outcome depends on the world.
func (p *performer) effect(at string, kind tool.EffectKind, out tool.Outcome, failure error) {
	p.t.Helper()
	f := &tool.Func{Kind: kind}
	e := tool.Effect{Func: "f." + kind.String(), Args: value.NewDict("at", at), StepPath: place(at)}
	check(p.t, p.do(f, e, func() (tool.Outcome, error) {
		p.world++
		return out, failure
	}))
}

// perform executes a script with effects of each kind, failures, large values,
// and a call with effects inside. Its notes and questions are recorded the first
// time.
func (p *performer) perform() {
	p.t.Helper()
	ctx := context.Background()
	for kind := tool.EffectKind(1); kind.Valid(); kind++ {
		p.effect(fmt.Sprint(int(kind)), kind, tool.Outcome{Value: kind.String(), Usage: tool.Usage{Effects: int(kind)}}, nil)
	}
	for i, v := range someValues(p.t) {
		p.effect(fmt.Sprint(20+i), tool.Read, tool.Outcome{Value: v}, nil)
	}
	p.effect("10", tool.Write, tool.Outcome{Undo: &tool.Effect{Func: "fs.undo", Args: value.NewDict("n", 1), StepPath: place("10.1")}}, nil)
	p.effect("11", tool.External, tool.Outcome{Usage: tool.Usage{Steps: 3, Wall: time.Second}}, value.Errorf(value.Command, "exit 3").WithHint("look"))
	p.effect("12", tool.Read, tool.Outcome{}, errors.New("plain \xff"))
	if _, known, _ := p.r.Recorded(place("13")); !known {
		check(p.t, p.r.Note(ctx, place("13"), value.NewDict("approved", "13")))
		check(p.t, p.r.Note(ctx, place("9"), value.NewDict("approved", "9")))
		check(p.t, p.r.Note(ctx, place("9"), nil))
		check(p.t, p.r.Answered(ctx, Asked{StepPath: place("14"), Question: tool.Question{Kind: tool.QuestionApproval, Text: "may it?"}}, tool.Answer{Yes: true, By: "ann"}))
	}
	call := tool.Effect{Func: "tools.call", Args: value.NewDict("tool", "t"), StepPath: place("15")}
	check(p.t, p.do(&tool.Func{Kind: tool.External, Mode: tool.ModeCalls}, call, func() (tool.Outcome, error) {
		p.effect("15.1", tool.Read, tool.Outcome{Value: int64(1)}, nil)
		p.effect("15.2", tool.External, tool.Outcome{}, value.Errorf(value.Denied, "no"))
		return tool.Outcome{Value: "called"}, nil
	}))
	call.StepPath = place("16")
	check(p.t, p.do(&tool.Func{Kind: tool.External, Mode: tool.ModeCalls}, call, func() (tool.Outcome, error) {
		p.effect("16.1", tool.Recorded, tool.Outcome{Value: "now"}, nil)
		return tool.Outcome{}, errors.New("not \xff UTF-8")
	}))
}

// withoutInner drops the lines of effects inside calls, which exist only if the call is
// executed again.
func withoutInner(lines []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.HasPrefix(l, "15.") || strings.HasPrefix(l, "16.") }), "\n")
}

// noted returns the notes of a record as text.
func noted(t *testing.T, r Record) string {
	t.Helper()
	var list []string
	for n, err := range r.Notes() {
		check(t, err)
		list = append(list, n.String())
	}
	return strings.Join(list, " ")
}

const performNotes = `{"approved":"9"} {} {"approved":"13"}`

// TestRecord performs a script, resumes it, and replays it: recorded effects are not
// executed again.
func TestRecord(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		r := i.begin()
		if !r.Live() || !r.Keeps() || r.Run().ID != "r" || r.Run().State != Running {
			t.Errorf("a fresh record: live %v, keeps %v, %+v", r.Live(), r.Keeps(), r.Run())
		}
		first := &performer{t: t, r: r}
		first.perform()
		if _, known, err := r.Recorded(place("1")); known || err != nil || noted(t, r) != "" {
			t.Errorf("a fresh record returns what this process recorded: %v, %v, %s", known, err, noted(t, r))
		}
		key := r.Key(place("3.1"))
		r = i.resume(r)
		if r.Key(place("3.1")) != key || !strings.HasSuffix(key, "/3.1") {
			t.Errorf("the key is %q after %q", r.Key(place("3.1")), key)
		}
		again := &performer{t: t, r: r}
		again.perform()
		if got, want := withoutInner(again.lines), withoutInner(first.lines); got != want || again.world != 0 || first.world == 0 {
			t.Errorf("resumed, %d effects were done, and it gave\n%s\nwant\n%s", again.world, got, want)
		}
		if got := noted(t, r); got != performNotes {
			t.Errorf("the notes are %s", got)
		}
		before := i.entries()
		checkReplay(t, r, first.lines)
		if after := i.entries(); !maps.Equal(before, after) || len(after) < 20 {
			t.Errorf("the replay changed the record: %d entries, then %d", len(before), len(after))
		}
		check(t, r.End(context.Background(), "final", tool.Outcome{Value: "x"}, nil))
	})
}

// checkReplay performs the script on a replay of a record.
func checkReplay(t *testing.T, r Record, want []string) {
	t.Helper()
	ctx, replay := context.Background(), NewReplay(r, false, nil)
	if replay.Live() || replay.Keeps() || replay.Key(place("1")) != "" || replay.Run().ID != "r" {
		t.Errorf("a replay: live %v, keeps %v, key %q", replay.Live(), replay.Keeps(), replay.Key(place("1")))
	}
	p := &performer{t: t, r: replay}
	p.perform()
	if got, want := strings.Join(p.lines, "\n"), strings.Join(want, "\n"); got != want || p.world != 0 {
		t.Errorf("replayed, %d effects were done, and it gave\n%s\nwant\n%s", p.world, got, want)
	}
	if o := replay.Outcome(); len(o.Differences) > 0 || len(o.Would) > 0 || o.Steps != len(want) {
		t.Errorf("the replay has %+v, want %d steps", o, len(want))
	}
	if got := noted(t, replay); got != performNotes {
		t.Errorf("the notes of the replay are %s", got)
	}
	a, err := replay.Answer(ctx, place("14"), 1)
	cancel, cancelErr := replay.CancelRequested(ctx)
	if err := errors.Join(err, cancelErr, replay.Note(ctx, place("1"), nil), replay.Intend(ctx, Intent{}), replay.Answered(ctx, Asked{}, tool.Answer{}),
		second(replay.Ask(ctx, Asked{})), replay.Park(ctx, "", time.Time{}), replay.End(ctx, "", tool.Outcome{}, nil), replay.Close()); err != nil || a != nil || cancel || len(openOf(t, replay)) > 0 {
		t.Errorf("a replay records: %v, %v, %v", err, a, cancel)
	}
}

// TestRecall checks the recollections of effects.
func TestRecall(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		ctx, r := context.Background(), i.begin()
		args := value.NewDict("path", "a")
		check(t, r.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Args: args, Kind: tool.Read, Staged: true}))
		check(t, r.Settle(ctx, place("1"), tool.Outcome{}, nil))
		check(t, r.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Kind: tool.External}))
		check(t, r.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Args: args, Kind: tool.External})) // tried again
		check(t, r.Note(ctx, place("3"), nil))
		asked(t, r, "4", Asked{Question: tool.Question{Kind: tool.QuestionConfirm}})
		recall := func(at, name string, args *value.Dict) (*Entry, Recollection, error) {
			return r.Recall(tool.Effect{Func: name, Args: args, StepPath: place(at)}, &tool.Func{})
		}
		for _, at := range []string{"1", "2", "9"} {
			if _, what, err := recall(at, "f", args); what != Unknown || err != nil {
				t.Errorf("a fresh record knows step %s: %v, %v", at, what, err)
			}
		}
		r = i.resume(r)
		for at, want := range map[string]Recollection{"1": Known, "2": Begun, "3": Unknown, "4": Unknown, "9": Unknown, "1.1": Unknown, "": Unknown} {
			e, what, err := recall(at, "f", args)
			if what != want || err != nil || (e == nil) != (want == Unknown) || e != nil && (e.Unknown() != (what == Begun) || e.Staged || e.Key != r.Key(e.StepPath)) {
				t.Errorf("step %q is %v, %+v, %v, want %v", at, what, e, err, want)
			}
		}
		for _, at := range []string{"1", "2"} {
			_, what, err := recall(at, "g", args)
			fails(t, "another function", err, value.Conflict, "step "+at)
			_, _, err = recall(at, "f", nil)
			fails(t, "other arguments", err, value.Conflict, "step "+at)
			if what != Unknown {
				t.Errorf("another effect is %v", what)
			}
		}
		if e, _, _ := r.Recorded(place("1")); e.StepPath.String() != "1" || e.Func != "f" || e.Intended.IsZero() || e.Settled.Before(e.Intended) {
			t.Errorf("the entry is %+v", e)
		}
		check(t, r.Close())
	})
}

// TestRecordedQuestions asks, answers, corrects and uses, and asks again.
func TestRecordedQuestions(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		ctx, r := context.Background(), i.begin()
		at := place("1")
		ask := func(want int, text string) {
			t.Helper()
			if n := asked(t, r, "1", Asked{Question: tool.Question{Kind: tool.QuestionApproval, Text: text}, Data: value.NewDict("a", 1)}); n != want {
				t.Errorf("%q has the number %d, want %d", text, n, want)
			}
		}
		answered := func(n int, want *tool.Answer) {
			t.Helper()
			a, err := r.Answer(ctx, at, n)
			check(t, err)
			if (a == nil) != (want == nil) {
				t.Errorf("the answer is %+v, want %+v", a, want)
			}
			if a != nil {
				checkAnswer(t, a, *want)
			}
		}
		fails(t, "an answer to nothing", i.send(at, 1, tool.Answer{}), value.NotFound, "no open question")
		ask(1, "may it?")
		answered(1, nil)
		answered(2, nil)
		fails(t, "an answer of the wrong kind", i.send(at, 1, tool.Answer{Value: "x"}), value.Invalid, "")
		fails(t, "an answer that is not a value", i.send(at, 1, tool.Answer{Args: value.NewDict("x", "\xff")}), value.Invalid, "")
		fails(t, "an answer to the next question", i.send(at, 2, tool.Answer{}), value.NotFound, "")
		given := tool.Answer{Yes: true, Always: true, Args: value.NewDict("a", 2), Why: "less", By: "ann"}
		check(t, i.send(at, 1, tool.Answer{}))
		check(t, i.send(at, 1, given))
		check(t, r.Park(ctx, "approval", time.Time{}))

		r = i.resume(r)
		ask(1, "may it?") // unchanged and not used
		answered(1, &given)
		answered(1, &given)
		fails(t, "a correction after it was used", i.send(at, 1, tool.Answer{}), value.Conflict, "used")
		ask(2, "may it?") // its answer was used
		check(t, r.Close())

		r = i.resume(r)
		ask(3, "may it really?")
		fails(t, "an answer to a question that was replaced", i.send(at, 2, tool.Answer{}), value.Conflict, "replaced")
		if open := openOf(t, r); len(open) != 1 || open[0].ID != "r:1:3" || open[0].Text != "may it really?" || open[0].Answer != nil {
			t.Errorf("open are %+v", open)
		}
		check(t, i.send(at, 3, tool.Answer{Yes: true}))
		if open := openOf(t, r); len(open) != 1 || open[0].Answer == nil || !open[0].Answer.Yes {
			t.Errorf("open are %+v, want it with its answer", open)
		}
		answered(3, &tool.Answer{Yes: true})
		if open := openOf(t, r); len(open) != 0 {
			t.Errorf("open are %+v, want none", open)
		}
		check(t, r.Intend(ctx, Intent{StepPath: at, Func: "f", Kind: tool.External}))
		check(t, r.Answered(ctx, Asked{StepPath: at, Question: tool.Question{Kind: tool.QuestionUnknown, Text: "again?"}}, tool.Answer{Yes: true, By: "bob"}))

		r = i.resume(r)
		e, _, err := r.Recorded(at)
		check(t, err)
		var got []string
		for i := range e.Questions {
			q := &e.Questions[i]
			got = append(got, fmt.Sprint(q.ID, " ", q.Text, " ", q.Answer != nil, " ", q.Spent))
		}
		sameTexts(t, "recorded", got, "r:1:1 may it? true true", "r:1:2 may it? false false", "r:1:3 may it really? true true", "r:1:4 again? true false")
		checkAnswer(t, e.Questions[0].Answer, given)
		check(t, r.End(ctx, "", tool.Outcome{}, nil))
		fails(t, "an answer to a run that has ended", i.send(at, 4, tool.Answer{}), value.Conflict, "used")
		fails(t, "an answer to what a run that has ended never asked", i.send(at, 5, tool.Answer{}), value.NotFound, "")
	})
}

// TestRecordedFields checks that a question is read back with all of its fields, and
// has the identity that Identify returned.
func TestRecordedFields(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		ctx, r, at := context.Background(), i.begin(), place("3.1")
		long := bytes.Repeat([]byte("x"), 2*inlineMost) // beside the record
		q := Asked{StepPath: at, Data: value.NewDict("subject", "call"), Question: tool.Question{
			ID: "no", Run: "no", Step: "no", Tool: "t", Func: "f", Text: "may\xff it?", Why: "w", Reasoning: "because", Kind: tool.QuestionApproval,
			Args: value.NewDict("n", 1, "b", []byte{0xff}, "t", value.Tuple{"a"}), Capabilities: []tool.Capability{{Name: "http", Target: "a.example:80"}, {Name: "odd", Target: "\x01:x"}},
			Changes: []tool.Change{{Path: "a", Before: tool.FileState{Exists: true, Mode: 0o600, Hash: "h"}, After: tool.FileState{Exists: true, Data: long, Hash: tool.HashBytes(long)}, Diff: "+x\n"},
				{Path: "d", After: tool.FileState{Exists: true, Dir: true}}},
			Expires: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC),
		}}
		promised, err := r.Identify(q)
		check(t, err)
		if promised.ID != "r:3.1:1" || promised.Run != "r" || promised.Step != "3.1" || promised.N != 1 || promised.Asked.IsZero() {
			t.Errorf("the question will be %+v", promised)
		}
		q.Asked = promised.Asked
		recorded, err := r.Ask(ctx, q)
		check(t, err)
		want := q.Question
		want.ID, want.Run, want.Step, want.Text = "r:3.1:1", "r", "3.1", "may\ufffd it?"
		same := func(what string, got Asked) {
			t.Helper()
			if !value.Equal(got.Dict(), want.Dict()) || !got.Asked.Equal(want.Asked) || got.N != 1 || !slices.Equal(got.StepPath, at) {
				t.Errorf("%s it is %+.400v, want %+.400v", what, got.Question, want)
			}
		}
		same("returned", recorded)
		open := openOf(t, r)
		if len(open) != 1 {
			t.Fatalf("open are %+v", open)
		}
		same("open", open[0])
		check(t, r.Close())

		r = i.resume(r)
		e, _, err := r.Recorded(at)
		check(t, err)
		same("recorded", e.Questions[0])
		promised, err = r.Identify(q)
		check(t, err)
		same("promised again", promised)
		check(t, r.Answered(ctx, q, tool.Answer{Yes: true})) // it is the one that is open
		if promised, err = r.Identify(q); err != nil || promised.ID != "r:3.1:2" {
			t.Errorf("the next one will be %+v, %v", promised, err)
		}
		r = i.resume(r)
		e, _, err = r.Recorded(at)
		check(t, err)
		if len(e.Questions) != 1 || e.Questions[0].Answer == nil || !e.Questions[0].Answer.Yes {
			t.Errorf("the step has %+v, want one question with its answer", e.Questions)
		}
	})
}

// openOf returns the open questions of a record.
func openOf(t *testing.T, r Record) []Asked {
	t.Helper()
	open, err := r.Questions(context.Background())
	check(t, err)
	return open
}

// TestRecordMisuse checks that all records reject the same calls.
func TestRecordMisuse(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		ctx, r := context.Background(), i.begin()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		did(t, r, place("1"), tool.Read, nil)
		notText := value.NewDict("x", "\xff")
		deep := value.Value(int64(1))
		for range value.MaxDepth + 1 {
			deep = value.List{deep}
		}
		check(t, r.Intend(ctx, Intent{StepPath: place("3"), Func: "f", Kind: tool.Write}))
		for _, c := range []struct {
			name string
			err  error
			want value.Kind
			text string
		}{
			{"a second outcome", r.Settle(ctx, place("1"), tool.Outcome{}, nil), value.Internal, "step 1 of run 'r' already has an outcome"},
			{"an outcome of nothing", r.Settle(ctx, place("9"), tool.Outcome{}, nil), value.Internal, "step 9 of run 'r' has no intent"},
			{"an intent after its outcome", r.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Read}), value.Internal, "step 1 of run 'r' already has an outcome"},
			{"an ended context", r.Intend(ended, Intent{StepPath: place("2"), Func: "f", Kind: tool.Write}), value.Canceled, ""},
			{"a note in an ended context", r.Note(ended, place("2"), nil), value.Canceled, ""},
			{"a question in an ended context", second(r.Ask(ended, Asked{StepPath: place("2")})), value.Canceled, ""},
			{"an answer in an ended context", second(r.Answer(ended, place("2"), 1)), value.Canceled, ""},
			{"an argument that is not a value", r.Intend(ctx, Intent{StepPath: place("2"), Kind: tool.Read, Args: notText}), value.Invalid, "not UTF-8"},
			{"a function's name that is not text", r.Intend(ctx, Intent{StepPath: place("2"), Func: "\xff", Kind: tool.Read}), value.Invalid, "not UTF-8"},
			{"a change that is not a value", r.Intend(ctx, Intent{StepPath: place("2"), Kind: tool.Read, Change: notText}), value.Invalid, "not UTF-8"},
			{"an outcome that is too deep", r.Settle(ctx, place("3"), tool.Outcome{Value: deep}, nil), value.Limit, "deep"},
			{"an undo that is not a value", r.Settle(ctx, place("3"), tool.Outcome{Undo: &tool.Effect{Args: notText}}, nil), value.Invalid, "not UTF-8"},
			{"a note that is not a value", r.Note(ctx, place("2"), notText), value.Invalid, "not UTF-8"},
			{"a question with what is not a value", second(r.Ask(ctx, Asked{StepPath: place("2"), Data: notText})), value.Invalid, "not UTF-8"},
			{"an answer with what is not a value", r.Answered(ctx, Asked{StepPath: place("2")}, tool.Answer{Args: notText}), value.Invalid, "not UTF-8"},
			{"a result that is not a value", r.End(ctx, "", tool.Outcome{Value: notText}, nil), value.Invalid, "not UTF-8"},
			{"an intent without a kind", r.Intend(ctx, Intent{StepPath: place("2"), Func: "f"}), value.Invalid, "invalid Kind"},
			{"an intent of an unknown kind", r.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Kind: tool.LastEffectKind + 1}), value.Invalid, "invalid Kind"},
		} {
			fails(t, c.name, c.err, c.want, c.text)
		}
		check(t, r.Settle(ended, place("3"), tool.Outcome{}, nil)) // it happened, whoever waits for it
		check(t, r.Close())
		if got := i.entries(); len(got) != 2 {
			t.Errorf("recorded is %v, want two steps", got)
		}
	})
}

// TestEndOfRecords parks, ends, closes and cancels.
func TestEndOfRecords(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		ctx, wake := context.Background(), now().Add(time.Hour)
		r := i.begin()
		check(t, r.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}))
		check(t, r.Park(ctx, "sleep \xff", wake))
		checkClosed(t, r)
		if run := i.current(); run.State != Parked || run.Reason != "sleep \ufffd" || !run.Wake.Equal(wake) {
			t.Errorf("parked, it is %+v", run)
		}
		r = i.resume(r)
		if run := r.Run(); run.State != Running || run.Reason != "" || !run.Wake.IsZero() || run.Title != "a test" {
			t.Errorf("resumed, it is %+v", run)
		}
		check(t, r.Close())
		checkClosed(t, r)
		check(t, r.Close())
		r = i.resume(r)
		if got, err := r.CancelRequested(ctx); got || err != nil {
			t.Errorf("before it is requested, CancelRequested = %v, %v", got, err)
		}
		i.cancel()
		if got, err := r.CancelRequested(ctx); !got || err != nil {
			t.Errorf("CancelRequested = %v, %v", got, err)
		}
		check(t, r.End(ctx, "done", tool.Outcome{Value: "x", Usage: tool.Usage{Steps: 3}}, value.Errorf(value.Limit, "too much").WithHint("less")))
		checkClosed(t, r)
		run := i.current()
		if run.State != Failed || run.Reason != "done" || run.Err.Kind != value.Limit || run.Err.Hint != "less" || run.Result != "x" || run.Usage.Steps != 3 || run.Ended.IsZero() || !run.Wake.IsZero() {
			t.Errorf("ended, it is %+v", run)
		}
		if r.Run().State != Running {
			t.Error("Run changed with the run")
		}
	})
	eachRecord(t, func(t *testing.T, i implementation) {
		check(t, i.begin().Park(context.Background(), "", time.Time{}))
		i.cancel()
		if run := i.current(); run.State != Cancelled || value.KindOf(run.Err) != value.Canceled || run.Reason != "cancelled" || run.Ended.IsZero() {
			t.Errorf("cancelled while nobody executed it, it is %+v", run)
		}
	})
}

// TestNone checks that None accepts everything and returns nothing.
func TestNone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var r Record = None{}
	p := &performer{t: t, r: r}
	p.perform()
	worlds := p.world
	p.perform()
	if p.world != 2*worlds || !r.Live() || r.Keeps() || r.Key(place("1")) != "" || r.Run().ID != "" || noted(t, r) != "" {
		t.Errorf("%d effects were done, then %d; live %v, keeps %v", worlds, p.world-worlds, r.Live(), r.Keeps())
	}
	q, err := r.Ask(ctx, Asked{})
	a, err2 := r.Answer(ctx, nil, 1)
	cancel, err3 := r.CancelRequested(ctx)
	if err := errors.Join(err, err2, err3, r.Park(ctx, "", time.Time{}), r.End(ctx, "", tool.Outcome{}, nil), r.Close()); err != nil || q.N != 0 || a != nil || cancel || len(openOf(t, r)) > 0 {
		t.Errorf("%v, question %d, answer %v, cancel %v", err, q.N, a, cancel)
	}
}

// TestInside lists the numbers of recorded steps inside others, which have gaps, as of when the record was opened.
func TestInside(t *testing.T) {
	t.Parallel()
	eachRecord(t, func(t *testing.T, i implementation) {
		r := i.begin()
		for _, at := range []string{"2", "10.1", "3.1.4", "10", "2.12", "2.0", "2.5.1", "20"} {
			did(t, r, place(at), tool.Read, "x")
		}
		check(t, r.Note(context.Background(), place("7"), value.NewDict("a", int64(1))))
		if got := r.Inside(nil); got != nil {
			t.Errorf("a new record has the steps %v", got)
		}
		r = i.resume(r)
		did(t, r, place("2.13"), tool.Read, "x")
		for at, want := range map[string][]int{"": {2, 3, 7, 10, 20}, "2": {0, 5, 12}, "3": {1}, "3.1": {4}, "3.1.4": nil, "10": {1}, "1": nil, "20": nil, "99": nil} {
			var in tool.StepPath
			if at != "" {
				in = place(at)
			}
			for name, r := range map[string]Record{"record": r, "replay": NewReplay(r, false, nil)} {
				if got := r.Inside(in); !slices.Equal(got, want) {
					t.Errorf("%s: inside %q are %v, want %v", name, at, got, want)
				}
			}
		}
	})
}
