// Package history records what a run did, so that it can be resumed, replayed, audited and undone.
//
// A [Journal] is a folder: journal.db, an SQLite database, and beside it the
// values that are too large for one. [Journal.Begin] opens the [Log] of a new run
// and [Journal.Resume] that of one that was interrupted or parked. For each
// effect a Log takes an [Intent] before it and its outcome after it, by the
// effect's place in the run. Whoever runs the script again asks
// [Log.Recorded] first, and does only what has no answer there.
//
// What is promised: an intent of an effect that writes or acts beyond the
// project is on disk when [Log.Intend] returns, so that effect is never done
// unrecorded; an outcome is on disk before the next such intent is. A run is in
// the hands of one Log at a time, over all processes, until that Log or its
// process ends. Many runs share one flush. What was recorded is read back
// exactly or reported as damaged, with the run and the step; what came before
// the damage, and every other run, stays readable. Nothing is ever repaired or
// deleted unasked.
//
// What is not: checksums find damage, not forgery. A run that was cut back to an
// earlier state as a whole, database and all, cannot be told from one that had
// come no further. Values are kept as they are given: a secret is the caller's
// to leave out.
package history

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Journal holds the records of runs. Its methods may be called from many
// goroutines, and many processes may have the same folder open.
type Journal struct {
	dir     string
	version string
	db      *sql.DB
	w       *writer
	blobs   *blobs
	damage  error // of the database, which is then only read

	mu   sync.Mutex
	logs map[*Log]bool // that hold a lock
}

// Options of a journal. Nil is fine.
type Options struct {
	Version string // of the program that records, as it is noted with each run
}

// Open opens the journal in a folder, and makes what is missing, for its owner
// alone. It fails with Unavailable for a folder that cannot be written and for a
// journal of a newer cassidy, with Invalid for a database of something else,
// and with Failed where the database is too damaged to be read at all. Of one
// that is damaged so that nothing more may be recorded, it opens what can be
// read: [Journal.Runs] says so, and whatever would record fails. It never deletes
// or replaces what it finds.
func Open(dir string, o *Options) (*Journal, error) {
	if o == nil {
		o = &Options{}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, ioError("open the journal", err)
	}
	j := &Journal{dir: dir, version: utf8Text(o.Version), blobs: &blobs{dir: filepath.Join(dir, "blobs")}, logs: map[*Log]bool{}}
	for _, d := range []string{j.blobs.dir, j.lockDir()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, ioError("open the journal", err)
		}
	}
	switch err = j.open(context.Background()); {
	case err == nil:
		return j, nil
	case !isDamage(err):
		return nil, err
	}
	db, e := openToRead(context.Background(), j.file())
	if e != nil {
		return nil, err
	}
	j.db, j.damage, j.w = db, err, &writer{closed: err}
	return j, nil
}

func (j *Journal) file() string { return filepath.Join(j.dir, "journal.db") }

// open opens the database to record in it.
func (j *Journal) open(ctx context.Context) (err error) {
	if j.db, err = openDB(j.file(), toWrite); err != nil {
		return err
	}
	if err = migrate(ctx, j.db, migrations()); err == nil {
		j.w, err = newWriter(ctx, j.db)
	}
	if err == nil {
		// The names of the database's files are to last as long as what is in them.
		if e := syncDir(j.dir); e != nil {
			j.w.giveUp()
			err = ioError("open the journal", e)
		}
	}
	if err != nil {
		j.db.Close()
	}
	return err
}

func (j *Journal) lockDir() string { return filepath.Join(j.dir, "runs") }

// Close writes what is left, waits for those who write, and gives up the runs
// of this Journal as they are: they can be resumed. The journal and its logs
// cannot be used any more.
func (j *Journal) Close() error {
	err := j.w.close()
	j.mu.Lock()
	logs := j.logs
	j.logs = nil
	j.mu.Unlock()
	for l := range logs {
		l.shut(errClosed())
	}
	return errors.Join(err, j.db.Close())
}

