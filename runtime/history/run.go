package history

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Run is one execution of a script, as it is recorded. Times are in UTC.
type Run struct {
	ID         string
	Project    string      // the folder that it works on, or ""
	Kind       string      // task, chat, run, tool or undo
	Title      string      // for people
	Parent     string      // the ID of the run that started it, or ""
	ForkedFrom string      // the ID of the run whose record it continues, or ""
	Session    string      // the ID of the session that it is a turn of, or ""
	Args       *value.Dict // what the caller gave
	Options    *value.Dict // what its kind needs to resume it
	Version    string      // of the program that began it
	Script     string      // the hash of what it executes, see [tool.Script.Sum]
	Nonce      string      // random, part of its idempotency keys
	Started    time.Time

	State  State
	Reason string       // why it parked or ended
	Wake   time.Time    // when a parked run continues by itself; zero means never
	Ended  time.Time    // zero while it has not
	Result value.Value  // of one that is done
	Err    *value.Error // of one that failed or was cancelled
	Usage  tool.Usage   // of one that ended

	// Damage is why a part of the above could not be read, or nil. The effects of
	// a run are looked at only by [Journal.Entries].
	Damage error
}

// MarshalJSON gives the object of a run: id, kind, title, state, reason, started, ended
// and result, and where there are any, error and damage. Times are RFC 3339, null for
// zero. What JSON has no form for, as NaN, is written as a text. It is not read back.
func (r Run) MarshalJSON() ([]byte, error) { return []byte(value.FormatJSON(r.Dict(), "")), nil }

// Dict returns the run as its JSON shows it.
func (r *Run) Dict() *value.Dict {
	d := value.NewDict("id", r.ID, "kind", r.Kind, "title", r.Title, "state", r.State.String(), "reason", r.Reason,
		"started", timeText(r.Started), "ended", timeText(r.Ended), "result", r.Result)
	if r.Err != nil {
		d.Put("error", r.Err.Message())
	}
	if r.Damage != nil {
		d.Put("damage", r.Damage.Error())
	}
	return d
}

// timeText is a time as JSON has it; nil for the zero time.
func timeText(t time.Time) value.Value {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// A State is how far a run has come.
type State = journal.State

// The states of a run.
const (
	Running   = journal.Running   // a process executes it, or did when it ended
	Parked    = journal.Parked    // it waits for an answer or a time, in no process
	Done      = journal.Done      // it returned a result
	Failed    = journal.Failed    // it ended with an error
	Cancelled = journal.Cancelled // somebody cancelled it
)

// A Filter selects runs. The zero Filter selects all.
type Filter struct {
	Project string  // those of this project; "" selects any
	Kind    string  // those of this kind; "" selects any
	Session string  // the turns of this session; "" selects any
	States  []State // those in one of these; none selects any
	Limit   int     // at most so many, the newest; 0 is any number
}

// Runs yields the runs that a filter selects, the newest first, as of one
// moment. Where the store is damaged it yields what can be read, and an error
// last; what is wrong with one run alone is in its Damage.
func (j *Journal) Runs(ctx context.Context, f Filter) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		_ = j.w.flush() // if that fails, what is stored can still be read
		for row, err := range j.store.List(ctx, journal.Filter{Tenant: j.tenant, Project: f.Project, Kind: f.Kind, Session: f.Session, States: f.States, Limit: f.Limit}) {
			if err != nil {
				yield(Run{}, err)
				return
			}
			if !yield(j.readRun(&row), nil) {
				return
			}
		}
	}
}

// Run returns a run. It fails with NotFound if there is none of that ID; what of
// it cannot be read is in its Damage.
func (j *Journal) Run(ctx context.Context, id string) (Run, error) {
	h, err := j.history(ctx, id)
	if err != nil {
		return Run{}, err
	}
	h.run.Damage = h.damage
	return h.run, nil
}

// Due yields the parked runs that can continue: those whose time has come, those
// that got an answer, and those that wait for neither. One that was interrupted
// can, even if it has open questions: what runs beside them was stopped too.
func (j *Journal) Due(ctx context.Context, now time.Time) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for r, err := range j.Runs(ctx, Filter{States: []State{Parked}}) {
			due := err == nil && !r.Wake.IsZero() && !now.Before(r.Wake)
			if err == nil && !due {
				due, err = j.answered(ctx, &r)
			}
			if (due || err != nil) && !yield(r, err) {
				return
			}
		}
	}
}

// Resumable yields the runs that can be resumed now: those of Due, and then those whose
// process died.
func (j *Journal) Resumable(ctx context.Context, now time.Time) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for r, err := range j.Due(ctx, now) {
			if !yield(r, err) {
				return
			}
		}
		for r, err := range j.Runs(ctx, Filter{States: []State{Running}}) {
			if (err != nil || !j.Held(r.ID)) && !yield(r, err) {
				return
			}
		}
	}
}

// Tenants returns the tenants that have runs which have not ended, in order. Where the
// store is damaged, those that can be read come with an error.
func (j *Journal) Tenants(ctx context.Context) ([]string, error) {
	_ = j.w.flush() // if that fails, what is stored can still be read
	return j.store.Tenants(ctx, Running, Parked)
}

