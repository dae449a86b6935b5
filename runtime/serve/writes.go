package serve

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// writes is whether the record of a project can be written, as far as is known.
type writes struct {
	mu     sync.Mutex
	failed *value.Error // why it could not be, or nil
	until  time.Time    // when what failed may be tried again
	sealed *value.Error // why it cannot be at all, or nil
	looked time.Time
}

const (
	writesEvery = 10 * time.Second // how often the record is tried for a page
	writesTime  = time.Minute      // how long a record counts as refusing that has refused something
)

// isFull reports whether an error of a record is that of a full disk.
func isFull(e *value.Error) bool {
	return e.Kind == value.Limit && (e.Limit == "disk" || e.Limit == value.LimitRecord)
}

// isUnrecorded reports whether an error says that something could not be recorded.
func isUnrecorded(e *value.Error) bool {
	return isFull(e) || e.Limit == value.LimitRecord && e.Kind == value.Unavailable
}

// tried notes whether something could be recorded. Other errors say nothing of that.
func (w *writes) tried(err error) {
	e := value.ErrorOf(err, value.Failed)
	if e != nil && !isUnrecorded(e) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed, w.until = e, time.Now().Add(writesTime)
}

// refused returns why nothing can be recorded in a project, or nil.
func (p *project) refused(ctx context.Context) *value.Error {
	w := &p.writes
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.looked) >= writesEvery {
		j, err := p.op.Journal()
		if err == nil {
			err = j.CheckWrite(ctx)
		}
		if w.looked = now; ctx.Err() == nil {
			w.sealed = value.ErrorOf(err, value.Unavailable)
		}
	}
	if w.failed != nil && now.Before(w.until) {
		return w.failed
	}
	return w.sealed
}

// view lets a page show only what can be done: while nothing can be recorded, that is what may be done with the role
// [View], and the page says why.
func (r *request) view() {
	for _, p := range r.projects() {
		e := p.refused(r.Context())
		if e == nil {
			continue
		}
		r.banner = page.NoteUnwritable(isFull(e), sentence(e.Message()))
		limited := *r.user
		limited.Role = min(limited.Role, View)
		r.user = &limited
		return
	}
}

// why says why something cannot be done, which is text unless nothing can be recorded now.
func (r *request) why(text string) string {
	if r.banner != nil {
		return r.banner.Strong
	}
	return text
}
