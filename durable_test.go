package cassidy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// recorded returns the recorded events of a run.
func recorded(t *testing.T, h *cassidy.Host, run string, after uint64) (list []cassidy.Event) {
	t.Helper()
	for e, err := range h.Events(context.Background(), run, after) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// TestNumbersOfEvents checks that the Seq of a run's events grows over its processes,
// is the same live and recorded, and that subscribers with other filters get other
// events with the same numbers.
func TestNumbersOfEvents(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "store")
	_, h := onStore(t, dir, "")
	all, one := h.Subscribe(ctx, cassidy.EventFilter{Run: "r"}), h.Subscribe(ctx, cassidy.EventFilter{Call: "r/1"})
	addTool(t, h, "step", func(ctx context.Context) (any, error) {
		cassidy.Emit(ctx, cassidy.Progress{Message: "half"})
		return 1, nil
	})
	question := park(t, h, "other")
	if _, err := callOf(t, h, "count", cassidy.Durable("r")); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	numbers := func(events <-chan cassidy.Event) (list []uint64) {
		for e := range events {
			if e.Run != "r" {
				t.Errorf("a subscriber to r got %+v", e)
			}
			if _, live := e.Data.(cassidy.Progress); live != (e.Seq == 0) {
				t.Errorf("the number of %T is %d", e.Data, e.Seq)
			}
			if e.Seq > 0 {
				list = append(list, e.Seq)
			}
		}
		return list
	}
	_, h = onStore(t, dir, "")
	var kept, below []uint64
	for _, e := range recorded(t, h, "r", 0) {
		kept = append(kept, e.Seq)
		if e.Call == "r/1" {
			below = append(below, e.Seq)
		}
	}
	if got := numbers(all); !slices.Equal(got, kept) || len(got) == 0 || !slices.IsSorted(got) || got[0] != 1 {
		t.Errorf("live events have the numbers %v, recorded ones %v", got, kept)
	}
	if got := numbers(one); !slices.Equal(got, below) || len(got) < 2 {
		t.Errorf("live events of a call have the numbers %v, recorded ones %v", got, below)
	}
	for _, after := range []uint64{kept[len(kept)-1], kept[len(kept)-1] + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		if got := recorded(t, h, "r", after); len(got) != 0 {
			t.Errorf("there are %d events after %d", len(got), after)
		}
	}

	before := recorded(t, h, "other", 0)
	last := before[len(before)-1].Seq
	live := h.Subscribe(ctx, cassidy.EventFilter{Run: "other"})
	if err := h.Answer(ctx, question, cassidy.Answer{Value: "me"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Resume(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for e := range live {
		if e.Seq != 0 && e.Seq <= last {
			t.Errorf("after event %d a resumed run has event %d", last, e.Seq)
		}
		last = max(last, e.Seq)
	}
}

// TestSilentSubscriber checks that a subscriber who never reads holds no more than its
// buffer, however many events there are.
func TestSilentSubscriber(t *testing.T) {
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	h := openIn(t, r, cassidy.Source{}, &cassidy.Options{NoBuiltins: true})
	addTool(t, h, "loud", func(ctx context.Context) (any, error) {
		for range 1000 {
			cassidy.Emit(ctx, cassidy.Progress{Message: strings.Repeat("x", 10_000)})
		}
		return nil, nil
	})
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	silent := h.Subscribe(t.Context(), cassidy.EventFilter{Buffer: 16})
	before, goroutines := memory(), runtime.NumGoroutine()
	for range 20 { // 200 MB
		if _, err := callOf(t, h, "loud"); err != nil {
			t.Fatal(err)
		}
	}
	if now := memory(); now > before+20<<20 {
		t.Errorf("a subscriber who does not read holds %d MB", (now-before)>>20)
	}
	if now := runtime.NumGoroutine(); now > goroutines+2 {
		t.Errorf("a subscriber who does not read holds %d goroutines", now-goroutines)
	}
	n := 0
	for e := range silent {
		if lost, ok := e.Data.(cassidy.Lost); ok {
			n += int(lost.N)
			break
		}
		n++
	}
	if n != 20*1002 {
		t.Errorf("%d events came or were lost, want %d", n, 20*1002)
	}
}

// TestSameCallAgain makes the same durable call many times at a time: it is made once.
func TestSameCallAgain(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
	h := openIn(t, r, asks(), &cassidy.Options{TrustSource: true, NoBuiltins: true})
	var made atomic.Int32
	addTool(t, h, "step", func(context.Context) (any, error) { return made.Add(1), nil })
	ctx := context.Background()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			v, err := callOf(t, h, "step", cassidy.Durable("r"))
			if err != nil && !errors.Is(err, cassidy.ErrConflict) || err == nil && v != int64(1) {
				t.Errorf("one of many gave %v, %v", v, err)
			}
		})
	}
	all.Wait()
	again := func(name string, c cassidy.Call, want error, opts ...cassidy.CallOption) {
		t.Helper()
		got, err := h.Call(ctx, c, append(opts, cassidy.Durable("r"))...)
		if !errors.Is(err, want) || err == nil && got.Value != int64(1) {
			t.Errorf("%s: %v, %v, want %v", name, got.Value, err, want)
		}
	}
	again("the same call", cassidy.Call{Tool: "step", Args: cassidy.NewDict(), ID: "x", Reasoning: "again"}, nil)
	if v, err := h.Call(ctx, cassidy.Call{Tool: "step", Reasoning: "so\xff"}, cassidy.Durable("s")); err != nil || v.Value != int64(2) {
		t.Errorf("a call whose reasoning is no text gave %v, %v", v.Value, err)
	}
	again("another tool", cassidy.Call{Tool: "ask"}, cassidy.ErrConflict)
	again("other arguments", cassidy.Call{Tool: "step", Args: cassidy.NewDict("a", 1)}, cassidy.ErrConflict)
	again("narrowed", cassidy.Call{Tool: "step"}, cassidy.ErrConflict, cassidy.Narrow(cassidy.Rule{Verdict: cassidy.Deny, Capability: cassidy.Capability{Name: "human"}}))
	if _, err := h.Run(ctx, "none", nil, cassidy.Durable("r")); err == nil {
		t.Error("a workflow took the ID of a call")
	}
	if got, err := h.Resume(ctx, "r"); err != nil || got.Value != int64(1) || made.Load() != 2 {
		t.Errorf("resumed: %v, %v, and it was made %d times", got.Value, err, made.Load())
	}
}

