package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// A footprint is the resources of a process.
type footprint struct{ goroutines, files, children int }

func look(t testing.TB) footprint {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := 0
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			children++
		}
	}
	return footprint{runtime.NumGoroutine(), len(files), children}
}

// TestNothingIsLeft makes 20,000 calls over HTTP, some of them invalid, sent twice, waiting for an approval or left by
// their client, and checks for leaks of goroutines, descriptors and processes.
func TestNothingIsLeft(t *testing.T) {
	calls := testutil.Times(1600, 20_000)           // each client makes each kind of call
	if testing.Short() || testworker.Exec() != "" { // with the race detector
		calls = 2_000
	}
	data := testData(t)
	round(t, data, 100) // what is opened once is open now
	before := look(t)
	round(t, data, calls)
	until(t, func() string {
		if now := look(t); now.goroutines > before.goroutines || now.files > before.files || now.children > before.children {
			return fmt.Sprintf("after %d calls there are %+v, before them %+v", calls, now, before)
		}
		return ""
	})
}

// round serves calls of 16 clients at a time, and closes the server.
func round(t *testing.T, data string, calls int) {
	t.Helper()
	s, err := newServer(testConfig(data))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	for _, tenant := range s.tenants {
		go tenant.Run(t.Context()) // until the server is closed
	}
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			c := []client{{t, web.URL, "cal"}, {t, web.URL, "ida"}}[w%2]
			waits := ""
			for i := range calls / 16 {
				if err := c.one(i, &waits, fmt.Sprintf("%d-%d-%04d", calls, w, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := s.close(t.Context()); err != nil {
		t.Error(err)
	}
	web.Close()
	http.DefaultClient.CloseIdleConnections()
}

// one makes a request; i decides which. waits is the path of the last run that waits.
func (c client) one(i int, waits *string, key string) error {
	method, path, body, want := "POST", "/v1/tools/echo/call", `{"args": {"text": "x"}}`, http.StatusOK
	ctx, leave := context.WithCancel(c.t.Context())
	defer leave()
	switch {
	case i%100 == 1:
		path, want = "/v1/tools/none/call", http.StatusNotFound
	case i%100 == 2:
		body, want = `{`, http.StatusBadRequest
	case i%100 == 3:
		path, body, want = "/v1/tools/bump/call", "{}", http.StatusAccepted
	case i%100 == 5: // its client leaves in the middle of the call
		time.AfterFunc(30*time.Millisecond, leave)
		path, body, key, want = "/v1/tools/nap/call", `{"args": {"seconds": 0.2}}`, "", 0
	case i%100 == 6: // its client leaves in the middle of the stream
		time.AfterFunc(30*time.Millisecond, leave)
		method, path, body, want = "GET", *waits+"/events", "", 0
	case i%10 != 4:
		key = ""
	}
	r, err := c.request(ctx, method, path, key, body)
	if err == nil {
		defer r.Body.Close()
		var text []byte
		if text, err = io.ReadAll(r.Body); err == nil && want != 0 && r.StatusCode != want {
			err = fmt.Errorf("status %d, want %d: %s", r.StatusCode, want, text)
		}
		if r.StatusCode == http.StatusAccepted {
			*waits = r.Header.Get("Location")
		}
	}
	if want == 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", method, path, body, err)
	}
	return nil
}
