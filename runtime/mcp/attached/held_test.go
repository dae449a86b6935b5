package attached

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAnswersHoldMemory has servers answer many calls of a host with little memory at once: all are answered, no more
// than the limit is held, an answer that is larger than the share of its call is refused, the server is used further, and
// everything is given back. The server is a program, or reached over HTTP with single answers or with streams.
func TestAnswersHoldMemory(t *testing.T) {
	t.Parallel()
	const most = 16 << 20 // 12 MB for a call
	var memory *host.Host
	var mu sync.Mutex
	peak := int64(0)
	look := func() int64 {
		used := host.Operate(memory).Memory().Used()
		mu.Lock()
		defer mu.Unlock()
		peak = max(peak, used)
		return used
	}
	result := func(r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		look()
		var args struct{ N int }
		_ = json.Unmarshal(r.Params.Arguments, &args)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("z", args.N)}}}, nil
	}
	build := func(s *sdk.Server) {
		s.AddTool(&sdk.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return result(r) })
	}
	options := map[string]func(t *testing.T) Options{
		"program": func(*testing.T) Options {
			o, _ := honest(build)
			return o
		},
	}
	for name, single := range map[string]bool{"single": true, "stream": false} {
		options[name] = func(t *testing.T) Options {
			s := sdk.NewServer(&sdk.Implementation{Name: "t", Version: "1"}, nil)
			build(s)
			site := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: single}))
			t.Cleanup(site.Close)
			return Options{Name: "weather", URL: site.URL}
		}
	}
	for name, of := range options {
		o := of(t)
		h, err := host.New(&host.Options{Memory: most})
		if err != nil {
			t.Fatal(err)
		}
		memory, peak = h, 0
		s := newServer(t, o, fetched(t, o))
		if broken := s.Register(h); len(broken) > 0 {
			t.Fatal(broken)
		}
		call := func(n int) (tool.Result, error) {
			return h.Call(t.Context(), tool.Call{Tool: "weather.get", Args: value.NewDict("n", n), Caller: tool.ByPerson})
		}
		var all sync.WaitGroup
		for range 4 { // a program may write 64 MB until its next request
			for _, n := range []int{10, 1_000_000, 3_000_000} {
				all.Go(func() {
					r, err := call(n)
					switch refused := fmt.Sprint(err); {
					case n > 2_000_000:
						if value.KindOf(err) != value.Failed || !strings.Contains(refused, "the server has answered, but the answer was not read: ") || !strings.Contains(refused, "12 MB of memory") {
							t.Errorf("%s: %d bytes gave %v", name, n, err)
						}
					case err != nil || len(r.Value.(string)) != n:
						t.Errorf("%s: %d bytes gave %v", name, n, err)
					}
					look()
				})
			}
		}
		all.Wait()
		if peak > most || peak < 3_000_000 {
			t.Errorf("%s: %d bytes were held", name, peak)
		}
		for began := time.Now(); look() != 0; time.Sleep(time.Millisecond) {
			if time.Since(began) > 2*time.Minute {
				t.Fatalf("%s: %d bytes are held at the end", name, look())
			}
		}
		h.Close()
	}
}