// TestParkedRunsStayParked checks that a run which waits survives the end of its host
// and of its runtime, and that the loop over what waits may answer, resume and stop.
func TestParkedRunsStayParked(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), journal.Memory()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
	h := openIn(t, r, asks(), &cassidy.Options{TrustSource: true})
	for i := range 5 {
		park(t, h, fmt.Sprint("r", i))
	}
	if err := errors.Join(h.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	r = newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
	h = openIn(t, r, asks(), &cassidy.Options{TrustSource: true})
	waiting := 0
	for run, err := range h.Runs(ctx, cassidy.RunFilter{States: []cassidy.RunState{cassidy.RunParked}}) {
		if waiting++; err != nil || !strings.HasPrefix(run.ID, "r") {
			t.Errorf("the run %s is parked, %v", run.ID, err)
		}
	}
	if waiting != 5 {
		t.Errorf("%d runs are parked, want 5", waiting)
	}
	for q := range h.Waiting(ctx) {
		for name, a := range map[string]cassidy.Answer{"value": {Value: strings.Repeat("x", 1<<20)}, "reason": {Value: "x", Why: strings.Repeat("x", 1<<20)}, "name": {Value: "x", By: strings.Repeat("x", 1<<20)}} {
			if err := h.Answer(ctx, q.ID, a); !errors.Is(err, cassidy.ErrLimit) {
				t.Errorf("an answer with a long %s gave %v", name, err)
			}
		}
		break
	}
	for q, err := range h.Waiting(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if waiting--; waiting == 0 {
			break
		}
		if err := h.Answer(ctx, q.ID, cassidy.Answer{Value: q.Run}); err != nil {
			t.Error(err)
		}
		if got, err := h.Resume(ctx, q.Run); got.Value != q.Run || err != nil {
			t.Errorf("resumed: %v, %v", got.Value, err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range h.Waiting(ended) {
		if !errors.Is(err, cassidy.ErrCanceled) {
			t.Errorf("a loop whose context has ended got %v", err)
		}
	}
}

// TestInterruptedInMidCall checks that a client that leaves, Close, and Shutdown without
// time leave a durable call resumable, wherever it is: in a handler, in a question, or
// before its files are written.
func TestInterruptedInMidCall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, end := range map[string]func(r *cassidy.Runtime, h *cassidy.Host, leave func()) error{
		"the client left": func(_ *cassidy.Runtime, _ *cassidy.Host, leave func()) error { leave(); return nil },
		"Close":           func(_ *cassidy.Runtime, h *cassidy.Host, _ func()) error { return h.Close() },
		"Runtime.Close":   func(r *cassidy.Runtime, _ *cassidy.Host, _ func()) error { return r.Close() },
		"Shutdown": func(r *cassidy.Runtime, _ *cassidy.Host, _ func()) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if err := r.Shutdown(ended); !errors.Is(err, cassidy.ErrCanceled) {
				return fmt.Errorf("no call was cancelled: %w", err)
			}
			return nil
		},
	} {
		store, dir := journal.Memory(), ""
		src := cassidy.Scripts(map[string]string{"save.star": starTool("save", "fs.write(\"a.txt\", \"one\")\n    return tools.step()", `"fs.write", "tool"`)})
		begun := make(chan none, 1)
		open := func(wait string) (*cassidy.Runtime, *cassidy.Host) {
			r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
			h := openIn(t, r, src, &cassidy.Options{Dir: dir, TrustSource: true, NoBuiltins: true, Approver: cassidy.ApproverFunc(func(ctx context.Context, q cassidy.Question) (cassidy.Answer, error) {
				if wait == "approval" && len(q.Changes) > 0 {
					begun <- none{}
					<-ctx.Done()
					return cassidy.Answer{}, ctx.Err()
				}
				return cassidy.Answer{Yes: true}, nil
			})})
			addTool(t, h, "step", func(ctx context.Context) (any, error) {
				if wait == "handler" {
					begun <- none{}
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return 1, nil
			})
			return r, h
		}
		for _, wait := range []string{"handler", "approval"} {
			dir = t.TempDir()
			r, h := open(wait)
			called, leave := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() {
				_, err := h.Call(called, cassidy.Call{Tool: "save"}, cassidy.Durable(wait))
				done <- err
			}()
			<-begun
			if err := end(r, h, leave); err != nil {
				t.Errorf("%s in the %s: %v", name, wait, err)
			}
			leave()
			if err := <-done; !errors.Is(err, cassidy.ErrCanceled) && !errors.Is(err, cassidy.ErrClosed) {
				t.Errorf("%s in the %s: the call gave %v", name, wait, err)
			}
			_, h = open("")
			var due []string
			for run, err := range h.Due(ctx) {
				if due = append(due, run.ID); err != nil {
					t.Error(err)
				}
			}
			got, err := h.Resume(ctx, wait)
			var parked *cassidy.ParkedError
			if errors.As(err, &parked) { // whether the handler was done is not known
				for _, q := range parked.Questions {
					if q.Kind != cassidy.QuestionUnknown || h.Answer(ctx, q.ID, cassidy.Answer{Yes: true}) != nil {
						t.Errorf("%s in the %s: asked %+v", name, wait, q)
					}
				}
				got, err = h.Resume(ctx, wait)
			}
			if got.Value != int64(1) || err != nil || !slices.Contains(due, wait) {
				t.Errorf("%s in the %s: resumed %v, %v; due were %v", name, wait, got.Value, err, due)
			}
		}
	}
}

// TestJSONReadsBack checks that what programs send as JSON reads back as it was.
func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	args := cassidy.NewDict("b", "B", "a", 1, "big", uint64(1)<<63, "f", 1.0, "nested", map[string]any{"x": []int{1}}, "none", nil)
	for _, v := range []any{
		args,
		&cassidy.Result{Success: true, Value: args, Usage: tool.Usage{Steps: 1, Effects: 2, Wall: time.Second}},
		&cassidy.Result{Error: "no", ErrorType: "x", Suggestion: "try"},
		&cassidy.Question{
			ID: "r:1:1", Run: "r", Step: "1", Tool: "t", Func: "fs.write", Text: "May it?", Why: "so", Reasoning: "because", Kind: cassidy.QuestionApproval,
			Args: args, Capabilities: []cassidy.Capability{{Name: "fs.write", Target: "a b"}}, Asked: at, Expires: at,
			Changes: []cassidy.Change{{Path: "a", After: tool.FileState{Exists: true, Data: []byte{0, 1}, Hash: tool.HashBytes([]byte{0, 1})}, Diff: "+a"}},
		},
		&cassidy.Event{Seq: 3, Time: at, Run: "r", Call: "r/1", Tool: "t", Session: "s", Data: cassidy.ToolCallEnd{
			Success: false, Duration: time.Second, Usage: tool.Usage{Steps: 1}, Err: &cassidy.Error{Kind: value.Limit, Hint: "h", Limit: value.LimitSteps, Err: errors.New("too many")},
		}},
		&cassidy.Event{Run: "r", Data: cassidy.Lost{N: 7}},
		&cassidy.Event{Run: "r", Data: cassidy.Progress{Message: "half", Done: 1, Total: 2}},
	} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(data, back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(data) {
			t.Errorf("%T: %s reads back as %s, %v", v, data, again, err)
		}
	}
	back := &cassidy.Dict{}
	data, _ := json.Marshal(args)
	if err := json.Unmarshal(data, back); err != nil || !value.Equal(args, back) {
		t.Errorf("%s reads back as %v, %v", data, back, err)
	}
}

// TestNewDictPanics checks what NewDict refuses.
func TestNewDictPanics(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string][]any{"odd": {"a"}, "a key": {1, 2}, "no key": {nil, 2}, "a value": {"a", make(chan int)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: NewDict does not panic", name)
				}
			}()
			cassidy.NewDict(pairs...)
		}()
	}
	if d := cassidy.NewDict(); d == nil || d.Len() != 0 {
		t.Errorf("NewDict() is %v", d)
	}
}

