package sandbox

import (
	"runtime"
	"sync"

	"github.com/cassidy-run/cassidy/sandbox/internal/seal"
)

// A starter starts processes, all from one thread that does nothing else. The kernel kills a
// worker when the thread ends that has started it, so that no worker outlives its host. But
// a Go program ends threads: those that a goroutine has locked when it ends. This thread
// ends when the starter is closed.
type starter struct {
	begin sync.Once
	tasks chan func()
	over  chan struct{}
}

func newStarter() *starter { return &starter{tasks: make(chan func()), over: make(chan struct{})} }

// do runs a task on the thread. If the starter is closed it returns false and does not run
// it.
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
	runtime.LockOSThread() // without unlocking: the thread ends with this function
	seal.PrepareThread()
	for {
		select {
		case task := <-s.tasks:
			task()
		case <-s.over:
			return
		}
	}
}

// close ends the thread, and with it the processes that it has started.
func (s *starter) close() { close(s.over) }
