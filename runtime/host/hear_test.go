package host_test

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// hear has f called with the events of a host, one at a time, until the function
// that it returns is called: it returns when all events before it were heard.
func hear(t testing.TB, h *host.Host, f func(tool.Event)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events, ended := h.Subscribe(ctx, host.EventFilter{Buffer: 1 << 16}), make(chan struct{})
	go func() {
		defer close(ended)
		for e := range events {
			if lost, ok := e.Data.(tool.Lost); ok {
				t.Errorf("%d events were lost", lost.N)
			}
			f(e)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