// TestSimilarNames checks that names which differ in - and _ alone are one name.
func TestSimilarNames(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	src := cassidy.Scripts(map[string]string{
		"a-b.star": strings.Replace(starTool("f", "return 1", ""), "tool(f", "tool(f, name = \"a-b\"", 1), "a_b.star": strings.Replace(starTool("f", "return 2", ""), "tool(f", "tool(f, name = \"a_b\"", 1),
		"c_d.star": strings.Replace(starTool("f", "return 3", ""), "tool(f", "tool(f, name = \"c_d\"", 1),
	})
	h := openIn(t, r, src, &cassidy.Options{TrustSource: true, NoBuiltins: true})
	if len(h.Broken()) == 0 {
		t.Errorf("two files with one name are %d tools", len(h.Tools()))
	}
	f := func(context.Context, none) (int, error) { return 4, nil }
	for _, name := range []string{"c-d", "c_d"} {
		if err := cassidy.AddTool(h, cassidy.Tool{Name: name, Description: "Do it."}, f); !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("AddTool(%s) gave %v", name, err)
		}
		if v, err := callOf(t, h, name); v != int64(3) || err != nil {
			t.Errorf("%s gave %v, %v", name, v, err)
		}
	}
	if err := cassidy.AddTool(h, cassidy.Tool{Name: "e-f", Description: "Do it."}, f); err != nil {
		t.Error(err)
	}
	if err := h.Swap(context.Background(), cassidy.Scripts(map[string]string{"e_f.star": strings.Replace(starTool("f", "return 5", ""), "tool(f", "tool(f, name = \"e_f\"", 1)})); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("a swap to a script with the name of a tool in Go gave %v", err)
	}
	if v, err := callOf(t, h, "e_f"); v != int64(4) || err != nil {
		t.Errorf("e_f gave %v, %v, want that of the tool in Go", v, err)
	}
	if err := h.RemoveTool("e_f"); err != nil {
		t.Error(err)
	}
}
