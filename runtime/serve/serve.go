package serve

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure a server.
type Options struct {
	// Projects are what is served: at least one, each with a name of its own.
	Projects []*Project
	// Identify returns who makes a request, by the program's own sign-in. It is asked first. Nil and no
	// error mean nobody: then Users, Token and cookies decide. It may be nil.
	Identify func(r *http.Request) (*User, error)
	// Users returns the users with tokens, as they are now. It is called with each request, so that a
	// user who is removed, or gets another token, is signed out. It may be nil.
	Users func() ([]User, error)
	// Token is that of the owner of a server on loopback, who is admin. "" means that there is none.
	Token string
	// Owner is the name of who has the Token, for the record; "" means "owner".
	Owner string
	// Hosts are the names by which clients may address the server besides localhost and the address that it
	// listens on, such as that of a proxy in front of it. A request for another name is refused if it comes
	// over loopback, where a page of the web could have made a browser send it, or if there are Hosts.
	Hosts []string
	// ForbidOwn refuses answers to the questions of a run by who began it.
	ForbidOwn bool
	// Reload returns Hosts and ForbidOwn as they are now. It is called with each request; if it fails, they stay as they
	// were. Nil: they do not change.
	Reload func() (hosts []string, forbidOwn bool, err error)
	// Audit records each decision. A server waits for it, and logs its errors. It is called concurrently.
	// Nil records nothing.
	Audit func(d Decision) error
	// Decisions yields the decisions that Audit has recorded, the newest first, for the page that lists them. Nil: the page
	// has those since the server was opened, at most a thousand. See [DecisionOf].
	Decisions func(ctx context.Context) iter.Seq2[Decision, error]
	// Kept returns which runs are kept, for the page of one that is not there. Nil keeps all.
	Kept func() (history.Keep, error)
	// MCP is served at /mcp, to users with the role [Run]. [UserOf] the context of a request has the user: unless
	// [Server.AnswersOwn], their client must not be asked. Nil: nothing is served there.
	MCP http.Handler
	// Jobs is how many runs are executed at the same time; 0 means 256.
	Jobs int
	// Rate is how many requests a user may make in a second, after ten times as many at once; 0 means 100.
	Rate int
	// Logger gets messages for operators, without arguments, results and secrets. Nil logs nothing.
	Logger *slog.Logger
	// Version is that of the program, for clients.
	Version string
	// Clock returns the current time. Nil means time.Now.
	Clock func() time.Time
}

// A Project is a host whose runs a server shares. The host must have a store.
type Project struct {
	// Name is in URLs and lists.
	Name string
	Host *host.Host
	// Resume continues a run. Nil is [host.Host.Resume].
	Resume func(ctx context.Context, r host.Recorded) (tool.Result, error)
	// Within returns the context of a call that is made as soon as it begins, without Resume. Nil changes nothing.
	Within func(ctx context.Context) context.Context
	// Workflows returns the workflows, for lists and forms. Nil is [host.Host.Workflows].
	Workflows func(ctx context.Context) ([]host.Workflow, error)
	// Agent opens an agent for chats by its name; "" is the default. Nil: there is no chat.
	Agent func(ctx context.Context, name string) (*agent.Agent, error)
	// NoModel returns what to type where the server runs to set up a model for the agents that have none of their own, such
	// as "cassidy setup", or "" if that was done. Nil: it was.
	NoModel func(ctx context.Context) string
	// Source returns the script of a tool, for the page that shows it. It fails with kind NotFound for a tool without one.
	// Nil: the scripts of tools are not shown.
	Source func(ctx context.Context, t *toolset.Info) (tool.Script, error)
	// HasSecret reports whether a secret of a name has a value. Nil: nobody knows.
	HasSecret func(ctx context.Context, name string) bool
	// AddRules stores rules that somebody adds with an answer, and returns how the config changes. If store is false, it
	// only returns that. Nil: such rules hold until the host is closed.
	AddRules func(ctx context.Context, rules []tool.Rule, store bool) ([]tool.Change, error)
}

// A Role is what a user may do. Each role has the rights of those before it, and the zero Role has none.
type Role uint8

const (
	View    Role = iota + 1 // see everything
	Run                     // begin runs, and cancel, resume, retry and undo their own
	Approve                 // answer questions, and do that with the runs of others
	Admin                   // say what an interrupted effect did, and add rules
)

var roleNames = [...]string{"none", "view", "run", "approve", "admin"}

// String returns the name of the role, as in "approve".
func (r Role) String() string { return roleNames[min(int(r), len(roleNames)-1)] }

// RoleNamed returns the role with a name. It fails with kind Invalid for any other name.
func RoleNamed(name string) (Role, error) {
	for r := View; r <= Admin; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, value.Errorf(value.Invalid, "unknown role %q", value.Clean(name, 40)).WithHint("write view, run, approve or admin")
}

