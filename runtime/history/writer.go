package history

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// flushAfter is how long a record that nobody waits for may stay in memory.
// After a crash its effect is repeated, or asked about, so that is short; and
// longer than a few effects take, so that they share one flush.
const flushAfter = 50 * time.Millisecond

// A writer brings records to disk, those of all runs together: while one
// transaction is flushed, whoever comes next waits, and all who wait are in the
// next one. It has no goroutine of its own: one of those who wait does it for all.
type writer struct {
	conn                      *sql.Conn
	stmts                     []*sql.Stmt // all of these
	begin, commit, rollback   *sql.Stmt
	addRun, addFrame, setHead *sql.Stmt

	mu      sync.Mutex
	queue   []*job
	leading bool        // somebody writes, or is about to
	closed  error       // why nothing more is taken
	timer   *time.Timer // for what nobody waits for
}

// A job is something to write: a record of a run, or anything else. One that is
// empty is done when all before it is.
type job struct {
	log    *Log
	record []byte
	head   func(*head) // how the run's head changes, if it does
	do     func(context.Context, *sql.Conn) error

	turn chan bool // tells who waits that it is done (false) or that he leads now (true); nil if nobody waits
	err  error
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, dbError(err)
	}
	w := &writer{conn: conn}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.addRun, "INSERT INTO runs (id) VALUES (?)"},
		{&w.addFrame, "INSERT INTO frames (at, body) VALUES (?, ?)"},
		{&w.setHead, "INSERT INTO heads (num, body) VALUES (?, ?) ON CONFLICT (num) DO UPDATE SET body = excluded.body"},
	} {
		if *s.stmt, err = conn.PrepareContext(ctx, s.text); err != nil {
			w.giveUp()
			return nil, dbError(err)
		}
		w.stmts = append(w.stmts, *s.stmt)
	}
	return w, nil
}

// wait writes a job and all that came before it, and returns when that is on
// disk. It does not give up early: who is told that a record failed must be able
// to rely on its not being there.
func (w *writer) wait(j *job) error {
	w.mu.Lock()
	if w.closed != nil {
		defer w.mu.Unlock()
		return w.closed
	}
	return w.enqueue(j)
}

// enqueue is wait from where w.mu is held, which it gives up.
func (w *writer) enqueue(j *job) error {
	j.turn = make(chan bool, 1)
	w.queue = append(w.queue, j)
	lead := !w.leading
	w.leading = true
	w.mu.Unlock()
	if lead || <-j.turn {
		w.lead(j)
	}
	return j.err
}

// queueMost is how many records may wait in memory. They are never so many
// unless the disk is full, and whoever has more is made to wait, and so told.
const queueMost = 1024

// later writes a record that nobody waits for: with the next one that somebody
// does wait for, or a little later by itself.
func (w *writer) later(j *job) error {
	w.mu.Lock()
	if w.closed == nil && len(w.queue) >= queueMost {
		return w.enqueue(j)
	}
	defer w.mu.Unlock()
	if w.closed != nil {
		return w.closed
	}
	w.queue = append(w.queue, j)
	if !w.leading {
		w.arm()
	}
	return nil
}

func (w *writer) arm() {
	if w.timer == nil && w.closed == nil {
		w.timer = time.AfterFunc(flushAfter, func() { w.flush() })
	}
}

// flush writes what nobody has waited for.
func (w *writer) flush() error {
	w.mu.Lock()
	if w.closed != nil || len(w.queue) == 0 && !w.leading {
		w.mu.Unlock()
		return nil
	}
	return w.enqueue(&job{})
}

// drop forgets what could not be written of a log that is given up. Whoever
// resumes the run finds it as it is on disk.
func (w *writer) drop(l *Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(j *job) bool { return j.log == l && j.turn == nil })
}

// lead writes what is in the queue, and hands the lead to the first who has
// come meanwhile. What fails is dropped where somebody waits and so is told;
// the rest is kept for the next try, so that no outcome is lost to a full disk
// that is full no more.
func (w *writer) lead(own *job) {
	w.mu.Lock()
	batch := w.queue
	w.queue = nil
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.mu.Unlock()

	w.write(batch)

	w.mu.Lock()
	var kept []*job
	for _, j := range batch {
		if j.err != nil && j.turn == nil && j.log != nil {
			kept = append(kept, j)
		}
	}
	w.queue = append(kept, w.queue...)
	var next *job
	if i := slices.IndexFunc(w.queue, func(j *job) bool { return j.turn != nil }); i >= 0 {
		next = w.queue[i]
	}
	w.leading = next != nil
	if next == nil && len(w.queue) > len(kept) {
		w.arm()
	}
	w.mu.Unlock()

	if next != nil {
		next.turn <- true
	}
	for _, j := range batch {
		if j.turn != nil && j != own {
			j.turn <- false
		}
	}
}

