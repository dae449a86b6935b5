// Server offers the tools of several tenants over HTTP. Calls can be recorded, wait
// for an approval that another request gives, and survive a restart. Run it from the
// root of the module:
//
//	echo '{"tenants": {"some-secret-token": "acme"}}' > /tmp/config.json
//	go run ./examples/server -config /tmp/config.json -data /tmp/data
//	curl -H 'Authorization: Bearer some-secret-token' -H 'Idempotency-Key: first' \
//		-d '{"filepath": "hello.txt", "content": "hi"}' localhost:8080/v1/tools/write_file
//
// The tools of a tenant are in DATA/tenants/NAME/.cassidy/tools, and their effects act on
// DATA/tenants/NAME/files. docs/embedding.md explains each part.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

const (
	grace     = 20 * time.Second // for calls in progress, once the server is to end
	dueEvery  = 5 * time.Second  // how often runs that sleep are looked at
	readTime  = 20 * time.Second // for a request to arrive
	writeTime = 20 * time.Second // for an answer, or an event, to be taken
	maxBody   = 1 << 20          // bytes
)

func main() {
	sandbox.Main(stdlib.Pure()...) // scripts run in processes of their own: this program again

	addr := flag.String("addr", "localhost:8080", "listen on `HOST:PORT`")
	data := flag.String("data", "data", "keep tenants and runs in `DIR`")
	file := flag.String("config", "config.json", "read the tenants from `FILE`")
	worker := flag.String("worker", "", "run scripts in processes of `PROGRAM`, as cassidy-worker, not of this one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := readConfig(*file)
	if err == nil {
		err = run(ctx, *addr, *data, c, &cassidy.RuntimeOptions{Workers: cassidy.Workers{Program: *worker}, Logger: slog.Default()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and then gives the calls in progress some time.
func run(ctx context.Context, addr, data string, c config, o *cassidy.RuntimeOptions) error {
	s, err := newServer(data, c, o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	web := &http.Server{
		Handler: s.handler(), MaxHeaderBytes: 64 << 10,
		ReadTimeout: readTime, WriteTimeout: readTime + writeTime, IdleTimeout: 2 * time.Minute, // handlers extend these
	}
	failed, ended := make(chan error, 1), make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	go s.resumeAll(ctx)
	fmt.Println("listening on", listener.Addr())

	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	go func() { ended <- web.Shutdown(ending) }() // accepts no more, and waits for the answers
	return errors.Join(err, s.close(ending), <-ended)
}

// A config says who may use the server, and is read once.
type config struct {
	Tenants map[string]string `json:"tenants"` // names by tokens; a tenant may have several
	Metrics string            `json:"metrics"` // the token for /metrics; "" serves none
}

func readConfig(file string) (c config, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", file, err)
	}
	for token, name := range c.Tenants {
		if len(token) < 16 || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return c, fmt.Errorf("read %s: tenant %q: expected a token of 16 characters or more, and a name of a-z, 0-9 and -", file, name)
		}
	}
	return c, nil
}

// A server has one runtime, whose workers and store its tenants share, and a host for
// each tenant. It is safe for concurrent use.
type server struct {
	runtime *cassidy.Runtime
	store   *sqlite.Store
	data    string
	tokens  map[[sha256.Size]byte]string // tenants by the hashes of their tokens: a lookup takes the same time for any token
	metrics metrics

	mu    sync.Mutex
	hosts map[string]*cassidy.Host // by tenants
}

// newServer opens the store, and a runtime with it.
func newServer(data string, c config, o *cassidy.RuntimeOptions) (*server, error) {
	s := &server{data: data, tokens: map[[sha256.Size]byte]string{}, hosts: map[string]*cassidy.Host{}}
	for token, name := range c.Tenants {
		s.tokens[sha256.Sum256([]byte(token))] = name
	}
	if c.Metrics != "" {
		s.metrics.token = sha256.Sum256([]byte(c.Metrics))
	}
	var err error
	if s.store, err = sqlite.Open(filepath.Join(data, "runs")); err != nil {
		return nil, err
	}
	opts := *o
	opts.Store = s.store
	if s.runtime, err = cassidy.New(&opts); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	return s, nil
}

// host returns the host of a tenant, which is opened when it is first used. That starts
// no process.
func (s *server) host(tenant string) (*cassidy.Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hosts[tenant]; h != nil {
		return h, nil
	}
	project := filepath.Join(s.data, "tenants", tenant)
	files := filepath.Join(project, "files") // apart from the tools, which no effect can change
	if err := os.MkdirAll(files, 0o700); err != nil {
		return nil, err
	}
	// No Approver: what needs an approval parks a recorded call, and is denied in others.
	h, err := s.runtime.Open(cassidy.Dir(project), &cassidy.Options{
		Tenant: tenant, Dir: files,
		TrustSource: true, // who installs tools for a tenant has reviewed them
		Middleware:  []cassidy.Middleware{s.metrics.of(tenant)},
	})
	if err != nil {
		return nil, err
	}
	s.hosts[tenant] = h
	return h, nil
}

// resumeAll continues the runs of all tenants that are due: those of the process
// before, and later those that sleep.
func (s *server) resumeAll(ctx context.Context) {
	tick := time.NewTicker(dueEvery)
	defer tick.Stop()
	for {
		for _, tenant := range s.tokens {
			h, err := s.host(tenant)
			if err == nil {
				err = s.resumeDue(ctx, h)
			}
			if err != nil && ctx.Err() == nil {
				slog.Error("resume runs", "tenant", tenant, "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// resumeDue continues the runs of a tenant that are due, and does not wait for them.
// Who wants to know how they end reads their state or their events.
func (s *server) resumeDue(ctx context.Context, h *cassidy.Host) error {
	for run, err := range h.Due(ctx) {
		if err != nil {
			return err
		}
		go func() { // Shutdown waits for it
			_, err := h.Resume(context.WithoutCancel(ctx), run.ID)
			slog.Debug("resumed", "run", run.ID, "error", err)
		}()
	}
	return nil
}

// close waits for calls until ctx ends, and then interrupts them: recorded ones are
// resumed by the next process. Runs that wait for an answer keep waiting in the store.
func (s *server) close(ctx context.Context) error {
	return errors.Join(s.runtime.Shutdown(ctx), s.store.Close())
}
