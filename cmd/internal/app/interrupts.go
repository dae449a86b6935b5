package app

import (
	"context"
	"os"
	"os/signal"
	"sync"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Interrupts handle Ctrl-C. It ends the command, or in a session the turn in progress. A
// second Ctrl-C ends the program immediately. The methods of a nil Interrupts do nothing.
type Interrupts struct {
	signals chan os.Signal
	mu      sync.Mutex
	command context.CancelFunc
	session bool               // Ctrl-C between turns has no effect
	turn    context.CancelFunc // ends the turn in progress; nil between turns
	cancel  func()             // cancels the recorded runs in progress; may be nil
}

// CatchInterrupts returns a context that Ctrl-C ends, except in sessions.
func CatchInterrupts() (context.Context, *Interrupts) {
	ctx, stop := ui.UntilEnded(context.Background())
	ctx, cancel := interruptible(ctx)
	i := &Interrupts{signals: make(chan os.Signal, 1), command: func() { cancel(); stop() }}
	signal.Notify(i.signals, os.Interrupt)
	go i.watch()
	return ctx, i
}

// interruptible returns a context whose end is reported as "interrupted".
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, func() { cancel(interrupted{}) }
}

// interrupted is [context.Canceled] in the words of the command.
type interrupted struct{}

func (interrupted) Error() string        { return "interrupted" }
func (interrupted) Is(target error) bool { return target == context.Canceled }

func (i *Interrupts) watch() {
	for range i.signals {
		i.mu.Lock()
		end := i.turn
		if end == nil && !i.session {
			end = i.command
		}
		if end != nil {
			signal.Stop(i.signals) // the system handles the next one
			if i.cancel != nil {
				i.cancel()
			}
			end()
		}
		i.mu.Unlock()
	}
}

// set changes a field under the lock.
func set[T any](i *Interrupts, field *T, v T) {
	i.mu.Lock()
	defer i.mu.Unlock()
	*field = v
}

// Cancels makes Ctrl-C cancel the recorded runs that a host executes, until done is
// called. The end of a context only interrupts them.
func (i *Interrupts) Cancels(h *host.Host) (done func()) {
	if i == nil {
		return func() {}
	}
	set(i, &i.cancel, func() {
		for _, id := range host.Operate(h).Executing() {
			_ = h.Cancel(context.Background(), id) // fails only if the run has just ended
		}
	})
	return func() { set(i, &i.cancel, nil) }
}

// InSession makes Ctrl-C end only turns, until done is called.
func (i *Interrupts) InSession() (done func()) {
	if i == nil {
		return func() {}
	}
	set(i, &i.session, true)
	return func() { set(i, &i.session, false) }
}

// During returns the context of a turn, which Ctrl-C ends, and a function to call at its
// end.
func (i *Interrupts) During(ctx context.Context) (context.Context, func()) {
	ctx, cancel := interruptible(ctx)
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

// Interrupted returns the error of a command: nil for nil, and if the context ended, that its run
// was cancelled or interrupted, with what to type then.
func Interrupted(ctx context.Context, err error) *value.Error {
	e := value.ErrorOf(err, value.Failed)
	if e == nil || ctx.Err() == nil {
		return e
	}
	ended := value.Errorf(value.Canceled, "interrupted")
	switch {
	case e.Kind != value.Canceled || e.Hint == "":
		return ended
	case e.Limit == value.LimitInterrupted:
		return ended.WithHint("%s", e.Hint)
	}
	return e // the run was cancelled
}
