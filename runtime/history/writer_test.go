package history

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestManyRuns has many runs in two journals, and concurrent readers, for the race
// detector.
func TestManyRuns(t *testing.T) { eachStore(t, testManyRuns) }

func testManyRuns(t *testing.T, s storage) {
	ctx, journals := context.Background(), []*Journal{s.open(), s.open()}
	const steps = 30
	var wg sync.WaitGroup
	for i := range 16 {
		j, id := journals[i%2], fmt.Sprint("run", i)
		wg.Go(func() {
			l := begin(t, j, id)
			var children sync.WaitGroup
			for n := range steps { // as the items of one call
				children.Go(func() {
					p := tool.StepPath{1, n}
					kind := []tool.EffectKind{tool.Read, tool.Write}[n%2]
					_, asking := l.Answer(ctx, p, 1)
					_, cancel := l.CancelRequested(ctx)
					if err := errors.Join(l.Intend(ctx, Intent{StepPath: p, Func: "f", Kind: kind}), l.Settle(ctx, p, tool.Outcome{Value: int64(n)}, nil), asking, cancel); err != nil {
						t.Error(err)
					}
				})
			}
			children.Wait()
			if err := l.End(ctx, "final", tool.Outcome{}, nil); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := runs(journals[1-i%2], Filter{}); err != nil {
				t.Error(err)
			}
			if _, err := j.Prune(ctx, Keep{Most: 100}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 16 {
		if got, err := readAll(journals[0], fmt.Sprint("run", i)); len(got) != steps || err != nil {
			t.Errorf("run %d: %d entries, %v", i, len(got), err)
		}
	}
}

// blocked blocks the next commit of a store. It returns when the commit waits; release
// lets it continue.
func blocked(t *testing.T, f *faultStore, start func()) (release func()) {
	t.Helper()
	entered, held := make(chan bool), make(chan bool)
	var once sync.Once
	f.commit = func([]*journal.Write) error {
		once.Do(func() { close(entered); <-held })
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(start)
	<-entered
	return func() { close(held); wg.Wait() }
}

// queued waits until n records wait for the writer.
func queued(t *testing.T, j *Journal, n int) {
	t.Helper()
	until(t, "records in the queue", func() bool {
		j.w.mu.Lock()
		defer j.w.mu.Unlock()
		return len(j.w.queue) >= n
	})
}

// TestOneCommitForAll counts the commits of many concurrent callers.
func TestOneCommitForAll(t *testing.T) { eachStore(t, testOneCommitForAll) }

func testOneCommitForAll(t *testing.T, s storage) {
	f := &faultStore{Store: s.store()}
	j := openOn(t, f)
	var logs []*Log
	for i := range 20 {
		logs = append(logs, begin(t, j, fmt.Sprint("run", i)))
	}
	first := begin(t, j, "first")
	release := blocked(t, f, func() { did(t, first, place("1"), tool.Write, "x") })
	var wg sync.WaitGroup
	for _, l := range logs {
		wg.Go(func() { did(t, l, place("1"), tool.Write, "x") })
	}
	queued(t, j, len(logs))
	before := f.commits.Load()
	release()
	wg.Wait()
	if n := f.commits.Load() - before; n > 3 { // that of first, theirs, and perhaps one of outcomes
		t.Errorf("%d commits for %d runs that waited together", n, len(logs))
	}
}

// TestTroubleOfOne has a run that cannot be written among others that can.
func TestTroubleOfOne(t *testing.T) { eachStore(t, testTroubleOfOne) }

func testTroubleOfOne(t *testing.T, s storage) {
	ctx, f := context.Background(), &faultStore{Store: s.store()}
	j := openOn(t, f)
	good, bad, first := begin(t, j, "good"), begin(t, j, "bad"), begin(t, j, "first")
	release := blocked(t, f, func() { did(t, first, place("1"), tool.Write, "x") })
	errs := make(map[*Log]*error)
	var wg sync.WaitGroup
	for _, l := range []*Log{good, bad} {
		err := new(error)
		errs[l] = err
		wg.Go(func() { *err = l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}) })
	}
	queued(t, j, 2)
	check(t, f.Store.Commit(ctx, []*journal.Write{{Num: bad.num.Load(), Frames: []journal.Frame{{Seq: bad.head.frames, Body: []byte("another process")}}}}))
	release()
	wg.Wait()
	check(t, *errs[good])
	fails(t, "the run that another process wrote to", *errs[bad], value.Conflict, "another process wrote")
	check(t, good.Settle(ctx, place("1"), tool.Outcome{}, nil))
	check(t, bad.Note(ctx, place("2"), nil)) // which cannot be written either
	check(t, good.End(ctx, "final", tool.Outcome{}, nil))
	fails(t, "closing the other run", bad.Close(), value.Conflict, "another process wrote")
	if got, err := readAll(j, "good"); len(got) != 1 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if len(j.w.queue) > 0 {
		t.Errorf("%d records of a closed log are kept", len(j.w.queue))
	}
}

func TestNothingIsLeft(t *testing.T) { eachStore(t, testNothingIsLeft) }

func testNothingIsLeft(t *testing.T, s storage) {
	store := s.store()
	j := openOn(t, store)
	for range 3 {
		l, err := j.Begin(context.Background(), Run{Kind: "run"}, tool.Script{})
		check(t, err)
		did(t, l, place("1"), tool.Read, "x") // which waits for its commit
	}
	check(t, j.Close())
	var left []string
	until(t, "goroutines end", func() bool {
		left = nil
		buf := make([]byte, 1<<20)
		for s := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(s, "runtime/history.(*") {
				left = append(left, s)
			}
		}
		return len(left) == 0
	})
	again := openOn(t, store)
	list, err := runs(again, Filter{})
	check(t, err)
	for _, r := range list {
		if got, err := readAll(again, r.ID); len(got) != 1 || err != nil {
			t.Errorf("run %s: %d entries, %v", r.ID, len(got), err)
		}
		if again.Held(r.ID) {
			t.Errorf("run %s is held", r.ID)
		}
		check(t, resume(t, again, r.ID).Close())
	}
	if len(list) != 3 || !slices.IsSortedFunc(list, func(a, b Run) int { return b.Started.Compare(a.Started) }) {
		t.Errorf("the runs are %v, want three, the newest first", list)
	}
}

// TestOutcomesDoNotWaitLong checks that an outcome without a later record is stored
// shortly afterwards.
func TestOutcomesDoNotWaitLong(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s storage) {
		j, other := s.open(), s.open()
		l := begin(t, j, "r")
		did(t, l, place("1"), tool.Read, "x")
		until(t, "the outcome is stored", func() bool {
			for e, err := range other.Entries(context.Background(), "r") {
				return err == nil && !e.Settled.IsZero()
			}
			return false
		})
	})
}

