package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	driver "modernc.org/sqlite"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// read calls do in a transaction that sees the database as of one moment.
func (s *Store) read(ctx context.Context, do func(tx *sql.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.fail(opRead, err)
	}
	defer tx.Rollback()
	err = do(tx)
	if ctx.Err() != nil && err != nil {
		err = ctx.Err() // SQLite reports it in several ways
	}
	return s.fail(opRead, err)
}

// Find returns the row of a run, see [journal.Store].
func (s *Store) Find(ctx context.Context, tenant, id string) (row journal.Row, err error) {
	if !journal.ValidID(id) {
		if err := s.ready(ctx); err != nil {
			return row, err
		}
		return row, journal.ErrNotFound(id)
	}
	err = s.read(ctx, func(tx *sql.Tx) error {
		num, err := find(ctx, reading{s, tx}, tenant, id)
		if err == nil {
			row, err = s.readRow(ctx, tx, num)
		}
		if num != 0 && row.Num == 0 { // only an index is left
			row = journal.Row{Num: num, Tenant: tenant, ID: id}
		}
		return err
	})
	row.First, row.Last = nil, nil
	return row, err
}

// find returns the number of a run. It tries both tables, with and without their
// indexes, since only some may be damaged.
func find(ctx context.Context, q querier, tenant, id string) (int64, error) {
	try := func(from string) (num int64, err error) {
		err = q.QueryRowContext(ctx, "SELECT num FROM "+from+" WHERE tenant = ? AND id = ?", tenant, id).Scan(&num)
		if errors.Is(err, sql.ErrNoRows) {
			err = journal.ErrNotFound(id)
		}
		return num, err
	}
	num, err := try("runs")
	if err == nil {
		return num, nil
	}
	num, err2 := try("heads")
	if err2 == nil {
		return num, nil
	}
	if damage := errors.Join(err, err2); !isDamage(damage) || ctx.Err() != nil {
		return 0, err
	}
	for _, from := range []string{"runs NOT INDEXED", "heads NOT INDEXED"} {
		if num, err := try(from); err == nil {
			return num, nil
		}
	}
	if isDamage(err2) {
		err = err2
	}
	return 0, err
}

// rowQuery reads the row of a run. The first three columns report whether its rows
// exist, and whether they have the same name.
const rowQuery = `SELECT r.num IS NOT NULL, h.num IS NOT NULL, r.tenant IS h.tenant AND r.id IS h.id, coalesce(r.tenant, h.tenant, ''), coalesce(r.id, h.id, ''),
	coalesce(r.project, ''), coalesce(r.kind, ''), coalesce(r.parent, ''), coalesce(r.forked_from, ''), coalesce(r.session, ''), coalesce(r.nonce, ''),
	coalesce(r.state, 0), coalesce(r.wake, 0), coalesce(r.updated, 0), coalesce(r.stuck, ''), h.body,
	(SELECT body FROM frames WHERE at >= n.num << 32 AND at < (n.num + 1) << 32 ORDER BY at LIMIT 1),
	(SELECT body FROM frames WHERE at >= n.num << 32 AND at < (n.num + 1) << 32 ORDER BY at DESC LIMIT 1)
	FROM (SELECT ?1 AS num) n LEFT JOIN runs r ON r.num = n.num LEFT JOIN heads h ON h.num = n.num`

// readRow reads the row of a run with its first and last frame. If only a part can be
// read, it returns that part and an error for isDamage. The row has no Num if nothing
// was read, and no Kind if its columns were not.
func (s *Store) readRow(ctx context.Context, tx *sql.Tx, num int64) (journal.Row, error) {
	return readRowBy(ctx, tx, num, reading{s, tx}.QueryRowContext(ctx, rowQuery, num))
}

// readRowBy is readRow with the result of rowQuery.
func readRowBy(ctx context.Context, tx *sql.Tx, num int64, result *sql.Row) (journal.Row, error) {
	row := journal.Row{Num: num}
	var hasRun, hasHead, agree bool
	var state, wake, updated int64
	err := result.Scan(&hasRun, &hasHead, &agree, &row.Tenant, &row.ID, &row.Project, &row.Kind, &row.Parent, &row.ForkedFrom, &row.Session, &row.Nonce,
		&state, &wake, &updated, &row.Stuck, &row.Head, &row.First, &row.Last)
	switch {
	case ctx.Err() != nil:
		return journal.Row{}, ctx.Err()
	case err != nil && !isDamage(err) && !errors.As(err, new(*driver.Error)):
		return salvageRow(ctx, tx, num, lost("the columns", num)) // a value of another type
	case err != nil && !isDamage(err):
		return journal.Row{}, err
	case err != nil:
		return salvageRow(ctx, tx, num, err)
	case !hasRun && !hasHead && row.First == nil:
		return journal.Row{}, journal.ErrNumNotFound(num)
	case !hasRun:
		return row, lost("the columns", num)
	}
	if state < 0 || state > int64(journal.Stuck) {
		return salvageRow(ctx, tx, num, lost("the state", num))
	}
	row.State, row.Wake, row.Updated = journal.State(state), micros(wake), micros(updated)
	switch {
	case !hasHead:
		return row, lost("the head", num)
	case !agree:
		return row, lost("the name", num)
	}
	return row, nil
}

// micros returns a time of the database.
func micros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// Load returns all stored data of a run, see [journal.Store].
func (s *Store) Load(ctx context.Context, num int64) (st journal.Stored, err error) {
	err = s.read(ctx, func(tx *sql.Tx) (err error) {
		st.Row, err = s.readRow(ctx, tx, num)
		if err != nil && !isDamage(err) {
			return err
		}
		st.Row.Num, st.Row.First, st.Row.Last = num, nil, nil
		var e error
		st.Frames, e = readFrames(ctx, reading{s, tx}, num)
		err = errors.Join(err, e)
		st.Inbox, e = readInbox(ctx, reading{s, tx}, num, 0)
		return errors.Join(err, e)
	})
	return st, err
}

// readFrames reads the frames of a run, as far as they can be read.
func readFrames(ctx context.Context, q querier, num int64) (list [][]byte, err error) {
	rows, err := q.QueryContext(ctx, "SELECT body FROM frames WHERE at >= ? AND at <= ? ORDER BY at", frameAt(num, 0), frameAt(num, journal.MaxSeq))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return list, err
		}
		list = append(list, body)
	}
	return list, rows.Err()
}

// EachFrame calls do with each frame of each run, see [journal.Store].
func (s *Store) EachFrame(ctx context.Context, do func(num, seq int64, frame []byte) error) error {
	var stop error // the error of do, returned unchanged
	err := s.read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT at, body FROM frames ORDER BY at")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var at int64
			var body []byte
			if err := rows.Scan(&at, &body); err != nil {
				return err
			}
			if stop = do(at>>32, at&journal.MaxSeq, body); stop != nil {
				return nil
			}
		}
		return rows.Err()
	})
	if stop != nil {
		return stop
	}
	if err == nil && s.damage != nil {
		return s.damage
	}
	return err
}
