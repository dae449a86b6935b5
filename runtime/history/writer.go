package history

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// flushAfter is how long a record that nobody waits for may stay in memory. After a
// crash its effect is repeated or asked about, so it is short; but it is longer than a
// few effects, so that they share one flush.
const flushAfter = 50 * time.Millisecond

// flushRemoteAfter is flushAfter for a remote store, where each flush costs as much as many effects.
const flushRemoteAfter = time.Second

// retryAfter is the delay before a failed write is tried again.
const retryAfter = time.Second

// A writer writes the records of all runs to the store. While one transaction is
// flushed, later callers wait, and all of them share the next transaction. A caller
// that finds no active writer writes the queue itself, which is fastest; a goroutine
// writes for the callers that arrive meanwhile, until none waits. A goroutine that has
// written keeps a stack of 32 KB instead of 16 KB, so not each run should write.
type writer struct {
	store  journal.Store
	delay  time.Duration // flushAfter or flushRemoteAfter, but for tests
	frames []byte        // buffer of the active writer for frames

	mu      sync.Mutex
	queue   []*job
	writing bool        // a writer is active or about to be
	closed  error       // why no more jobs are accepted
	timer   *time.Timer // for jobs that nobody waits for, or nil
	timed   time.Duration
}

// A job is a record of a run to write. One without a log is done when all jobs before it are, or if it is timed, those
// before it that are due.
type job struct {
	timed  bool
	log    *Log
	record []byte
	last   bool        // no record of its log may follow
	head   func(*head) // changes the run's head, or nil

	awaited bool
	done    chan struct{} // closed when err is set, if the caller waits for another writer
	err     error
}

// wait writes a job and all before it, and returns when they are durable. It does not
// return early: after an error the caller must be able to rely on the record not being
// there.
func (w *writer) wait(j *job) error {
	w.mu.Lock()
	if err := w.refusal(j); err != nil {
		w.mu.Unlock()
		return err
	}
	if j.last {
		j.log.ending = true
	}
	return w.enqueue(j)
}

// waitAll writes the first record of a run and others of the run in one transaction.
func (w *writer) waitAll(first *job, others [][]byte) error {
	if len(others) == 0 {
		return w.wait(first)
	}
	w.mu.Lock()
	if err := w.refusal(first); err != nil {
		w.mu.Unlock()
		return err
	}
	first.awaited = true // so that it is dropped if it cannot be written
	w.queue = append(w.queue, first)
	for _, r := range others[:len(others)-1] {
		w.queue = append(w.queue, &job{log: first.log, record: r, awaited: true})
	}
	return w.enqueue(&job{log: first.log, record: others[len(others)-1]})
}

// refusal returns why a job is not accepted, or nil. w.mu is held.
func (w *writer) refusal(j *job) error {
	if w.closed == nil && j.record != nil && (j.log.ending || j.log.dropped) {
		return j.log.errClosed()
	}
	return w.closed
}

// enqueue is wait with w.mu held; it unlocks w.mu.
func (w *writer) enqueue(j *job) error {
	j.awaited = true
	if j.log != nil {
		j.log.unknown = time.Time{}
	}
	w.queue = append(w.queue, j)
	if w.writing {
		j.done = make(chan struct{})
		w.mu.Unlock()
		<-j.done
		return j.err
	}
	w.writing = true
	w.mu.Unlock()
	if w.writeQueue() {
		go w.writeOn()
	}
	return j.err
}

// writeOn writes until nobody waits.
func (w *writer) writeOn() {
	for w.writeQueue() {
	}
}

// queueMost is how many records may be queued. Only a full disk causes so many; then
// callers of later wait, and get the error.
const queueMost = 1024

