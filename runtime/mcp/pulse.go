package mcp

import (
	"context"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// beatEvery is how often a client that wants progress hears that its request goes on. Many end one after a minute in which
// they hear nothing, and begin to count again with each progress.
const beatEvery = 10 * time.Second

// A pulse is what a client knows of the progress of a request. The value of progress must grow with each notification.
type pulse struct {
	mu   sync.Mutex
	last tool.Progress
}

// progress sends a report of a tool to a client that wants progress.
func (c client) progress(ctx context.Context, report tool.Progress) {
	if c.token == nil {
		return
	}
	c.pulse.mu.Lock()
	defer c.pulse.mu.Unlock()
	c.pulse.last = report
	c.sendProgress(ctx)
}

// sendProgress sends the last progress. It needs the lock.
func (c client) sendProgress(ctx context.Context) {
	last := &c.pulse.last
	_ = c.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // who has gone needs no progress
		ProgressToken: c.token, Message: last.Message, Progress: last.Done, Total: last.Total,
	})
}

// beat sends the last progress again, a little further: not so far that it reaches the next report of the tool.
func (c client) beat(ctx context.Context) {
	const little = 1e-6
	c.pulse.mu.Lock()
	defer c.pulse.mu.Unlock()
	c.pulse.last.Done += little
	if c.pulse.last.Message == "" {
		c.pulse.last.Message = "in progress"
	}
	c.sendProgress(ctx)
}

// beats tells the client that its request goes on, until stop is called: while a call computes, and while it waits for an
// answer. After stop, nothing more is sent.
func (c client) beats(ctx context.Context) (stop func()) {
	if c.token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.beat(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
