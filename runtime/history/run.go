package history

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Run is a recorded execution of a script. Times are in UTC.
type Run struct {
	ID         string
	Project    string      // the folder of its project, or ""
	Kind       string      // task, chat, run, tool or undo
	Title      string      // for people
	Parent     string      // the ID of the run that started it, or ""
	ForkedFrom string      // the ID of the run whose record it continues, or ""
	Session    string      // the ID of the session if it is a turn, or ""
	Args       *value.Dict // the arguments of the caller
	Options    *value.Dict // the options of its kind, for resuming it
	Version    string      // of the program that began it
	Script     string      // the hash of its script, see [tool.Script.Sum]
	Nonce      string      // random, part of its idempotency keys
	Started    time.Time

	State  State
	Reason string       // why it parked or ended
	Wake   time.Time    // when a parked run continues; zero means never
	Stuck  string       // why nobody can continue it, if its state is Stuck, see [Run.Unstick]
	Ended  time.Time    // zero: not yet
	Result value.Value  // if it is done
	Err    *value.Error // if it failed or was cancelled
	Usage  tool.Usage   // if it has ended

	// Damage is the reason why a part of the run could not be read, or nil. Only
	// [Journal.Entries] checks the effects of a run.
	Damage error

	num int64 // in the store; 0 if it was not read from there
}

// MarshalJSON returns the run as an object: id, kind, title, state, reason, started,
// ended, result, project, and by, version, forked_from, stuck, error and damage if there are any. Times are RFC
// 3339, null for zero. Values without a JSON form, such as NaN, are written as text. It cannot be
// unmarshalled.
func (r Run) MarshalJSON() ([]byte, error) { return []byte(value.FormatJSON(r.Dict(), "")), nil }

// OptionBy is the name in the options of a run for the person who began it.
const OptionBy = "by"

// By returns the person who began the run, if that was recorded, or "".
func (r *Run) By() string { return r.Options.Text(OptionBy) }

// Dict returns the object of MarshalJSON.
func (r *Run) Dict() *value.Dict {
	d := value.NewDict("id", r.ID, "kind", r.Kind, "title", r.Title, "state", r.State.String(), "reason", r.Reason,
		"started", timeText(r.Started), "ended", timeText(r.Ended), "result", r.Result, "project", r.Project)
	if by := r.By(); by != "" {
		d.Put("by", by)
	}
	if r.Version != "" {
		d.Put("version", r.Version)
	}
	if r.ForkedFrom != "" {
		d.Put("forked_from", r.ForkedFrom)
	}
	if r.Stuck != "" {
		d.Put("stuck", r.Stuck)
	}
	if r.Err != nil {
		d.Put("error", r.Err.Message())
	}
	if r.Damage != nil {
		d.Put("damage", r.Damage.Error())
	}
	return d
}

// timeText formats a time for JSON; nil for the zero time.
func timeText(t time.Time) value.Value {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// A State is the state of a run.
type State = journal.State

// The states of a run.
const (
	Running   = journal.Running   // a process executes it, or died while it did
	Parked    = journal.Parked    // it waits for an answer or a time, in no process
	Done      = journal.Done      // it returned a result
	Failed    = journal.Failed    // it ended with an error
	Cancelled = journal.Cancelled // it was cancelled
	Stuck     = journal.Stuck     // nobody can continue it until the cause is gone, see [Run.Stuck]
)

// A Filter selects runs. The zero Filter selects all.
type Filter struct {
	Prefix  string  // whose ID begins with this text; "" selects any
	Project string  // of this project; "" selects any
	Kind    string  // of this kind; "" selects any
	Session string  // turns of this session; "" selects any
	States  []State // in one of these states; none selects any
	Before  string  // that began before the run with this ID; "" selects any
	Limit   int     // at most this many, the newest; 0 means all

	due time.Time // of the parked ones, only those that may be due
}

// stored returns the filter of the store.
func (f *Filter) stored(ctx context.Context, j *Journal) (journal.Filter, error) {
	stored := journal.Filter{Tenant: j.tenant, Prefix: f.Prefix, Project: f.Project, Kind: f.Kind, Session: f.Session, States: f.States, Due: f.due, Limit: f.Limit}
	if f.Before != "" {
		row, err := j.store.Find(ctx, j.tenant, f.Before)
		if row.Num == 0 && err != nil {
			return stored, err
		}
		stored.Before = row.Num
	}
	return stored, nil
}

// Runs yields the runs that a filter selects, the newest first, as of one moment. If
// the store is damaged it yields what can be read, and an error last. Damage of a
// single run is in its Damage.
func (j *Journal) Runs(ctx context.Context, f Filter) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		j.flush("")
		j.stored(ctx, f)(yield)
	}
}