// write carries a batch out in one transaction. Where that fails by what one
// run wanted, each part is tried by itself, so that the trouble of one is not
// that of all.
func (w *writer) write(batch []*job) {
	units := byRun(batch)
	err := w.transact(units)
	alone := false
	switch tool.KindOf(err) {
	case tool.Conflict, tool.Invalid, tool.NotFound:
		alone = len(units) > 1
	}
	for _, u := range units {
		if alone {
			err = w.transact([]*unit{u})
		}
		for _, j := range u.jobs {
			j.err = err
		}
	}
}

// A unit is what a batch holds for one run, or one job of another kind.
type unit struct {
	log  *Log
	jobs []*job
	num  int64 // what the log has come to, once the transaction is through
	head head
}

// writes reports whether there is anything to write.
func (u *unit) writes() bool {
	return slices.ContainsFunc(u.jobs, func(j *job) bool { return j.record != nil || j.do != nil })
}

// byRun sorts jobs by run, in the order in which they came.
func byRun(batch []*job) []*unit {
	var units []*unit
	of := make(map[*Log]*unit)
	for _, j := range batch {
		u := of[j.log]
		if u == nil || j.log == nil {
			u = &unit{log: j.log}
			of[j.log] = u
			units = append(units, u)
		}
		u.jobs = append(u.jobs, j)
	}
	return units
}

// transact writes units in one transaction.
func (w *writer) transact(units []*unit) error {
	ctx := context.Background() // see wait
	if !slices.ContainsFunc(units, (*unit).writes) {
		return nil
	}
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return dbError(err)
	}
	for _, u := range units {
		if err := w.writeUnit(ctx, u); err != nil {
			w.rollback.ExecContext(ctx)
			return err
		}
	}
	if _, err := w.commit.ExecContext(ctx); err != nil {
		w.rollback.ExecContext(ctx) // it may have been rolled back already
		return dbError(err)
	}
	for _, u := range units {
		if u.log != nil {
			u.log.num, u.log.head = u.num, u.head
		}
	}
	return nil
}

// writeUnit writes what is to be written for one run.
func (w *writer) writeUnit(ctx context.Context, u *unit) error {
	if u.log == nil {
		if do := u.jobs[0].do; do != nil {
			return do(ctx, w.conn)
		}
		return nil
	}
	u.num, u.head = u.log.num, u.log.head
	if u.num == 0 {
		r, err := w.addRun.ExecContext(ctx, u.log.run.ID)
		if isDuplicate(err) {
			return tool.Errorf(tool.Conflict, "there is a run '%s' already", u.log.run.ID).
				WithHint("choose another ID")
		}
		if err != nil {
			return dbError(err)
		}
		if u.num, err = r.LastInsertId(); err != nil {
			return dbError(err)
		}
	}
	jobs := slices.DeleteFunc(slices.Clone(u.jobs), func(j *job) bool { return j.record == nil })
	if len(jobs) == 0 {
		return nil
	}
	for len(jobs) > 0 {
		n, size := 0, 0
		var records [][]byte
		for ; n < len(jobs) && size < frameMost; n++ {
			records = append(records, jobs[n].record)
			size += len(jobs[n].record)
			if change := jobs[n].head; change != nil {
				change(&u.head)
			}
		}
		jobs = jobs[n:]
		frame := makeFrame(u.head.frames, u.head.last, records)
		if _, err := w.addFrame.ExecContext(ctx, frameAt(u.num, u.head.frames), frame); err != nil {
			return frameError(u.log, err)
		}
		u.head.frames, u.head.last = u.head.frames+1, sum(frame[:len(sum{})])
	}
	if _, err := w.setHead.ExecContext(ctx, u.num, u.head.bytes()); err != nil {
		return dbError(err)
	}
	return nil
}

func frameError(l *Log, err error) error {
	if isDuplicate(err) {
		return tool.Errorf(tool.Conflict, "somebody else wrote into the record of run '%s'", l.run.ID).
			WithHint("its lock was removed by hand: let one process alone run it")
	}
	return dbError(err)
}

// frameAt is the key of a frame.
func frameAt(num, seq int64) int64 { return num<<32 | seq }

// close writes what is left, and returns when nobody writes any more.
func (w *writer) close() error {
	w.mu.Lock()
	if w.closed != nil {
		w.mu.Unlock()
		return nil
	}
	w.closed = errClosed()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	last := &job{}
	err := w.enqueue(last)
	w.mu.Lock()
	left := len(w.queue)
	w.queue = nil
	w.mu.Unlock()
	if err == nil && left > 0 {
		err = tool.Errorf(tool.Unavailable, "%d records of outcomes could not be written", left)
	}
	return errors.Join(err, w.giveUp())
}

// giveUp closes what the writer has open. A statement left open would keep the
// database from putting its log away.
func (w *writer) giveUp() error {
	for _, s := range w.stmts {
		s.Close()
	}
	return w.conn.Close()
}

func errClosed() error {
	return tool.Errorf(tool.Unavailable, "the journal is closed")
}
