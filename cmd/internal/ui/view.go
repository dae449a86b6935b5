package ui

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// viewBuffer is how many events wait for a slow terminal: more than the pieces of output
// that a call may emit.
const viewBuffer = 1 << 16

// An eventView shows the events of a host on the screen, in a goroutine.
type eventView struct {
	screen *Screen
	show   func(tool.Event)
	events <-chan tool.Event
	asked  chan chan struct{} // each is closed when all events so far are shown
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
			for n := len(v.events); n > 0; n-- {
				if e, ok := <-v.events; ok {
					v.screen.Add(e, v.show)
				}
			}
			close(done)
		}
	}
}

// catchUp waits until all events so far are shown, or held while a question is open.
func (v *eventView) catchUp() {
	done := make(chan struct{})
	select {
	case v.asked <- done:
		<-done
	case <-v.ended:
	}
}
