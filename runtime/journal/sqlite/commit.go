package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A writer is the connection for writing, with its prepared statements.
type writer struct {
	turn  chan struct{} // holds one token while the rest is in use
	done  chan struct{} // closed by close
	conn  *sql.Conn
	stmts []*sql.Stmt // all of the following

	begin, commit, rollback                    *sql.Stmt
	addRun, addHead, addFrame, setHead, setRun *sql.Stmt
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, turn: make(chan struct{}, 1), done: make(chan struct{})}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.addRun, `INSERT INTO runs (tenant, id, project, kind, parent, forked_from, session, nonce, state, wake, updated, stuck)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&w.addHead, "INSERT INTO heads (num, tenant, id, body) VALUES (?, ?, ?, ?)"},
		{&w.addFrame, "INSERT INTO frames (at, body) VALUES (?, ?)"},
		{&w.setHead, "UPDATE heads SET body = coalesce(?2, body) WHERE num = ?1"},
		{&w.setRun, "UPDATE runs SET state = ?2, wake = ?3, updated = ?4, stuck = ?5 WHERE num = ?1"},
	} {
		if *s.stmt, err = conn.PrepareContext(ctx, s.text); err != nil {
			w.close()
			return nil, err
		}
		w.stmts = append(w.stmts, *s.stmt)
	}
	return w, nil
}

// close waits for the transaction in progress. With an open statement SQLite would not
// remove its log file.
func (w *writer) close() error {
	w.turn <- struct{}{} // never removed: nothing is written after close
	close(w.done)
	for _, s := range w.stmts {
		s.Close()
	}
	return w.conn.Close()
}

// write calls do in a transaction that excludes other writers, in this process and in
// others. The context is observed only until the transaction begins, so that an error
// means that nothing was written.
func (s *Store) write(ctx context.Context, do func(ctx context.Context, w *writer) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.sealed != nil {
		return s.sealed
	}
	select {
	case s.w.turn <- struct{}{}:
	case <-s.w.done:
		return journal.ErrClosed()
	case <-ctx.Done():
		return value.AsError(ctx.Err(), value.Canceled)
	}
	defer func() { <-s.w.turn }()
	if err := s.inPlace(); err != nil {
		return err
	}
	return s.fail(opWrite, s.w.transact(context.WithoutCancel(ctx), do))
}

func (w *writer) transact(ctx context.Context, do func(ctx context.Context, w *writer) error) error {
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	err := do(ctx, w)
	if err == nil {
		_, err = w.commit.ExecContext(ctx)
	}
	if err != nil {
		w.rollback.ExecContext(ctx) // fails if SQLite has already rolled back
	}
	return err
}

// Commit executes writes in one transaction and one flush, see [journal.Store].
func (s *Store) Commit(ctx context.Context, writes []*journal.Write) error {
	for _, w := range writes {
		if err := w.Check(); err != nil {
			return err
		}
	}
	if len(writes) == 0 {
		return s.ready(ctx)
	}
	nums := make([]int64, len(writes))
	err := s.write(ctx, func(ctx context.Context, w *writer) (err error) {
		for i, one := range writes {
			if nums[i], err = w.apply(ctx, one); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.last.set(writes, nums)
	for i, one := range writes {
		one.Num = nums[i]
	}
	return nil
}

// apply executes one write and returns the number of its run.
func (w *writer) apply(ctx context.Context, one *journal.Write) (num int64, err error) {
	num = one.Num
	if one.New != nil {
		if num, err = w.add(ctx, one.New); err != nil {
			return 0, err
		}
	}
	for _, f := range one.Frames {
		body := f.Body
		if body == nil {
			body = []byte{} // nil would be NULL
		}
		if _, err := w.addFrame.ExecContext(ctx, frameAt(num, f.Seq), body); err != nil {
			if isDuplicate(err) {
				return 0, journal.ErrWritten(w.idOf(ctx, num))
			}
			return 0, err
		}
	}
	if set := one.Set; set != nil {
		if err := mustChange(num)(w.setRun.ExecContext(ctx, num, int64(set.State), set.Wake.UnixMicro(), set.Updated.UnixMicro(), set.Stuck)); err != nil {
			return 0, err
		}
	}
	if one.Head != nil || one.Set == nil { // also to check that the run exists
		if err := mustChange(num)(w.setHead.ExecContext(ctx, num, one.Head)); err != nil {
			return 0, err
		}
	}
	return num, nil
}

// add adds a run and returns its number.
func (w *writer) add(ctx context.Context, r *journal.Row) (int64, error) {
	added, err := w.addRun.ExecContext(ctx, r.Tenant, r.ID, r.Project, r.Kind, r.Parent, r.ForkedFrom, r.Session, r.Nonce,
		int64(r.State), r.Wake.UnixMicro(), r.Updated.UnixMicro(), r.Stuck)
	if isDuplicate(err) {
		return 0, journal.ErrExists(r.ID)
	}
	if err != nil {
		return 0, err
	}
	num, err := added.LastInsertId()
	if err != nil {
		return 0, err
	}
	if num < 1 || num > maxNum {
		return 0, value.Errorf(value.Failed, "write to the journal: no run numbers are left")
	}
	_, err = w.addHead.ExecContext(ctx, num, r.Tenant, r.ID, r.Head)
	return num, err
}

// mustChange returns an error if a statement changed no row.
func mustChange(num int64) func(sql.Result, error) error {
	return func(r sql.Result, err error) error {
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return journal.ErrNumNotFound(num)
	}
}

// idOf returns the ID of a run for an error message.
func (w *writer) idOf(ctx context.Context, num int64) string {
	var id string
	if w.conn.QueryRowContext(ctx, "SELECT id FROM heads WHERE num = ?", num).Scan(&id) != nil {
		return fmt.Sprint(num)
	}
	return id
}

// maxNum is the largest number of a run: frames are numbered num << 32 | seq.
const maxNum = 1<<31 - 1

// frameAt returns the key of a frame.
func frameAt(num, seq int64) int64 { return num<<32 | seq }

// Delete removes a run, see [journal.Store].
func (s *Store) Delete(ctx context.Context, num int64) error {
	if num < 1 || num > maxNum {
		return s.ready(ctx)
	}
	return s.write(ctx, func(ctx context.Context, w *writer) error {
		for _, q := range []string{
			"DELETE FROM runs WHERE num = ?1",
			"DELETE FROM heads WHERE num = ?1",
			"DELETE FROM inbox WHERE num = ?1",
		} {
			if _, err := w.conn.ExecContext(ctx, q, num); err != nil {
				return err
			}
		}
		_, err := w.conn.ExecContext(ctx, "DELETE FROM frames WHERE at >= ? AND at <= ?", frameAt(num, 0), frameAt(num, journal.MaxSeq))
		return err
	})
}

const existsQuery = "SELECT 1 FROM runs WHERE num = ?1 UNION ALL SELECT 1 FROM heads WHERE num = ?1 LIMIT 1"

// exists returns an error if a run does not exist.
func exists(ctx context.Context, q querier, num int64) error {
	var found int
	err := q.QueryRowContext(ctx, existsQuery, num).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return journal.ErrNumNotFound(num)
	}
	return err
}

// A querier is a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
