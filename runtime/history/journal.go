// Package history records what a run did, so that it can be resumed, replayed, audited
// and undone.
//
// A [Journal] keeps the records of runs in a [journal.Store]. [Journal.Begin] opens the
// [Log] of a new run, and [Journal.Resume] that of a run that was interrupted or parked.
// A Log records an [Intent] before each effect and its outcome after it, by the effect's
// step in the run. Before it executes an effect again, a host calls [Record.Recall], and
// skips effects with a recorded outcome.
//
// Guarantees: an intent of an effect that writes or acts beyond the project is durable
// when [Log.Intend] returns, so such an effect never happens unrecorded. An outcome is
// durable before the next such intent is. One Log at a time holds a run, across all
// processes, until that Log or its process ends. Many runs share one flush. Records are
// read back exactly or reported as damaged, with the run and the step; everything before
// the damage, and every other run, stays readable. Nothing is repaired, and nothing is
// deleted unless requested.
//
// Not guaranteed: whoever can write the store can make another record with valid hashes, or
// reset a run to an earlier state. [Journal.Verify] finds that only by a head that was kept
// elsewhere. Values are stored unchanged: callers must redact secrets.
package history

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Journal holds the records of one tenant's runs. Its methods are safe for concurrent
// use, and several processes may open the same store.
type Journal struct {
	*shared
	tenant string
}

// shared is the part that the journals of all tenants of a store share.
type shared struct {
	store   journal.Store
	remote  journal.Remote // the store, if it is one
	version string
	clock   clock
	w       *writer // of all runs; those of a remote store have one each, as they share no transaction

	mu   sync.Mutex
	logs map[*Log]bool // the open logs
}

// Options configure a journal. Nil means the zero value.
type Options struct {
	// Version is that of the recording program, which is stored with each run. An empty one is the
	// version of this module in the program.
	Version string
	// Clock returns the current time. It is called
	// concurrently. Nil means time.Now.
	Clock func() time.Time
}

// Open returns the journal of the tenant "" in a store. The caller closes the store,
// after the journal.
func Open(s journal.Store, o *Options) *Journal {
	if o == nil {
		o = &Options{}
	}
	remote, _ := s.(journal.Remote)
	w := &writer{store: s, delay: flushAfter}
	return &Journal{shared: &shared{store: s, remote: remote, version: utf8Text(cmp.Or(o.Version, moduleVersion())), clock: o.Clock, w: w, logs: map[*Log]bool{}}}
}

// writer returns the writer of a run that is opened.
func (s *shared) writer() *writer {
	if s.remote == nil {
		return s.w
	}
	return &writer{store: s.store, delay: flushRemoteAfter}
}

// flush writes what is pending of a run, or of all runs for "". If that fails, stored records can still be read.
func (j *Journal) flush(id string) {
	if j.remote == nil {
		_ = j.w.flushAll()
		return
	}
	j.mu.Lock()
	var own []*writer
	for l := range j.logs {
		if l.run.ID == id && l.j.tenant == j.tenant {
			own = append(own, l.w)
		}
	}
	j.mu.Unlock()
	for _, w := range own {
		_ = w.flushAll()
	}
}

// Elsewhere reports whether others execute a run, as its store is a [journal.Remote]: then this process only begins and
// watches it. For "" it is a run that is to begin.
func (j *Journal) Elsewhere(id string) bool {
	return j.remote != nil && (id == "" || !j.remote.Executes(j.tenant, id))
}

// Wake has a run tried again that others execute, see [Journal.Elsewhere].
func (j *Journal) Wake(ctx context.Context, id string) error { return j.remote.Wake(ctx, j.tenant, id) }

// moduleVersion returns the version of this module in the running program, or "".
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/cassidy-run/cassidy" {
			return m.Version
		}
	}
	return ""
}

// Tenant returns the journal of a tenant's runs in the same store. It is closed with its parent journal.
func (j *Journal) Tenant(name string) *Journal { return &Journal{j.shared, name} }

// Close writes pending records, waits for writers, and releases the runs of this
// Journal in their state: they can be resumed. Afterwards the journal, those of other
// tenants that share it, and its logs cannot be used.
func (j *Journal) Close() error {
	err := j.w.close()
	j.mu.Lock()
	logs := j.logs
	j.logs = nil
	j.mu.Unlock()
	for l := range logs {
		if l.w != j.w {
			err = cmp.Or(err, l.w.close())
		}
		l.shut(journal.ErrClosed())
	}
	return err
}

