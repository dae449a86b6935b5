package host

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkResults are the results of checks, by what was checked. The zero value has none. It is safe for
// concurrent use.
type checkResults[K comparable] struct {
	mu       sync.Mutex
	known    map[K]error
	progress map[K]*check
}

// A check is in progress.
type check struct {
	ended chan struct{}
	until time.Time // when it should have ended
}

// Of returns the result for a key. If it is unknown, Of calls do, or waits for another call of do for
// the key, but not longer than the timeout: then it returns what late returns, since a check may wait
// for itself here. The result of do is kept if the context has not ended.
func (r *checkResults[K]) Of(ctx context.Context, key K, timeout time.Duration, late func() error, do func() error) error {
	for {
		known, other, err := r.begin(key, timeout)
		switch {
		case known:
			return err
		case other == nil:
			err = do()
			r.end(key, err, ctx.Err() == nil)
			return err
		}
		if err := other.await(ctx, late); err != nil {
			return err
		}
	}
}

// Known returns the result for a key, or nil if it is unknown.
func (r *checkResults[K]) Known(key K) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

// begin returns the result for a key, if that is known. Otherwise it returns the check in progress, or
// nil: the caller then makes the check, and calls end.
func (r *checkResults[K]) begin(key K, timeout time.Duration) (known bool, other *check, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err, known = r.known[key]; known {
		return true, nil, err
	}
	if other = r.progress[key]; other == nil {
		if r.progress == nil {
			r.known, r.progress = map[K]error{}, map[K]*check{}
		}
		r.progress[key] = &check{make(chan struct{}), time.Now().Add(timeout)}
	}
	return false, other, nil
}

// end ends a check, and keeps its result if isAnswer is set.
func (r *checkResults[K]) end(key K, err error, isAnswer bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isAnswer {
		r.known[key] = err
	}
	close(r.progress[key].ended)
	delete(r.progress, key)
}

// await waits until a check has ended, or should have ended.
func (c *check) await(ctx context.Context, late func() error) error {
	timer := time.NewTimer(time.Until(c.until))
	defer timer.Stop()
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	case <-timer.C:
		return late()
	}
}
