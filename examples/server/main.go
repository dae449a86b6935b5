// Server offers the tools of several tenants over HTTP, and sessions with a model that uses
// them. What is recorded waits for an approval that another request gives, and survives a
// restart. Run it from the root of the module:
//
//	echo '{"addr": "localhost:8080", "data": "/tmp/data", "tenants": {"acme": "some-secret-token"}}' > /tmp/config.json
//	go run ./examples/server /tmp/config.json
//	curl -H 'Authorization: Bearer some-secret-token' -H 'Idempotency-Key: first' \
//		-d '{"filepath": "hello.txt", "content": "hi"}' localhost:8080/tenants/acme/tools/write_file
//
// The tools of a tenant are in DATA/tenants/NAME/.cassidy/tools, and act on
// DATA/tenants/NAME/files. docs/embedding.md explains each part.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// grace is the time for calls in progress when the server ends.
const grace = 20 * time.Second

func main() {
	sandbox.Main(stdlib.Pure()...) // scripts run in separate processes of this program

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// A config is the file with which the server is started.
type config struct {
	Addr     string
	Data     string            // the folder of tenants and runs
	Tenants  map[string]string // the token of each, by names that can be those of folders
	Operator string            // the token for /metrics
	Model    *openai.Options   // the model of sessions
	Workers  cassidy.Workers
}

// run serves until ctx ends, and then waits for calls in progress for some time.
func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: server CONFIG.yaml")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("read %s: %w", args[0], err)
	}
	s, err := newServer(c)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	fmt.Println("listening on", listener.Addr())
	for _, h := range s.hosts {
		go h.ResumeDue(ctx, 5*time.Second) // runs with a new answer, after a sleep, or of a dead process
	}
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, s.close(ending), web.Shutdown(ending))
}

// A server has one runtime, whose workers and store all tenants share, and one host for
// each tenant.
type server struct {
	config
	runtime *cassidy.Runtime
	store   *sqlite.Store
	hosts   map[string]*cassidy.Host // by tenants
	agents  agent.Options
	metrics expvar.Map // by the names of Prometheus
}

func newServer(c config) (s *server, err error) {
	s = &server{config: c, hosts: map[string]*cassidy.Host{}, agents: agent.Options{Policy: "chat"}}
	if c.Model != nil {
		if s.agents.Model, err = openai.New(c.Model); err != nil {
			return nil, err
		}
	}
	if s.store, err = sqlite.Open(filepath.Join(c.Data, "runs")); err != nil {
		return nil, err
	}
	if s.runtime, err = cassidy.New(&cassidy.RuntimeOptions{Store: s.store, Workers: c.Workers, Logger: slog.Default()}); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	for tenant := range c.Tenants {
		if s.hosts[tenant], err = s.open(tenant); err != nil {
			return nil, errors.Join(err, s.close(context.Background()))
		}
	}
	return s, nil
}

// open opens the host of a tenant, which starts no process.
func (s *server) open(tenant string) (*cassidy.Host, error) {
	project := filepath.Join(s.Data, "tenants", tenant)
	files := filepath.Join(project, "files") // separate from the tools, so that no tool can change them
	if err := os.MkdirAll(files, 0o700); err != nil {
		return nil, err
	}
	// Without an Approver, what needs an approval parks a recorded call, and is denied in others.
	h, err := s.runtime.Open(cassidy.Dir(project), &cassidy.Options{
		Tenant: tenant, Dir: files,
		TrustSource: true, // whoever installs tools for a tenant has reviewed them
		Middleware:  []cassidy.Middleware{s.count(tenant)},
	})
	if err != nil {
		return nil, err
	}
	// Turns of sessions of an earlier process continue with these options.
	err = agent.RegisterKinds(h, func(context.Context, agent.Settings) (*agent.Options, error) { return &s.agents, nil })
	return h, err
}

// close waits for calls until ctx ends, and then interrupts them: the next process
// resumes those that are recorded. It ends the streams of events.
func (s *server) close(ctx context.Context) error {
	return errors.Join(s.runtime.Shutdown(ctx), s.store.Close())
}

// count returns a middleware that counts the calls of a tenant, also those that tools
// and models make, and the time that they take.
func (s *server) count(tenant string) cassidy.Middleware {
	return func(next cassidy.CallFunc) cassidy.CallFunc {
		return func(ctx context.Context, c *cassidy.Call) (cassidy.Result, error) {
			start, tool := time.Now(), c.Tool
			result, err := next(ctx, c)
			if errors.Is(err, cassidy.ErrNotFound) {
				tool = "" // clients must not create series
			}
			labels := fmt.Sprintf("{tenant=%q,tool=%q,error=%q}", tenant, tool, result.ErrorType)
			s.metrics.Add("cassidy_calls_total"+labels, 1)
			s.metrics.AddFloat("cassidy_call_seconds_total"+labels, time.Since(start).Seconds())
			return result, err
		}
	}
}
