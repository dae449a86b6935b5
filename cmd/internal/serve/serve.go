package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/audit"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/serve"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	tokenVariable = "CASSIDY_SERVE_TOKEN" // the environment variable of the owner's token
	leastToken    = 16                    // characters
	serveJobs     = 256
)

// Command returns cassidy serve.
func Command(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "serve a page and an API for the runs, tools and chats of projects", ArgsUsage: "[DIR …]",
		Description: "The server executes the runs that are begun and answered on its page, over its API or by commands, and shows them\n" +
			"while they run. Without DIR, it serves the current project.\n" +
			"You sign in with the link that the command prints. To let others in: cassidy serve user add NAME --role ROLE.\n" +
			"Programs send a token: Authorization: Bearer TOKEN. Your own token is that of $" + tokenVariable + ", or a new one.\n" +
			"Beyond this machine, the server needs --tls-cert and --tls-key, or --plain-http behind a proxy that has them.\n" +
			"With --json, the first line has the address and the token.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:7457", Usage: "listen at `ADDR`; port 0 picks a free one"},
			&cli.StringFlag{Name: "tls-cert", Usage: "use the certificate in `FILE` (PEM)"},
			&cli.StringFlag{Name: "tls-key", Usage: "use the key in `FILE` (PEM)"},
			&cli.BoolFlag{Name: "plain-http", Usage: "listen without TLS also beyond this machine, as behind a proxy"},
			&cli.BoolFlag{Name: "open", Usage: "open the page in your browser"},
			app.CountFlag("jobs", serveJobs, "execute at most `N` runs at the same time"),
		},
		Action:      a.Recording(func(ctx *cli.Context) error { return (&command{App: a}).serve(ctx) }),
		Subcommands: []*cli.Command{userCommand(a)},
	}
}

// A command is one run of cassidy serve.
type command struct{ *app.App }

func (c *command) serve(ctx *cli.Context) (err error) {
	tlsConfig, err := readTLS(ctx)
	if err != nil {
		return err
	}
	conf, err := c.ReadConfig("")
	if err != nil {
		return err
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	l, err := listen(ctx, tlsConfig)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it is closed already unless something failed
	p, err := openProjects(c.App, ctx.Int("jobs"))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, p.end()) }()
	o := &serve.Options{
		Token: token, Users: c.users, Owner: c.owner(), Hosts: conf.Server.Hosts, ForbidOwn: conf.Server.ForbidOwn, Reload: c.reload, Jobs: ctx.Int("jobs"), Kept: c.KeptRuns,
		Logger: slog.New(slog.NewTextHandler(c.Err, &slog.HandlerOptions{Level: c.level()})),
	}
	if file := c.AuditFile(); file != "" {
		log := audit.Open(file)
		o.Audit = func(d serve.Decision) error { return log.Append(d.Dict()) }
		o.Decisions = func(context.Context) iter.Seq2[serve.Decision, error] { return decisions(log) }
	}
	mcps := &mcpServers{}
	o.MCP = mcps
	s, err := p.server(ctx, o)
	if err != nil {
		return err
	}
	if err := mcps.open(s, o.Projects); err != nil {
		return err
	}
	p.onChange(func() { c.ReportAll(mcps.update()) })
	return c.run(ctx, s, l, tlsConfig != nil, token)
}

// decisions yields what people decided at a server, of all that is recorded, the newest first.
func decisions(log *audit.File) iter.Seq2[serve.Decision, error] {
	return func(yield func(serve.Decision, error) bool) {
		for line, err := range log.Newest() {
			d, ok := serve.Decision{}, err != nil
			if err == nil {
				d, ok = serve.DecisionOf(line)
			}
			if ok && !yield(d, err) {
				return
			}
		}
	}
}

// run serves until ctx ends: then the server drains, and the streams of clients end.
func (c *command) run(ctx *cli.Context, s *serve.Server, l net.Listener, secure bool, token string) error {
	base := "http://" + l.Addr().String()
	if secure {
		base = "https://" + l.Addr().String()
	}
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	if err := c.announce(ctx, base, token, s.SignInCode()); err != nil {
		return err
	}
	serving, stop := context.WithCancelCause(ctx.Context)
	defer stop(nil)
	go func() {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			stop(value.Errorf(value.Unavailable, "serve at %s: %w", l.Addr(), err))
		}
	}()
	notify(c.Env, "READY=1")
	err := execute(serving, s)
	notify(c.Env, "STOPPING=1")
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context), 5*time.Second)
	defer cancel()
	if web.Shutdown(soon) != nil {
		_ = web.Close() // clients that do not read
	}
	if cause := context.Cause(serving); ctx.Context.Err() == nil && cause != nil {
		return cause
	}
	return err
}

// announce says where the server is.
func (c *command) announce(ctx *cli.Context, base, token, code string) error {
	if c.JSON {
		return c.PrintJSON(value.NewDict("type", "listening", "url", base, "token", token))
	}
	link := base + "/login?code=" + code
	c.Note("serving at %s", base)
	c.Note("to sign in, within 5 minutes and once: %s", link)
	if ctx.Bool("open") {
		return c.OpenBrowser(link)
	}
	return nil
}