// A User is somebody who may sign in.
type User struct {
	Name string
	Role Role
	// Projects are the names of the projects that the user sees; nil means all.
	Projects []string
	// Hash is the SHA-256 of the user's token, in hexadecimal; see [HashToken]. "" means that no token is theirs.
	Hash string
}

// A Server serves a team. It is safe for concurrent use.
type Server struct {
	opts     Options
	held     atomic.Pointer[settings] // that Reload has returned last
	projects []*project
	sign     signIn
	rate     buckets // of each user

	slots    chan struct{} // has a value for each run that is executed
	draining chan struct{} // closed by Shutdown
	drain    sync.Once

	feeds     feeds
	pages     *page.Pages
	decisions decisions
	later     later
	board     board
	summaries summaries
	trails    trails
	replays   replays
	counts    counts
	streams   atomic.Int64
	handlers  http.Handler
}

// A project is a Project with what the server knows of it.
type project struct {
	*Project
	op   operate.Host
	wake chan struct{} // has a value when the loop has something to do
	look atomic.Bool   // runs may be due
	jobs jobs

	answering sync.Mutex // an answer is compared with those before it
	inbox     inbox
	writes    writes
	undone    undos
}

// New returns a server. It fails with kind Invalid without a project, for a project without a name, a host or a
// store, and for two projects of one name.
func New(o *Options) (*Server, error) {
	s := &Server{opts: *o, draining: make(chan struct{})}
	o = &s.opts
	s.held.Store(&settings{o.Hosts, o.ForbidOwn})
	o.Jobs, o.Rate, o.Owner = cmp.Or(o.Jobs, 256), cmp.Or(o.Rate, 100), cmp.Or(o.Owner, "owner")
	if o.Jobs < 0 || o.Rate < 0 {
		return nil, value.Errorf(value.Invalid, "open a server: negative Jobs or Rate")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if err := s.open(o.Projects); err != nil {
		return nil, err
	}
	s.slots = make(chan struct{}, o.Jobs)
	s.rate = newBuckets(float64(o.Rate), 10*o.Rate)
	s.sign.begin()
	s.later.begin()
	s.feeds.open, s.feeds.cut = map[feedKey]*feed{}, map[feedKey]string{}
	pages, err := page.New(o.Clock)
	if err != nil {
		return nil, value.Errorf(value.Internal, "open a server: %w", err)
	}
	s.pages, s.summaries.kept = pages, map[summaryKey]keptSummary{}
	s.board.begin()
	s.handlers = s.handler()
	return s, nil
}

// open checks the projects.
func (s *Server) open(projects []*Project) error {
	if len(projects) == 0 {
		return value.Errorf(value.Invalid, "open a server: it has no project").WithHint("set Options.Projects")
	}
	names := map[string]bool{}
	for _, p := range projects {
		switch {
		case p == nil || p.Name == "":
			return value.Errorf(value.Invalid, "open a server: a project has no name").WithHint("set Project.Name")
		case names[p.Name]:
			return value.Errorf(value.Invalid, "open a server: two projects have the name %q", p.Name).WithHint("give each project another name")
		}
		names[p.Name] = true
		op := host.Operate(p.Host)
		if err := op.Valid(); err != nil {
			return err
		}
		if !op.HasStore() {
			return value.Errorf(value.Invalid, "open a server: the host of the project %q has no store", p.Name).WithHint("set RuntimeOptions.Store")
		}
		own := *p
		if own.Workflows == nil {
			own.Workflows = p.Host.Workflows
		}
		s.projects = append(s.projects, &project{Project: &own, op: op, wake: make(chan struct{}, 1), jobs: newJobs()})
	}
	return nil
}

// Handler returns the handler of everything that the server serves.
func (s *Server) Handler() http.Handler { return s.handlers }

// Shutdown drains the server: streams end with the event draining, nothing new begins, and Run returns.
// It waits until the runs that are executed have parked or ended, or until ctx ends: then it fails with the
// error of ctx, and the hosts interrupt what is left when they are shut down.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain.Do(func() { close(s.draining) })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(s.slots) > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return value.AsError(context.Cause(ctx), value.Canceled)
		}
	}
	return nil
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// settings are what can change while the server runs.
type settings struct {
	hosts     []string
	forbidOwn bool
}

// settings returns the settings as they are now.
func (s *Server) settings() *settings {
	if s.opts.Reload != nil {
		if hosts, forbidOwn, err := s.opts.Reload(); err == nil {
			s.held.Store(&settings{hosts, forbidOwn})
		}
	}
	return s.held.Load()
}

func (s *Server) now() time.Time { return s.opts.Clock() }
