package history

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Delete removes a run and all that is recorded of it, however it stands. It
// fails with Conflict if somebody has it in hand.
func (j *Journal) Delete(ctx context.Context, id string) error {
	num, err := j.find(ctx, id)
	if err != nil {
		return err
	}
	lock, err := lockRun(j.lockDir(), id)
	if err != nil {
		return err
	}
	defer lock.release()
	return j.w.wait(&job{do: func(ctx context.Context, conn *sql.Conn) error {
		for _, q := range []string{
			"DELETE FROM runs WHERE num = ?1",
			"DELETE FROM heads WHERE num = ?1",
			"DELETE FROM answers WHERE num = ?1",
			"DELETE FROM frames WHERE at >= ?1 << 32 AND at < (?1 + 1) << 32",
		} {
			if _, err := conn.ExecContext(ctx, q, num); err != nil {
				return dbError(err)
			}
		}
		return nil
	}})
}

// A Keep says which runs stay when a journal is pruned. A run goes as soon as
// one of the fields says so; the zero Keep keeps all.
type Keep struct {
	For  time.Duration // those that ended within this time; 0 means however long ago
	Most int           // the newest so many of those that have ended; 0 means all
	Open bool          // false also keeps all that have not ended; true counts these too, by when they began
}

// Prune removes the runs that need not be kept, and the large values that no
// run names any more. It returns how many runs it removed. A run that somebody
// has in hand, or whose record is damaged, always stays, and while there is
// damage all values do.
func (j *Journal) Prune(ctx context.Context, k Keep) (int, error) {
	runs, err := j.Runs(ctx, Filter{})
	if err != nil {
		return 0, err
	}
	removed, counted := 0, 0
	before := now().Add(-k.For)
	for _, r := range runs {
		if r.Damage != nil || !r.State.Ended() && !k.Open {
			continue
		}
		counted++
		at := r.Ended
		if at.IsZero() {
			at = r.Started
		}
		if (k.For == 0 || !at.Before(before)) && (k.Most == 0 || counted <= k.Most) {
			continue
		}
		switch err := j.Delete(ctx, r.ID); {
		case err == nil:
			removed++
		case tool.KindOf(err) != tool.Conflict:
			return removed, err
		}
	}
	return removed, j.sweep(ctx, now().Add(-blobGrace))
}

// sweep removes the blobs that were left alone since a time and that no record
// names.
func (j *Journal) sweep(ctx context.Context, before time.Time) error {
	var old []string
	err := j.blobs.old(before, func(path string) error {
		old = append(old, path)
		return nil
	})
	if err != nil {
		return ioError("look for large values", err)
	}
	if len(old) == 0 {
		return nil
	}
	named, err := j.named(ctx)
	if err != nil {
		return err
	}
	for _, path := range old {
		name, aside := strings.CutPrefix(filepath.Base(path), asidePrefix)
		if named[name] && aside { // whoever moved it aside was stopped there
			if err := os.Rename(path, j.blobs.file(name)); err != nil && !os.IsNotExist(err) {
				return ioError("put a large value back", err)
			}
		}
		if named[name] {
			continue
		}
		if err := j.blobs.remove(path, before); err != nil && !os.IsNotExist(err) {
			return ioError("remove a large value", err)
		}
	}
	return nil
}

// named returns the names of the blobs that records name, all of them or none.
func (j *Journal) named(ctx context.Context) (map[string]bool, error) {
	rows, err := j.db.QueryContext(ctx, "SELECT at, body FROM frames")
	if err != nil {
		return nil, dbError(err)
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var at int64
		var frame []byte
		if err := rows.Scan(&at, &frame); err != nil {
			return nil, dbError(err)
		}
		_, records, err := openFrame(at&(1<<32-1), frame)
		for _, r := range records {
			f := &fields{rest: r.fields}
			for len(f.rest) > 0 {
				if bare, name, _ := f.raw(); bare == nil && f.err == nil {
					names[name.String()] = true
				}
			}
			if err == nil {
				err = f.err
			}
		}
		if err != nil {
			return nil, tool.Errorf(tool.Failed, "the journal is damaged, so no large value was removed: %w", err)
		}
	}
	return names, dbError(rows.Err())
}
