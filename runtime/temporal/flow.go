package temporal

import (
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The names that are recorded in histories. They never change.
const (
	flowName    = "cassidy.run"
	executeName = "cassidy.execute"
	keepName    = "cassidy.keep"
	commitName  = "commit"
	sendName    = "send"
	takeName    = "take"
	wakeName    = "wake"
	loadName    = "load"
	memoName    = "cassidy"
)

// mostCommits is how many commits one history has; the limit of the server is 2,000 updates.
const mostCommits = 1500

// heartbeat is how long a worker can be silent until another one executes its run.
const heartbeat = 5 * time.Second

// An execution is what the activity gets.
type execution struct {
	Tenant, ID string
	Segment    int
}

// An executed is what the activity returns: why the run does not go on.
type executed struct {
	Questions int    // that are open
	Error     string // why it could not be executed, or ""
}

// A listed is the memo of a workflow, from which runs are listed.
type listed struct {
	Row         journal.Row
	First, Last pointer
}

func (r *record) memo() map[string]any {
	return map[string]any{memoName: listed{r.Row, r.First, r.Last}}
}

// flow is the workflow of a run: it keeps its record and its inbox, and has it executed whenever it can go on. data are the
// frames of the record that are in no blob. Its result is the final record.
func flow(ctx workflow.Context, r record, data []byte) (view, error) {
	r.data = data
	f := &running{record: &r, run: workflow.GetInfo(ctx).WorkflowExecution.ID}
	if err := f.handle(ctx); err != nil {
		return view{}, err
	}
	workflow.Go(ctx, f.receive)
	for !r.Row.State.Ended() {
		if err := f.sleep(ctx, f.until(ctx)); err != nil {
			return view{}, err
		}
		if f.isLong(ctx) {
			return view{}, f.continueAsNew(ctx)
		}
		if err := f.execute(ctx); err != nil {
			return view{}, err
		}
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return view{}, err
	}
	if err := f.keep(ctx); err != nil {
		return view{}, err
	}
	return r.view(0), nil
}

// A running is the workflow of a run that has not ended.
type running struct {
	*record
	run     string // the ID of the workflow
	commits int    // in this history
	busy    bool   // it is executed
	seen    bool   // the newest execution has committed or ended
	leaves  bool   // this history ends
}

// handle sets the handlers of updates and queries.
func (f *running) handle(ctx workflow.Context) error {
	refuse := func(kind string) error {
		if kind == "" {
			return nil
		}
		return temporal.NewNonRetryableApplicationError(kind, kind, nil)
	}
	committing := func(ctx workflow.Context, c commit, data []byte) (committed, error) {
		if !f.apply(&c, data) {
			return committed{}, refuse(errStale)
		}
		f.seen = true
		f.commits++
		if c.Set != nil {
			if err := workflow.UpsertMemo(ctx, f.memo()); err != nil {
				return committed{}, err
			}
			workflow.SetCurrentDetails(ctx, f.Row.Kind+" "+f.Row.ID+": "+f.Row.State.String()+" "+f.Row.Stuck)
		}
		return committed{len(f.Inbox), f.isLong(ctx)}, nil
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, commitName, committing,
		workflow.UpdateHandlerOptions{Validator: func(c commit, _ []byte) error { return refuse(f.refuses(f.run, &c)) }})
	if err == nil {
		err = workflow.SetUpdateHandlerWithOptions(ctx, sendName, func(_ workflow.Context, l letter) (int64, error) {
			f.News = true
			return f.deliver(&l), nil
		}, workflow.UpdateHandlerOptions{Validator: func(l letter) error { return refuse(f.refusesLetter(f.run, &l)) }})
	}
	if err == nil {
		err = workflow.SetUpdateHandlerWithOptions(ctx, takeName, func(_ workflow.Context, l letter) (*journal.Message, error) {
			return f.take(l.Message), nil
		}, workflow.UpdateHandlerOptions{Validator: func(l letter) error { return refuse(f.foreign(&l)) }})
	}
	if err == nil {
		err = workflow.SetUpdateHandlerWithOptions(ctx, wakeName, func(ctx workflow.Context, l letter) (bool, error) {
			if f.busy {
				return true, nil
			}
			f.News = true
			before := f.Owner.Segment
			err := workflow.Await(ctx, func() bool { return f.Owner.Segment > before && f.seen || f.Row.State.Ended() || f.leaves })
			return true, err
		}, workflow.UpdateHandlerOptions{Validator: func(l letter) error {
			if f.Row.State.Ended() {
				return refuse(errEnded)
			}
			return refuse(f.foreign(&l))
		}})
	}
	if err == nil {
		err = workflow.SetQueryHandler(ctx, loadName, func(from int64) (view, error) { return f.view(from), nil })
	}
	return err
}

// receive delivers the letters that were sent while no worker could answer.
func (f *running) receive(ctx workflow.Context) {
	for letters := workflow.GetSignalChannel(ctx, sendName); ; {
		var l letter
		letters.Receive(ctx, &l)
		if f.refusesLetter(f.run, &l) == "" {
			f.deliver(&l)
			f.News = true
		}
	}
}

// foreign returns why a letter is not read, or "".
func (f *running) foreign(l *letter) string {
	if l.Run != f.run {
		return errForeign
	}
	return ""
}

// isLong reports whether the history has to end.
func (f *running) isLong(ctx workflow.Context) bool {
	return f.commits > mostCommits || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// until returns how long the run waits until it is executed; a negative time is until there is news.
func (f *running) until(ctx workflow.Context) time.Duration {
	switch {
	case f.Owner.Segment == 0: // it begins
		return 0
	case f.Failed > 0: // somebody else may be able to, or the cause may be gone
		return min(10*time.Second<<min(f.Failed, 5), 5*time.Minute)
	case f.Row.State == journal.Stuck:
		return -1
	case f.Row.State == journal.Running: // its execution has ended without a word
		return time.Second
	case f.Row.Wake.After(f.Row.Updated): // the clocks of workers and server may differ
		return max(0, f.Row.Wake.Sub(workflow.Now(ctx)))
	case f.Row.Wake.IsZero() && f.Questions > 0:
		return -1
	}
	return 0
}

// sleep waits for a time, or for ever if it is negative, or until there is news, or the history has to end.
func (f *running) sleep(ctx workflow.Context, d time.Duration) error {
	wakes := func() bool { return f.News || f.isLong(ctx) }
	if d < 0 {
		return workflow.Await(ctx, wakes)
	}
	if d == 0 {
		return nil
	}
	_, err := workflow.AwaitWithTimeout(ctx, d, wakes)
	return err
}

// execute has the run executed until it parks or ends.
func (f *running) execute(ctx workflow.Context) error {
	f.News, f.busy, f.seen, f.Owner = false, true, false, owner{f.Owner.Segment + 1, 0}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 365 * 24 * time.Hour, HeartbeatTimeout: heartbeat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: time.Minute},
	})
	var done executed
	err := workflow.ExecuteActivity(ctx, executeName, execution{f.Row.Tenant, f.Row.ID, f.Owner.Segment}).Get(ctx, &done)
	switch {
	case temporal.IsCanceledError(err):
		return err
	case err != nil:
		done.Error = err.Error()
	case done.Error == "" && !f.seen: // it would be executed again and again
		done.Error = "its execution recorded nothing"
	}
	f.busy, f.seen = false, true
	f.Questions = done.Questions
	if done.Error == "" || f.Row.State.Ended() {
		f.Failed = 0
		return nil
	}
	f.Failed++
	f.Row.State, f.Row.Stuck, f.Row.Updated = journal.Stuck, done.Error, journal.Time(workflow.Now(ctx))
	return workflow.UpsertMemo(ctx, f.memo())
}

// keep moves the data of the record into blobs.
func (f *running) keep(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var blobs []segment
	if len(f.data) < mostData/2 {
		return nil
	}
	for _, part := range f.chunks(mostData) {
		var blob segment
		if err := workflow.ExecuteActivity(ctx, keepName, part).Get(ctx, &blob); err != nil {
			return err
		}
		blobs = append(blobs, blob)
	}
	f.stored(blobs)
	return nil
}

// continueAsNew ends this history, and begins the next one with the record.
func (f *running) continueAsNew(ctx workflow.Context) error {
	f.leaves = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	if err := f.keep(ctx); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, flowName, *f.record, f.data)
}
