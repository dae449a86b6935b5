package attached

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A plainSite is a server over HTTP of the version 2025-06-18, without the SDK.
type plainSite struct {
	stateless bool
	answer    func(w http.ResponseWriter, call int) bool // answers a call in place of the tool

	mu                  sync.Mutex
	began, calls, acted int
}

func (s *plainSite) session() string {
	if s.stateless {
		return ""
	}
	return fmt.Sprintf("session-%d", s.began)
}

// ServeHTTP implements [http.Handler].
func (s *plainSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result := "{}"
	switch m.Method {
	case "server/discover":
		http.Error(w, "an older server", http.StatusBadRequest)
		return
	case "initialize":
		if s.began++; !s.stateless {
			w.Header().Set("Mcp-Session-Id", s.session())
		}
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"get-forecast","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		s.calls++
		if s.answer(w, s.calls) {
			return
		}
		if r.Header.Get("Mcp-Session-Id") == s.session() {
			s.acted++
			result = `{"content":[{"type":"text","text":"done"}]}`
		}
	default:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// TestRefusedCalls checks which answers of HTTP prove that a call was not carried out, and that a run makes
// such a call again without a question.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	status := func(code int, more ...string) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, call int) bool {
			if call > 1 {
				return false
			}
			for i := 0; i < len(more); i += 2 {
				w.Header().Set(more[i], more[i+1])
			}
			http.Error(w, "no", code)
			return true
		}
	}
	rpc := func(code int, text string) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, call int) bool {
			if call > 1 {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"`+text+`"}}`)
			return true
		}
	}
	const unsure, not, again = "unknown", "not carried out", "made again"
	for _, test := range []struct {
		name      string
		stateless bool
		answer    func(http.ResponseWriter, int) bool
		want      string
		text      string
		after     time.Duration
	}{
		{"the session is gone", false, status(404), again, "", 0},
		{"the session is gone, in JSON", false, rpc(404, "Session not found"), again, "", 0},
		{"each session is gone", false, func(w http.ResponseWriter, call int) bool {
			if call > 2 {
				return false
			}
			http.Error(w, "no", 404)
			return true
		}, not, "404 Not Found", 0},
		{"nothing there", true, status(404), not, "404 Not Found", 0},
		{"too many requests", false, status(429, "Retry-After", "7"), not, "429 Too Many Requests", 7 * time.Second},
		{"wrong credentials, in JSON", true, rpc(403, "no such key"), not, "403 Forbidden: no such key", 0},
		{"too many requests, for very long", true, status(429, "Retry-After", "999999999999"), not, "429", maxAfter * time.Second},
		{"no credentials", false, status(401), not, "401 Unauthorized", 0},
		{"wrong credentials", false, status(403), not, "403 Forbidden", 0},
		{"too late", false, status(408), not, "408 Request Timeout", 0},
		{"overloaded", false, status(503, "Retry-After", "3"), not, "503 Service Unavailable", 3 * time.Second},
		{"too large", false, status(413), "failed", "413 Request Entity Too Large", 0},
		{"invalid", false, rpc(400, "no such argument"), "failed", "no such argument", 0},
		{"unavailable", false, status(503), unsure, "", 0},
		{"an error of the server", false, status(500), unsure, "", 0},
		{"an error of the gateway", false, status(502), unsure, "", 0},
		{"a timeout of the gateway", false, status(504), unsure, "", 0},
		{"no answer", false, func(_ http.ResponseWriter, call int) bool {
			if call == 1 {
				panic(http.ErrAbortHandler)
			}
			return false
		}, unsure, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			served := &plainSite{stateless: test.stateless, answer: test.answer}
			site := httptest.NewServer(served)
			defer site.Close()
			o := Options{Name: "weather", URL: site.URL}
			s := newServer(t, o, fetched(t, o))
			v, err := s.Call(t.Context(), "get-forecast", nil)
			e := value.ErrorOf(err, value.Internal)
			got := "failed"
			switch {
			case err == nil && v == value.Value("done"):
				got = again
			case e.Limit == value.LimitUnsent && e.Kind == value.Unavailable:
				got = not
			case strings.Contains(e.Message(), "may have been carried out"):
				got = unsure
			}
			if got != test.want || err != nil && (!strings.Contains(e.Message(), test.text) || e.After != test.after) {
				t.Fatalf("the call gave %v, %v (%s, after %v), want %s: %s, after %v", v, err, got, e.After, test.want, test.text, test.after)
			}
			if test.want != not {
				return
			}
			served.calls, served.acted = 0, 0
			j := history.Open(journal.Memory(), nil)
			d := newDeskAt(t, o, j, nil)
			_, err = d.call(host.Durable("r"))
			if run, _ := j.Run(t.Context(), "r"); run.State != history.Parked || run.Reason != "unavailable" {
				t.Fatalf("the call gave %v, and the run is %s (%s), want that it waits", err, run.State, run.Reason)
			}
			if r, err := newDeskAt(t, o, j, nil).Resume(t.Context(), "r"); err != nil || served.acted != 1 {
				t.Errorf("resumed: %v, %v, and the tool acted %d times", r, err, served.acted)
			}
		})
	}
}

// TestCallsWithoutAConnection checks that a call is one that was not carried out if there was no connection to
// its server, or no encrypted one.
func TestCallsWithoutAConnection(t *testing.T) {
	t.Parallel()
	for _, test := range []string{"refused", "not encrypted"} {
		served := &plainSite{answer: func(http.ResponseWriter, int) bool { return false }}
		site := httptest.NewTLSServer(served)
		defer site.Close()
		client := site.Client()
		transport := client.Transport.(*http.Transport)
		transport.DisableKeepAlives = true
		var broken atomic.Bool
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			switch {
			case !broken.Load():
				return new(net.Dialer).DialContext(ctx, network, address)
			case test == "refused":
				return nil, syscall.ECONNREFUSED
			}
			here, there := net.Pipe()
			go func() {
				_, _ = io.CopyN(io.Discard, there, 1)
				there.Close()
			}()
			return here, nil
		}
		o := Options{Name: "weather", URL: site.URL, Client: client}
		s := newServer(t, o, fetched(t, o))
		if _, err := s.Call(t.Context(), "get-forecast", nil); err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		_, err := s.Call(t.Context(), "get-forecast", nil)
		if e := value.ErrorOf(err, value.Internal); e.Limit != value.LimitUnsent || e.Kind != value.Unavailable {
			t.Errorf("%s: %v (%s)", test, err, e.Limit)
		}
	}
}
