package temporal

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Work configures a worker.
type Work struct {
	Queue string // "" means [Queue]
	Jobs  int    // how many runs are executed at the same time; 0 means 16
	// Host returns the host that executes the runs of a tenant. Its runtime has the same store.
	Host func(tenant string) (*host.Host, error)
	// Resume continues a run of the host; nil is [host.Host.Resume].
	Resume func(ctx context.Context, h *host.Host, r host.Recorded) (tool.Result, error)
	// Options are those of the SDK, such as the version of the deployment.
	Options worker.Options
}

// Worker returns a worker that executes the runs of a queue. Run or start it, and stop it before the hosts are closed.
func (s *Store) Worker(w Work) worker.Worker {
	o := w.Options
	o.MaxConcurrentActivityExecutionSize = w.Jobs
	if w.Jobs == 0 {
		o.MaxConcurrentActivityExecutionSize = 16
	}
	queue := w.Queue
	if queue == "" {
		queue = Queue
	}
	made := worker.New(s.client, queue, o)
	made.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: flowName, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	e := executor{s, w}
	made.RegisterActivityWithOptions(e.execute, activity.RegisterOptions{Name: executeName})
	made.RegisterActivityWithOptions(e.keep, activity.RegisterOptions{Name: keepName})
	return made
}

type executor struct {
	store *Store
	Work
}

// keep stores a part of a record.
func (e executor) keep(_ context.Context, data []byte) (segment, error) {
	return e.store.putStream(data)
}

// execute executes a run until it ends or parks. An error is that another attempt has to try.
func (e executor) execute(ctx context.Context, x execution) (executed, error) {
	h, err := e.Host(x.Tenant)
	if err != nil {
		return executed{Error: err.Error()}, nil
	}
	r := e.store.of(name{x.Tenant, x.ID}, 0)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go beat(ctx)
	select {
	case r.busy <- struct{}{}: // an attempt before that was frozen may not have left this process yet
		defer func() { <-r.busy }()
	case <-ctx.Done():
		return executed{}, ctx.Err()
	}
	r.mu.Lock()
	r.owner, r.dead, r.polled, r.yields, r.wrote = &owner{x.Segment, int(activity.GetInfo(ctx).Attempt)}, nil, time.Time{}, false, false
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.owner = nil
		r.mu.Unlock()
	}()
	err = e.resume(ctx, h, x.ID)
	r.mu.Lock()
	dead, yields, wrote := r.dead, r.yields, r.wrote
	r.mu.Unlock()
	var parked *history.ParkedError
	switch {
	case dead != nil: // another attempt has the run, or the outcome of a commit is unknown
		return executed{}, dead
	case yields, err == nil:
		return executed{}, nil
	case !wrote && ctx.Err() == nil: // it was refused before it was continued
		return executed{Error: value.ErrorOf(err, value.Failed).Message()}, nil
	case errors.As(err, &parked):
		return executed{Questions: len(parked.Questions)}, nil
	case ctx.Err() != nil: // the worker ends
		return executed{}, err
	}
	run, e2 := h.Recorded(context.WithoutCancel(ctx), x.ID)
	if e2 == nil && (run.State.Ended() || run.State == history.Parked && run.Reason != history.Queued) { // the error is its result
		return executed{}, nil
	}
	return executed{Error: value.ErrorOf(err, value.Failed).Message()}, nil
}

func (e executor) resume(ctx context.Context, h *host.Host, id string) error {
	if e.Resume == nil {
		_, err := h.Resume(ctx, id)
		return err
	}
	r, err := h.Recorded(ctx, id)
	if err == nil {
		_, err = e.Resume(ctx, h, r)
	}
	return err
}

// beat tells the server that the execution goes on, until ctx ends.
func beat(ctx context.Context) {
	tick := time.NewTicker(heartbeat / 3)
	defer tick.Stop()
	for alive := context.WithoutCancel(ctx); ; {
		activity.RecordHeartbeat(alive)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
