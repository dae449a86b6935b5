package sandbox

import (
	"runtime"
	"sync"
)

// A starter starts processes, all from one thread that does nothing else. The
// kernel ends a worker together with the thread that started it, so that none
// outlives its host; but a Go program ends threads: each on which a goroutine
// ends that has locked it. This one ends when the starter is closed.
type starter struct {
	begin sync.Once
	tasks chan func()
	over  chan struct{}
}

func newStarter() *starter { return &starter{tasks: make(chan func()), over: make(chan struct{})} }

// do runs a task on the thread. It reports false, and has not run it, when the
// starter is closed.
func (s *starter) do(task func()) bool {
	s.begin.Do(func() { go s.run() })
	done := make(chan struct{})
	select {
	case s.tasks <- func() { defer close(done); task() }:
		<-done
		return true
	case <-s.over:
		return false
	}
}

func (s *starter) run() {
	runtime.LockOSThread() // for ever: the thread ends with this function
	prepareStarter()
	for {
		select {
		case task := <-s.tasks:
			task()
		case <-s.over:
			return
		}
	}
}

// close ends the thread, and with it what it has started and is still there.
func (s *starter) close() { close(s.over) }
