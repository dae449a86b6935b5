// Server offers the tools of several tenants to their users: each tenant has the pages and the API of cassidy serve,
// behind the sign-in of this program, and sessions with a model that uses the tools. Run it from the root of the
// module:
//
//	echo '{"addr": "localhost:8080", "data": "/tmp/data", "users": {
//		"ann": {"tenant": "acme", "role": "approve", "password": "a-long-random-text"}}}' > /tmp/config.json
//	go run ./examples/server /tmp/config.json
//	curl -u ann:a-long-random-text -H 'Idempotency-Key: first' \
//		-d '{"args": {"filepath": "hello.txt", "content": "hi"}}' localhost:8080/v1/tools/write_file/call
//
// The tools of a tenant are in DATA/tenants/NAME/.cassidy/tools, and act on
// DATA/tenants/NAME/files. docs/embedding.md explains each part.
package main

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/cassidy-run/cassidy/runtime/serve"
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
	Addr    string
	Hosts   []string           // the names of the server besides localhost
	Data    string             // the folder of tenants and runs
	Users   map[string]account // by names
	Rate    int                // requests of a user in a second; 0 means 100
	Model   *openai.Options    // the model of sessions
	Workers cassidy.Workers
}

// An account is how somebody signs in, and what for.
type account struct {
	Password string // long and random, since nothing limits how often somebody tries
	Tenant   string // a name that can be that of a folder
	Role     string // view, run, approve or admin
}

// run serves until ctx ends, and then waits for calls in progress for some time.
func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: server CONFIG.json")
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
	for _, t := range s.tenants {
		go t.Run(ctx) // the runs that begin, have a new answer, slept, or lost their process
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

// A server has one runtime, whose workers and store all tenants share.
type server struct {
	config
	runtime *cassidy.Runtime
	store   *sqlite.Store
	log     *slog.Logger
	agents  agent.Options
	tenants map[string]*tenant
}

// A tenant has a host, and a server for its users.
type tenant struct {
	*serve.Server
	name string
	host *cassidy.Host
}

func newServer(c config) (s *server, err error) {
	s = &server{config: c, tenants: map[string]*tenant{}, agents: agent.Options{Policy: "chat"}}
	if c.Model != nil {
		if s.agents.Model, err = openai.New(c.Model); err != nil {
			return nil, err
		}
	}
	if s.store, err = sqlite.Open(filepath.Join(c.Data, "runs")); err != nil {
		return nil, err
	}
	s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) // not each run
	if s.runtime, err = cassidy.New(&cassidy.RuntimeOptions{Store: s.store, Workers: c.Workers, Logger: s.log}); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	for name, a := range c.Users {
		if _, err = serve.RoleNamed(a.Role); err == nil && s.tenants[a.Tenant] == nil {
			s.tenants[a.Tenant], err = s.open(a.Tenant)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the user %s: %w", name, err), s.close(context.Background()))
		}
	}
	return s, nil
}

// open opens a tenant, which starts no process.
func (s *server) open(name string) (*tenant, error) {
	project := filepath.Join(s.Data, "tenants", name)
	files := filepath.Join(project, "files") // separate from the tools, so that no tool can change them
	if err := os.MkdirAll(files, 0o700); err != nil {
		return nil, err
	}
	// Without an Approver, what needs an approval waits until a user of the tenant has answered.
	h, err := s.runtime.Open(cassidy.Dir(project), &cassidy.Options{
		Tenant: name, Dir: files,
		TrustSource: true, // whoever installs tools for a tenant has reviewed them
	})
	if err != nil {
		return nil, err
	}
	// Turns of sessions of an earlier process continue with these options.
	err = agent.RegisterKinds(h, func(context.Context, agent.Settings) (*agent.Options, error) { return &s.agents, nil })
	if err != nil {
		return nil, err
	}
	t := &tenant{name: name, host: h}
	t.Server, err = serve.New(&serve.Options{
		Projects: []*serve.Project{{Name: name, Host: h, Agent: s.agent(h)}},
		Identify: func(r *http.Request) (*serve.User, error) {
			if user, of := s.user(r); of == t {
				return user, nil
			}
			return nil, nil
		},
		Hosts: s.Hosts, Rate: s.Rate, Logger: s.log,
	})
	return t, err
}

// agent returns a function that opens the agent of chats; without a model there are none.
func (s *server) agent(h *cassidy.Host) func(context.Context, string) (*agent.Agent, error) {
	if s.Model == nil {
		return nil
	}
	return func(context.Context, string) (*agent.Agent, error) { return agent.New(h, &s.agents) }
}

// close has the servers drain, and waits for calls until ctx ends. What is left is interrupted: the next process
// continues it.
func (s *server) close(ctx context.Context) (err error) {
	for _, t := range s.tenants {
		if t != nil {
			err = errors.Join(err, t.Shutdown(ctx))
		}
	}
	return errors.Join(err, s.runtime.Shutdown(ctx), s.store.Close())
}