// noSpace is the error of a store if the disk is full.
func noSpace() error {
	return &value.Error{Kind: value.Limit, Err: errors.New("no space left"), Limit: value.LimitDisk}
}

// TestFullStore records while nothing can be written: nothing blocks, readers read, and
// with free space the run continues with the pending outcome.
func TestFullStore(t *testing.T) { eachStore(t, testFullStore) }

func testFullStore(t *testing.T, s storage) {
	ctx, f := context.Background(), &faultStore{Store: s.store()}
	var full atomic.Bool
	f.commit = func([]*journal.Write) error {
		if full.Load() {
			return noSpace()
		}
		return nil
	}
	j := openOn(t, f)
	l := begin(t, j, "r")
	check(t, l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}))
	full.Store(true)
	check(t, l.Settle(ctx, place("1"), tool.Outcome{Value: "kept"}, nil))
	err := l.Intend(ctx, Intent{StepPath: place("2"), Func: "f", Kind: tool.Write})
	fails(t, "an intent", err, value.Limit, "no space")
	fails(t, "a new run", second(j.Begin(ctx, Run{ID: "s", Kind: "run"}, script())), value.Limit, "no space")
	fails(t, "the end", l.End(ctx, "", tool.Outcome{}, nil), value.Limit, "no space")
	if got, err := readAll(j, "r"); len(got) != 1 || err != nil {
		t.Errorf("read on a full disk: %v, %v", got, err)
	}
	full.Store(false)
	did(t, l, place("2"), tool.Write, "continued")
	check(t, l.End(ctx, "", tool.Outcome{}, nil))
	for e, err := range j.Entries(ctx, "r") {
		if err != nil || e.Settled.IsZero() {
			t.Errorf("step %s after there was space: %+v, %v", e.StepPath, e, err)
		}
	}
	begin(t, j, "s")
}

// TestOutcomesAreTriedAgain checks that a failed write of an outcome is retried, though
// no record follows it.
func TestOutcomesAreTriedAgain(t *testing.T) {
	t.Parallel()
	f := &faultStore{Store: journal.Memory()}
	j, other := openOn(t, f), openOn(t, f.Store)
	l := begin(t, j, "r")
	check(t, l.Intend(context.Background(), Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}))
	var failures atomic.Int64
	f.commit = func([]*journal.Write) error {
		if failures.Add(1) <= 1 {
			return noSpace()
		}
		return nil
	}
	check(t, l.Settle(context.Background(), place("1"), tool.Outcome{Value: "x"}, nil))
	until(t, "the outcome is stored", func() bool {
		for e, err := range other.Entries(context.Background(), "r") {
			return err == nil && !e.Settled.IsZero()
		}
		return false
	})
	if failures.Load() < 2 {
		t.Error("nothing failed")
	}
}

