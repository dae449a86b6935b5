package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// List yields the rows that a filter selects, see [journal.Store].
func (s *Store) List(ctx context.Context, f journal.Filter) iter.Seq2[journal.Row, error] {
	return func(yield func(journal.Row, error) bool) {
		stopped := false
		err := s.read(ctx, func(tx *sql.Tx) error {
			l := &listing{ctx: ctx, s: s, tx: tx, filter: f}
			return l.run(func(row journal.Row) bool {
				stopped = !yield(row, nil)
				return !stopped
			})
		})
		if err == nil {
			err = s.damage
		}
		if err != nil && !stopped {
			yield(journal.Row{}, err)
		}
	}
}

// tenantsQuery returns the tenants that have runs. It finds each in an index after the
// one before, so its cost does not depend on the number of runs.
const tenantsQuery = `WITH RECURSIVE found(tenant) AS (
	SELECT min(tenant) FROM runs
	UNION ALL
	SELECT (SELECT min(tenant) FROM runs WHERE tenant > found.tenant) FROM found WHERE found.tenant IS NOT NULL)
SELECT tenant FROM found WHERE tenant IS NOT NULL`

// Tenants returns the tenants that have runs in some states, see [journal.Store].
func (s *Store) Tenants(ctx context.Context, states ...journal.State) (tenants []string, err error) {
	query, args := tenantsQuery, []any(nil)
	if len(states) > 0 {
		query += " AND EXISTS (SELECT 1 FROM runs WHERE runs.tenant = found.tenant AND state IN (?" + strings.Repeat(", ?", len(states)-1) + "))"
	}
	for _, state := range states {
		args = append(args, int64(state))
	}
	err = s.read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var tenant string
			if err := rows.Scan(&tenant); err != nil {
				return err
			}
			tenants = append(tenants, tenant)
		}
		return rows.Err()
	})
	if err == nil {
		err = s.damage
	}
	return tenants, err
}

// A listing reads the rows that a filter selects.
type listing struct {
	ctx    context.Context
	s      *Store
	tx     *sql.Tx
	filter journal.Filter
}

// run yields the rows, the newest first, until yield returns false. It collects the
// numbers first and then reads each row separately: a damaged row does not affect
// others, and nothing large is sorted.
func (l *listing) run(yield func(journal.Row) bool) error {
	read := reading{l.s, l.tx}
	list, damage := l.nums()
	if damage != nil && (!isDamage(damage) || l.ctx.Err() != nil) {
		return damage
	}
	nums := slices.Values(list)
	if damage != nil {
		nums = l.candidates()
	}
	count := 0
	for num := range nums {
		row, err := readRowBy(l.ctx, l.tx, num, read.QueryRowContext(l.ctx, rowQuery, num))
		switch {
		case isDamage(err) && l.ctx.Err() == nil:
			damage = err
		case value.KindOf(err) == value.NotFound: // the index may have it but not the tables
			if list != nil {
				damage = lost("everything", num)
			}
		case err != nil:
			return err
		}
		if !l.selects(&row) {
			continue
		}
		if count++; !yield(row) || count == l.filter.Limit {
			break
		}
	}
	return damage
}

// allQuery reads the numbers of all runs of a tenant, from both tables: a damaged page
// can lose rows without an error.
const allQuery = "SELECT num FROM runs WHERE tenant = ? UNION SELECT num FROM heads WHERE tenant = ? ORDER BY num DESC LIMIT ?"

// nums returns the numbers of the runs that the filter selects, by their columns.
func (l *listing) nums() (list []int64, err error) {
	limit := l.filter.Limit
	if limit <= 0 {
		limit = -1 // all
	}
	query, args := allQuery, []any{l.filter.Tenant, l.filter.Tenant, limit}
	if !l.all() {
		query, args = filterQuery(&l.filter)
		args = append(args, limit)
	}
	rows, err := reading{l.s, l.tx}.QueryContext(l.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var num int64
		if err := rows.Scan(&num); err != nil {
			return nil, err
		}
		list = append(list, num)
	}
	return list, rows.Err()
}

// all reports whether the filter selects all runs of its tenant.
func (l *listing) all() bool {
	return l.filter.Due.IsZero() && l.filter.Before == 0 && l.filter.Prefix == "" && l.filter.Project == "" && l.filter.Kind == "" && l.filter.Session == "" && len(l.filter.States) == 0
}

// filterQuery returns the query for the numbers of the runs that a filter
// selects, and its arguments but for the limit. It asks for each state by
// itself, so that an index yields the runs in order.
func filterQuery(f *journal.Filter) (query string, args []any) {
	where, of := filterClause(f)
	one := "SELECT num FROM runs WHERE " + where
	states := slices.Compact(slices.Sorted(slices.Values(f.States)))
	if len(states) == 0 {
		return one + " ORDER BY num DESC LIMIT ?", of
	}
	var parts []string
	for _, s := range states {
		parts = append(parts, one+" AND state = ?")
		args = append(append(args, of...), int64(s))
	}
	return strings.Join(parts, " UNION ALL ") + " ORDER BY num DESC LIMIT ?", args
}

