package history

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// renewEvery is the time between two renewals of a lease. A store whose leases expire must give them several times
// as long.
const renewEvery = 5 * time.Second

// A process that was stopped for long, or that cannot reach the store, can lose its lease while it executes a run. If
// another one has gone on with the run, frames with the next numbers exist: whatever the first one tries to record then
// fails with Conflict, so it carries out no effect that must be recorded first. It notices the loss by the renewal too,
// and closes its log.

// yieldEvery is how often a log that has to yield looks whether the effects in progress have ended.
const yieldEvery = 10 * time.Millisecond

// yield ends the execution of a run before the next effect, if it has to, once all effects in progress have ended: if they were
// interrupted, their outcomes would be unknown.
func (l *Log) yield(ctx context.Context) error {
	l.mu.Lock()
	y, ok := l.lease.(journal.Yielder)
	l.mu.Unlock()
	for ; ok && y.Yields(); time.Sleep(yieldEvery) {
		if err := ctx.Err(); err != nil {
			return value.AsError(err, value.Canceled)
		}
		if l.acting.Load() == 0 {
			return value.Errorf(value.Canceled, "the run '%s' is continued by another execution", l.run.ID).WithLimit(value.LimitWorker)
		}
	}
	return nil
}

// hold acquires the lease of a run that is about to be stored, unless it has one.
func (l *Log) hold() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease != nil || l.why != nil {
		return l.why
	}
	lease, err := l.j.store.Acquire(context.Background(), l.j.tenant, l.run.ID)
	if err == nil {
		l.lease = lease
	}
	return err
}

// renew renews the lease of a log if that is time. If the lease was lost, renew closes the log and fails with Conflict.
func (l *Log) renew(ctx context.Context) error {
	l.mu.Lock()
	lease, why := l.lease, l.why
	due := lease != nil && why == nil && time.Since(l.renewed) >= renewEvery
	if due {
		l.renewed = time.Now()
	}
	l.mu.Unlock()
	if !due {
		return nil
	}
	err := lease.Renew(ctx)
	if err != nil && value.KindOf(err) == value.Conflict {
		l.shut(err)
		return err
	}
	return nil // the store cannot be reached now: the next record says so
}
