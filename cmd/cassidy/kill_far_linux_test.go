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
	came     map[string][]string // the requests, by key
	open     map[net.Conn]bool
	closed   *sync.Cond // when one of them is
	requests int        // since strike was called
	at       int        // the request at which a process is struck
	late     bool       // once it is carried out, and not before
	weapon   weapon
	kill     func()
	held     func() // what is done before the next answer
	down     bool   // nobody listens
	cuts     bool   // the next response is cut off
}

func newFarServer(t *testing.T) *farServer {
	s := &farServer{done: map[string][]string{}, came: map[string][]string{}, open: map[net.Conn]bool{}}
	s.closed = sync.NewCond(&s.mu)
	s.start(nil)
	t.Cleanup(func() { s.http.Close() })
	return s
}

// start starts a server, on a free port if the listener is nil.
func (s *farServer) start(l net.Listener) {
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if l != nil {
		_ = s.http.Listener.Close()
		s.http.Listener = l
	}
	s.http.Config.ConnState = s.follow
	s.http.Start()
}

func (s *farServer) address() string { return strings.TrimPrefix(s.http.URL, "http://") }

// stop refuses connections, and resets those that are open.
func (s *farServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	_ = s.http.Listener.Close()
	for c := range s.open {
		reset(c)
	}
}

// restart listens again, on the same port.
func (s *farServer) restart(t testing.TB) {
	t.Helper()
	address := s.address()
	s.http.Close()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s.start(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

// cut has the next response cut off, after the request was carried out.
func (s *farServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts = true
}

// reset closes a connection so that its other end gets an error.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

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
	answer, cut, held := s.take(r.Context(), r.URL.Path, strings.Trim(r.Header.Get("Idempotency-Key"), `"`), string(text))
	if held != nil {
		held()
	}
	if cut {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, answer)
		_ = http.NewResponseController(w).Flush()
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			reset(c)
			s.follow(c, http.StateClosed)
		}
		return
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
func (s *farServer) take(ctx context.Context, path, key, text string) (answer string, cut bool, held func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.came[key] = append(s.came[key], path+" "+text)
	strikes := s.requests == s.at
	if strikes && !s.late {
		s.deal()
		switch s.weapon {
		case bySIGKILL:
			return "", false, nil
		case bySIGTERM, bySIGHUP:
			s.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(patience):
			}
			s.mu.Lock()
			if ctx.Err() != nil {
				return "", false, nil
			}
		}
	}
	if path == "/each" || len(s.done[key]) == 0 {
		s.done[key] = append(s.done[key], text)
	}
	if strikes {
		s.deal()
	}
	held, s.held = s.held, nil
	cut, s.cuts = s.cuts, false
	return "got " + s.done[key][0], cut, held
}

// deal strikes the process. What that does may need the lock.
func (s *farServer) deal() {
	kill := s.kill
	s.mu.Unlock()
	defer s.mu.Lock()
	kill()
}

// quiet waits until all has been carried out that processes which are gone have
// sent: whoever connects now comes after them.
func (s *farServer) quiet(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		s.wait()
		return
	}
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
	s.wait()
}

// wait waits until all connections are closed.
func (s *farServer) wait() {
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
	clear(s.came)
	s.cuts = false
}

// sent returns what was carried out for the only run, by step, and checks that
// nothing was done twice.
func (s *farServer) sent(t testing.TB) map[string]string {
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
