package serve

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An inbox has the open questions of a project, also those with an answer that their runs have not used. Reading all of
// them takes a look at each run that waits, so that is done from time to time; a run that this process has executed
// is looked at again immediately.
type inbox struct {
	mu      sync.Mutex
	runs    map[string]*waiting // by the ID of the run
	dirty   map[string]bool     // runs that may ask something else now
	at      time.Time           // when all were read
	took    time.Duration       // to read them
	reading bool                // somebody reads all of them
	again   []string            // runs that changed meanwhile

	changes map[string]time.Time // when runs changed here
	before  time.Time            // when the others may have
}

// changedAt returns when this process last executed a run, or answered its questions.
func (b *inbox) changedAt(run string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at, known := b.changes[run]; known {
		return at
	}
	return b.before
}

// A waiting is a run with its open questions.
type waiting struct {
	history.Run
	asked []history.Asked
}

// inboxTime is how long an inbox is used, and inboxShare how much longer than it takes to read it.
const (
	inboxTime  = time.Second
	inboxShare = 10
)

// read returns the runs of a project that ask something, the newest first.
func (b *inbox) read(ctx context.Context, p *project) ([]*waiting, error) {
	j, err := p.op.Journal()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.runs == nil:
		if err := b.readAll(ctx, p, j); err != nil {
			return nil, err
		}
	case !b.reading && time.Since(b.at) >= max(inboxTime, inboxShare*b.took):
		b.reading = true
		go func() {
			_ = b.refresh(context.WithoutCancel(ctx), p, j) // the next time
		}()
	}
	for id := range b.dirty {
		delete(b.dirty, id)
		if run, err := j.Run(ctx, id); err == nil {
			b.put(ctx, j, &run)
		} else {
			delete(b.runs, id)
		}
	}
	var list []*waiting
	for _, w := range b.runs {
		list = append(list, w)
	}
	slices.SortFunc(list, func(x, y *waiting) int { return y.Started.Compare(x.Started) })
	return list, nil
}

// put keeps a run with its questions, if it has any.
func (b *inbox) put(ctx context.Context, j *history.Journal, run *history.Run) {
	delete(b.runs, run.ID)
	if !asks(run) {
		return
	}
	if asked, _ := j.QuestionsOf(ctx, run); len(asked) > 0 { // of a damaged record, what can be read
		b.runs[run.ID] = &waiting{*run, asked}
	}
}

// asks reports whether a run may have open questions.
func asks(r *history.Run) bool {
	return r.State == history.Running || r.State == history.Parked && !slices.Contains([]string{history.Queued, "sleep"}, r.Reason)
}

// readAll reads everything.
func (b *inbox) readAll(ctx context.Context, p *project, j *history.Journal) error {
	began, fresh := time.Now(), inbox{runs: map[string]*waiting{}}
	for run, err := range j.Runs(ctx, history.Filter{Project: p.op.Project(), States: []history.State{history.Parked, history.Running}}) {
		if err == nil {
			fresh.put(ctx, j, &run)
		}
	}
	if ctx.Err() != nil {
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
	b.runs, b.at, b.took = fresh.runs, began, time.Since(began)
	return nil
}

// refresh reads everything without delaying those who use what is there.
func (b *inbox) refresh(ctx context.Context, p *project, j *history.Journal) error {
	fresh := inbox{}
	err := fresh.readAll(ctx, p, j)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading = false; err == nil {
		b.runs, b.at, b.took = fresh.runs, fresh.at, fresh.took
	}
	for _, id := range b.again {
		b.dirty[id] = true
	}
	b.again = nil
	return err
}

// count returns how many questions have no answer.
func (b *inbox) count(ctx context.Context, p *project) (n int, err error) {
	list, err := b.read(ctx, p)
	for _, w := range list {
		for i := range w.asked {
			if w.asked[i].Answer == nil {
				n++
			}
		}
	}
	return n, err
}

// changed has a run looked at again.
func (b *inbox) changed(run string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dirty == nil {
		b.dirty = map[string]bool{}
	}
	if len(b.changes) >= maxKept || b.changes == nil {
		b.changes, b.before = map[string]time.Time{}, time.Now()
	}
	b.changes[run] = time.Now()
	if b.dirty[run] = true; b.reading {
		b.again = append(b.again, run)
	}
}