// Begin records a new run, which must have a kind, and returns its log. r.ID
// may be empty; then it gets one. The fields of r that tell what came of the
// run are of no account. s is what the run executes: it is kept with what it
// loads, so that a later edit does not break the run. Begin fails with Conflict
// if there is a run of that ID.
func (j *Journal) Begin(ctx context.Context, r Run, s tool.Script) (*Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, tool.AsError(err, tool.Canceled)
	}
	if r.ID == "" {
		r.ID = newID()
	}
	if !validID(r.ID) {
		return nil, tool.Errorf(tool.Invalid, "%q cannot be the ID of a run", tool.Clean(r.ID, 80)).
			WithHint("use up to 64 letters, digits, - and _")
	}
	if r.Kind == "" {
		return nil, tool.Errorf(tool.Invalid, "a run without a kind")
	}
	r = Run{ID: r.ID, Kind: r.Kind, Title: utf8Text(r.Title), Args: r.Args, Options: r.Options, Version: j.version, Script: s.Sum(), Started: now()}
	rec := &recorder{blobs: j.blobs}
	rec.put(r.ID, r.Kind, r.Title, r.Version, r.Script, nanos(r.Started), orNil(r.Args), orNil(r.Options))
	rec.field(s.Value(), -1) // beside the database: many runs have the same
	record, err := rec.record(runBegun)
	if err != nil {
		return nil, err
	}
	lock, err := lockRun(j.lockDir(), r.ID)
	if err != nil {
		return nil, err
	}
	l := &Log{j: j, run: r, script: s, lock: lock, steps: map[string]*step{}}
	l.script.Hash = r.Script
	if err := j.w.wait(&job{log: l, record: record}); err != nil {
		lock.release()
		return nil, err
	}
	return j.keep(l)
}

// keep notes that a log is open, so that Close finds it.
func (j *Journal) keep(l *Log) (*Log, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.logs == nil {
		l.lock.release()
		return nil, errClosed()
	}
	j.logs[l] = true
	return l, nil
}

// Resume opens the log of a run that has not ended. It fails with NotFound if
// there is none, with Conflict if it has ended or is in the hands of another
// Log, here or in another process, and with Failed if its record is damaged,
// for then nobody knows what it has done.
func (j *Journal) Resume(ctx context.Context, id string) (*Log, error) {
	if !validID(id) {
		return nil, noRun(id)
	}
	if _, err := j.find(ctx, id); err != nil {
		return nil, err
	}
	lock, err := lockRun(j.lockDir(), id)
	if err != nil {
		return nil, err
	}
	l, err := j.resume(ctx, id)
	if err != nil {
		lock.release()
		return nil, err
	}
	l.lock = lock
	return j.keep(l)
}

// InHand reports whether somebody has a run in hand now, here or in another
// process. One that is running and in nobody's hands was broken off.
func (j *Journal) InHand(id string) bool {
	l, err := tryLock(filepath.Join(j.lockDir(), id+".lock"))
	if err == nil {
		l.release()
	}
	return errors.Is(err, errHeld)
}

// Read opens the log of a run, however it stands and in whoever's hands it is, to
// look at: it says what was recorded, and takes nothing more. It fails with
// NotFound if there is no such run, and with Failed if its record is damaged.
func (j *Journal) Read(ctx context.Context, id string) (*Log, error) {
	h, err := j.history(ctx, id)
	if err == nil {
		err = h.damage
	}
	if err != nil {
		return nil, err
	}
	script, err := h.script(j.blobs.get)
	if err != nil {
		return nil, damaged(id, "its script", err)
	}
	return &Log{j: j, run: h.run, script: script, steps: h.steps, num: h.num, head: h.head,
		why: tool.Errorf(tool.Internal, "the log of run '%s' was opened to be read", id)}, nil
}

func (j *Journal) resume(ctx context.Context, id string) (*Log, error) {
	l, err := j.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	if l.head.state.Ended() {
		return nil, tool.Errorf(tool.Conflict, "the run '%s' has ended: %s", id, l.head.state).
			WithHint("cassidy runs show %s, or cassidy runs replay %s", id, id)
	}
	l.run.State, l.run.Reason, l.why = Running, "", nil
	rec := &recorder{blobs: j.blobs}
	rec.put(j.version, nanos(now()))
	record, err := rec.record(runResumed)
	if err != nil {
		return nil, err
	}
	return l, j.w.wait(&job{log: l, record: record, head: func(h *head) { h.state = Running }})
}
