package serve

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An inbox has the open questions of a project, as of a short time ago: reading them takes a look at each run
// that waits.
type inbox struct {
	mu   sync.Mutex
	list []waiting
	at   time.Time     // when it was read; zero: never, or something has changed since
	took time.Duration // to read it
}

// A waiting is a question with its run.
type waiting struct {
	history.Asked
	run history.Run
}

// inboxTime is how long an inbox is used, and inboxShare how much longer than it takes to read it.
const (
	inboxTime  = time.Second
	inboxShare = 10
)

// read returns the open questions of a project, also those with an answer that their runs have not used. Those of the
// newest run come first.
func (b *inbox) read(ctx context.Context, p *project) ([]waiting, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); !b.at.IsZero() && now.Sub(b.at) < max(inboxTime, inboxShare*b.took) {
		return b.list, nil
	}
	began := time.Now()
	list, err := p.waiting(ctx)
	if err != nil {
		return nil, err
	}
	b.list, b.at, b.took = list, began, time.Since(began)
	return list, nil
}

// count returns how many questions have no answer.
func (b *inbox) count(ctx context.Context, p *project) (n int, err error) {
	list, err := b.read(ctx, p)
	for i := range list {
		if list[i].Answer == nil {
			n++
		}
	}
	return n, err
}

// changed has the inbox read again.
func (b *inbox) changed() {
	b.mu.Lock()
	b.at = time.Time{}
	b.mu.Unlock()
}

// asks reports whether a run may have open questions.
func asks(r *history.Run) bool {
	return r.State == history.Running || r.State == history.Parked && !slices.Contains([]string{history.Queued, "sleep"}, r.Reason)
}

// waiting reads the open questions of a project. A run whose questions cannot be read is left out: its own page says why.
func (p *project) waiting(ctx context.Context) (list []waiting, err error) {
	j, err := p.op.Journal()
	if err != nil {
		return nil, err
	}
	var runs []history.Run
	for r, err := range j.Runs(ctx, history.Filter{Project: p.op.Project(), States: []history.State{history.Parked, history.Running}}) {
		if err == nil && asks(&r) {
			runs = append(runs, r)
		}
	}
	for i := range runs {
		asked, err := j.Questions(ctx, runs[i].ID)
		if err != nil && ctx.Err() != nil {
			return nil, value.AsError(context.Cause(ctx), value.Canceled)
		}
		for k := range asked {
			list = append(list, waiting{asked[k], runs[i]})
		}
	}
	return list, nil
}
