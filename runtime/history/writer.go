package history

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// flushAfter is how long a record that nobody waits for may stay in memory.
// After a crash its effect is repeated, or asked about, so that is short; and
// longer than a few effects take, so that they share one flush.
const flushAfter = 50 * time.Millisecond

// retryAfter is when what could not be written is tried again.
const retryAfter = time.Second

// A writer brings records to the store, those of all runs together: while one
// transaction is flushed, whoever comes next waits, and all who wait are in the
// next one. A caller that finds no writer writes the queue itself, which is fastest; a
// goroutine writes for those that come meanwhile, until nobody waits.
type writer struct {
	store  journal.Store
	frames []byte // where the leader makes frames

	mu      sync.Mutex
	queue   []*job
	writing bool        // somebody writes, or is about to
	closed  error       // why nothing more is taken
	timer   *time.Timer // for what nobody waits for, or nil
	timed   time.Duration
}

// A job is a record of a run to write. An empty one is done when all before it
// is.
type job struct {
	log    *Log
	record []byte
	last   bool        // nothing of its log may follow it
	head   func(*head) // how the run's head changes, if it does

	awaited bool
	done    chan struct{} // closed when err is known, where somebody waits for another to write
	err     error
}

// wait writes a job and all that came before it, and returns when that is on
// disk. It does not give up early: who gets an error must be able to rely on its
// not being there.
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

// refusal returns why a job is not taken, or nil. w.mu is held.
func (w *writer) refusal(j *job) error {
	if w.closed == nil && j.record != nil && (j.log.ending || j.log.dropped) {
		return j.log.errClosed()
	}
	return w.closed
}

// enqueue is wait from where w.mu is held, which it gives up.
func (w *writer) enqueue(j *job) error {
	j.awaited = true
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

// queueMost is how many records may wait in memory. They are never so many
// unless the disk is full, and whoever has more waits, and so gets the error.
const queueMost = 1024

// later writes a record that nobody waits for: with the next one that somebody
// does wait for, or a little later by itself.
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
		w.arm(flushAfter)
	}
	return nil
}

// arm has the queue written by itself after a time, unless it will be sooner.
func (w *writer) arm(after time.Duration) {
	if w.closed != nil || w.timer != nil && w.timed <= after {
		return
	}
	w.disarm()
	w.timer, w.timed = time.AfterFunc(after, func() { w.flush() }), after
}

func (w *writer) disarm() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// flush writes what nobody has waited for.
func (w *writer) flush() error {
	w.mu.Lock()
	if w.closed != nil || len(w.queue) == 0 && !w.writing {
		w.disarm() // the timer may have called this
		w.mu.Unlock()
		return nil
	}
	return w.enqueue(&job{})
}

// drop forgets what could not be written of a log that is closed, and takes no
// more of it: somebody else may be writing to the run.
func (w *writer) drop(l *Log) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.dropped = true
	w.queue = slices.DeleteFunc(w.queue, func(j *job) bool { return j.log == l && !j.awaited })
}

// writeQueue writes what is in the queue, and reports whether somebody waits
// again. What fails is dropped where somebody waits and so gets the error; the rest
// is kept for the next try, so that no outcome is lost to a full disk that is full
// no more.
func (w *writer) writeQueue() (again bool) {
	w.mu.Lock()
	batch := w.queue
	w.queue = nil
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
		w.arm(flushAfter)
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

// write carries a batch out in one transaction. Where that fails by what one
// run wanted, each part is tried by itself, so that the trouble of one is not
// that of all.
func (w *writer) write(batch []*job) {
	units := byRun(batch)
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
		for _, j := range u.jobs {
			j.err = err
		}
		if u.log != nil {
			u.log.unit = nil
		}
	}
}

// A unit is what a batch holds for one run.
type unit struct {
	log     *Log
	jobs    []*job
	records int  // how many of the jobs have one
	head    head // what the log has come to, once the transaction is through
	write   journal.Write
}

// byRun sorts jobs by run, in the order in which they came.
func byRun(batch []*job) []*unit {
	var units []*unit
	var none *unit // of no run
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

// transact writes units in one transaction. It does not give up early, see wait.
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
		if u.log.head = u.head; u.log.num == 0 { // before anybody else has the log
			u.log.num = u.write.Num
		}
	}
	return nil
}

// maxFrames is how many bytes are kept for the frames of the next transaction.
const maxFrames = 1 << 20

// prepare makes what is to be written for one run. It appends the frames to
// buf: a store copies what it is given.
func (u *unit) prepare(buf []byte) []byte {
	u.head = u.log.head
	w := &u.write
	*w = journal.Write{Num: u.log.num}
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

// row is a new run as a store keeps it.
func (r *Run) row(tenant string, s journal.Standing) *journal.Row {
	return &journal.Row{
		Tenant: tenant, ID: r.ID, Project: r.Project, Kind: r.Kind, Parent: r.Parent, ForkedFrom: r.ForkedFrom, Session: r.Session, Nonce: r.Nonce,
		State: s.State, Wake: s.Wake, Updated: s.Updated,
	}
}

// close writes what is left, and returns when nobody writes any more.
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
		err = value.Errorf(value.Unavailable, "%d records of outcomes could not be written", left)
	}
	return err
}
