package attached

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// answering returns options of a server whose tool returns a text, after go gets a value for each call.
// Its ended is closed when the server has ended.
func answering(text string, began chan<- bool, proceed <-chan bool) (o Options, starts *atomic.Int64, ended chan struct{}) {
	ended = make(chan struct{})
	s := offering(forecast)
	s["tools/call"] = func(string, json.RawMessage) string {
		if began != nil {
			began <- true
			<-proceed
		}
		return `{"content":[{"type":"text","text":"` + text + `"}]}`
	}
	o, starts = launched(func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
		defer close(ended)
		return s.serve(ctx, in, out, errs)
	})
	return o, starts, ended
}

// reviewed returns the tools of a definition.
func reviewed(t *testing.T, text string) Set {
	t.Helper()
	tools, err := ParseSet(text)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func newHost(t *testing.T) *host.Host {
	t.Helper()
	h, err := host.New(&host.Options{Approver: host.ApproveAll()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// forecastOf calls the tool, and returns its text or its error.
func forecastOf(ctx context.Context, h *host.Host) (string, error) {
	r, err := h.Call(ctx, tool.Call{Tool: "weather.get-forecast", Args: value.NewDict("city", "Rome"), Caller: tool.ByPerson})
	return value.FormatJSON(r.Value, ""), err
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// within waits for a channel.
func within[T any](t *testing.T, what string, c <-chan T) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		t.Fatalf("not in time: %s", what)
	}
}

// TestExchange replaces a server during a call: the call ends normally on the former server, which ends
// then, and the next call starts the other one.
func TestExchange(t *testing.T) {
	t.Parallel()
	began, proceed := make(chan bool), make(chan bool)
	before, _, ended := answering("before", began, proceed)
	after, starts, _ := answering("after", nil, nil)
	tools := reviewed(t, forecast)
	h := newHost(t)
	first, second := newServer(t, before, tools), newServer(t, after, tools)
	if broken := first.Register(h); len(broken) > 0 {
		t.Fatal(broken)
	}
	text := make(chan string, 1)
	go func() {
		got, err := forecastOf(t.Context(), h)
		if err != nil {
			t.Error(err)
		}
		text <- got
	}()
	within(t, "the call", began)
	if broken := Exchange(h, []*Server{first}, []*Server{second}); len(broken) > 0 {
		t.Fatal(broken)
	}
	if got, err := forecastOf(t.Context(), h); err != nil || !strings.Contains(got, "after") {
		t.Errorf("a call of the new server: %s, %v", got, err)
	}
	if isClosed(ended) {
		t.Error("the former server has ended during a call")
	}
	proceed <- true
	if got := <-text; !strings.Contains(got, "before") {
		t.Errorf("the call in progress gave %s", got)
	}
	first.Wait()
	within(t, "the end of the former server", ended)
	if broken := Exchange(h, nil, []*Server{second}); len(broken) > 0 {
		t.Errorf("the same servers: %v", broken)
	}
	if _, err := forecastOf(t.Context(), h); err != nil || starts.Load() != 1 {
		t.Errorf("the server that stays was started %d times: %v", starts.Load(), err)
	}
}

// TestExchangeInARun replaces servers while a run is in progress that calls their tools later: it gets the
// new server if its tool is the same, and otherwise an error.
func TestExchangeInARun(t *testing.T) {
	t.Parallel()
	tools := reviewed(t, forecast)
	changed := reviewed(t, strings.Replace(forecast, "Return the forecast.", "Return another forecast.", 1))
	trusting, _, _ := answering("after", nil, nil)
	trusting.TrustAnnotations = true
	reads := reviewed(t, strings.Replace(forecast, `"inputSchema"`, `"annotations":{"readOnlyHint":true},"inputSchema"`, 1))
	after, _, _ := answering("after", nil, nil)
	for _, test := range []struct {
		name   string
		before Set
		trusts bool // the annotations, before
		next   []*Server
		want   string
	}{
		{"the same tool", tools, false, []*Server{newServer(t, after, tools)}, ""},
		{"another definition", tools, false, []*Server{newServer(t, after, changed)}, "the tool get-forecast of the server weather has changed since this run began"},
		{"annotations that are no longer trusted", reads, true, []*Server{newServer(t, after, reads)}, "has changed since this run began"},
		{"removed", tools, false, nil, "the server weather is no longer attached"},
	} {
		o, starts, _ := answering("before", nil, nil)
		o.TrustAnnotations = test.trusts
		h := newHost(t)
		s := newServer(t, o, test.before)
		if broken := s.Register(h); len(broken) > 0 {
			t.Fatal(broken)
		}
		err := h.Register(tool.Tool{Name: "run", Description: "T.", OnlyCalls: true}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
			if broken := Exchange(h, []*Server{s}, test.next); len(broken) > 0 {
				t.Error(broken)
			}
			r, err := h.Call(ctx, tool.Call{Tool: "weather.get-forecast", Args: value.NewDict("city", "Rome")})
			return r.Value, err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Call(t.Context(), tool.Call{Tool: "run", Caller: tool.ByPerson})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if starts.Load() != 0 {
			t.Errorf("%s: the former server was started", test.name)
		}
		if _, err := h.Tool("weather.get-forecast"); (err == nil) != (test.next != nil) {
			t.Errorf("%s: afterwards the tool: %v", test.name, err)
		}
	}
}
