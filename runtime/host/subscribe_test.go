package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// reporting is a host with the tool say, which reports n log lines.
func reporting(t *testing.T) *rig {
	r := newRig(t, nil)
	r.countTool("say", func(ctx context.Context, n int64) (value.Value, error) {
		for i := range n {
			host.Emit(ctx, tool.Log{Message: fmt.Sprint(i)})
		}
		return n, nil
	})
	return r
}

func (r *rig) countTool(name string, do func(ctx context.Context, n int64) (value.Value, error)) {
	r.t.Helper()
	err := r.Register(tool.Tool{Name: name, Description: "D.", Params: []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, HasDefault: true, Default: int64(0)}}},
		func(ctx context.Context, args *value.Dict) (value.Value, error) { return do(ctx, args.Int("n")) })
	if err != nil {
		r.t.Fatal(err)
	}
}

// says calls say.
func (r *rig) says(id string, n int) {
	r.t.Helper()
	if _, err := r.Call(r.t.Context(), tool.Call{ID: id, Tool: "say", Args: value.NewDict("n", n), Caller: tool.ByPerson}); err != nil {
		r.t.Fatal(err)
	}
}

// Texts drains what waits in a channel.
func Texts(events <-chan tool.Event) string {
	var all []string
	for len(events) > 0 {
		e := <-events
		all = append(all, e.Call+" "+e.Type())
	}
	return strings.Join(all, ", ")
}

