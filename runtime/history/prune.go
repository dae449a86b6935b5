package history

import (
	"context"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Delete removes a run and all that is recorded of it, in any state. It fails
// with Conflict if somebody holds it.
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

// A Keep selects the runs that stay when a journal is pruned. A run that one of
// the fields excludes is removed; the zero Keep keeps all.
type Keep struct {
	For  time.Duration // those that ended within this time; 0 means however long ago
	Most int           // the newest so many of those that have ended; 0 means all
	Open bool          // false also keeps all that have not ended; true counts these too, by when they began
}

// Prune removes the runs that need not be kept, and the large values that no
// run names any more. It returns how many runs it removed. A run that somebody
// holds, or whose record is damaged, always stays, and while there is
// damage all values do.
func (j *Journal) Prune(ctx context.Context, k Keep) (int, error) {
	var runs []Run
	for r, err := range j.Runs(ctx, Filter{}) {
		if err != nil {
			return 0, err
		}
		runs = append(runs, r)
	}
	removed, counted := 0, 0
	before := j.clock.now().Add(-k.For)
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

// blobGrace is how long a blob that nobody names is left alone: its writer may
// not have come to name it yet. That takes milliseconds; an hour allows for a
// machine that slept.
const blobGrace = time.Hour

// named returns the names of the blobs that records name, all of them or none.
func (j *Journal) named(ctx context.Context) (map[string]bool, error) {
	names := map[string]bool{}
	err := j.store.EachFrame(ctx, func(_, seq int64, frame []byte) error {
		_, records, err := openFrame(seq, frame)
		for _, r := range records {
			f := &fields{rest: r.fields}
			for len(f.rest) > 0 {
				if bare, name, _ := f.raw(); bare == nil && f.err == nil {
					names[name.String()] = true
				}
			}
			if err == nil {
				err = f.err
			}
		}
		if err != nil {
			return value.Errorf(value.Failed, "the journal is damaged, so no large value was removed: %w", err)
		}
		return nil
	})
	return names, err
}
