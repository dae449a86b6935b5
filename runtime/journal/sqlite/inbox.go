package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// Send appends a message to the inbox of a run, see [journal.Store].
func (s *Store) Send(ctx context.Context, num int64, m journal.Message) (seq int64, err error) {
	body := m.Body
	if body == nil {
		body = []byte{} // nil would be NULL
	}
	err = s.write(ctx, func(ctx context.Context, w *writer) error {
		if err := exists(ctx, w.conn, num); err != nil {
			return err
		}
		switch last, err := lastOf(ctx, w.conn, num, m.Kind, m.Key); {
		case err != nil:
			return err
		case last.takes.Valid:
			return journal.ErrTaken(m)
		}
		seq, err = appendInbox(ctx, w.conn, num, m.Kind, m.Key, body, nil)
		return err
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// Take returns the last message of a kind and key and closes them, see [journal.Store].
// The row that closes them is the last one of that kind and key: Send adds none after
// it, and all writers exclude each other.
func (s *Store) Take(ctx context.Context, num int64, kind, key string) (m journal.Message, ok bool, err error) {
	err = s.write(ctx, func(ctx context.Context, w *writer) error {
		if err := exists(ctx, w.conn, num); err != nil {
			return err
		}
		last, err := lastOf(ctx, w.conn, num, kind, key)
		if err != nil || last.seq == 0 {
			return err
		}
		m = journal.Message{Seq: last.seq, Kind: kind, Key: key}
		if last.takes.Valid {
			m.Seq = last.takes.Int64
		} else if _, err := appendInbox(ctx, w.conn, num, kind, key, []byte{}, last.seq); err != nil {
			return err
		}
		err = w.conn.QueryRowContext(ctx, "SELECT body FROM inbox WHERE num = ? AND seq = ?", num, m.Seq).Scan(&m.Body)
		if errors.Is(err, sql.ErrNoRows) {
			return lost("a message", num)
		}
		ok = err == nil
		return err
	})
	if err != nil || !ok {
		return journal.Message{}, false, err
	}
	return m, true, nil
}

// An inboxRow is the last row of a kind and key. Its seq is 0 if there is no row.
type inboxRow struct {
	seq   int64
	takes sql.NullInt64
}

const lastQuery = "SELECT seq, takes FROM inbox WHERE num = ? AND kind = ? AND key = ? ORDER BY seq DESC LIMIT 1"

func lastOf(ctx context.Context, q querier, num int64, kind, key string) (r inboxRow, err error) {
	err = q.QueryRowContext(ctx, lastQuery, num, kind, key).
		Scan(&r.seq, &r.takes)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return r, err
}

// appendInbox adds a row to the inbox of a run and returns its number.
func appendInbox(ctx context.Context, q querier, num int64, kind, key string, body []byte, takes any) (seq int64, err error) {
	err = q.QueryRowContext(ctx, `INSERT INTO inbox (num, seq, kind, key, body, takes)
		SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4, ?5 FROM inbox WHERE num = ?1 RETURNING seq`, num, kind, key, body, takes).Scan(&seq)
	return seq, err
}

// inboxQuery reads the messages of a run after a sequence number. If there are no
// messages it returns one empty row, and if there is no such run it returns no row.
const inboxQuery = `SELECT i.seq, i.kind, i.key, i.body
	FROM (SELECT 1 WHERE EXISTS (` + existsQuery + `))
	LEFT JOIN inbox i ON i.num = ?1 AND i.seq > ?2 AND i.takes IS NULL ORDER BY i.seq`

// Inbox returns the messages of a run after a sequence number, see [journal.Store].
// Hosts poll it for each run that they execute, so it is one statement, which needs
// neither a transaction nor the goroutine that database/sql uses to watch one.
func (s *Store) Inbox(ctx context.Context, num, after int64) (list []journal.Message, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	list, err = s.inbox(ctx, num, after)
	if ctx.Err() != nil && err != nil {
		err = ctx.Err() // SQLite reports it in several ways
	}
	return list, s.fail(opRead, err)
}

func (s *Store) inbox(ctx context.Context, num, after int64) (list []journal.Message, err error) {
	rows, err := s.db.QueryContext(ctx, inboxQuery, num, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		var seq sql.NullInt64
		var kind, key sql.NullString
		var body []byte
		if err := rows.Scan(&seq, &kind, &key, &body); err != nil {
			return list, err
		}
		if found = true; seq.Valid {
			list = append(list, journal.Message{Seq: seq.Int64, Kind: kind.String, Key: key.String, Body: body})
		}
	}
	if err := rows.Err(); err != nil || found {
		return list, err
	}
	return nil, journal.ErrNumNotFound(num)
}

func readInbox(ctx context.Context, q querier, num, after int64) (list []journal.Message, err error) {
	rows, err := q.QueryContext(ctx, "SELECT seq, kind, key, body FROM inbox WHERE num = ? AND seq > ? AND takes IS NULL ORDER BY seq", num, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m journal.Message
		if err := rows.Scan(&m.Seq, &m.Kind, &m.Key, &m.Body); err != nil {
			return list, err
		}
		list = append(list, m)
	}
	return list, rows.Err()
}
