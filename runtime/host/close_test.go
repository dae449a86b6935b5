package host_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A closing host has one tool in Go, and tells when its parts are released.
type closing struct {
	*host.Host
	begun    chan struct{}
	released atomic.Bool
	gone     chan struct{} // closed when its parts are released
}

func newClosing(t *testing.T, o *host.Options, do func(context.Context, *value.Dict) (value.Value, error)) *closing {
	t.Helper()
	c := &closing{begun: make(chan struct{}, 10), gone: make(chan struct{})}
	o.Close = func() error {
		c.released.Store(true)
		close(c.gone)
		return nil
	}
	var err error
	if c.Host, err = host.New(o); err != nil {
		t.Fatal(err)
	}
	handler := func(ctx context.Context, args *value.Dict) (value.Value, error) {
		c.begun <- struct{}{}
		return do(ctx, args)
	}
	if err := c.Register(tool.Tool{Name: "t", Description: "T."}, handler); err != nil {
		t.Fatal(err)
	}
	return c
}

// call makes a call in a goroutine.
func (c *closing) call(call tool.Call) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), call)
		done <- err
	}()
	return done
}

func untilEnd(ctx context.Context, _ *value.Dict) (value.Value, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestCloseCancelsCalls checks that a host that is closed ends what it does, whoever
// is waited for, and does nothing more.
func TestCloseCancelsCalls(t *testing.T) {
	t.Parallel()
	c := newClosing(t, &host.Options{}, untilEnd)
	done := c.call(tool.Call{Tool: "t"})
	<-c.begun
	if err := c.Close(); err != nil || !c.released.Load() {
		t.Errorf("Close: %v, released %v", err, c.released.Load())
	}
	if err := <-done; !errors.Is(err, value.ErrClosed) {
		t.Errorf("the call gave %v, want that the host is closed", err)
	}
	ctx := context.Background()
	_, called := c.Call(ctx, tool.Call{Tool: "t"})
	_, resumed := c.Resume(ctx, "r")
	_, ran := c.RunProgram(ctx, &host.Program{Name: "p"})
	for name, err := range map[string]error{"Call": called, "Resume": resumed, "RunProgram": ran} {
		if !errors.Is(err, value.ErrClosed) {
			t.Errorf("%s of a closed host gave %v", name, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// TestCloseReleasesWhatIsUsedLater checks that Close does not wait for a handler that
// ignores its context, and that nothing is taken from under it.
func TestCloseReleasesWhatIsUsedLater(t *testing.T) {
	t.Parallel() // Close waits a second
	end, released := make(chan struct{}), make(chan bool, 1)
	var c *closing
	c = newClosing(t, &host.Options{}, func(context.Context, *value.Dict) (value.Value, error) {
		<-end
		released <- c.released.Load()
		return nil, nil
	})
	done := c.call(tool.Call{Tool: "t"})
	<-c.begun
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("Close: %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("Close waits for the handler")
	}
	close(end)
	if <-released {
		t.Error("the host's parts were released under a handler")
	}
	<-done
	<-c.gone
}

// TestShutdown checks that a call is waited for as long as there is time, that no
// other begins meanwhile, and that it is cancelled then.
func TestShutdown(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	c := newClosing(t, &host.Options{}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		<-end
		return nil, context.Cause(ctx)
	})
	done, down := c.call(tool.Call{Tool: "t"}), make(chan error, 1)
	<-c.begun
	go func() { down <- c.Shutdown(context.Background()) }()
	for {
		_, err := c.Call(context.Background(), tool.Call{Tool: "none"})
		if errors.Is(err, value.ErrClosed) {
			break
		}
	}
	close(end)
	if err := <-done; err != nil {
		t.Errorf("the call that was waited for gave %v", err)
	}
	if err := <-down; err != nil || !c.released.Load() {
		t.Errorf("Shutdown: %v, released %v", err, c.released.Load())
	}

	c = newClosing(t, &host.Options{}, untilEnd)
	done = c.call(tool.Call{Tool: "t"})
	<-c.begun
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Shutdown(ctx); !errors.Is(err, value.ErrCanceled) {
		t.Errorf("Shutdown without time gave %v", err)
	}
	if err := <-done; !errors.Is(err, value.ErrClosed) {
		t.Errorf("the call gave %v, want that the host is closed", err)
	}
}

// TestCloseEndsAQuestion checks that Close ends a call that waits for an approval.
func TestCloseEndsAQuestion(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	o := &host.Options{Approver: host.ApproverFunc(func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		close(asked)
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	})}
	c := newClosing(t, o, untilEnd)
	if err := c.Replace(tool.Tool{Name: "t", Description: "T.", Risky: true}, untilEnd); err != nil {
		t.Fatal(err)
	}
	done := c.call(tool.Call{Tool: "t"})
	<-asked
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("the call was approved")
	}
}

// TestCloseEndsMiddleware checks that a middleware which waits before the call is
// cancelled with the host, and that a call which begins after that is too.
func TestCloseEndsMiddleware(t *testing.T) {
	t.Parallel() // Close waits a second
	for name, heeds := range map[string]bool{"it waits for its context": true, "it ignores its context": false} {
		begun, closed := make(chan struct{}), make(chan struct{})
		o := &host.Options{Middleware: []host.Middleware{func(next host.CallFunc) host.CallFunc {
			return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
				close(begun)
				if heeds {
					<-ctx.Done()
					return tool.Result{}, context.Cause(ctx)
				}
				<-closed
				return next(ctx, c)
			}
		}}}
		c := newClosing(t, o, untilEnd)
		done := c.call(tool.Call{Tool: "t"})
		<-begun
		if err := c.Close(); err != nil || c.released.Load() != heeds {
			t.Errorf("%s: Close: %v, released %v", name, err, c.released.Load())
		}
		close(closed)
		if err := <-done; !errors.Is(err, value.ErrClosed) {
			t.Errorf("%s: the call gave %v, want that the host is closed", name, err)
		}
	}
}

// TestCloseAgainWaits checks that who closes a host that is being closed waits for its
// calls too, since the store is often closed next.
func TestCloseAgainWaits(t *testing.T) {
	t.Parallel()
	cancelled, end := make(chan struct{}), make(chan struct{})
	c := newClosing(t, &host.Options{}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		<-ctx.Done()
		close(cancelled)
		<-end
		return nil, nil
	})
	done, closed := c.call(tool.Call{Tool: "t"}), make(chan error, 2)
	<-c.begun
	go func() { closed <- c.Close() }()
	<-cancelled
	go func() { closed <- c.Close() }()
	select {
	case err := <-closed:
		t.Errorf("Close did not wait for the call: %v", err)
	default:
	}
	close(end)
	<-done
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}
