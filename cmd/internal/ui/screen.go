package ui

import (
	"context"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Screen shows events and questions. While a question is open, events wait, so that no
// tool can write into the question.
type Screen struct {
	Live *Live // what is in progress, or nil

	mu      sync.Mutex
	asking  bool
	waiting []func() // shows the events that wait
	views   []*eventView
}

// Hold shows all events so far. Later events wait for [Screen.Release].
func (s *Screen) Hold() {
	s.mu.Lock()
	views := slices.Clone(s.views)
	s.mu.Unlock()
	for _, v := range views {
		v.catchUp()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Live.hold(true)
	s.asking = true
}

// Release shows the events that waited.
func (s *Screen) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Live.hold(false)
	for _, show := range s.waiting {
		show()
	}
	s.asking, s.waiting = false, nil
}

// Add shows an event, immediately or after the open question.
func (s *Screen) Add(e tool.Event, show func(tool.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		s.waiting = append(s.waiting, func() { show(e) })
		return
	}
	show(e)
}

// Follow shows the events of a host until stop is called, which shows the events so far
// before it returns.
func (s *Screen) Follow(h *host.Host, show func(tool.Event)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	v := &eventView{
		screen: s, show: show, events: h.Subscribe(ctx, host.EventFilter{Buffer: viewBuffer}),
		asked: make(chan chan struct{}), ended: make(chan struct{}),
	}
	s.mu.Lock()
	s.views = append(s.views, v)
	s.mu.Unlock()
	go v.run()
	return func() {
		v.catchUp()
		cancel()
		<-v.ended
		s.mu.Lock()
		defer s.mu.Unlock()
		s.views = slices.DeleteFunc(s.views, func(other *eventView) bool { return other == v })
	}
}