// TestSubscribe checks that a subscription has each event when the call ends, in
// order, and that those of one run, call or session get no others.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	r := reporting(t)
	r.add("t.star", star("t", "", "tools.say(n = 1)\nfs.exists('x')", "needs = ['tool:say', 'fs.read']"), nil)
	all, run := r.Subscribe(t.Context(), host.EventFilter{}), r.Subscribe(t.Context(), host.EventFilter{Run: "b"})
	call, session := r.Subscribe(t.Context(), host.EventFilter{Call: "b/1"}), r.Subscribe(t.Context(), host.EventFilter{Session: "s"})
	other, both := r.Subscribe(t.Context(), host.EventFilter{Call: "b/10"}), r.Subscribe(t.Context(), host.EventFilter{Call: "b/1", Run: "c"})
	r.says("a", 1)
	if _, err := r.Call(t.Context(), tool.Call{ID: "b", Tool: "t", Caller: tool.ByPerson}); err != nil {
		t.Fatal(err)
	}
	inner := "b/1 tool_call_start, b/1 log, b/1 tool_call_end"
	outer := "b tool_call_start, " + inner + ", b effect, b effect, b tool_call_end"
	for _, c := range []struct{ name, got, want string }{
		{"all", Texts(all), "a tool_call_start, a log, a tool_call_end, " + outer},
		{"of a run", Texts(run), outer},
		{"of a call", Texts(call), inner},
		{"of a session", Texts(session), ""},
		{"of another call", Texts(other), ""},
		{"of a call in another run", Texts(both), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// TestEventsHaveTheirRun checks the fields of the events of a call inside a call.
func TestEventsHaveTheirRun(t *testing.T) {
	t.Parallel()
	r := reporting(t)
	r.add("t.star", star("t", "", "tools.say(n = 1)", "needs = ['tool:say']"), nil)
	events := r.Subscribe(t.Context(), host.EventFilter{Call: "b/1"})
	start := time.Now()
	if _, err := r.Call(t.Context(), tool.Call{ID: "b", Tool: "t", Caller: tool.ByPerson}); err != nil {
		t.Fatal(err)
	}
	for len(events) > 0 {
		e := <-events
		if e.Run != "b" || e.Tool != "say" || e.Seq != 0 || e.Time.Before(start.Round(0)) || e.Time.Location() != time.UTC {
			t.Errorf("an event is %+v", e)
		}
		if end, ok := e.Data.(tool.ToolCallEnd); ok && (end.Duration <= 0 || !end.Success || end.Err != nil || end.Result != int64(1)) {
			t.Errorf("the end is %+v", end)
		}
	}
}

// TestSlowSubscriber checks that who reads nothing delays no call, and learns how
// many events were dropped where they are missing.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	r := reporting(t)
	events := r.Subscribe(t.Context(), host.EventFilter{Buffer: 3})
	r.says("a", 5000)
	const want = 5002 // with its start and its end
	got, lost := 0, 0
	for got+lost < want {
		e := <-events
		switch d := e.Data.(type) {
		case tool.Lost:
			if d.N == 0 || got < 3 {
				t.Errorf("after %d events, %d are reported lost", got, d.N)
			}
			lost += int(d.N)
		case tool.Log:
			if lost > 0 || d.Message != fmt.Sprint(got-1) {
				t.Errorf("event %d is line %s, after %d lost", got, d.Message, lost)
			}
			got++
		default:
			got++
		}
	}
	if got > 10 || got+lost != want {
		t.Errorf("%d events came and %d were lost, want %d", got, lost, want)
	}
	r.says("b", 0) // it hears again
	for _, want := range []string{"tool_call_start", "tool_call_end"} {
		if e := <-events; e.Type() != want || e.Call != "b" {
			t.Errorf("then came %+v, want %s", e, want)
		}
	}
}

// TestSubscriptionEnds checks that a channel is closed with its context or the
// host, and what waits in it can be read.
func TestSubscriptionEnds(t *testing.T) {
	t.Parallel()
	r := reporting(t)
	ctx, cancel := context.WithCancel(t.Context())
	first, second, full := r.Subscribe(ctx, host.EventFilter{}), r.Subscribe(t.Context(), host.EventFilter{}), r.Subscribe(ctx, host.EventFilter{Buffer: 1})
	r.says("a", 1)
	cancel()
	count := func(events <-chan tool.Event) (n int) {
		for range events {
			n++
		}
		return n
	}
	if n := count(first); n != 3 {
		t.Errorf("%d events were left, want 3", n)
	}
	count(full) // it is closed, though it had no space
	if _, open := <-r.Subscribe(ctx, host.EventFilter{}); open {
		t.Error("a subscription with a context that has ended got an event")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(second); n != 3 {
		t.Errorf("%d events were left, want 3", n)
	}
	if _, open := <-r.Subscribe(t.Context(), host.EventFilter{}); open {
		t.Error("a subscription to a closed host got an event")
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// TestSubscribeConcurrently subscribes, reads, emits and closes at a time.
func TestSubscribeConcurrently(t *testing.T) {
	t.Parallel()
	r := reporting(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { r.says(fmt.Sprint("c", i), 50) })
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			events := r.Subscribe(ctx, host.EventFilter{Buffer: 1 + i%3, Run: fmt.Sprint("c", i)})
			for range i {
				select {
				case <-events:
				default:
				}
			}
			cancel()
			for range events {
			}
		})
	}
	all.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEmitOutsideOfCalls checks that nothing is reported for a context that belongs
// to no call.
func TestEmitOutsideOfCalls(t *testing.T) {
	t.Parallel()
	r := reporting(t)
	events := r.Subscribe(t.Context(), host.EventFilter{})
	host.Emit(context.Background(), tool.Log{})
	host.EmitAnswered(context.Background(), tool.Call{Tool: "x"}, "", nil)
	if got := Texts(events); got != "" || host.Subscribed(context.Background()) {
		t.Errorf("reported %s", got)
	}
	var inside context.Context
	r.countTool("keeps", func(ctx context.Context, _ int64) (value.Value, error) {
		inside = ctx
		host.Emit(ctx, nil)
		if !host.Subscribed(ctx) {
			t.Error("nobody has subscribed")
		}
		return nil, nil
	})
	if _, err := r.Call(t.Context(), tool.Call{ID: "k", Tool: "keeps", Caller: tool.ByPerson}); err != nil {
		t.Fatal(err)
	}
	Texts(events)
	host.EmitAnswered(inside, tool.Call{Tool: "x", Args: value.NewDict("a", 1)}, "as before", nil)
	host.Emit(inside, tool.Progress{Message: "half", Done: 1, Total: 2})
	if got := Texts(events); got != "k/1 tool_call_start, k/1 tool_call_end, k progress" {
		t.Errorf("reported %s", got)
	}
}
