package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// prepared are statements that were compiled once. A compiled one takes a third of the time to find a run and to load it.
type prepared struct {
	mu   sync.Mutex
	stmt map[string]*sql.Stmt
}

// of returns the statement of a query, one of a few, or nil if it cannot be compiled, as of a damaged database.
func (p *prepared) of(ctx context.Context, db *sql.DB, query string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	stmt := p.stmt[query]
	if stmt == nil {
		var err error
		if stmt, err = db.PrepareContext(ctx, query); err != nil {
			return nil
		}
		if p.stmt == nil {
			p.stmt = map[string]*sql.Stmt{}
		}
		p.stmt[query] = stmt
	}
	return stmt
}

// A reading is a transaction with the prepared statements of its store. Its queries must be constants.
type reading struct {
	s  *Store
	tx *sql.Tx
}

// QueryRowContext implements querier.
func (r reading) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := r.s.prepared.of(ctx, r.s.db, query); stmt != nil {
		return r.tx.StmtContext(ctx, stmt).QueryRowContext(ctx, args...)
	}
	return r.tx.QueryRowContext(ctx, query, args...)
}

// QueryContext implements querier.
func (r reading) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := r.s.prepared.of(ctx, r.s.db, query); stmt != nil {
		return r.tx.StmtContext(ctx, stmt).QueryContext(ctx, args...)
	}
	return r.tx.QueryContext(ctx, query, args...)
}
