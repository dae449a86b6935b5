package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// most is how much work is done at a time. Other work waits.
const most = 8

// A backgroundTask does some work.
type backgroundTask func(ctx context.Context) taskResult

// A taskResult is the result of work: a value or an error.
type taskResult struct {
	Value value.Value
	Notes []string // of hooks, on the work
	Err   error
}

// background is the work of a turn. The zero value is ready to use. It is safe for concurrent use.
type background struct {
	mu   sync.Mutex
	jobs []*job
	free chan struct{}
	held membudget.Scope // what the work and its results hold until End
}

// cost is what a piece of work costs besides its arguments and its result, in bytes: its record is in memory when it is read.
const cost = 64 << 10

// Hold takes memory for a piece of work with arguments of n bytes, in the tree of the call with ctx.
func (w *background) Hold(ctx context.Context, n int) error {
	return w.scope(ctx).Take(ctx, int64(cost+membudget.Copies*n))
}

// HoldResult takes memory for a result of n bytes.
func (w *background) HoldResult(ctx context.Context, n int) error {
	if n <= membudget.Small {
		return nil // cost has it
	}
	return w.scope(ctx).Take(ctx, int64(membudget.Copies*n))
}

func (w *background) scope(ctx context.Context) *membudget.Scope {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held.Host() == nil {
		w.held = membudget.Of(ctx).Beside()
	}
	return &w.held
}

// A job is one piece of work.
type job struct {
	number int
	do     backgroundTask
	taken  bool          // its result was taken
	ended  chan struct{} // nil until it is started; closed when it has ended
	cancel context.CancelFunc
	result taskResult
}

// Add adds work without starting it.
func (w *background) Add(number int, do backgroundTask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = append(w.jobs, &job{number: number, do: do})
}

// Start starts the work with a number, unless it was started.
func (w *background) Start(ctx context.Context, number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.find(number); j != nil {
		w.start(ctx, j)
	}
}

func (w *background) find(number int) *job {
	if i := slices.IndexFunc(w.jobs, func(j *job) bool { return j.number == number }); i >= 0 {
		return w.jobs[i]
	}
	return nil
}

func (w *background) start(ctx context.Context, j *job) {
	if j.ended != nil {
		return
	}
	if w.free == nil {
		w.free = make(chan struct{}, most)
	}
	free, ended := w.free, make(chan struct{})
	ctx, j.cancel = context.WithCancel(ctx)
	j.ended = ended
	go func() {
		defer close(ended)
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			j.result = j.do(ctx)
		case <-ctx.Done():
			j.result.Err = value.AsError(context.Cause(ctx), value.Canceled)
		}
	}()
}

// Take marks the result of work as taken. It reports false if there is no such work.
func (w *background) Take(number int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.find(number)
	if j != nil {
		j.taken = true
	}
	return j != nil
}

// TakeAll marks the results of all work as taken, and returns the numbers of those that were not.
func (w *background) TakeAll() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var numbers []int
	for _, j := range w.jobs {
		if !j.taken {
			j.taken = true
			numbers = append(numbers, j.number)
		}
	}
	return numbers
}

// Wait starts the work with these numbers, unless it was started, and calls each with the result
// of each when all have ended.
func (w *background) Wait(ctx context.Context, numbers []int, each func(taskResult)) {
	w.mu.Lock()
	var jobs []*job
	for _, n := range numbers {
		if j := w.find(n); j != nil {
			w.start(ctx, j)
			jobs = append(jobs, j)
		}
	}
	w.mu.Unlock()
	for _, j := range jobs {
		<-j.ended
	}
	for _, j := range jobs {
		each(j.result)
	}
}

// End returns when all work has ended. Work that is in progress is stopped, or first continues to its
// own end if it may finish.
func (w *background) End(finish bool) {
	w.mu.Lock()
	jobs := slices.Clone(w.jobs)
	w.mu.Unlock()
	for _, j := range jobs {
		switch {
		case j.ended == nil:
			continue
		case !finish:
			j.cancel()
		}
		<-j.ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs = nil
	w.held.End()
}

// Dict returns the result for a script.
func (r *taskResult) Dict() *value.Dict {
	notes := value.List(value.Map(r.Notes, func(text string) value.Value { return text }))
	if r.Err == nil {
		return value.NewDict("ok", true, "value", r.Value, "error", "", "error_type", "", "notes", notes)
	}
	e := value.ErrorOf(r.Err, value.Failed)
	return value.NewDict("ok", false, "value", nil, "error", e.Message(), "error_type", e.Kind.Type(), "notes", notes)
}
