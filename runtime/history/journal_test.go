package history

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestMisuse(t *testing.T) { eachStore(t, testMisuse) }

func testMisuse(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Read, nil)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		name string
		err  error
		want value.Kind
	}{
		{"the same run again", second(j.Begin(ctx, Run{ID: "r", Kind: "run"}, script())), value.Conflict},
		{"no kind", second(j.Begin(ctx, Run{}, script())), value.Invalid},
		{"an ID that is a path", second(j.Begin(ctx, Run{ID: "../r", Kind: "run"}, script())), value.Invalid},
		{"arguments that are not values", second(j.Begin(ctx, Run{Kind: "run", Args: value.NewDict("x", "\xff")}, script())), value.Invalid},
		{"a parent that is not a text", second(j.Begin(ctx, Run{Kind: "run", Parent: "\xff"}, script())), value.Invalid},
		{"an ended context", second(j.Begin(ended, Run{Kind: "run"}, script())), value.Canceled},
		{"resume of a held run", second(j.Resume(ctx, "r")), value.Conflict},
		{"resume of no run", second(j.Resume(ctx, "none")), value.NotFound},
		{"resume of a path", second(j.Resume(ctx, "../r")), value.NotFound},
		{"delete of a held run", j.Delete(ctx, "r"), value.Conflict},
		{"delete of no run", j.Delete(ctx, "none"), value.NotFound},
		{"the entries of no run", second(readAll(j, "none")), value.NotFound},
		{"no run", second(j.Run(ctx, "none")), value.NotFound},
		{"a run with an empty ID", second(j.Run(ctx, "")), value.NotFound},
		{"a second outcome", l.Settle(ctx, place("1"), tool.Outcome{}, nil), value.Internal},
		{"an outcome of nothing", l.Settle(ctx, place("9"), tool.Outcome{}, nil), value.Internal},
		{"an intent after its outcome", l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Read}), value.Internal},
		{"an intent in an ended context", l.Intend(ended, Intent{StepPath: place("2"), Func: "f", Kind: tool.Write}), value.Canceled},
		{"a value that is not one", l.Intend(ctx, Intent{StepPath: place("2"), Kind: tool.Read, Args: value.NewDict("x", "\xff")}), value.Invalid},
		{"an intent without a kind", l.Intend(ctx, Intent{StepPath: place("2"), Func: "f"}), value.Invalid},
		{"an intent of an unknown kind", l.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Kind: tool.LastEffectKind + 1}), value.Invalid},
	} {
		fails(t, c.name, c.err, c.want, "")
	}
	check(t, l.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Kind: tool.External}))
	check(t, l.Settle(ended, place("2"), tool.Outcome{}, nil)) // it happened, whoever waits for it
	check(t, l.End(ctx, "final", tool.Outcome{Value: "x"}, nil))
	fails(t, "resume of a run that has ended", second(j.Resume(ctx, "r")), value.Conflict, "done")
	fails(t, "a second run of an ID", second(j.Begin(ctx, Run{ID: "r", Kind: "run"}, script())), value.Conflict, "exists")
	if got, err := readAll(j, "r"); len(got) != 2 || err != nil {
		t.Errorf("%d entries, %v; want the two that were accepted", len(got), err)
	}
	check(t, l.Close())
	check(t, j.Close())
	check(t, j.Close())
	fails(t, "a run in a closed journal", second(j.Begin(ctx, Run{Kind: "run"}, script())), value.KindOf(journal.ErrClosed()), "closed")
}

func TestClosedLog(t *testing.T) { eachStore(t, testClosedLog) }

func testClosedLog(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	for name, end := range map[string]func(l *Log) error{
		"ended":  func(l *Log) error { return l.End(ctx, "", tool.Outcome{}, nil) },
		"parked": func(l *Log) error { return l.Park(ctx, "", time.Time{}) },
		"closed": func(l *Log) error { return l.Close() },
	} {
		l := begin(t, j, name)
		check(t, l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}))
		if !j.Held(name) {
			t.Errorf("%s: nobody holds a run that is open", name)
		}
		check(t, end(l))
		checkClosed(t, l)
		check(t, l.Close())
		if j.Held(name) {
			t.Errorf("%s: somebody holds it", name)
		}
	}
}

// checkClosed checks that a record that was closed takes nothing.
func checkClosed(t *testing.T, r Record) {
	t.Helper()
	ctx := context.Background()
	fails(t, "Intend", r.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Kind: tool.Read}), value.Internal, "")
	fails(t, "Settle", r.Settle(ctx, place("1"), tool.Outcome{}, nil), value.Internal, "")
	fails(t, "Note", r.Note(ctx, place("1"), nil), value.Internal, "")
	fails(t, "Ask", second(r.Ask(ctx, Asked{StepPath: place("1")})), value.Internal, "")
	fails(t, "Answered", r.Answered(ctx, Asked{StepPath: place("1")}, tool.Answer{}), value.Internal, "")
	fails(t, "Park", r.Park(ctx, "", time.Time{}), value.Internal, "")
	fails(t, "End", r.End(ctx, "", tool.Outcome{}, nil), value.Internal, "")
}

// TestRuns checks the filters and the order of runs.
func TestRuns(t *testing.T) { eachStore(t, testRuns) }