// stored is Runs as of what is stored.
func (j *Journal) stored(ctx context.Context, f Filter) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		stored, err := f.stored(ctx, j)
		if err != nil {
			yield(Run{}, err)
			return
		}
		if slices.Contains(f.States, Stuck) { // some are stuck only for this version
			stored.States, stored.Limit = append([]State{Running, Parked}, f.States...), 0
		}
		n := 0
		for row, err := range j.store.List(ctx, stored) {
			if err != nil {
				yield(Run{}, err)
				return
			}
			r := j.readRun(&row)
			if len(f.States) > 0 && !slices.Contains(f.States, r.State) {
				continue
			}
			if n++; !yield(r, nil) || n == f.Limit {
				return
			}
		}
	}
}

// Count returns how many runs a filter selects in each state, without Limit. It counts a run that is stuck only for
// this version in its state in the store.
func (j *Journal) Count(ctx context.Context, f Filter) (map[State]int, error) {
	j.flush("")
	stored, err := f.stored(ctx, j)
	if err != nil {
		return nil, err
	}
	return j.store.Count(ctx, stored)
}

// Run returns a run. It fails with NotFound if there is no run with that ID. Unreadable
// parts are reported in its Damage.
func (j *Journal) Run(ctx context.Context, id string) (Run, error) {
	h, err := j.history(ctx, id)
	if err != nil {
		return Run{}, err
	}
	return h.run, nil
}

// Due yields the parked runs that can continue and are not held: those whose wake time has passed, those
// with a new answer, and those that wait for neither. An interrupted run can continue
// even if it has open questions: its parallel work was stopped too. If its record is damaged,
// it is yielded as well: the attempt to resume it reports the damage, and marks it as [Stuck].
func (j *Journal) Due(ctx context.Context, now time.Time) iter.Seq2[Run, error] {
	return j.due(ctx, "", now)
}

// due is Due for the runs of a project, or of all for "". It writes nothing: whoever parks a run waits until that is stored.
func (j *Journal) due(ctx context.Context, project string, now time.Time) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for r, err := range j.stored(ctx, Filter{States: []State{Parked}, Project: project, due: now}) {
			due := err == nil && (r.Damage != nil || !r.Wake.IsZero() && !now.Before(r.Wake))
			if err == nil && !due {
				due, err = j.answered(ctx, &r)
			}
			due = due && !j.Held(r.ID) // it is being parked, or was continued since the list was read
			if (due || err != nil) && !yield(r, err) {
				return
			}
		}
	}
}

// Resumable yields the runs that can be resumed now: those of Due, and then those whose
// process died.
func (j *Journal) Resumable(ctx context.Context, now time.Time) iter.Seq2[Run, error] {
	return j.ResumableIn(ctx, "", now)
}

// ResumableIn is Resumable for the runs of a project, or of all for "".
func (j *Journal) ResumableIn(ctx context.Context, project string, now time.Time) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for r, err := range j.due(ctx, project, now) {
			if !yield(r, err) {
				return
			}
		}
		for r, err := range j.stored(ctx, Filter{States: []State{Running}, Project: project}) {
			if (err != nil || !j.Held(r.ID) && j.isRunning(ctx, r.ID)) && !yield(r, err) {
				return
			}
		}
	}
}

// isRunning reports whether a run is still in that state: it may have ended after the list was read.
func (j *Journal) isRunning(ctx context.Context, id string) bool {
	for r, err := range j.Runs(ctx, Filter{Prefix: id}) {
		if r.ID == id {
			return err != nil || r.State == Running
		}
	}
	return false
}