// level returns the least level of messages for operators.
func (c *command) level() slog.Level {
	if c.Verbose {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// owner returns the name of who has the token of the server.
func (c *command) owner() string {
	user, _ := c.Env("USER")
	login, _ := c.Env("LOGNAME")
	return cmp.Or(user, login, "owner")
}

// token returns the owner's token.
func (c *command) token() (string, error) {
	given, set := c.Env(tokenVariable)
	switch {
	case !set:
		return rand.Text(), nil
	case len(given) < leastToken:
		return "", value.Errorf(value.Invalid, "the token in %s has %d characters, which is too short", tokenVariable, len(given)).WithHint("use %d or more random characters", leastToken)
	}
	return given, nil
}

// users returns the users in the config, as it is now.
func (c *command) users() ([]serve.User, error) {
	conf, err := c.ReadConfig("")
	if err != nil {
		return nil, err
	}
	return usersOf(&conf)
}

// reload returns what the config says now of hosts and of answers to own runs.
func (c *command) reload() (hosts []string, forbidOwn bool, err error) {
	conf, err := c.ReadConfig("")
	return conf.Server.Hosts, conf.Server.ForbidOwn, err
}

func usersOf(conf *config.Config) (users []serve.User, err error) {
	for _, u := range conf.Server.Users {
		role, err := serve.RoleNamed(u.Role)
		if err != nil {
			return nil, err
		}
		users = append(users, serve.User{Name: u.Name, Role: role, Hash: u.Hash})
	}
	return users, nil
}

// readTLS returns the certificate of the flags, or nil for none.
func readTLS(ctx *cli.Context) (*tls.Config, error) {
	cert, key := ctx.String("tls-cert"), ctx.String("tls-key")
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, value.Errorf(value.Invalid, "--tls-cert and --tls-key need each other").WithHint("cassidy serve --tls-cert FILE --tls-key FILE")
	case ctx.Bool("plain-http"):
		return nil, value.Errorf(value.Invalid, "--plain-http and --tls-cert are mutually exclusive").WithHint("omit one of them")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the certificate %s and its key: %w", cert, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// listen opens the address of the server.
func listen(ctx *cli.Context, secure *tls.Config) (net.Listener, error) {
	addr := ctx.String("listen")
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "--listen %q is not an address: %w", addr, err).WithHint("use --listen 127.0.0.1:7457")
	}
	name = cmp.Or(name, "127.0.0.1")
	ip := net.ParseIP(name)
	if loopback := name == "localhost" || ip != nil && ip.IsLoopback(); !loopback && secure == nil && !ctx.Bool("plain-http") {
		return nil, value.Errorf(value.Denied, "at %s, tokens and results would cross the network unencrypted", addr).
			WithHint("add --tls-cert FILE and --tls-key FILE; or --plain-http, if a proxy in front of the server has TLS")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, value.Errorf(value.Unavailable, "listen at %s: %w", addr, err).WithHint("choose another port; --listen 127.0.0.1:0 picks a free one")
	}
	if secure != nil {
		return tls.NewListener(l, secure), nil
	}
	return l, nil
}

// notify tells the service manager that started the command about its state, as sd_notify(3) does.
func notify(env func(string) (string, bool), state string) {
	socket, set := env("NOTIFY_SOCKET")
	if !set {
		return
	}
	if c, err := net.Dial("unixgram", socket); err == nil {
		_, _ = c.Write([]byte(state)) // the manager goes by its timeouts then
		_ = c.Close()
	}
}

// mcpServers serve the tools of each project over MCP: that of ?project=NAME, or the first one. A client whose user may not
// answer the questions of own runs is not asked.
type mcpServers struct {
	server *serve.Server
	first  string
	named  map[mcpKey]http.Handler
	all    []*mcp.Server
}

type mcpKey struct {
	project string
	asked   bool // clients are asked
}

func (m *mcpServers) open(server *serve.Server, projects []*serve.Project) error {
	m.server, m.first, m.named = server, projects[0].Name, map[mcpKey]http.Handler{}
	for _, p := range projects {
		for _, asked := range []bool{false, true} {
			s, err := mcp.New(p.Host, &mcp.Options{Version: app.Version(), Unasked: !asked})
			if err != nil {
				return err
			}
			m.all = append(m.all, s)
			m.named[mcpKey{p.Name, asked}] = s.Handler(nil)
		}
	}
	return nil
}

// update serves what the files are now.
func (m *mcpServers) update() (wrong []*value.Error) {
	for _, s := range m.all {
		if err := s.Update(); err != nil {
			wrong = append(wrong, value.ErrorOf(err, value.Failed))
		}
	}
	return wrong
}

// ServeHTTP implements [http.Handler].
func (m *mcpServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := m.named[mcpKey{cmp.Or(r.URL.Query().Get("project"), m.first), m.server.AnswersOwn(serve.UserOf(r.Context()))}]
	if h == nil {
		http.Error(w, "no such project", http.StatusNotFound)
		return
	}
	h.ServeHTTP(w, named(r))
}

// named returns a request whose name the server has checked, for a handler that knows other names.
func named(r *http.Request) *http.Request {
	q := r.Clone(r.Context())
	if _, origin, _ := strings.Cut(r.Header.Get("Origin"), "://"); origin == r.Host {
		q.Header.Del("Origin")
	}
	q.Host = "localhost"
	return q
}
