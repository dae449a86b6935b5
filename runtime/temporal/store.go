// Package temporal records runs in Temporal, and has them executed there, on any number of machines.
//
// A run is a workflow that keeps the record and the inbox of the run: a [Store] is a [journal.Store] whose runs are
// workflows. What the run executes, such as a script with its tools and agents, is executed in an activity, exactly as it is elsewhere, by
// a host over that store: see [Store.Worker]. Each durable commit of the run is an update of the workflow, so it is stored
// before the effect that it announces, and an execution that lost its run can add nothing.
//
// Whoever can write to the namespace can begin runs: [host.Options].Admit decides which of them a worker executes. With a
// [Key], nobody without the key can read a run, or make an answer to it.
package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure a store.
type Options struct {
	// Client is connected to the Namespace of the runs, with Converter as its data converter. The caller closes it, after the
	// store.
	Client    client.Client
	Namespace string // "" means default
	// Converter is [Encrypted] with the key of the deployment. Nil does not encrypt: whoever can write to the namespace can
	// then answer the questions of all runs.
	Converter converter.DataConverter
	// Queue returns the task queue of a run that begins. Nil means [Queue] for all.
	Queue func(r journal.Row) string
	// Blobs keep the large values of runs. All workers and clients need the same ones.
	Blobs Blobs
}

// Queue is the task queue of runs that any worker can execute.
const Queue = "cassidy"

// Store is a [journal.Remote] whose runs are workflows. It differs from other stores as [journal.Remote] says, and:
//   - what was written is in lists shortly afterwards, and other processes see a run that is executed as of its last commit;
//   - the order of runs is that of the clocks of the machines where they began;
//   - a lease of a run that has ended is exclusive only within the process;
//   - [journal.Store.Delete] removes a run from lists when Temporal does.
type Store struct {
	client    client.Client
	namespace string
	converter converter.DataConverter
	queue     func(journal.Row) string
	blobs     Blobs

	mu     sync.Mutex
	nums   map[name]int64
	runs   map[int64]*run
	leases map[name]bool // of runs that are not executed here
	stream name          // the run whose stream was read last
	known  []byte        // that stream
	closed bool
}

// A name identifies a run.
type name struct{ tenant, id string }

const prefix = "cassidy/"

// workflow returns the ID of the workflow of a run.
func (n name) workflow() string { return prefix + url.PathEscape(n.tenant) + "/" + n.id }

// nameOf returns the run of a workflow.
func nameOf(workflow string) (n name, ok bool) {
	rest, ok := strings.CutPrefix(workflow, prefix)
	tenant, id, found := strings.Cut(rest, "/")
	tenant, err := url.PathUnescape(tenant)
	return name{tenant, id}, ok && found && err == nil && journal.ValidID(id)
}

// A run is what this process knows of a run.
type run struct {
	name
	num  int64
	busy chan struct{} // full while this process executes it

	mu     sync.Mutex
	exists bool    // it was stored when its lease was acquired
	staged *staged // until it is stored
	owner  *owner  // as which this process executes the run, or nil
	inbox  []journal.Message
	polled time.Time // when inbox was read
	yields bool      // the execution has to end soon
	wrote  bool      // it has committed something
	dead   error     // why nothing can be added: a commit whose outcome is unknown, or a lost run
}

// A staged run has not been parked yet: no worker may execute it.
type staged struct {
	record record
	stream []byte
}

// New returns a store. It fails with kind Invalid for options without a client or blobs.
func New(o Options) (*Store, error) {
	if o.Client == nil || o.Blobs == nil {
		return nil, value.Errorf(value.Invalid, "open a Temporal store: it needs a client and blobs").WithHint("set Options.Client and Options.Blobs")
	}
	if o.Queue == nil {
		o.Queue = func(journal.Row) string { return Queue }
	}
	if o.Converter == nil {
		o.Converter = converter.GetDefaultDataConverter()
	}
	return &Store{client: o.Client, namespace: cmp.Or(o.Namespace, client.DefaultNamespace), converter: o.Converter, queue: o.Queue, blobs: o.Blobs, nums: map[name]int64{}, runs: map[int64]*run{}, leases: map[name]bool{}}, nil
}

// newNum returns the number of a run that begins: it grows with time, and no two runs have the same.
func newNum() int64 { return time.Now().UnixMicro()<<10 | rand.Int64N(1<<10) }

