// Package history records what a run did, so that it can be resumed, replayed, audited and undone.
//
// A [Journal] keeps the records of runs in a [journal.Store]. [Journal.Begin]
// opens the [Log] of a new run and [Journal.Resume] that of one that was
// interrupted or parked. For each effect a Log takes an [Intent] before it and
// its outcome after it, by the effect's step in the run. Whoever executes the
// script again asks [Record] first, and does only what has no answer there.
//
// What is promised: an intent of an effect that writes or acts beyond the
// project is durable when [Log.Intend] returns, so that effect is never done
// unrecorded; an outcome is durable before the next such intent is. One Log at a
// time holds a run, over all processes, until that Log or its process ends.
// Many runs share one flush. What was recorded is read back exactly or reported
// as damaged, with the run and the step; what came before the damage, and every
// other run, stays readable. Nothing is repaired, or deleted without being asked
// for.
//
// What is not: checksums find damage, not forgery. A run that was reset to an
// earlier state together with its database cannot be distinguished from one that had
// come no further. Values are kept as they are given: keeping secrets out is
// the caller's task.
package history

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Journal holds the records of one tenant's runs. Its methods may be called
// from many goroutines, and many processes may have the same store open.
type Journal struct {
	*shared
	tenant string
}

// shared is what the journals of all tenants of a store share.
type shared struct {
	store   journal.Store
	version string
	clock   clock
	w       *writer

	mu   sync.Mutex
	logs map[*Log]bool // that hold a lease
}

// Options of a journal. Nil is fine.
type Options struct {
	Version string // of the program that records, as it is noted with each run
	// Clock gives the times that are recorded, and by which runs are old or due. It
	// is called concurrently. Nil means time.Now.
	Clock func() time.Time
}

// Open returns the journal of the runs in a store, those of the tenant "". The
// caller closes the store, after the journal.
func Open(s journal.Store, o *Options) *Journal {
	if o == nil {
		o = &Options{}
	}
	return &Journal{shared: &shared{store: s, version: utf8Text(o.Version), clock: o.Clock, w: &writer{store: s}, logs: map[*Log]bool{}}}
}

// Tenant returns the journal of a tenant's runs in the same store. It is closed
// with the journal that it was made from.
func (j *Journal) Tenant(name string) *Journal { return &Journal{j.shared, name} }

// Close writes what is left, waits for those who write, and gives up the runs
// of this Journal as they are: they can be resumed. The journal, those of other
// tenants that share it, and its logs cannot be used any more.
func (j *Journal) Close() error {
	err := j.w.close()
	j.mu.Lock()
	logs := j.logs
	j.logs = nil
	j.mu.Unlock()
	for l := range logs {
		l.shut(journal.ErrClosed())
	}
	return err
}

// Begin records a new run, which must have a kind, and returns its log. r.ID
// may be empty; then it gets one. The fields of r for the state of the run
// are ignored. s is what the run executes: it is kept with what it loads, so
// that a later edit does not break the run. Begin fails with Conflict if the
// tenant has a run of that ID.
func (j *Journal) Begin(ctx context.Context, r Run, s tool.Script) (*Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, value.AsError(err, value.Canceled)
	}
	if r.ID == "" {
		r.ID = newID(j.clock.now())
	}
	if !journal.ValidID(r.ID) {
		return nil, value.Errorf(value.Invalid, "%q cannot be the ID of a run", value.Clean(r.ID, 80)).
			WithHint("use up to 64 letters, digits, - and _")
	}
	if r.Kind == "" {
		return nil, value.Errorf(value.Invalid, "a run needs a kind")
	}
	sum := s.Sum()
	if s.Hash == sum {
		sum = s.Hash // the runs of a script share it
	}
	r = Run{ID: r.ID, Project: utf8Text(r.Project), Kind: utf8Text(r.Kind), Title: utf8Text(r.Title), Parent: r.Parent, ForkedFrom: r.ForkedFrom, Session: utf8Text(r.Session),
		Args: r.Args, Options: r.Options, Version: j.version, Script: sum, Nonce: rand.Text(), Started: j.clock.now()}
	rec := newRecorder(j.store, j.clock)
	rec.put(int64(codecVersion), r.ID, r.Kind, r.Title, r.Version, r.Script, nanos(r.Started), orNil(r.Args), orNil(r.Options),
		value.Tuple{j.tenant, r.Project, r.Parent, r.ForkedFrom, r.Nonce, r.Session})
	rec.field(s.Value(), -1) // as a blob: many runs have the same
	record, err := rec.record(runBegun)
	if err != nil {
		return nil, err
	}
	lease, err := j.store.Acquire(ctx, j.tenant, r.ID)
	if err != nil {
		return nil, err
	}
	l := &Log{j: j, run: r, script: s, lease: lease, steps: map[string]*step{}}
	l.script.Hash = r.Script
	if err := j.w.wait(&job{log: l, record: record, head: func(h *head) { h.updated = r.Started }}); err != nil {
		_ = lease.Release() // nothing was recorded
		return nil, err
	}
	return j.keep(l)
}

