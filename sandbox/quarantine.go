package sandbox

import (
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A quarantine lists the scripts of a pool that are not run again, since a worker broke the
// protocol for them. The zero value is empty. Its methods are safe for concurrent use.
type quarantine struct {
	mu      sync.Mutex
	reasons map[domain]*value.Error // by tenant and script
}

// add has a script refused from now on, also where it waits already.
func (q *quarantine) add(j job, reason *value.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reasons == nil {
		q.reasons = map[domain]*value.Error{}
	}
	q.reasons[j.refusalKey()] = reason.WithHint("fix the file of the tool, or restart the host; until then the tool is disabled")
}

// check returns why a script is refused, or nil.
func (q *quarantine) check(j job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.reasons[j.refusalKey()]; e != nil {
		return e
	}
	return nil
}

func (j job) refusalKey() domain { return domain{tenant: j.domain.tenant, key: j.script} }