// of returns a run by its name. For num 0 its number is not known yet.
func (s *Store) of(n name, num int64) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[s.nums[n]]
	if r == nil {
		if num == 0 {
			num = newNum()
		}
		r = &run{name: n, num: num, busy: make(chan struct{}, 1)}
	}
	if num != 0 && r.num != num {
		delete(s.runs, r.num)
		r.num = num
	}
	s.nums[n], s.runs[r.num] = r.num, r
	return r
}

func (s *Store) byNum(num int64) (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[num]; r != nil {
		return r, nil
	}
	return nil, journal.ErrNumNotFound(num)
}

// failure returns an error of Temporal about a run as that of a store.
func failure(n name, err error) error {
	var none *serviceerror.NotFound
	var app *temporal.ApplicationError
	var ours *value.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return err
	case errors.As(err, &app):
		switch app.Type() {
		case errStale:
			return journal.ErrWritten(n.id)
		case errTaken:
			return journal.ErrTaken(journal.Message{})
		case errEnded:
			return journal.ErrNotFound(n.id)
		}
	case errors.As(err, &none):
		return journal.ErrNotFound(n.id)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return value.AsError(err, value.Canceled)
	}
	return value.Errorf(value.Unavailable, "Temporal: %w", err).WithHint("check that the server can be reached: temporal workflow list")
}

// Commit implements [journal.Store]. Repeating a write that was executed does nothing.
func (s *Store) Commit(ctx context.Context, writes []*journal.Write) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return journal.ErrClosed()
	}
	for _, w := range writes {
		if err := w.Check(); err != nil {
			return err
		}
	}
	errs := make([]error, len(writes))
	var all sync.WaitGroup
	for i, w := range writes {
		all.Go(func() { errs[i] = s.commit(w) })
	}
	all.Wait()
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}

func (s *Store) commit(w *journal.Write) error {
	if w.New != nil {
		return s.stage(w)
	}
	r, err := s.byNum(w.Num)
	if err != nil {
		return err
	}
	r.mu.Lock()
	staged, o, dead := r.staged, r.owner, r.dead
	r.mu.Unlock()
	switch {
	case staged != nil:
		return s.stageMore(r, w)
	case dead != nil:
		return dead
	case o == nil && w.Set != nil && w.Set.State == journal.Stuck && w.Frames == nil:
		return nil // the workflow knows it, as it has the run executed
	case o == nil:
		return journal.ErrHeld(r.id)
	}
	c := commit{Run: r.workflow(), Owner: *o, Head: w.Head, Set: w.Set}
	data, err := s.stored(w.Frames, &c)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%d.%d-%d", o.Segment, o.Attempt, c.From)
	if c.Frames == 0 {
		id = uuid.NewString()
	}
	var done committed
	if err := s.update(r.name, commitName, id, &done, c, data); err != nil {
		r.mu.Lock()
		r.dead = err // its outcome is unknown or another attempt goes on: nothing may follow
		r.mu.Unlock()
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if done.Messages > len(r.inbox) {
		r.polled = time.Time{}
	}
	r.yields, r.wrote = r.yields || done.Yield, true
	return nil
}

// mostFrame is the length of a frame that lists get directly, in bytes.
const mostFrame = 32 << 10

// stored makes the frames of a commit: what it returns goes beside it, or they are in blobs.
func (s *Store) stored(list []journal.Frame, c *commit) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	c.From, c.Frames = list[0].Seq, int64(len(list))
	var data []byte
	for i, f := range list {
		if f.Seq != c.From+int64(i) {
			return nil, value.Errorf(value.Invalid, "write to the journal: the frames %d and %d do not follow each other", c.From, f.Seq)
		}
		data = appendFrame(data, f.Body)
	}
	if c.Set != nil {
		last, err := s.point(list[len(list)-1].Body)
		if err != nil {
			return nil, err
		}
		c.Last = &last
	}
	if len(data) <= mostData/2 {
		return data, nil
	}
	var err error
	c.Blob, err = s.putStream(data)
	return nil, err
}

func (s *Store) point(frame []byte) (pointer, error) {
	if len(frame) <= mostFrame {
		return pointer{Frame: slices.Clone(frame)}, nil
	}
	blob, err := s.putStream(frame)
	return pointer{Blob: blob.Blob, Size: blob.Size}, err
}

func (s *Store) frameAt(p pointer) ([]byte, error) {
	if p.Blob == "" {
		return p.Frame, nil
	}
	return s.blobs.Get(context.Background(), p.Blob, p.Size)
}

