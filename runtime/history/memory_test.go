package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLoad copies the record of a run from a journal to a Memory, continues it there,
// and copies it to another Memory.
func TestLoad(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), openOn(t, journal.Memory())
	l := begin(t, j, "r")
	first := &performer{t: t, r: l}
	first.perform()
	asked(t, l, "40", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "continue?"}})
	check(t, l.Intend(ctx, Intent{StepPath: place("41"), Func: "f", Kind: tool.External}))
	check(t, l.Park(ctx, "question", time.Time{}))

	m := NewMemory(l.Run(), l.Script())
	check(t, m.Load(j.Entries(ctx, "r")))
	want, err := readAll(j, "r")
	check(t, err)
	if diff := cmp.Diff(want, memoryEntries(t, m)); diff != "" {
		t.Errorf("loaded (-journal +memory):\n%s", diff)
	}
	if r := m.Run(); r.Nonce != l.Run().Nonce || r.ID != "r" || r.Title != "a test" || !r.Started.Equal(l.Run().Started) || m.Script().Source != script().Source || m.Script().Hash != r.Script {
		t.Errorf("the run is %+v", r)
	}
	again := &performer{t: t, r: m}
	again.perform()
	if withoutInner(again.lines) != withoutInner(first.lines) || again.world != 0 || noted(t, m) != performNotes {
		t.Errorf("%d effects were done, and it gave %s", again.world, again.lines)
	}
	checkReplay(t, m, first.lines)
	if _, what, err := m.Recall(tool.Effect{Func: "f", StepPath: place("41")}, nil); what != Begun || err != nil {
		t.Errorf("an effect that was begun is %v, %v", what, err)
	}
	if n := asked(t, m, "40", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "continue?"}}); n != 1 {
		t.Errorf("asked again, the question has the number %d", n)
	}
	check(t, m.Send(place("40"), 1, tool.Answer{Yes: true}))
	a, err := m.Answer(ctx, place("40"), 1)
	check(t, err)
	checkAnswer(t, a, tool.Answer{Yes: true})

	next := NewMemory(m.Run(), m.Script())
	check(t, next.Load(m.Entries()))
	if diff := cmp.Diff(memoryEntries(t, m), memoryEntries(t, next)); diff != "" {
		t.Errorf("loaded again (-want +got):\n%s", diff)
	}
	check(t, second(next.Ask(ctx, Asked{StepPath: place("40"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "and now?"}})))
	if open := openOf(t, next); len(open) != 1 || open[0].ID != "r:40:2" || len(openOf(t, m)) != 0 {
		t.Errorf("open are %+v", open)
	}
}

func memoryEntries(t *testing.T, m *Memory) map[string]string {
	t.Helper()
	got := map[string]string{}
	last := place("")
	for e, err := range m.Entries() {
		check(t, err)
		if slices.Compare(last, e.StepPath) > 0 {
			t.Errorf("step %s comes after %s", e.StepPath, last)
		}
		last = e.StepPath
		got[e.StepPath.String()] = entryText(&e)
	}
	return got
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	settled := Entry{Intent: Intent{StepPath: place("1"), Func: "f", Kind: tool.Read}, Intended: now(), Settled: now()}
	entries := func(yield func(Entry, error) bool) {
		_ = yield(settled, nil) && yield(Entry{}, value.Errorf(value.Failed, "is damaged"))
	}
	m := NewMemory(Run{ID: "r", Kind: "run"}, script())
	fails(t, "a damaged record", m.Load(entries), value.Failed, "is damaged")
	fails(t, "a step that is there", m.Load(entries), value.Invalid, "step 1")
	settled.StepPath, settled.Intended = place("2"), time.Time{}
	fails(t, "an outcome of nothing", m.Load(entries), value.Invalid, "step 2")
	check(t, m.Close())
	fails(t, "a closed record", m.Load(entries), value.Internal, "closed")
	if got := memoryEntries(t, m); len(got) != 1 {
		t.Errorf("loaded are %v", got)
	}
}

func TestNewMemory(t *testing.T) {
	t.Parallel()
	a, b := NewMemory(Run{Kind: "run", State: Failed, Reason: "x", Wake: now()}, script()), NewMemory(Run{Kind: "run"}, script())
	if r := a.Run(); r.ID == "" || r.ID == b.Run().ID || r.Nonce == "" || r.Nonce == b.Run().Nonce || r.Started.IsZero() || r.State != Running || r.Reason != "" || !r.Wake.IsZero() || r.Script == "" {
		t.Errorf("the run is %+v", r)
	}
	check(t, a.End(context.Background(), "final", tool.Outcome{Value: "x"}, nil))
	a.Cancel()
	again := a.Resume()
	checkClosed(t, again)
	if r := again.Run(); r.State != Done || r.Result != "x" {
		t.Errorf("resumed after its end, the run is %+v", r)
	}
}

// TestSnapshots checks that results of a record do not change when the run continues.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), NewMemory(Run{ID: "r", Kind: "run"}, script())
	asked(t, m, "1", Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "?"}})
	check(t, m.Note(ctx, place("1"), nil))
	m = m.Resume()
	e, _, _ := m.Recorded(place("1"))
	was := memoryEntries(t, m)
	check(t, m.Send(place("1"), 1, tool.Answer{Yes: true}))
	check(t, second(m.Answer(ctx, place("1"), 1)))
	check(t, m.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Read}))
	check(t, m.Note(ctx, place("1"), value.NewDict("a", 1)))
	if e.Questions[0].Answer != nil || len(e.Notes) != 1 || !e.Intended.IsZero() {
		t.Errorf("the entry became %+v", e)
	}
	if again, _, _ := m.Recorded(place("1")); entryText(&again) != entryText(&e) {
		t.Errorf("what was recorded when it was opened became %+v", again)
	}
	if maps.Equal(was, memoryEntries(t, m)) {
		t.Error("Entries does not return what was recorded since")
	}
}

// TestMemoryInParallel uses a Memory from many goroutines, for the race detector.
func TestMemoryInParallel(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), NewMemory(Run{ID: "r", Kind: "run"}, script())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			p := tool.StepPath{1, i}
			did(t, m, p, tool.Write, strings.Repeat("x", i))
			q, err := m.Ask(ctx, Asked{StepPath: p, Question: tool.Question{Kind: tool.QuestionAsk, Text: fmt.Sprint(i)}})
			if err != nil {
				t.Error(err)
			}
			m.Send(p, q.N, tool.Answer{Value: "x"})
			m.Answer(ctx, p, q.N)
			m.Recorded(p)
			m.Questions(ctx)
			m.CancelRequested(ctx)
			m.Current()
			for range m.Entries() {
			}
			for range m.Notes() {
			}
		})
	}
	wg.Go(m.Cancel)
	wg.Wait()
	if got := memoryEntries(t, m.Resume()); len(got) != 16 {
		t.Errorf("%d steps are recorded", len(got))
	}
}
