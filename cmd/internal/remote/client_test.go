package remote

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// client returns a client of a server with a handler, whose token is in the keyring.
func client(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	a := app.New(&app.World{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Env: func(string) (string, bool) { return "", false }, Keyring: &keyring.Keyring{
		Get: func(name string) (string, error) {
			if name != s.URL {
				return "", value.ErrNotFound
			}
			return "kept", nil
		},
	}})
	a.Server = s.URL + "/"
	c, err := open(context.Background(), a, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnswers checks the errors of answers that are not those of cassidy serve, or that refuse.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		kind value.Kind
		want string
	}{
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, value.Unavailable, "which is not followed"},
		{"a page", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("<html>")) }, value.Unavailable, "does not answer as cassidy serve does"},
		{"a list", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("[]")) }, value.Unavailable, "does not answer as cassidy serve does"},
		{"a wrong page", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 404) }, value.Unavailable, "the status 404"},
		{"a proxy", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) }, value.Unavailable, "the status 502"},
		{"no token", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "{}", http.StatusUnauthorized) }, value.Denied, "does not accept the token"},
		{"a refusal", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error": {"kind": "conflict", "message": "too late", "hint": "look: GET /v1/runs"}}`, http.StatusConflict)
		}, value.Conflict, "too late"},
		{"a broken answer", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		}, value.Unavailable, "does not answer: unexpected EOF"},
		{"the token", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, fmt.Sprintf(`{"error": {"kind": "invalid", "message": %q}}`, r.Header.Get("Authorization")), 400)
		}, value.Invalid, "Bearer kept"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t, tt.h).Get(context.Background(), Path("runs", "a/b"), nil)
			if value.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || strings.Contains(value.ErrorOf(err, value.Failed).Hint, "/v1/") {
				t.Errorf("the error is %v (%v)", err, value.KindOf(err))
			}
		})
	}
}

// TestEvents checks that a connection that breaks is made again after the last event, and that each event comes once.
func TestEvents(t *testing.T) {
	t.Parallel()
	connections := 0
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		connections++
		after := r.Header.Get("Last-Event-ID")
		event := func(n int) {
			fmt.Fprintf(w, "id: %d\ndata: {\"type\": \"log\", \"call\": \"r\", \"seq\": %d}\n\n", n, n)
		}
		switch {
		case connections == 1:
			fmt.Fprint(w, "event: ping\ndata: {}\n\n")
			event(1)
			fmt.Fprint(w, "id: 2\ndata: {\"type\": \"log\"") // it breaks in an event
		case connections == 2:
			http.Error(w, `{"error": {"kind": "unavailable", "message": "restarting"}}`, http.StatusServiceUnavailable)
		case after == "1":
			event(2)
			event(3)
		case after == "3":
			w.WriteHeader(http.StatusNoContent)
		default:
			t.Errorf("connection %d asks for what is after %q", connections, after)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	var got []uint64
	err := c.Events(context.Background(), "r", func(e *tool.Event) bool {
		if e != nil {
			got = append(got, e.Seq)
		}
		return true
	})
	if err != nil || fmt.Sprint(got) != "[1 2 3]" || connections != 4 {
		t.Errorf("%d connections brought %v: %v", connections, got, err)
	}
}

// TestEventsRefused checks that a stream that is refused ends, and that ctx ends one.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error": {"kind": "denied", "message": "no more"}}`, http.StatusForbidden)
	})
	if err := c.Events(context.Background(), "r", func(*tool.Event) bool { return true }); value.KindOf(err) != value.Denied {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c = client(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	err := c.Events(ctx, "r", func(*tool.Event) bool {
		cancel()
		return true
	})
	if value.KindOf(err) != value.Canceled {
		t.Errorf("the error is %v", err)
	}
}