func testRuns(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	for _, r := range []Run{
		{ID: "a", Kind: "task", Project: "/p"}, {ID: "b", Kind: "task"}, {ID: "c", Kind: "chat", Project: "/p"},
		{ID: "d", Kind: "chat", Parent: "a", ForkedFrom: "b", Session: "s"}, {ID: "e", Kind: "tool", Project: "/q"},
	} {
		l, err := j.Begin(ctx, r, tool.Script{})
		check(t, err)
		switch r.ID {
		case "a":
			check(t, l.End(ctx, "final", tool.Outcome{Value: "the answer"}, nil))
		case "b":
			check(t, l.End(ctx, "cancelled", tool.Outcome{}, context.Canceled))
		case "c":
			check(t, l.Park(ctx, "memory", time.Time{}))
		case "e":
			check(t, l.End(ctx, "", tool.Outcome{}, value.Errorf(value.Limit, "too much")))
		}
	}
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "e failed, d running, c parked, b cancelled, a done"},
		{Filter{Limit: 2}, "e failed, d running"},
		{Filter{Kind: "task"}, "b cancelled, a done"},
		{Filter{Project: "/p"}, "c parked, a done"},
		{Filter{Project: "/p", Kind: "chat"}, "c parked"},
		{Filter{States: []State{Done, Parked}}, "c parked, a done"},
		{Filter{States: []State{Done, Parked, Failed}, Limit: 2}, "e failed, c parked"},
		{Filter{Kind: "none"}, ""},
		{Filter{Session: "s"}, "d running"},
		{Filter{Session: "none"}, ""},
	} {
		list, err := runs(j, c.filter)
		check(t, err)
		var got []string
		for _, r := range list {
			check(t, r.Damage)
			got = append(got, r.ID+" "+r.State.String())
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("Runs(%+v) = %v, want %s", c.filter, got, c.want)
		}
	}
	if r := one(t, j, "a"); r.Result != "the answer" || r.Reason != "final" || r.Ended.IsZero() {
		t.Errorf("a = %+v", r)
	}
	if r := one(t, j, "d"); r.Parent != "a" || r.ForkedFrom != "b" || r.Project != "" {
		t.Errorf("d = %+v", r)
	}
	for range j.Runs(ctx, Filter{}) {
		break // an iteration may end early
	}
}

// TestRead reads a run that is held, and one that has ended.
func TestRead(t *testing.T) { eachStore(t, testRead) }

func testRead(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.External, "x")
	for range 2 {
		r, err := j.Read(ctx, "r")
		check(t, err)
		e, ok, err := r.Recorded(place("1"))
		if e.Outcome.Value != "x" || !ok || err != nil || r.Script().Source != script().Source || r.Key(place("1")) != l.Key(place("1")) {
			t.Errorf("Recorded = %+v, %v, %v", e, ok, err)
		}
		checkClosed(t, r)
		check(t, r.Close())
		l.End(ctx, "final", tool.Outcome{}, nil)
	}
	fails(t, "Read of no run", second(j.Read(ctx, "none")), value.NotFound, "")
}

// TestTenants checks that the runs of a tenant are its own.
func TestTenants(t *testing.T) { eachStore(t, testTenants) }

func testTenants(t *testing.T, s storage) {
	ctx, root := context.Background(), s.open()
	a, b := root.Tenant("a"), root.Tenant("b")
	keys := map[string]bool{}
	for name, j := range map[string]*Journal{"": root, "a": a, "b": b} {
		l := begin(t, j, "same")
		did(t, l, place("1"), tool.Write, "of "+name)
		keys[l.Key(place("1"))] = true
		check(t, l.Close())
	}
	if len(keys) != 3 {
		t.Errorf("the keys of three tenants are %v", keys)
	}
	mine := begin(t, a, "mine")
	asked(t, mine, "1", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "continue?"}})
	check(t, mine.Park(ctx, "question", time.Time{}))
	for _, j := range []*Journal{root, b} {
		for what, err := range map[string]error{
			"Run":       second(j.Run(ctx, "mine")),
			"Resume":    second(j.Resume(ctx, "mine")),
			"Read":      second(j.Read(ctx, "mine")),
			"Entries":   second(readAll(j, "mine")),
			"Questions": second(j.Questions(ctx, "mine")),
			"Answer":    j.Answer(ctx, "mine", place("1"), 1, tool.Answer{Yes: true}),
			"Cancel":    second(j.Cancel(ctx, "mine")),
			"Delete":    j.Delete(ctx, "mine"),
		} {
			fails(t, what+" of another tenant's run", err, value.NotFound, "mine")
		}
		if list, err := runs(j, Filter{}); len(list) != 1 || err != nil {
			t.Errorf("%d runs, %v", len(list), err)
		}
		begin(t, j, "mine").Close() // the ID is free for others
	}
	check(t, b.Delete(ctx, "same"))
	for name, j := range map[string]*Journal{"": root, "a": a} {
		e, _, err := resume(t, j, "same").Recorded(place("1"))
		if e.Outcome.Value != "of "+name || err != nil {
			t.Errorf("tenant %q reads %v, %v", name, e.Outcome.Value, err)
		}
		if !j.Held("same") || b.Held("same") {
			t.Error("the leases of tenants are not their own")
		}
	}
	fails(t, "a tenant that is not a text", second(root.Tenant("\xff").Begin(ctx, Run{Kind: "run"}, script())), value.Invalid, "")
}

// TestKeysOfOneID checks that two runs of one ID have different keys.
func TestKeysOfOneID(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s storage) {
		j := s.open()
		l := begin(t, j, "r")
		first := l.Key(place("1"))
		check(t, l.Close())
		if got := resume(t, j, "r"); got.Key(place("1")) != first || got.Close() != nil {
			t.Errorf("the key of a resumed run is %q, want %q", got.Key(place("1")), first)
		}
		check(t, j.Delete(context.Background(), "r"))
		if again := begin(t, j, "r").Key(place("1")); again == first || !strings.HasSuffix(again, "/1") {
			t.Errorf("the key of another run is %q, and that of the first was %q", again, first)
		}
	})
}
