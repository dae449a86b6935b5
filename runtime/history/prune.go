package history

import (
	"context"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Delete removes a run and its record, in any state. It fails with Conflict if the run
// is held.
func (j *Journal) Delete(ctx context.Context, id string) error {
	num, err := j.find(ctx, id)
	if err != nil {
		return err
	}
	lease, err := j.store.Acquire(ctx, j.tenant, id)
	if err != nil {
		return err
	}
	err = j.store.Delete(ctx, num)
	return errors.Join(err, lease.Release())
}

// A Keep selects the runs that stay when a journal is pruned. A run is removed if one
// of the fields excludes it; the zero Keep keeps all.
type Keep struct {
	For  time.Duration // those that ended within this time; 0 means all
	Most int           // the newest of those that have ended; 0 means all
	// Steady counts the age of a run from the newest one, unless that is later than now:
	// a clock that is ahead deletes nothing. Runs are then deleted only after newer ones.
	Steady bool
	Open   bool // false keeps all that have not ended; true counts these too, by their start
}

// Prune removes the runs that are not kept, and the blobs that are no longer
// referenced. It returns the number of removed runs. A run that is held or damaged
// always stays, and if any record is damaged all blobs stay.
func (j *Journal) Prune(ctx context.Context, k Keep) (int, error) {
	var runs []Run
	for r, err := range j.Runs(ctx, Filter{}) {
		if err != nil {
			return 0, err
		}
		runs = append(runs, r)
	}
	removed, counted := 0, 0
	before := j.clock.now()
	if k.Steady {
		before = earliest(before, newest(runs))
	}
	before = before.Add(-k.For)
	for _, r := range runs {
		if r.Damage != nil || !r.State.Ended() && !k.Open {
			continue
		}
		counted++
		at := r.Ended
		if at.IsZero() {
			at = r.Started
		}
		if (k.For == 0 || !at.Before(before)) && (k.Most == 0 || counted <= k.Most) {
			continue
		}
		switch err := j.Delete(ctx, r.ID); {
		case err == nil:
			removed++
		case value.KindOf(err) != value.Conflict:
			return removed, err
		}
	}
	return removed, j.store.SweepBlobs(ctx, now().Add(-blobGrace), func() (map[string]bool, error) { return j.named(ctx) })
}

// newest returns when the last run began or ended.
func newest(runs []Run) (last time.Time) {
	for i := range runs {
		for _, t := range []time.Time{runs[i].Started, runs[i].Ended} {
			if t.After(last) {
				last = t
			}
		}
	}
	return last
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// blobGrace is how long an unreferenced blob is kept: its writer may be about to
// reference it. That takes milliseconds; an hour allows for a machine that slept.
const blobGrace = time.Hour

// named returns the names of all referenced blobs, or an error.
func (j *Journal) named(ctx context.Context) (map[string]bool, error) {
	names := map[string]bool{}
	err := j.store.EachFrame(ctx, func(_, seq int64, frame []byte) error {
		_, records, err := openFrame(seq, frame)
		for _, r := range records {
			f := &fields{rest: r.fields}
			for len(f.rest) > 0 {
				_, blobs := f.raw()
				for i := range blobs {
					names[blobs[i].String()] = true
				}
			}
			if err == nil {
				err = f.err
			}
		}
		if err != nil {
			return value.Errorf(value.Failed, "remove large values: the journal is damaged: %w", err)
		}
		return nil
	})
	return names, err
}
