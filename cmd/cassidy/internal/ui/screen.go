package ui

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Screen keeps a question apart from what calls tell: while one is open,
// their events wait, so that no tool can write into it.
type Screen struct {
	mu      sync.Mutex
	asking  bool
	waiting []heldEvent
	views   []*eventView
	spinner *Spinner // what turns while nothing comes, or nil
}

// A heldEvent is one that waits, with what shows it.
type heldEvent struct {
	event tool.Event
	show  func(tool.Event)
}

// Hold shows what has happened so far, and has what comes later wait.
func (s *Screen) Hold() {
	s.mu.Lock()
	views := slices.Clone(s.views)
	s.mu.Unlock()
	for _, v := range views {
		v.catchUp()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spinner.Erase()
	s.asking = true
}

// Release shows the events that had to wait.
func (s *Screen) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, held := range s.waiting {
		held.show(held.event)
	}
	s.asking, s.waiting = false, nil
}

// Add shows an event, now or after the question that is open.
func (s *Screen) Add(e tool.Event, show func(tool.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		s.waiting = append(s.waiting, heldEvent{e, show})
		return
	}
	show(e)
}

// Spin has the screen's spinner turn until the function that it returns is
// called.
func (s *Screen) Spin(with *Spinner) (stop func()) {
	if with == nil {
		return func() {}
	}
	s.mu.Lock()
	s.spinner = with
	s.mu.Unlock()
	ticker := time.NewTicker(spinEvery)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				s.mu.Lock()
				if !s.asking {
					with.draw()
				}
				s.mu.Unlock()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		s.mu.Lock()
		defer s.mu.Unlock()
		with.Hide()
		s.spinner = nil
	}
}

// Follow shows the events of a host until the function that it returns is called,
// which first shows those so far.
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