// stage adds a run, which stays in this process until it is parked.
func (s *Store) stage(w *journal.Write) error {
	n := name{w.New.Tenant, w.New.ID}
	if len(n.workflow()) > 1000 {
		return value.Errorf(value.Invalid, "the name of the tenant is too long for Temporal: %d bytes", len(n.tenant))
	}
	r := s.of(n, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exists || r.staged != nil {
		return journal.ErrExists(n.id)
	}
	r.staged = &staged{record: record{Row: *w.New}}
	r.staged.record.Row.Num = r.num
	w.Num = r.num
	return r.staged.add(s, w)
}

func (st *staged) add(s *Store, w *journal.Write) error {
	var c commit
	c.Head, c.Set = w.Head, w.Set
	for i, f := range w.Frames {
		if f.Seq != st.record.Frames+int64(i) {
			return journal.ErrWritten(st.record.Row.ID)
		}
		st.stream = appendFrame(st.stream, f.Body)
	}
	if n := len(w.Frames); n > 0 {
		last, err := s.point(w.Frames[n-1].Body)
		if err != nil {
			return err
		}
		if c.Last = &last; st.record.Frames == 0 {
			if st.record.First, err = s.point(w.Frames[0].Body); err != nil {
				return err
			}
		}
		c.From, c.Frames = w.Frames[0].Seq, int64(n)
	}
	st.record.apply(&c, nil)
	return nil
}

// stageMore writes to a run that is not stored yet, and stores it if it parks.
func (s *Store) stageMore(r *run, w *journal.Write) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := *r.staged
	next.stream = slices.Clone(next.stream)
	if err := next.add(s, w); err != nil {
		return err
	}
	if w.Set == nil || w.Set.State != journal.Parked {
		r.staged = &next
		return nil
	}
	if err := s.begin(r, &next); err != nil {
		return err
	}
	r.staged, r.exists = nil, true
	return nil
}

// begin starts the workflow of a run.
func (s *Store) begin(r *run, st *staged) error {
	rec, data := st.record, st.stream
	if len(data) > mostData/2 {
		blob, err := s.putStream(data)
		if err != nil {
			return err
		}
		rec.append(blob, nil)
		data = nil
	} else {
		rec.append(segment{}, data)
	}
	rec.data = nil
	return s.retry(r.name, func(ctx context.Context) error {
		_, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: r.workflow(), TaskQueue: s.queue(rec.Row), WorkflowExecutionErrorWhenAlreadyStarted: true,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			Memo:                  rec.memo(), StaticSummary: rec.Row.Kind + " " + rec.Row.ID,
		}, flowName, rec, data)
		var exists *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &exists) {
			row, e := s.row(ctx, r.name)
			if e == nil && row.Nonce == rec.Row.Nonce { // an earlier try was executed, but its answer was lost
				return nil
			}
			return journal.ErrExists(r.id)
		}
		return err
	})
}

// How long one request may take, and all tries of one that must have an outcome.
const (
	requestTime = 5 * time.Second
	retryTime   = time.Minute
)

// retry makes a request until its outcome is known, for as long as a server may be down.
func (s *Store) retry(n name, do func(context.Context) error) error {
	end := time.Now().Add(retryTime)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), requestTime)
		err := do(ctx)
		cancel()
		var app *temporal.ApplicationError
		var none *serviceerror.NotFound
		var ours *value.Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &ours):
			return err
		case errors.As(err, &app), errors.As(err, &none), time.Now().After(end):
			return failure(n, err)
		}
		time.Sleep(pause)
	}
}

// update sends an update until its outcome is known, and stores its result in out.
func (s *Store) update(n name, what, id string, out any, args ...any) error {
	return s.retry(n, func(ctx context.Context) error { return s.updateOnce(ctx, n, what, id, out, args...) })
}

func (s *Store) updateOnce(ctx context.Context, n name, what, id string, out any, args ...any) error {
	h, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: n.workflow(), UpdateID: id, UpdateName: what, Args: args, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return h.Get(ctx, out)
}

// Send implements [journal.Store].
func (s *Store) Send(ctx context.Context, num int64, m journal.Message) (seq int64, err error) {
	r, err := s.byNum(num)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, value.AsError(err, value.Canceled)
	}
	l := letter{r.workflow(), uuid.NewString(), m}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTime)
	defer cancel()
	err = s.updateOnce(call, r.name, sendName, l.ID, &seq, l)
	if call.Err() != nil && err != nil { // without a worker there is no answer: it gets the letter later
		seq = time.Now().UnixMicro()
		err = s.retry(r.name, func(ctx context.Context) error { return s.client.SignalWorkflow(ctx, r.workflow(), "", sendName, l) })
	}
	r.mu.Lock()
	r.polled = time.Time{}
	r.mu.Unlock()
	if err = failure(r.name, err); value.KindOf(err) == value.Conflict {
		err = journal.ErrTaken(m)
	}
	return seq, err
}