// later writes a record without waiting: with the next job that somebody waits for, or
// after the delay of the writer.
func (w *writer) later(j *job) error {
	w.mu.Lock()
	err := w.refusal(j)
	if err == nil && len(w.queue) >= queueMost {
		return w.enqueue(j)
	}
	defer w.mu.Unlock()
	if err != nil {
		return err
	}
	w.queue = append(w.queue, j)
	if !w.writing {
		w.arm(w.delay)
	}
	return nil
}

// arm writes the queue after a delay, unless that will happen sooner.
func (w *writer) arm(after time.Duration) {
	if w.closed != nil || w.timer != nil && w.timed <= after {
		return
	}
	w.disarm()
	w.timer, w.timed = time.AfterFunc(after, func() { w.flush(&job{timed: true}) }), after
}

func (w *writer) disarm() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// flushAll writes the queued jobs.
func (w *writer) flushAll() error { return w.flush(&job{}) }

// flush writes the queued jobs before one without a log.
func (w *writer) flush(j *job) error {
	w.mu.Lock()
	if w.closed != nil || len(w.queue) == 0 && !w.writing {
		w.disarm() // the timer may have called this
		w.mu.Unlock()
		return nil
	}
	return w.enqueue(j)
}

// take returns the jobs to write now. Runs that nobody knows stay in the queue for a short time: many of them end before it
// is over, and are then written once.
func (w *writer) take() (batch []*job) {
	all := len(w.queue) >= queueMost || slices.ContainsFunc(w.queue, func(j *job) bool { return j.log == nil && !j.timed })
	at, rest := time.Now(), w.queue[:0:0]
	for _, j := range w.queue {
		if !all && j.log != nil && at.Before(j.log.unknown) {
			rest = append(rest, j)
		} else {
			batch = append(batch, j)
		}
	}
	w.queue = rest
	return batch
}

// drop discards the unwritten records of a closed log, and rejects further ones:
// another process may be writing to the run.
func (w *writer) drop(l *Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.dropped = true
	w.queue = slices.DeleteFunc(w.queue, func(j *job) bool { return j.log == l && !j.awaited })
}

// writeQueue writes the queue, and reports whether somebody waits again. Failed jobs
// are dropped if somebody waits, and so gets the error. The rest is kept for the next
// try, so that no outcome is lost to a disk that is full for a while.
func (w *writer) writeQueue() (again bool) {
	w.mu.Lock()
	batch := w.take()
	w.disarm()
	w.mu.Unlock()

	w.write(batch)

	w.mu.Lock()
	var kept []*job
	for _, j := range batch {
		if j.err == nil {
			continue
		}
		if j.last {
			j.log.ending = false
		}
		if !j.awaited && j.log != nil && !j.log.dropped {
			kept = append(kept, j)
		}
	}
	w.queue = append(kept, w.queue...)
	again = slices.ContainsFunc(w.queue, func(j *job) bool { return j.awaited })
	w.writing = again
	switch {
	case again:
	case len(w.queue) > len(kept):
		w.arm(w.delay)
	case len(kept) > 0:
		w.arm(retryAfter)
	}
	w.mu.Unlock()

	for _, j := range batch {
		if j.done != nil {
			close(j.done)
		}
	}
	return again
}

// write writes a batch in one transaction. If that fails because of one run, each run
// is tried separately, so that others are not affected.
func (w *writer) write(batch []*job) {
	units := slices.DeleteFunc(byRun(batch), func(u *unit) bool { return !u.begins() })
	err := w.transact(units)
	alone := false
	switch value.KindOf(err) {
	case value.Conflict, value.Invalid, value.NotFound:
		alone = len(units) > 1
	}
	for _, u := range units {
		if alone {
			err = w.transact([]*unit{u})
		}
		u.end(err)
	}
}

// A unit is the part of a batch for one run.
type unit struct {
	log     *Log
	jobs    []*job
	records int  // how many of the jobs have a record
	head    head // the head of the log after the transaction
	write   journal.Write
}

