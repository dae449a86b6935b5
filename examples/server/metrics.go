package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy"
)

// metrics counts calls, and serves the numbers in the text form of Prometheus. It is
// safe for concurrent use.
type metrics struct {
	token [sha256.Size]byte // the hash of the token that reads them; zero for nobody

	mu    sync.Mutex
	calls map[string]sum // by labels
}

type sum struct {
	count   int
	seconds float64
}

// of returns the middleware of a tenant's host. It sees all calls, also those that
// tools make.
func (m *metrics) of(tenant string) cassidy.Middleware {
	return func(next cassidy.CallFunc) cassidy.CallFunc {
		return func(ctx context.Context, c *cassidy.Call) (cassidy.Result, error) {
			start := time.Now()
			result, err := next(ctx, c)
			name, outcome := c.Tool, "ok"
			switch {
			case errors.Is(err, cassidy.ErrNotFound):
				name, outcome = "", "not_found" // clients must not make up series
			case errors.Is(err, cassidy.ErrParked):
				outcome = "parked"
			case err != nil:
				outcome = "error"
			}
			m.add(fmt.Sprintf("tenant=%q,tool=%q,outcome=%q", tenant, name, outcome), time.Since(start))
			return result, err
		}
	}
}

func (m *metrics) add(labels string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls = map[string]sum{}
	}
	s := m.calls[labels]
	m.calls[labels] = sum{s.count + 1, s.seconds + took.Seconds()}
}

// ServeHTTP writes the numbers of all tenants, for who has the token.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := sha256.Sum256([]byte(token(r)))
	if subtle.ConstantTimeCompare(given[:], m.token[:]) != 1 {
		http.Error(w, "unknown token", http.StatusUnauthorized)
		return
	}
	m.mu.Lock()
	calls := maps.Clone(m.calls)
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintln(w, "# TYPE cassidy_call_seconds summary")
	for _, labels := range slices.Sorted(maps.Keys(calls)) {
		s := calls[labels]
		fmt.Fprintf(w, "cassidy_call_seconds_count{%s} %d\ncassidy_call_seconds_sum{%s} %g\n", labels, s.count, labels, s.seconds)
	}
}