// Tenants returns the tenants with runs that have not ended, in order. If the store is
// damaged, those that can be read come with an error.
func (j *Journal) Tenants(ctx context.Context) ([]string, error) {
	j.flush("")
	return j.store.Tenants(ctx, Running, Parked)
}

// answered reports whether a parked run got an answer, waits for nothing, or is damaged.
func (j *Journal) answered(ctx context.Context, r *Run) (bool, error) {
	if r.Reason == Interrupted || r.Reason == Queued {
		return true, nil
	}
	open, lost, err := j.questions(ctx, r.ID)
	if lost != nil {
		return true, nil
	}
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

// readRun decodes a run for a list.
func (j *Journal) readRun(row *journal.Row) Run {
	run := j.decodeRun(row)
	run.stuckAs(row)
	return run
}

func (j *Journal) decodeRun(row *journal.Row) Run {
	begun, err := readBegun(row.First, j.store)
	run := begun.run
	run.num, run.State = row.Num, row.State // for a run whose progress is damaged
	if run.ID == "" {
		run.ID = value.Clean(row.ID, 80)
	}
	h, headErr := readHead(row.Head)
	if headErr == nil {
		headErr = h.agrees(row)
	}
	if headErr != nil {
		run.Damage = damaged(run.ID, "its progress", headErr)
		return run
	}
	run.State, run.Wake = h.state, h.shownWake()
	if err == nil {
		err = begun.agrees(row)
		run.ID = value.Clean(row.ID, 80) // the ID in the store
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

// agrees compares the beginning of a run with the columns of its row.
func (b *beginning) agrees(row *journal.Row) error {
	r := &b.run
	if b.tenant != row.Tenant || r.ID != row.ID || r.Project != row.Project || r.Kind != row.Kind || r.Parent != row.Parent || r.ForkedFrom != row.ForkedFrom || r.Session != row.Session || r.Nonce != row.Nonce {
		return errChanged
	}
	return nil
}

// readEnd decodes why a run parked or ended, from its last frame.
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

// take applies a record that changes the state of a run; it ignores others.
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
		f.unpack(&r.Usage)
		r.Ended, r.Result = f.time(), f.value()
		return f.done()
	}
	return nil
}

// A beginning is the first record of a run.
type beginning struct {
	run    Run
	tenant string
	script *fields // not decoded yet
}

// A beginHead is the beginning of a run without its arguments, its options and its script.
type beginHead struct {
	Tenant, ID, Kind, Title, Version, Script    string
	Started                                     int64
	Project, Parent, ForkedFrom, Nonce, Session string
}

// readBegun decodes the first frame of a run.
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
	var h beginHead
	f.unpack(&h)
	r := Run{ID: h.ID, Kind: h.Kind, Title: h.Title, Version: h.Version, Script: h.Script, Started: moment(h.Started),
		Project: h.Project, Parent: h.Parent, ForkedFrom: h.ForkedFrom, Nonce: h.Nonce, Session: h.Session, Args: f.dict(), Options: f.dict()}
	if f.err == nil && !journal.ValidID(r.ID) {
		f.fail(errRecord)
	}
	return beginning{r, h.Tenant, f}, f.err
}

// newID generates an ID: the time, so that IDs sort by age, and random letters.
func newID(at time.Time) string {
	return at.Format("20060102-150405-") + strings.ToLower(rand.Text()[:10])
}

func noRun(id string) error {
	return value.Errorf(value.NotFound, "there is no run '%s'", value.Clean(id, 80)).WithHint("list the runs: cassidy runs list; in Go, call Host.Runs")
}

// damaged returns the error of an unreadable part of a run's record.
func damaged(id, part string, err error) error {
	if v := versionError(0); errors.As(err, &v) {
		return value.Errorf(value.Unavailable, "read run '%s': %w", id, err).WithHint("use the version of cassidy that recorded it")
	}
	return value.Errorf(value.Failed, "the record of run '%s' is damaged: %s: %w", id, part, err).
		WithHint("to read the undamaged part: cassidy runs show %s", id)
}

// A clock returns the time. Nil means time.Now.
type clock func() time.Time

// now returns the time in the precision of the store. A time outside of 1970 to 2262,
// as from a test's clock, becomes the nearest valid one.
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