// begins reports whether the unit can be written. A run that begins with it must be held before others see it, unless it
// ends with it, too.
func (u *unit) begins() bool {
	if u.log == nil || u.log.num.Load() != 0 || u.jobs[len(u.jobs)-1].last {
		return true
	}
	err := u.log.hold()
	if err != nil {
		u.end(err)
	}
	return err == nil
}

// end ends the jobs of the unit.
func (u *unit) end(err error) {
	for _, j := range u.jobs {
		j.err = err
	}
	if u.log != nil {
		u.log.unit = nil
	}
}

// byRun groups jobs by run, in order.
func byRun(batch []*job) []*unit {
	var units []*unit
	var none *unit // without a run
	for _, j := range batch {
		of := &none
		if j.log != nil {
			of = &j.log.unit
		}
		if *of == nil {
			*of = &unit{log: j.log}
			units = append(units, *of)
		}
		u := *of
		u.jobs = append(u.jobs, j)
		if j.record != nil {
			u.records++
		}
	}
	return units
}

// transact writes units in one transaction. It does not return early, see wait.
func (w *writer) transact(units []*unit) error {
	writes := make([]*journal.Write, 0, len(units))
	w.frames = w.frames[:0]
	for _, u := range units {
		if u.records > 0 {
			w.frames = u.prepare(w.frames)
			writes = append(writes, &u.write)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := w.store.Commit(context.Background(), writes); err != nil {
		return err
	}
	if cap(w.frames) > maxFrames {
		w.frames = nil
	}
	for _, u := range units {
		if u.records == 0 {
			continue
		}
		u.log.head = u.head
		u.log.num.Store(u.write.Num)
	}
	return nil
}

// maxFrames is the capacity that is kept for the frames of the next transaction, in
// bytes.
const maxFrames = 1 << 20

// prepare makes the write for one run. It appends the frames to buf: stores copy their
// arguments.
func (u *unit) prepare(buf []byte) []byte {
	u.head = u.log.head
	w := &u.write
	*w = journal.Write{Num: u.log.num.Load()}
	for i, left := 0, u.records; left > 0; {
		start := len(buf)
		buf = openedFrame(buf)
		for ; left > 0 && len(buf)-start < frameMost; i++ {
			j := u.jobs[i]
			if j.record == nil {
				continue
			}
			left--
			buf = append(buf, j.record...)
			if j.head != nil {
				j.head(&u.head)
			}
		}
		frame := buf[start:len(buf):len(buf)]
		last := sealFrame(frame, u.head.frames, u.head.last)
		w.Frames = append(w.Frames, journal.Frame{Seq: u.head.frames, Body: frame})
		u.head.frames, u.head.last = u.head.frames+1, last
	}
	w.Head = u.head.bytes()
	standing := u.head.standing()
	if w.Num == 0 {
		w.New = u.log.run.row(u.log.j.tenant, standing)
	} else if standing != u.log.head.standing() {
		w.Set = &standing
	}
	return buf
}

// row returns a new run as the row of a store.
func (r *Run) row(tenant string, s journal.Standing) *journal.Row {
	return &journal.Row{
		Tenant: tenant, ID: r.ID, Project: r.Project, Kind: r.Kind, Parent: r.Parent, ForkedFrom: r.ForkedFrom, Session: r.Session, Nonce: r.Nonce,
		State: s.State, Wake: s.Wake, Updated: s.Updated, Stuck: s.Stuck,
	}
}

// close writes the queue, and returns when no writer is active.
func (w *writer) close() error {
	w.mu.Lock()
	if w.closed != nil {
		w.mu.Unlock()
		return nil
	}
	w.closed = journal.ErrClosed()
	w.disarm()
	last := &job{}
	err := w.enqueue(last)
	w.mu.Lock()
	left := len(w.queue)
	w.queue = nil
	w.mu.Unlock()
	if err == nil && left > 0 {
		err = value.Errorf(value.Unavailable, "write to the journal: %d records of outcomes were not written", left)
	}
	return err
}