// Take implements [journal.Store].
func (s *Store) Take(ctx context.Context, num int64, kind, key string) (m journal.Message, ok bool, err error) {
	r, err := s.byNum(num)
	if err != nil {
		return m, false, err
	}
	all, err := s.Inbox(ctx, num, 0)
	if err != nil || !slices.ContainsFunc(all, func(m journal.Message) bool { return m.Kind == kind && m.Key == key }) {
		return m, false, err
	}
	var got *journal.Message
	l := letter{Run: r.workflow(), Message: journal.Message{Kind: kind, Key: key}}
	if err := s.update(r.name, takeName, "take-"+kind+"-"+key, &got, l); err != nil || got == nil {
		return m, false, err
	}
	return *got, true, nil
}

// pollInbox is how old what is known of the inbox of a run can be.
const pollInbox = 2 * time.Second

// Inbox implements [journal.Store].
func (s *Store) Inbox(ctx context.Context, num, after int64) ([]journal.Message, error) {
	r, err := s.byNum(num)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	all, fresh := r.inbox, r.staged != nil || r.owner != nil && time.Since(r.polled) < pollInbox
	r.mu.Unlock()
	if !fresh {
		v, err := s.load(ctx, r.name, false)
		if err != nil {
			return nil, err
		}
		all = v.Inbox
	}
	return slices.DeleteFunc(slices.Clone(all), func(m journal.Message) bool { return m.Seq <= after }), nil
}

// Wake implements [journal.Remote]. It returns when a worker has begun to execute the run, or could not.
func (s *Store) Wake(ctx context.Context, tenant, id string) error {
	n, letter, update := name{tenant, id}, letter{}, uuid.NewString()
	letter.Run = n.workflow()
	for {
		call, cancel := context.WithTimeout(ctx, requestTime)
		err := s.updateOnce(call, n, wakeName, update, nil, letter)
		waits := call.Err() != nil && ctx.Err() == nil // there is no worker yet
		if cancel(); !waits {
			return failure(n, err)
		}
	}
}

// A lease is that of an execution: the workflow decides who executes a run.
type lease struct {
	s *Store
	r *run
}

// Acquire implements [journal.Store].
func (s *Store) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	if !journal.ValidID(id) {
		return nil, journal.ErrInvalidID(id)
	}
	n := name{tenant, id}
	r := s.of(n, 0)
	if !r.executes() {
		row, err := s.row(ctx, n)
		switch {
		case err == nil && !row.State.Ended():
			return nil, journal.ErrHeld(id)
		case err != nil && value.KindOf(err) != value.NotFound:
			return nil, err
		}
		if err == nil {
			r = s.of(n, row.Num)
		}
		r.mu.Lock()
		r.exists = err == nil
		r.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[n] {
		return nil, journal.ErrHeld(id)
	}
	s.leases[n] = true
	return &lease{s, r}, nil
}

// Renew implements [journal.Lease].
func (l *lease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	l.r.mu.Lock()
	dead := l.r.dead
	l.r.mu.Unlock()
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if dead == nil && !l.s.leases[l.r.name] {
		dead = journal.ErrLost(l.r.id)
	}
	return dead
}

// Release implements [journal.Lease]. A run that was never parked is forgotten.
func (l *lease) Release() error {
	l.r.mu.Lock()
	l.r.staged = nil
	l.r.mu.Unlock()
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	delete(l.s.leases, l.r.name)
	return nil
}

// Yields implements [journal.Yielder].
func (l *lease) Yields() bool {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	return l.r.yields
}

// executes reports whether this process executes the run.
func (r *run) executes() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner != nil
}

// Executes implements [journal.Remote].
func (s *Store) Executes(tenant, id string) bool {
	s.mu.Lock()
	r := s.runs[s.nums[name{tenant, id}]]
	s.mu.Unlock()
	return r != nil && r.executes()
}

// Held implements [journal.Store].
func (s *Store) Held(ctx context.Context, tenant, id string) bool {
	row, err := s.row(ctx, name{tenant, id})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[name{tenant, id}] || err == nil && row.State == journal.Running
}

// Close implements [journal.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	clear(s.leases)
	return nil
}