// TestQueueIsBounded adds records without waiting while nothing can be written.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	ctx, f := context.Background(), &faultStore{Store: journal.Memory()}
	j := openOn(t, f)
	l := begin(t, j, "r")
	did(t, l, place("1"), tool.Write, "x")
	check(t, j.w.flushAll())
	f.commit = func([]*journal.Write) error { return noSpace() }
	var err error
	n := 2
	for ; err == nil && n < 2*queueMost; n++ {
		if err = l.Intend(ctx, Intent{StepPath: tool.StepPath{n}, Func: "f", Kind: tool.Read}); err == nil {
			err = l.Settle(ctx, tool.StepPath{n}, tool.Outcome{}, nil)
		}
	}
	if value.KindOf(err) != value.Limit || n > queueMost {
		t.Errorf("%d steps were taken that cannot be written, %v", n, err)
	}
	if got, err := readAll(j, "r"); len(got) != 1 || err != nil {
		t.Errorf("%d steps can be read, %v", len(got), err)
	}
	fails(t, "Close, with outcomes lost", l.Close(), value.Limit, "no space")

	l2 := &faultStore{Store: f.Store}
	j2 := openOn(t, l2)
	again := resume(t, j2, "r")
	did(t, again, place("2"), tool.Read, "x")
	l2.commit = f.commit
	fails(t, "Close of a journal, with outcomes lost", j2.Close(), value.Limit, "no space")
}

// TestLeaderHandsOver checks that callers that wait for another's write are served,
// even if that write fails.
func TestLeaderHandsOver(t *testing.T) {
	t.Parallel()
	ctx, f := context.Background(), &faultStore{Store: journal.Memory()}
	j := openOn(t, f)
	a, b := begin(t, j, "a"), begin(t, j, "b")
	var failed atomic.Bool
	entered, held := make(chan bool), make(chan bool)
	f.commit = func([]*journal.Write) error {
		if failed.CompareAndSwap(false, true) {
			close(entered)
			<-held
			return noSpace()
		}
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		fails(t, "the first", a.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}), value.Limit, "")
	})
	<-entered
	wg.Go(func() {
		if err := b.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}); err != nil {
			t.Error(err)
		}
	})
	queued(t, j, 1)
	close(held)
	wg.Wait()
	check(t, a.Park(ctx, "", time.Time{}))
	if got, err := readAll(j, "a"); len(got) != 0 || err != nil {
		t.Errorf("a has %v, %v; want nothing of the intent that failed", got, err)
	}
}

// TestNothingFollowsTheEnd records while the end of the run is being written.
func TestNothingFollowsTheEnd(t *testing.T) { eachStore(t, testNothingFollowsTheEnd) }

func testNothingFollowsTheEnd(t *testing.T, s storage) {
	ctx, f := context.Background(), &faultStore{Store: s.store()}
	j := openOn(t, f)
	l := begin(t, j, "r")
	release := blocked(t, f, func() {
		if err := l.End(ctx, "final", tool.Outcome{Value: "result"}, nil); err != nil {
			t.Error(err)
		}
	})
	fails(t, "a note after the end", l.Note(ctx, place("1"), nil), value.Internal, "closed")
	fails(t, "an intent after the end", l.Intend(ctx, Intent{StepPath: place("1"), Func: "f", Kind: tool.Write}), value.Internal, "closed")
	fails(t, "a second end", l.Park(ctx, "", time.Time{}), value.Internal, "closed")
	var wg sync.WaitGroup
	wg.Go(func() { // it waits for the end
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	queued(t, j, 1)
	release()
	wg.Wait()
	list, err := runs(j, Filter{})
	if err != nil || len(list) != 1 || list[0].Damage != nil || list[0].Result != "result" {
		t.Errorf("the runs are %+v, %v", list, err)
	}
	f.commit = nil
	other := begin(t, j, "other")
	f.commit = func([]*journal.Write) error { return noSpace() }
	fails(t, "an end that cannot be written", other.End(ctx, "", tool.Outcome{}, nil), value.Limit, "")
	f.commit = nil
	did(t, other, place("1"), tool.Write, "x") // the record is still open
	check(t, other.End(ctx, "", tool.Outcome{}, nil))
}

// TestTimerOfNothing checks that a timer that found nothing to write does not prevent
// the next one.
func TestTimerOfNothing(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), Open(journal.Memory(), nil)
	defer j.Close()
	a, b := begin(t, j, "a"), begin(t, j, "b")
	until := func(what string, done func(w *writer) bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			j.w.mu.Lock()
			is := done(j.w)
			j.w.mu.Unlock()
			if is {
				return
			}
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	check(t, a.Note(ctx, place("1"), nil))
	j.w.drop(a) // as after a Close that failed
	until("the timer does not end", func(w *writer) bool { return w.timer == nil })
	check(t, b.Note(ctx, place("1"), nil))
	until("a record is not written by itself", func(w *writer) bool { return len(w.queue) == 0 && !w.writing })
}