// answered reports whether a parked run got an answer, or waits for nothing.
func (j *Journal) answered(ctx context.Context, r *Run) (bool, error) {
	if r.Reason == Interrupted {
		return true, nil
	}
	open, err := j.Questions(ctx, r.ID)
	if err != nil || len(open) == 0 {
		return err == nil && r.Wake.IsZero(), err
	}
	for _, q := range open {
		if q.Answer != nil {
			return true, nil
		}
	}
	return false, nil
}

// readRun reads what a list of runs shows of one.
func (j *Journal) readRun(row *journal.Row) Run {
	begun, err := readBegun(row.First, j.store)
	run := begun.run
	if run.ID == "" {
		run.ID = value.Clean(row.ID, 80)
	}
	h, headErr := readHead(row.Head)
	if headErr == nil {
		headErr = h.agrees(row)
	}
	if headErr != nil {
		run.Damage = damaged(run.ID, "how far it has come", headErr)
		return run
	}
	run.State, run.Wake = h.state, h.wake
	if err == nil {
		err = begun.agrees(row)
		run.ID = value.Clean(row.ID, 80) // by which it is found
	}
	if h.state != Running {
		if e := run.readEnd(h, row.Last, j.store); err == nil {
			err = e
		}
	}
	if err != nil {
		run.Damage = damaged(run.ID, "its beginning or its end", err)
	}
	return run
}

// agrees compares the beginning of a run with the columns by which it is found.
func (b *beginning) agrees(row *journal.Row) error {
	r := &b.run
	if b.tenant != row.Tenant || r.ID != row.ID || r.Project != row.Project || r.Kind != row.Kind || r.Parent != row.Parent || r.ForkedFrom != row.ForkedFrom || r.Session != row.Session || r.Nonce != row.Nonce {
		return errChanged
	}
	return nil
}

// readEnd reads why a run parked or ended from the last of its frames.
func (r *Run) readEnd(h head, frame []byte, store journal.Store) error {
	s, records, err := openFrame(h.frames-1, frame)
	if err != nil {
		return err
	}
	if s != h.last {
		return errBroken
	}
	for _, rec := range records {
		if err := r.take(rec, store); err != nil {
			return err
		}
	}
	return nil
}

// take reads a record that changes the state of a run; others it passes over.
func (r *Run) take(rec record, store journal.Store) error {
	f := &fields{rest: rec.fields, store: store}
	switch rec.kind {
	case runResumed:
		r.State, r.Reason, r.Wake = Running, "", time.Time{}
	case runParked:
		r.State, r.Reason = Parked, field[string](f)
		f.time()
		r.Wake = f.time()
		return f.done()
	case runEnded:
		r.State = State(f.small(int64(Cancelled)))
		r.Reason, r.Err = field[string](f), f.failure()
		r.Usage = f.usage()
		r.Ended, r.Result = f.time(), f.value()
		return f.done()
	}
	return nil
}

// A beginning is what the first record of a run holds.
type beginning struct {
	run    Run
	tenant string
	script *fields // which is not read yet
}

// readBegun reads the first frame of a run.
func readBegun(frame []byte, store journal.Store) (beginning, error) {
	if frame == nil {
		return beginning{}, errBroken
	}
	_, records, err := openFrame(0, frame)
	if err == nil && (len(records) == 0 || records[0].kind != runBegun || !follows(frame, sum{})) {
		err = errRecord
	}
	if err != nil {
		return beginning{}, err
	}
	f := &fields{rest: records[0].fields, store: store}
	if v := field[int64](f); f.err == nil && v != codecVersion {
		return beginning{}, versionError(v)
	}
	r := Run{ID: field[string](f), Kind: field[string](f), Title: field[string](f), Version: field[string](f), Script: field[string](f)}
	r.Started, r.Args, r.Options = f.time(), f.dict(), f.dict()
	p := f.tuple()
	tenant := part[string](&p)
	r.Project, r.Parent, r.ForkedFrom, r.Nonce, r.Session = part[string](&p), part[string](&p), part[string](&p), part[string](&p), part[string](&p)
	f.end(p)
	if f.err == nil && !journal.ValidID(r.ID) {
		f.fail(errRecord)
	}
	return beginning{r, tenant, f}, f.err
}

// newID makes up an ID: when, so that they sort by age, and chance.
func newID(at time.Time) string {
	return at.Format("20060102-150405-") + strings.ToLower(rand.Text()[:10])
}

func noRun(id string) error {
	return value.Errorf(value.NotFound, "there is no run '%s'", value.Clean(id, 80)).WithHint("list the runs: cassidy runs list; a program calls Host.Runs")
}

// damaged is the error of a part of a run's record that cannot be read.
func damaged(id, part string, err error) error {
	if v := versionError(0); errors.As(err, &v) {
		return value.Errorf(value.Unavailable, "read run '%s': %w", id, err).WithHint("use the version of cassidy that recorded it")
	}
	return value.Errorf(value.Failed, "the record of run '%s' is damaged: %s: %w", id, part, err).
		WithHint("cassidy runs show %s prints what can still be read", id)
}

// A clock returns the time. Nil means time.Now.
type clock func() time.Time

// now is the time as a store keeps it: what is not from after 1970 to 2262, as it may
// be of a clock in a test, is the nearest time that is.
func (c clock) now() time.Time {
	if c == nil {
		return now()
	}
	first := time.UnixMicro(1) // 0 means no time
	t := c()
	if t.Before(first) {
		t = first
	}
	return wakeTime(t)
}

func now() time.Time { return journal.Time(time.Now()) }