// untaken is a run that has a message which nobody has taken.
const untaken = `EXISTS (SELECT 1 FROM inbox i WHERE i.num = runs.num AND i.takes IS NULL AND
	NOT EXISTS (SELECT 1 FROM inbox t WHERE t.num = i.num AND t.kind = i.kind AND t.key = i.key AND t.takes IS NOT NULL))`

// filterClause returns the condition of a filter but for its states, and its arguments.
func filterClause(f *journal.Filter) (one string, of []any) {
	one, of = "tenant = ?", []any{f.Tenant}
	if f.Before > 0 {
		one, of = one+" AND num < ?", append(of, f.Before)
	}
	if !f.Due.IsZero() {
		one, of = one+" AND (state <> ? OR wake > 0 AND wake <= ? OR "+untaken+")", append(of, int64(journal.Parked), f.Due.UnixMicro())
	}
	if f.Prefix != "" { // the letters of IDs are smaller than {
		one, of = one+" AND id >= ? AND id < ?", append(of, f.Prefix, f.Prefix+"{")
	}
	if f.Project != "" {
		one, of = one+" AND project = ?", append(of, f.Project)
	}
	if f.Kind != "" {
		one, of = one+" AND kind = ?", append(of, f.Kind)
	}
	if f.Session != "" {
		one, of = one+" AND session = ? AND session <> ''", append(of, f.Session)
	}
	return one, of
}

// Count counts the runs that a filter selects, see [journal.Store].
func (s *Store) Count(ctx context.Context, f journal.Filter) (n map[journal.State]int, err error) {
	where, args := filterClause(&f)
	if len(f.States) > 0 {
		where += " AND state IN (?" + strings.Repeat(", ?", len(f.States)-1) + ")"
	}
	for _, state := range f.States {
		args = append(args, int64(state))
	}
	n = map[journal.State]int{}
	err = s.read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT state, count(*) FROM runs WHERE "+where+" GROUP BY state", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state int64
			var count int
			if err := rows.Scan(&state, &count); err != nil {
				return err
			}
			n[journal.State(state)] = count
		}
		return rows.Err()
	})
	if err == nil {
		err = s.damage
	}
	return n, err
}

// selects reports whether the filter selects a row. A row without columns is selected
// only by a filter of the tenant alone.
func (l *listing) selects(row *journal.Row) bool {
	if row.Num == 0 || row.ID == "" { // its tenant is unknown
		return false
	}
	if row.Kind == "" && row.Nonce == "" && !l.all() {
		return false
	}
	return l.filter.Selects(row)
}

// candidates returns the possible numbers of runs, if the query for them failed.
func (l *listing) candidates() iter.Seq[int64] {
	const tries = 100_000 // a damaged number may have any value
	var last int64
	for _, q := range []string{"SELECT max(num) FROM runs", "SELECT max(num) FROM heads", "SELECT max(at) >> 32 FROM frames"} {
		var num sql.NullInt64
		if l.tx.QueryRowContext(l.ctx, q).Scan(&num) == nil && num.Int64 <= maxNum {
			last = max(last, num.Int64)
		}
	}
	return func(yield func(int64) bool) {
		for num := last; num > 0 && last-num < tries && l.ctx.Err() == nil && yield(num); num-- {
		}
	}
}

// salvageRow reads the readable parts of a row after err.
func salvageRow(ctx context.Context, tx *sql.Tx, num int64, err error) (row journal.Row, _ error) {
	var head journal.Row
	var state, wake, updated int64
	get := func(query string, into ...any) bool {
		return tx.QueryRowContext(ctx, query, num).Scan(into...) == nil
	}
	columns := get("SELECT tenant, id, project, kind, parent, forked_from, session, nonce, state, wake, updated FROM runs WHERE num = ?",
		&row.Tenant, &row.ID, &row.Project, &row.Kind, &row.Parent, &row.ForkedFrom, &row.Session, &row.Nonce, &state, &wake, &updated)
	if columns && state >= 0 && state <= int64(journal.Stuck) {
		row.State, row.Wake, row.Updated = journal.State(state), micros(wake), micros(updated)
		get("SELECT stuck FROM runs WHERE num = ?", &row.Stuck)
	} else {
		row, columns = journal.Row{}, false
	}
	if get("SELECT tenant, id, body FROM heads WHERE num = ?", &head.Tenant, &head.ID, &head.Head) {
		row.Head = head.Head
		if !columns {
			row.Tenant, row.ID, columns = head.Tenant, head.ID, true
		}
	}
	first := get("SELECT body FROM frames WHERE at >= ?1 << 32 AND at < (?1 + 1) << 32 ORDER BY at LIMIT 1", &row.First)
	last := get("SELECT body FROM frames WHERE at >= ?1 << 32 AND at < (?1 + 1) << 32 ORDER BY at DESC LIMIT 1", &row.Last)
	if columns || first || last {
		row.Num = num
	}
	return row, err
}
