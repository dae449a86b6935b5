package mcp_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// takes is how long the calls of TestPulse take, by a clock that is not real.
const takes = 25 * time.Second

// TestPulse has calls that take long: one computes, one reports its progress first, and one waits for the answer to a form. A client
// that wants progress hears of each every ten seconds, in growing steps, and of none after its end. No goroutine is left.
func TestPulse(t *testing.T) {
	for _, test := range []struct {
		name  string
		call  cassidy.Tool
		do    func(context.Context) error
		token any
		want  []string
	}{
		{"silent", cassidy.Tool{}, wait, "p", []string{"in progress of 0", "in progress of 0"}},
		{"without a token", cassidy.Tool{}, wait, nil, nil},
		{"reporting", cassidy.Tool{}, func(ctx context.Context) error {
			host.Emit(ctx, tool.Progress{Message: "half", Done: 1, Total: 2})
			return wait(ctx)
		}, "p", []string{"half of 2", "half of 2", "half of 2"}},
		{"asking", cassidy.Tool{Risky: true}, func(context.Context) error { return nil }, "p", []string{"in progress of 0", "in progress of 0"}},
		{"short", cassidy.Tool{}, func(context.Context) error { return nil }, "p", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.call.Name, test.call.Description = "long", "Take long."
				got := progressOf(t, test.call, test.do, test.token)
				if !slices.Equal(got, test.want) {
					t.Errorf("the client heard %q, want %q", got, test.want)
				}
			})
		})
	}
}

// wait takes its time.
func wait(ctx context.Context) error {
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// progressOf makes a call, and returns the progress that its client hears of, also after its end.
func progressOf(t *testing.T, called cassidy.Tool, do func(context.Context) error, token any) (heard []string) {
	b := serve(t, nil)
	if err := b.host.Register(called, func(ctx context.Context, _ *value.Dict) (value.Value, error) { return "done", do(ctx) }); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	last := -1.0
	c := b.connectAt(t, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprint(r.Params.Message, " of ", r.Params.Total))
			if p := r.Params.Progress; p <= last || math.Trunc(p) > 1 {
				t.Errorf("the progress %v follows %v", p, last)
			}
			last = r.Params.Progress
		},
		ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": "yes"}}, wait(ctx)
		},
	}, "2025-11-25")
	params := &sdk.CallToolParams{Name: called.Name}
	if token != nil {
		params.SetProgressToken(token)
	}
	if r, err := c.CallTool(t.Context(), params); err != nil || textOf(r) != "done" {
		t.Errorf("the call gave %v, %v", r, err)
	}
	time.Sleep(2 * takes)
	mu.Lock()
	defer mu.Unlock()
	return heard
}
