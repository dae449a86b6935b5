package host

import (
	"context"
	"iter"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/inflight"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// followEvery is how often the record of a followed run is read, for events of other
	// processes and for the end of a parked run.
	followEvery = 2 * time.Second
	// followEnd is how long after a possible last event the record is read: the end of
	// the run is recorded a moment later.
	followEnd = 20 * time.Millisecond
)

// Follow yields the events of a recorded run with a Seq greater than after, in order and
// without gaps or duplicates: first the recorded events, then the live ones until the run has
// ended. While the run is parked, Follow waits. A client that lost its connection continues
// with the Seq of the last event that it got, also in another process.
//
// Events with Seq 0, such as pieces of text, are not recorded, and a slow loop misses some of
// them; see [Host.Subscribe]. If another process executes the run, its recorded events come
// within a few seconds.
//
// Follow fails with kind NotFound for an unknown run, with Invalid if the host has no store,
// with Closed when the host is closed, and with the error of ctx when that ends.
func (h *Host) Follow(ctx context.Context, runID string, after uint64) iter.Seq2[tool.Event, error] {
	return func(yield func(tool.Event, error) bool) {
		if err := h.valid(); err != nil {
			yield(tool.Event{}, err)
			return
		}
		subscribed, stop := context.WithCancel(ctx)
		defer stop()
		live := h.Subscribe(subscribed, EventFilter{Run: runID}) // before the record is read, to miss none
		next := func(e tool.Event, err error) bool {
			if err != nil || e.Seq == 0 {
				return yield(e, err) && err == nil
			}
			if e.Seq <= after {
				return true
			}
			after = e.Seq
			return yield(e, nil)
		}
		for {
			ended, err := h.hasEnded(ctx, runID) // before the events are read, to miss none
			if err != nil {
				yield(tool.Event{}, err)
				return
			}
			for e, err := range h.Events(ctx, runID, after) {
				if !next(e, err) {
					return
				}
			}
			if ended || !followLive(ctx, live, next) {
				return
			}
		}
	}
}

// followLive yields live events, and reports whether to continue with the record: every
// followEvery, after a possible last event, and after lost events.
func followLive(ctx context.Context, live <-chan tool.Event, next func(tool.Event, error) bool) bool {
	tick := time.NewTimer(followEvery)
	defer tick.Stop()
	for {
		select {
		case e, open := <-live:
			if !open {
				err := error(inflight.Closed())
				if ctx.Err() != nil {
					err = value.AsError(context.Cause(ctx), value.Canceled)
				}
				return next(tool.Event{}, err)
			}
			ends := false
			switch e.Data.(type) {
			case tool.Lost:
				return true
			case tool.ToolCallEnd, tool.RunEnd:
				ends = e.Call == e.Run
			}
			if !next(e, nil) {
				return false
			}
			if ends {
				tick.Reset(followEnd)
			}
		case <-tick.C:
			return true
		}
	}
}

// hasEnded reports whether a recorded run has ended.
func (h *Host) hasEnded(ctx context.Context, runID string) (bool, error) {
	j, err := h.journal()
	if err != nil {
		return false, err
	}
	r, err := j.Run(ctx, runID)
	return r.State.Ended(), err
}