// keep notes that a log is open, so that Close finds it.
func (j *Journal) keep(l *Log) (*Log, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.logs == nil {
		_ = l.lease.Release() // the run stays as it is recorded
		return nil, journal.ErrClosed()
	}
	j.logs[l] = true
	return l, nil
}

// Resume opens the log of a run that has not ended. It fails with NotFound if
// there is none, with Conflict if it has ended or another Log holds it, here or
// in another process, with Unavailable if another version of cassidy recorded
// it, and with Failed if its record is damaged, for then it is not known what it
// has done.
func (j *Journal) Resume(ctx context.Context, id string) (*Log, error) {
	if _, err := j.find(ctx, id); err != nil {
		return nil, err
	}
	lease, err := j.store.Acquire(ctx, j.tenant, id)
	if err != nil {
		if r, e := j.Run(ctx, id); e == nil && r.State.Ended() { // and is being undone
			err = errEnded(id, r.State)
		}
		return nil, err
	}
	l, err := j.resume(ctx, id)
	if err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	l.lease = lease
	return j.keep(l)
}

func errEnded(id string, s State) error {
	return value.Errorf(value.Conflict, "the run '%s' has ended: %s", id, s).
		WithHint("cassidy runs show %s, or cassidy runs replay %s", id, id)
}

// Hold keeps everybody else from holding a run, which may have ended, until release
// is called. It fails with Conflict while a Log or another Hold has it, here or in
// another process.
func (j *Journal) Hold(ctx context.Context, id string) (release func(), err error) {
	if _, err := j.find(ctx, id); err != nil {
		return nil, err
	}
	lease, err := j.store.Acquire(ctx, j.tenant, id)
	if err != nil {
		return nil, err
	}
	return func() { _ = lease.Release() }, nil // it ends with the process at the latest
}

// Held reports whether a Log or a Hold has a run now, here or in another process. A run
// in the state Running that nobody holds was interrupted.
func (j *Journal) Held(id string) bool {
	return j.store.Held(context.Background(), j.tenant, id)
}

// Read opens the log of a run, in any state and whoever holds it, to look
// at: it returns what was recorded, and takes nothing more. It fails with
// NotFound if there is no such run, with Unavailable if another version of
// cassidy recorded it, and with Failed if its record is damaged.
func (j *Journal) Read(ctx context.Context, id string) (*Log, error) {
	h, err := j.history(ctx, id)
	if err == nil {
		err = h.damage
	}
	if err != nil {
		return nil, err
	}
	script, err := h.script()
	if err != nil {
		return nil, damaged(id, "its script", err)
	}
	return &Log{j: j, run: h.run, script: script, steps: h.steps, num: h.num, head: h.head, seen: h.lastMessage(), lastEvent: h.lastEvent(),
		why: value.Errorf(value.Internal, "the log of run '%s' was opened to be read", id)}, nil
}

func (j *Journal) resume(ctx context.Context, id string) (*Log, error) {
	l, err := j.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	if l.head.state.Ended() {
		return nil, errEnded(id, l.head.state)
	}
	if l.head.state == Running { // what its process had not written yet is lost
		l.lastEvent += seqGap
	}
	l.run.State, l.run.Reason, l.run.Wake, l.why = Running, "", time.Time{}, nil
	at := j.clock.now()
	rec := newRecorder(j.store, j.clock)
	rec.resumed(j.version, at)
	record, err := rec.record(runResumed)
	if err != nil {
		return nil, err
	}
	return l, j.w.wait(&job{log: l, record: record, head: func(h *head) { h.stand(Running, at) }})
}
