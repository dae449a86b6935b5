package history

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Run is one execution of a script, as it is recorded. Times are in UTC.
type Run struct {
	ID      string
	Kind    string     // task, chat, run or tool
	Title   string     // for people
	Args    *tool.Dict // what the caller gave
	Options *tool.Dict // what whoever resumes it needs to know
	Version string     // of the program that began it
	Script  string     // the hash of what it executes, see [tool.Script.Sum]
	Started time.Time

	State  State
	Reason string      // why it parked or ended
	Ended  time.Time   // zero while it has not
	Result tool.Value  // of one that is done
	Err    *tool.Error // of one that failed or was cancelled
	Usage  tool.Usage  // of one that ended

	// Of one that has asked something that is not settled: where, and until
	// when it sleeps, if it does.
	Waits tool.Place
	Wake  time.Time

	// Damage says what of the above could not be read, or is nil. The effects of
	// a run are looked at only by [Journal.Entries].
	Damage error
}

// A State says how a run stands.
type State uint8

const (
	Running   State = iota // it goes on, or did when its process ended
	Parked                 // it waits for somebody, or for a time, in no process
	Done                   // it ended as it should
	Failed                 // it ended with an error
	Cancelled              // it was stopped
)

// String returns the state's name: running, parked, done, failed or cancelled.
func (s State) String() string {
	names := [...]string{"running", "parked", "done", "failed", "cancelled"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Ended reports whether a run in this state goes on no more.
func (s State) Ended() bool { return s >= Done }

// A Filter chooses runs. The zero Filter chooses all.
type Filter struct {
	ID     string  // the run of this ID
	Kind   string  // those of this kind
	States []State // those in one of these
	Limit  int     // at most so many, the newest
}

func (f *Filter) wants(r *Run) bool {
	return (f.ID == "" || f.ID == r.ID) && (f.Kind == "" || f.Kind == r.Kind) &&
		(len(f.States) == 0 || slices.Contains(f.States, r.State))
}

// Runs returns the runs that a filter chooses, the newest first. Where the
// database is damaged it returns what can be read, and an error besides; what
// is wrong with one run alone is told by its Damage.
func (j *Journal) Runs(ctx context.Context, f Filter) ([]Run, error) {
	j.w.flush()
	tx, err := j.db.BeginTx(ctx, nil) // of one moment, though runs go on and go away
	if err != nil {
		return nil, dbError(err)
	}
	defer tx.Rollback()
	var list []Run
	for r, err := range rows(ctx, tx) {
		if err != nil {
			return list, err
		}
		run := j.readRun(ctx, tx, r)
		if !f.wants(&run) {
			continue
		}
		if list = append(list, run); len(list) == f.Limit {
			break
		}
	}
	return list, j.damage
}

// Due returns the parked runs that can go on: those whose time has come, and
// those that were answered.
func (j *Journal) Due(ctx context.Context, now time.Time) ([]Run, error) {
	parked, err := j.Runs(ctx, Filter{States: []State{Parked}})
	return slices.DeleteFunc(parked, func(r Run) bool {
		if !r.Wake.IsZero() && !now.Before(r.Wake) {
			return false
		}
		if r.Waits == nil {
			return true
		}
		a, e := j.answerOf(ctx, r.ID, r.Waits)
		err = errors.Join(err, e)
		return a == nil
	}), err
}

// A row is what the tables hold of a run, unread.
type row struct {
	num         int64
	id          string
	first, head []byte
}

// rowQuery asks both tables which runs there are: a damaged page of one may
// have lost some without a word.
const rowQuery = `WITH n AS (SELECT num FROM runs UNION SELECT num FROM heads)
	SELECT n.num, coalesce(r.id, ''), f.body, h.body FROM n LEFT JOIN runs r ON r.num = n.num
	LEFT JOIN frames f ON f.at = n.num << 32 LEFT JOIN heads h ON h.num = n.num ORDER BY n.num DESC`

// rows yields all runs, the newest first. Where the table cannot be read to
// its end, each run that there may be is looked for by itself, and an error
// comes last.
func rows(ctx context.Context, tx *sql.Tx) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		rows, err := tx.QueryContext(ctx, rowQuery)
		before := int64(-1)
		if err == nil {
			defer rows.Close()
			for rows.Next() {
				var r row
				if err = rows.Scan(&r.num, &r.id, &r.first, &r.head); err != nil {
					break
				}
				before = r.num
				if !yield(r, nil) {
					return
				}
			}
			err = errors.Join(err, rows.Err())
		}
		switch {
		case err == nil:
			return
		case isDamage(err) && !salvage(ctx, tx, before, yield):
			return
		}
		yield(row{}, dbError(err))
	}
}