// Begin records a new run, which must have a kind, and returns its log. An empty r.ID
// is replaced by a new ID. The fields of r for the state of the run are ignored. s is
// the script of the run: it is stored with the files that it loads, so that later edits
// do not affect the run. Begin fails with Conflict if the tenant has a run with that
// ID.
func (j *Journal) Begin(ctx context.Context, r Run, s tool.Script) (*Log, error) {
	if err := j.complete(ctx, &r); err != nil {
		return nil, err
	}
	return j.begin(ctx, r, s)
}

// BeginSoon is Begin for a run whose ID nobody else can know, and does not wait until the run is durable. Its beginning is
// stored with the first record that somebody waits for, or shortly afterwards, or before somebody looks for the run
// with this Journal. From then on it is held. A run that ends earlier is stored in one transaction, and needs no lease.
func (j *Journal) BeginSoon(ctx context.Context, r Run, s tool.Script) (*Log, error) {
	if err := j.complete(ctx, &r); err != nil {
		return nil, err
	}
	l, first, err := j.beginning(r, s)
	if err != nil {
		return nil, err
	}
	l.unknown = time.Now().Add(j.w.delay)
	if err := l.w.later(first); err != nil {
		return nil, err
	}
	return j.keep(l)
}

// complete checks the fields of a run that begins, and sets those that the journal decides.
func (j *Journal) complete(ctx context.Context, r *Run) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	if r.Kind == "" {
		return value.Errorf(value.Invalid, "the kind of the run is missing")
	}
	if r.ID == "" {
		r.ID = newID(j.clock.now())
	}
	r.Nonce, r.Version, r.Started = rand.Text(), j.version, j.clock.now()
	return nil
}

// begin is Begin for a run with a nonce, a version and a start time. The records of steps are
// stored together with its beginning.
func (j *Journal) begin(ctx context.Context, r Run, s tool.Script, steps ...[]byte) (*Log, error) {
	l, first, err := j.beginning(r, s)
	if err != nil {
		return nil, err
	}
	if l.lease, err = j.store.Acquire(ctx, j.tenant, r.ID); err != nil {
		return nil, err
	}
	if err := l.w.waitAll(first, steps); err != nil {
		_ = l.lease.Release() // nothing was recorded
		return nil, err
	}
	return j.keep(l)
}

// beginning returns the log of a run that begins, and its first record.
func (j *Journal) beginning(r Run, s tool.Script) (*Log, *job, error) {
	if !journal.ValidID(r.ID) {
		return nil, nil, journal.ErrInvalidID(r.ID)
	}
	sum := s.Sum()
	if s.Hash == sum {
		sum = s.Hash // shared by all runs of the script
	}
	r = Run{ID: r.ID, Project: utf8Text(r.Project), Kind: utf8Text(r.Kind), Title: utf8Text(r.Title), Parent: r.Parent, ForkedFrom: r.ForkedFrom, Session: utf8Text(r.Session),
		Args: r.Args, Options: r.Options, Version: r.Version, Script: sum, Nonce: r.Nonce, Started: r.Started}
	rec := newRecorder(j.store, j.clock)
	rec.put(int64(codecVersion))
	rec.pack(&beginHead{j.tenant, r.ID, r.Kind, r.Title, r.Version, r.Script, nanos(r.Started), r.Project, r.Parent, r.ForkedFrom, r.Nonce, r.Session})
	rec.put(orNil(r.Args), orNil(r.Options))
	most := -1 // as a blob: many runs have the same script
	if s.Source == "" || j.remote != nil {
		most = inlineMost // of a call, which has none; and whoever executes a remote run may not have the blobs
	}
	rec.field(s.Value(), most)
	record, err := rec.record(runBegun)
	if err != nil {
		return nil, nil, err
	}
	l := &Log{j: j, w: j.writer(), run: r, script: s, steps: map[string]*step{}}
	l.script.Hash = r.Script
	return l, &job{log: l, record: record, head: func(h *head) { h.updated = r.Started }}, nil
}

