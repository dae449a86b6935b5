// Package mcp has the commands for the Model Context Protocol.
package mcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent/codemode"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// tokenVariable is the environment variable of the token that clients over HTTP send.
const tokenVariable = "CASSIDY_MCP_TOKEN"

// A command is one run of a command of cassidy mcp.
type command struct {
	*app.App
	server atomic.Pointer[mcp.Server] // the one that serves, for changes of files
}

// Command returns cassidy mcp.
func Command(a *app.App) *cli.Command {
	c := &command{App: a}
	return &cli.Command{
		Name: "mcp", Usage: "serve the tools to MCP clients, and use the tools of other servers",
		Subcommands: []*cli.Command{{
			Name: "serve", Usage: "serve the tools over the Model Context Protocol",
			Description: "A client starts this command, and exchanges messages with it over standard input and output. With --http, clients connect\n" +
				"to an address.\n" +
				"By default, the tools of the project and your personal tools are served. To serve built-in tools, or only some tools:\n" +
				"--tools LIST. Untrusted tools are never served.\n" +
				"With --code, clients get three tools instead: the first searches the tools in LIST, the second describes them, and the\n" +
				"third runs programs that call them. The default LIST then also includes the built-in tools.\n" +
				"If a call needs approval, a client that can show forms asks you. If a client cannot show forms but supports the tasks\n" +
				"extension of MCP, the call becomes an MCP task that waits for your answer. With any other client, the call is parked,\n" +
				"and the model gets the question with the ID of the run. Answer on a terminal: cassidy runs answer ID. When the model\n" +
				"makes the same call again, the parked call continues.\n" +
				"Over HTTP, clients send the token in $" + tokenVariable + ". If this variable is not set, the command creates a token and prints it.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "http", Usage: "serve over HTTP at `ADDR`, such as 127.0.0.1:8808 or :8808 (which is 127.0.0.1:8808)"},
				&cli.StringSliceFlag{Name: "allow-host", Usage: "also accept requests to the host name `NAME`, which clients on other machines use for this machine"},
				&cli.BoolFlag{Name: "no-token", Usage: "accept requests without a token, from every program on this machine; only for an address such as 127.0.0.1"},
				&cli.BoolFlag{Name: "code", Usage: "instead of the tools in LIST, serve three tools, which search, describe and call the tools in LIST"},
				&cli.StringSliceFlag{Name: "tools", Usage: "serve the tools in `LIST`: all, or a comma-separated list of names of tools, @GROUP and preset:NAME", DefaultText: "the tools of the project and your personal tools"},
			},
			Action: c.Recording(c.watching(c.WithHost(c.serve))),
		}, installCommand(c), addCommand(c), importCommand(c), listCommand(c), loginCommand(c), logoutCommand(c), removeCommand(c), reviewCommand(c)},
	}
}

// watching returns an action whose host follows its files.
func (c *command) watching(do cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		c.Watch = func(wrong []*value.Error) { c.changed(ctx.Context, wrong) }
		return do(ctx)
	}
}

// changed serves what the files are now, and reports what is wrong with them.
func (c *command) changed(ctx context.Context, wrong []*value.Error) {
	s := c.server.Load()
	if s != nil {
		if err := s.Update(); err != nil {
			wrong = append(wrong, value.ErrorOf(err, value.Failed))
		}
	}
	for _, e := range wrong {
		c.Report(e)
		if s != nil {
			s.Warn(ctx, e)
		}
	}
}

func (c *command) serve(ctx *cli.Context, h *host.Host) error {
	words := app.Words(ctx.StringSlice("tools"))
	if ctx.Bool("code") {
		if err := codemode.Register(h, words...); err != nil {
			return err
		}
		words = codemode.Tools()
	}
	root, err := c.Root()
	if err != nil {
		return err
	}
	if project, err := c.ProjectRoot(); err == nil && project == "" {
		c.noteNoProject(root)
	}
	s, err := mcp.New(h, &mcp.Options{Version: app.Version(), Tools: words, Prompts: c.prompts(root), Resources: c.resources(root)})
	if err != nil {
		return err
	}
	if len(words) > 0 {
		if err := s.Update(); err != nil { // a wrong --tools
			return err
		}
	}
	c.server.Store(s)
	reported := make(chan struct{})
	go func() { // the first client does not wait for it
		defer close(reported)
		c.ReportAll(h.Broken())
		calls.ReportUntrusted(c.App, h.List())
	}()
	defer func() { <-reported }()
	if addr := ctx.String("http"); addr != "" {
		return c.serveHTTP(ctx, s, addr)
	}
	if ctx.IsSet("no-token") || ctx.IsSet("allow-host") {
		return value.Errorf(value.Invalid, "--no-token and --allow-host are only for HTTP").WithHint("add --http ADDR")
	}
	if ui.IsTerminal(c.In) {
		c.Note("waiting for the messages of an MCP client on standard input; to have a client start this command: cassidy mcp install CLIENT")
	}
	err = s.ServeStdio(ctx.Context, c.In, c.Out)
	if ctx.Context.Err() != nil {
		return nil // how a client ends its server
	}
	return err
}

// noteNoProject reports that a folder has no tools to serve.
func (c *command) noteNoProject(dir string) {
	c.Note("there is no project in %s, so no tool of a project is served; to begin one: cassidy init", dir)
}

// serveHTTP serves at an address until the command is interrupted.
func (c *command) serveHTTP(ctx *cli.Context, s *mcp.Server, addr string) error {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return value.Errorf(value.Invalid, "--http %q is not an address: %w", addr, err).WithHint("use --http 127.0.0.1:8808")
	}
	if name == "" {
		name = "127.0.0.1"
	}
	token, err := c.token(ctx.Bool("no-token"), name)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return value.Errorf(value.Unavailable, "listen at %s: %w", addr, err).WithHint("choose another port; --http 127.0.0.1:0 selects a free port")
	}
	c.Note("serving at http://%s/", l.Addr())
	server := &http.Server{
		Handler:           s.Handler(&mcp.HTTPOptions{Token: token, Hosts: append(app.Words(ctx.StringSlice("allow-host")), name)}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	stop := context.AfterFunc(ctx.Context, func() {
		soon, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if server.Shutdown(soon) != nil { // streams stay open as long as their clients
			_ = server.Close() // there is nothing to save
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return value.Errorf(value.Unavailable, "serve at %s: %w", addr, err)
	}
	return nil
}

// token returns the token that clients send, or "" for none.
func (c *command) token(none bool, host string) (string, error) {
	given, set := c.Env(tokenVariable)
	ip := net.ParseIP(host)
	switch {
	case none && (ip == nil || !ip.IsLoopback()):
		return "", value.Errorf(value.Denied, "--no-token would let every program that can reach %s call the tools", host).WithHint("use --http 127.0.0.1:PORT, or set %s and omit --no-token", tokenVariable)
	case none:
		return "", nil
	case set && len(given) < 16:
		return "", value.Errorf(value.Invalid, "the token in %s has %d characters, which is too short", tokenVariable, len(given)).WithHint("use 16 or more random characters")
	case set:
		return given, nil
	}
	b := make([]byte, 24)
	rand.Read(b) // never fails
	token := hex.EncodeToString(b)
	c.Note("the token of this server is %s (set %s to choose one)", token, tokenVariable)
	return token, nil
}
