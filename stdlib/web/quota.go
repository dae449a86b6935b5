package web

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

const (
	maxRequests = 20 // of one call, each redirect counted
	maxParallel = 4  // of one tool, whatever calls of it are under way
)

// quotas counts what calls ask for, and keeps one tool from taking all there
// is of the network. The zero value is ready.
type quotas struct {
	mu     sync.Mutex
	spent  map[weak.Pointer[tool.Stage]]int // by call: each has one stage, and is over when nobody holds it
	queues map[string]*queue                // by tool, while one of its requests is under way
}

type queue struct {
	slots chan struct{}
	users int
}

// spend counts one request of the call that a stage belongs to.
func (t *quotas) spend(s *tool.Stage) error {
	if s == nil {
		return nil // an effect that belongs to no call is all there is to it
	}
	key := weak.Make(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spent == nil {
		t.spent = map[weak.Pointer[tool.Stage]]int{}
	}
	n, known := t.spent[key]
	if n >= maxRequests {
		return limitError("the call may make at most %d requests, including redirects", maxRequests)
	}
	t.spent[key] = n + 1
	if !known {
		runtime.AddCleanup(s, t.forget, key)
	}
	return nil
}

func (t *quotas) forget(key weak.Pointer[tool.Stage]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.spent, key)
}

// enter waits until a tool may make one more request, which ends with leave.
func (t *quotas) enter(ctx context.Context, name string) (leave func(), err error) {
	q := t.join(name)
	select {
	case q.slots <- struct{}{}:
		return func() { <-q.slots; t.part(name, q) }, nil
	case <-ctx.Done():
		t.part(name, q)
		return nil, ctx.Err()
	}
}

func (t *quotas) join(name string) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[name]
	if q == nil {
		if t.queues == nil {
			t.queues = map[string]*queue{}
		}
		q = &queue{slots: make(chan struct{}, maxParallel)}
		t.queues[name] = q
	}
	q.users++
	return q
}

func (t *quotas) part(name string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, name)
	}
}
