package web

import (
	"context"
	"sync"
)

const maxParallel = 4 // requests of one tool, whatever calls of it are under way

// queues keep one tool from taking all there is of the network. The zero value is ready.
type queues struct {
	mu     sync.Mutex
	byTool map[string]*queue // while a request of the tool is under way
}

type queue struct {
	slots chan struct{}
	users int
}

// enter waits until a tool may make one more request, which ends with leave.
func (t *queues) enter(ctx context.Context, name string) (leave func(), err error) {
	q := t.join(name)
	select {
	case q.slots <- struct{}{}:
		return func() { <-q.slots; t.part(name, q) }, nil
	case <-ctx.Done():
		t.part(name, q)
		return nil, ctx.Err()
	}
}

func (t *queues) join(name string) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.byTool[name]
	if q == nil {
		if t.byTool == nil {
			t.byTool = map[string]*queue{}
		}
		q = &queue{slots: make(chan struct{}, maxParallel)}
		t.byTool[name] = q
	}
	q.users++
	return q
}

func (t *queues) part(name string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.byTool, name)
	}
}
