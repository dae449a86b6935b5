package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A farServer is what the tools of an ordeal send to. It carries out what comes
// to /once once for each Idempotency-Key, and to /each each time.
type farServer struct {
	http *httptest.Server

	mu       sync.Mutex
	done     map[string][]string // what was carried out, by key
	open     map[net.Conn]bool
	closed   *sync.Cond // when one of them is
	requests int        // since strike was called
	at       int        // the request at which a process is struck
	late     bool       // once it is carried out, and not before
	weapon   weapon
	kill     func()
	held     func() // what is done before the next answer
}

func newFarServer(t *testing.T) *farServer {
	s := &farServer{done: map[string][]string{}, open: map[net.Conn]bool{}}
	s.closed = sync.NewCond(&s.mu)
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Config.ConnState = s.follow
	s.http.Start()
	t.Cleanup(s.http.Close)
	return s
}

func (s *farServer) address() string { return strings.TrimPrefix(s.http.URL, "http://") }

func (s *farServer) follow(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open[c] = true
	case http.StateClosed:
		delete(s.open, c)
		s.closed.Broadcast()
	}
}

// strike has a process struck by its n-th request; 0 is by none.
func (s *farServer) strike(n int, late bool, w weapon, kill func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.at, s.late, s.weapon, s.kill = 0, n, late, w, kill
}

// hold has something done before the next request is answered.
func (s *farServer) hold(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = do
}

func (s *farServer) serve(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		return
	}
	answer, held := s.take(r.Context(), r.URL.Path, strings.Trim(r.Header.Get("Idempotency-Key"), `"`), string(text))
	if held != nil {
		held()
	}
	if answer == "" {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(w, answer)
}

// patience is how long a request waits for a process that was asked to end.
const patience = 2 * time.Second

// take carries a request out, if the process that sent it does not end first.
// The context ends when that has given the request up.
func (s *farServer) take(ctx context.Context, path, key, text string) (answer string, held func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	strikes := s.requests == s.at
	if strikes && !s.late {
		s.kill()
		switch s.weapon {
		case bySIGKILL:
			return "", nil
		case bySIGTERM, bySIGHUP:
			s.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(patience):
			}
			s.mu.Lock()
			if ctx.Err() != nil {
				return "", nil
			}
		}
	}
	if path == "/each" || len(s.done[key]) == 0 {
		s.done[key] = append(s.done[key], text)
	}
	if strikes {
		s.kill()
	}
	held, s.held = s.held, nil
	return "got " + s.done[key][0], held
}

// quiet waits until all has been carried out that processes which are gone have
// sent: whoever connects now comes after them.
func (s *farServer) quiet(t *testing.T) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.http.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.open) > 0 {
		s.closed.Wait()
	}
}

// forget forgets what was carried out, before another run begins.
func (s *farServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.done)
}

// sent returns what was carried out for the only run, by step, and checks that
// nothing was done twice.
func (s *farServer) sent(t *testing.T) map[string]string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]string{}
	nonces := map[string]bool{}
	for key, texts := range s.done {
		nonce, place, found := strings.Cut(key, "/")
		if nonces[nonce] = true; !found || len(nonces) > 1 {
			t.Errorf("the idempotency key %q is not one of the run", key)
		}
		all[place] = texts[0]
		if len(texts) > 1 {
			t.Errorf("%s: %d requests were carried out: %q", key, len(texts), texts)
		}
	}
	return all
}
