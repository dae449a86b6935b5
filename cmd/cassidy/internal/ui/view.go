package ui

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// viewBuffer is how many events wait for a terminal that is slow: more than a call
// may emit pieces of output.
const viewBuffer = 1 << 16

// An eventView shows the events of a host on the screen, in a goroutine.
type eventView struct {
	screen *Screen
	show   func(tool.Event)
	events <-chan tool.Event
	asked  chan chan struct{} // for what is closed when all events so far are shown
	ended  chan struct{}
}

func (v *eventView) run() {
	defer close(v.ended)
	for {
		select {
		case e, ok := <-v.events:
			if !ok {
				return
			}
			v.screen.Add(e, v.show)
		case done := <-v.asked:
			open := v.drain()
			close(done)
			if !open {
				return
			}
		}
	}
}

// drain shows the events that wait, and reports whether more can come.
func (v *eventView) drain() (open bool) {
	for {
		select {
		case e, ok := <-v.events:
			if !ok {
				return false
			}
			v.screen.Add(e, v.show)
		default:
			return true
		}
	}
}

// catchUp returns when all events so far are shown, or held while a question is
// open.
func (v *eventView) catchUp() {
	done := make(chan struct{})
	select {
	case v.asked <- done:
		<-done
	case <-v.ended:
	}
}
