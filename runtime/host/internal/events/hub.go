// Package events delivers the events of a host to those who have subscribed to them.
package events

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Filter selects events: it is the EventFilter of package host.
type Filter struct {
	Run, Call, Session string
	Buffer             int
}

const (
	defaultBuffer = 256
	maxBuffer     = 1 << 16 // events of 112 bytes
)

// A Hub delivers the events of a host to its subscribers. The zero value is ready to use, and
// safe for concurrent use.
type Hub struct {
	number atomic.Int32 // the number of subscribers

	mu     sync.RWMutex
	closed bool
	subs   map[subscription][]*subscriber // the lists are replaced, never changed
}

// A subscription is the key of subscribers: the most selective part of their filter.
type subscription struct {
	by byte // one of the constants below
	id string
}

const (
	byNothing byte = iota
	byRun
	byCall // by the first part of its ID
	bySession
)

func (f *Filter) subscription() subscription {
	switch {
	case f.Call != "":
		return subscription{byCall, firstPart(f.Call)}
	case f.Run != "":
		return subscription{byRun, f.Run}
	case f.Session != "":
		return subscription{bySession, f.Session}
	}
	return subscription{}
}

// firstPart returns the part of the ID of a call that it shares with the calls that it makes,
// and with those that make it.
func firstPart(call string) string {
	first, _, _ := strings.Cut(call, "/")
	return first
}

// Subscribe returns a channel of the events that a filter selects, from now on, until the
// context ends or the hub is closed. now returns the time of a [tool.Lost] event.
func (h *Hub) Subscribe(ctx context.Context, f Filter, now func() time.Time) <-chan tool.Event {
	size := f.Buffer
	if size <= 0 {
		size = defaultBuffer
	}
	s := &subscriber{now: now, filter: f, events: make(chan tool.Event, min(size, maxBuffer)), done: make(chan struct{})}
	if ctx.Err() != nil || !h.add(s) {
		close(s.events)
		return s.events
	}
	stop := context.AfterFunc(ctx, func() {
		h.remove(s)
		s.close()
	})
	s.mu.Lock()
	s.stop = stop
	s.mu.Unlock()
	return s.events
}

// Any reports whether there is a subscriber.
func (h *Hub) Any() bool { return h.number.Load() > 0 }

// add adds a subscriber, unless the hub is closed.
func (h *Hub) add(s *subscriber) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	if h.subs == nil {
		h.subs = map[subscription][]*subscriber{}
	}
	key := s.filter.subscription()
	h.subs[key] = append(slices.Clip(h.subs[key]), s)
	h.number.Add(1)
	return true
}

func (h *Hub) remove(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := s.filter.subscription()
	i := slices.Index(h.subs[key], s)
	if i < 0 {
		return
	}
	h.number.Add(-1)
	left := slices.Delete(slices.Clone(h.subs[key]), i, i+1)
	if h.subs[key] = left; len(left) == 0 {
		delete(h.subs, key)
	}
}

// Close ends all subscriptions. Later ones end immediately.
func (h *Hub) Close() {
	h.mu.Lock()
	subs := h.subs
	h.subs, h.closed = nil, true
	h.number.Store(0)
	h.mu.Unlock()
	for _, list := range subs {
		for _, s := range list {
			s.close()
		}
	}
}

// of returns the subscribers whose filter may select an event.
func (h *Hub) of(e *tool.Event) (lists [4][]*subscriber) {
	if h.number.Load() == 0 {
		return lists
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	lists[0], lists[1], lists[2] = h.subs[subscription{}], h.subs[subscription{byRun, e.Run}], h.subs[subscription{byCall, firstPart(e.Call)}]
	if e.Session != "" {
		lists[3] = h.subs[subscription{bySession, e.Session}]
	}
	return lists
}

// Wanted reports whether any filter may select an event. The event need not have its Data.
func (h *Hub) Wanted(e *tool.Event) bool {
	lists := h.of(e)
	return slices.ContainsFunc(lists[:], func(list []*subscriber) bool { return len(list) > 0 })
}

// Deliver sends an event to the subscribers whose filter selects it. It does not block.
func (h *Hub) Deliver(e *tool.Event) {
	for _, list := range h.of(e) {
		for _, s := range list {
			if s.filter.selects(e) {
				s.deliver(e)
			}
		}
	}
}

// selects reports whether a filter selects an event.
func (f *Filter) selects(e *tool.Event) bool {
	below, ok := strings.CutPrefix(e.Call, f.Call)
	return ok && (f.Call == "" || below == "" || below[0] == '/') && (f.Run == "" || f.Run == e.Run) && (f.Session == "" || f.Session == e.Session)
}

// A subscriber gets events through a buffered channel. If that is full, a goroutine sends the
// next events from a queue of the same size. If that is full too, events are counted, and
// the goroutine sends a [tool.Lost] event with their number.
type subscriber struct {
	now    func() time.Time
	filter Filter
	events chan tool.Event
	done   chan struct{} // closed with the subscription

	mu     sync.Mutex
	stop   func() bool
	behind bool         // the goroutine runs
	queue  []tool.Event // the events that it sends next
	lost   uint64       // the number of events that were dropped after these
	closed bool
}

func (s *subscriber) deliver(e *tool.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return
	case s.behind && s.lost == 0 && len(s.queue) < cap(s.events):
		s.queue = append(s.queue, *e)
		return
	case s.behind:
		s.lost++
		return
	}
	select {
	case s.events <- *e:
	default:
		s.behind = true
		go s.catchUp(*e)
	}
}

// catchUp sends an event, then the queue and the number of lost events, until none is left.
func (s *subscriber) catchUp(e tool.Event) {
	for {
		select {
		case s.events <- e:
		case <-s.done:
			close(s.events)
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			close(s.events)
			return
		}
		switch {
		case len(s.queue) > 0:
			e, s.queue = s.queue[0], s.queue[1:]
			s.mu.Unlock()
			continue
		case s.lost == 0:
			s.behind, s.queue = false, nil
			s.mu.Unlock()
			return
		}
		e = tool.Event{Time: s.now(), Run: s.filter.Run, Call: s.filter.Call, Session: s.filter.Session, Data: tool.Lost{N: s.lost}}
		s.lost = 0
		s.mu.Unlock()
	}
}

// close ends the subscription.
func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	close(s.done)
	if !s.behind { // else the goroutine does
		close(s.events)
	}
}