// keep registers an open log, so that Close finds it.
func (j *Journal) keep(l *Log) (*Log, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.logs == nil {
		if l.lease != nil {
			_ = l.lease.Release() // the recorded run stays
		}
		return nil, journal.ErrClosed()
	}
	j.logs[l] = true
	return l, nil
}

// Resume opens the log of a run that has not ended. A run that is to be cancelled ends here, whoever resumes
// it: the process that was asked to end it may not have seen the request. It fails with NotFound if there is
// no such run, with Conflict if the run has ended or another Log holds it, here or in
// another process, with Unavailable if another version of cassidy recorded it, and with
// Failed if its record is damaged: then it is unknown what the run has done, and the run is
// [Stuck]. A run that is stuck is tried again.
func (j *Journal) Resume(ctx context.Context, id string) (*Log, error) {
	l, err := j.acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	wanted, err := l.CancelRequested(ctx)
	if wanted {
		err = cmp.Or(l.cancel(ctx), errEnded(id, Cancelled))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// acquire opens the log of a run that has not ended.
func (j *Journal) acquire(ctx context.Context, id string) (*Log, error) {
	num, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	lease, err := j.store.Acquire(ctx, j.tenant, id)
	if err != nil {
		if r, e := j.Run(ctx, id); e == nil && r.State.Ended() { // and is being undone
			err = errEnded(id, r.State)
		}
		return nil, err
	}
	l, err := j.resume(ctx, id, num)
	if err != nil {
		_ = j.stickDamaged(ctx, id, err) // err is more important
		return nil, errors.Join(err, lease.Release())
	}
	l.lease = lease
	return j.keep(l)
}

func errEnded(id string, s State) error {
	return value.Errorf(value.Conflict, "the run '%s' has ended: %s", id, s).
		WithHint("to see the steps: cassidy runs show %s; to repeat the run from its record: cassidy runs replay %s", id, id)
}

// Hold acquires a run, which may have ended, until release is called. It fails with
// Conflict while a Log or another Hold has it, here or in another process.
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
// in the state Running that is not held was interrupted.
func (j *Journal) Held(id string) bool {
	return j.store.Held(context.Background(), j.tenant, id)
}

// CheckWrite fails if the store cannot be written at all, such as one that is open for reading only. It writes a few bytes,
// the same each time.
func (j *Journal) CheckWrite(ctx context.Context) error {
	data := []byte("the journal can be written\n")
	return j.store.PutBlob(ctx, tool.HashBytes(data), data)
}

// Read opens the log of a run for reading, in any state, even if it is held. It returns
// what was recorded, and accepts no records. It fails with NotFound if there is no such
// run, with Unavailable if another version of cassidy recorded it, and with Failed if
// its record is damaged.
func (j *Journal) Read(ctx context.Context, id string) (*Log, error) {
	num, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return j.read(ctx, id, num)
}

// read is Read for a run whose number is known.
func (j *Journal) read(ctx context.Context, id string, num int64) (*Log, error) {
	h, err := j.load(ctx, id, num)
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
	l := &Log{j: j, w: j.writer(), run: h.run, script: script, steps: h.steps, head: h.head, lastEvent: h.lastEvent(),
		why: value.Errorf(value.Internal, "write to the log of run '%s': the log is read-only", id)}
	l.num.Store(h.num)
	return l, nil
}

func (j *Journal) resume(ctx context.Context, id string, num int64) (*Log, error) {
	l, err := j.read(ctx, id, num)
	if err != nil {
		return nil, err
	}
	if l.head.state.Ended() {
		return nil, errEnded(id, l.head.state)
	}
	if l.head.state == Running { // unwritten records of the dead process are lost
		l.lastEvent += seqGap
	}
	if Repair(l.run.Reason) != "" && !l.run.Wake.IsZero() {
		l.waited = l.run.Wake.Sub(l.head.updated)
	}
	if l.run.Reason != Queued { // by which it is known that the run only begins
		l.run.Reason = ""
	}
	l.run.State, l.run.Wake, l.run.Stuck, l.why = Running, time.Time{}, "", nil
	at := j.clock.now()
	rec := newRecorder(j.store, j.clock)
	rec.resumed(j.version, at)
	record, err := rec.record(runResumed)
	if err != nil {
		return nil, err
	}
	return l, l.w.wait(&job{log: l, record: record, head: func(h *head) { h.stand(Running, at) }})
}