// salvage looks for each run before a number, or for all, by itself.
func salvage(ctx context.Context, tx *sql.Tx, before int64, yield func(row, error) bool) bool {
	if before < 0 {
		for _, q := range []string{"SELECT max(num) FROM runs", "SELECT max(at) >> 32 FROM frames", "SELECT max(num) FROM heads"} {
			var most sql.NullInt64
			if tx.QueryRowContext(ctx, q).Scan(&most) == nil {
				before = max(before, most.Int64+1)
			}
		}
	}
	const tries = 100_000 // a damaged number may be any
	for num := before - 1; num > 0 && before-num < tries && ctx.Err() == nil; num-- {
		r := row{num: num}
		found := false
		for _, q := range []struct {
			text string
			into any
		}{
			{"SELECT id FROM runs WHERE num = ?", &r.id},
			{"SELECT body FROM frames WHERE at = ? << 32", &r.first},
			{"SELECT body FROM heads WHERE num = ?", &r.head},
		} {
			found = tx.QueryRowContext(ctx, q.text, num).Scan(q.into) == nil || found
		}
		if found && !yield(r, nil) {
			return false
		}
	}
	return true
}

// readRun reads what a list of runs tells of one.
func (j *Journal) readRun(ctx context.Context, tx *sql.Tx, r row) Run {
	run, _, err := readBegun(r.first, j.blobs.get)
	if run.ID == "" {
		run.ID = tool.Clean(r.id, 80)
	}
	h, headErr := readHead(r.head)
	if headErr != nil {
		run.Damage = damaged(run.ID, "how far it has come", headErr)
	} else {
		run.stands(h)
		if h.state != Running {
			if e := run.readEnd(h, lastFrame(ctx, tx, r.num, h), j.blobs.get); err == nil {
				err = e
			}
		}
	}
	if err != nil {
		run.Damage = damaged(run.ID, "its beginning or its end", err)
	}
	return run
}

// stands takes over how far a run has come.
func (r *Run) stands(h head) {
	r.State, r.Ended, r.Wake = h.state, h.ended, h.wake
	r.Waits, _ = ParsePlace(h.waits) // it has a checksum
}

// readEnd reads why a run parked or ended from the last of its frames.
func (r *Run) readEnd(h head, frame []byte, blobs blobReader) error {
	s, records, err := openFrame(h.frames-1, frame)
	if err != nil {
		return err
	}
	if s != h.last {
		return errBroken
	}
	for _, rec := range records {
		if err := r.take(rec, blobs); err != nil {
			return err
		}
	}
	return nil
}

// lastFrame returns the last frame of a run, or nothing.
func lastFrame(ctx context.Context, tx *sql.Tx, num int64, h head) (frame []byte) {
	if tx.QueryRowContext(ctx, "SELECT body FROM frames WHERE at = ?", frameAt(num, h.frames-1)).Scan(&frame) != nil {
		return nil
	}
	return frame
}

// take reads a record that tells how a run stands; others it passes over.
func (r *Run) take(rec record, blobs blobReader) error {
	f := &fields{rest: rec.fields, blobs: blobs}
	switch rec.kind {
	case runResumed:
		r.State, r.Reason = Running, ""
	case runParked:
		r.State, r.Reason = Parked, field[string](f)
		f.time()
		return f.done()
	case runEnded:
		r.State = State(f.small(int64(Cancelled)))
		r.Reason, r.Err = field[string](f), f.failure()
		usage := f.tuple()
		r.Usage = usage.usage()
		f.end(usage)
		r.Ended, r.Result = f.time(), f.value()
		return f.done()
	}
	return nil
}

// readBegun reads the first frame of a run, and returns besides what is left
// of its first record: the script.
func readBegun(frame []byte, blobs blobReader) (Run, *fields, error) {
	if frame == nil {
		return Run{}, nil, errBroken
	}
	_, records, err := openFrame(0, frame)
	if err == nil && (len(records) == 0 || records[0].kind != runBegun || !follows(frame, sum{})) {
		err = errRecord
	}
	if err != nil {
		return Run{}, nil, err
	}
	f := &fields{rest: records[0].fields, blobs: blobs}
	r := Run{ID: field[string](f), Kind: field[string](f), Title: field[string](f), Version: field[string](f), Script: field[string](f)}
	r.Started, r.Args, r.Options = f.time(), f.dict(), f.dict()
	if f.err == nil && !validID(r.ID) {
		f.fail(errRecord)
	}
	return r, f, f.err
}

// validID reports whether a text can name a run, and so a file.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && id[0] != '-' && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// newID makes up an ID: when, so that they sort by age, and chance.
func newID() string {
	return now().Format("20060102-150405-") + strings.ToLower(rand.Text()[:10])
}

func noRun(id string) error {
	return tool.Errorf(tool.NotFound, "there is no run '%s'", tool.Clean(id, 80)).WithHint("cassidy runs list shows those there are")
}

// damaged says that a part of a run's record cannot be read.
func damaged(id, part string, err error) error {
	return tool.Errorf(tool.Failed, "the record of run '%s' is damaged: %s: %w", id, part, err).
		WithHint("cassidy runs show %s prints what can still be read", id)
}

func now() time.Time { return time.Now().UTC().Round(0) }
