package main

import (
	"context"
	"os"
	"os/signal"
	"sync"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An interrupts decides what Ctrl-C ends: the command, or in a session the turn
// that is under way. Whatever is being ended, a second Ctrl-C before that is
// done ends the program at once. Nil has no Ctrl-C end a turn.
type interrupts struct {
	signals chan os.Signal
	mu      sync.Mutex
	command context.CancelFunc
	session bool               // Ctrl-C between turns ends nothing
	turn    context.CancelFunc // of the turn that is under way, or nil
	cancel  func()             // cancels the recorded runs that are executed, or nil
}

// catchInterrupts returns a context that Ctrl-C ends, outside of sessions.
func catchInterrupts() (context.Context, *interrupts) {
	ctx, cancel := ui.UntilEnded(context.Background())
	i := &interrupts{signals: make(chan os.Signal, 1), command: cancel}
	signal.Notify(i.signals, os.Interrupt)
	go i.watch()
	return ctx, i
}

func (i *interrupts) watch() {
	for range i.signals {
		i.mu.Lock()
		switch {
		case i.turn != nil:
			signal.Stop(i.signals) // until the turn has ended, the next one is the system's
			i.cancelRuns()
			i.turn()
		case !i.session:
			signal.Stop(i.signals)
			i.cancelRuns()
			i.command()
		}
		i.mu.Unlock()
	}
}

func (i *interrupts) cancelRuns() {
	if i.cancel != nil {
		i.cancel()
	}
}

// cancels has Ctrl-C cancel the recorded runs that a host executes, which the
// end of a context only interrupts, until the function that it returns is
// called.
func (i *interrupts) cancels(h *host.Host) (done func()) {
	if i == nil {
		return func() {}
	}
	set := func(cancel func()) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.cancel = cancel
	}
	set(func() {
		for _, id := range h.Executing() {
			_ = h.Cancel(context.Background(), id) // one that is executed here is always cancelled
		}
	})
	return func() { set(nil) }
}

// inSession has Ctrl-C end only turns, until the function that it returns is
// called.
func (i *interrupts) inSession() (done func()) {
	if i == nil {
		return func() {}
	}
	set := func(on bool) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.session = on
	}
	set(true)
	return func() { set(false) }
}

// during returns the context of a turn, which Ctrl-C ends, and what is to be
// called at its end.
func (i *interrupts) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	if i == nil {
		return ctx, cancel
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.turn = cancel
	return ctx, func() {
		cancel()
		i.mu.Lock()
		defer i.mu.Unlock()
		i.turn = nil
		signal.Notify(i.signals, os.Interrupt)
	}
}

// interruptedError is the error of a command whose context ended, with what to
// type to continue where that is possible.
func interruptedError(err error) *value.Error {
	told := value.Errorf(value.Canceled, "interrupted")
	if e := value.ErrorOf(err, value.Failed); e != nil && e.Kind == value.Canceled && e.Hint != "" {
		return told.WithHint("%s", e.Hint)
	}
	return told
}
