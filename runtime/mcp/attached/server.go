// Package attached calls the tools of other MCP servers.
//
// A [Server] is one of them: a program that is started in a sandbox, or an address. It is started
// by the first call. Its tools are known beforehand, as a [Set] that somebody has reviewed, and its
// calls are refused while it offers any other set: see [Server.Register].
//
// A server is not trusted. It cannot make the program use much memory or wait for ever, whatever
// it sends: see the limits in this package.
package attached

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options describe a server.
type Options struct {
	// Name is the part before the dot in the names of its tools.
	Name string
	// URL is the address of a server over HTTP; "" is a program. Header is sent with each request,
	// and OAuth signs them, unless it is nil. Client makes the requests; it decides which addresses
	// can be reached. Nil is a client that reaches all.
	URL string
	// SSE says that the server has the transport HTTP+SSE of protocol versions before 2025.
	SSE    bool
	Header http.Header
	Client *http.Client
	OAuth  auth.OAuthHandler
	// Process is the program to start, which speaks the protocol on its standard input and output.
	// Its limits of time and memory, if they are zero, are those of a server.
	Process tool.Process
	// Launch starts the program. Nil fails with kind Unavailable.
	Launch tool.Launcher
	// Timeout is the limit of one call; 0 means two minutes. The start of a server counts for the
	// call that causes it.
	Timeout time.Duration
	// TrustAnnotations says that what the server says of a tool can be believed: that it only
	// reads, that it may be repeated, and that it reaches nothing outside. The server still gets the
	// arguments: after untrusted text was read, calls with text that is not the user's ask.
	TrustAnnotations bool
	// Include are the names of the server's tools that are used, and Exclude those that are not; * stands
	// for any characters. Nil includes all. A review covers only the tools that are used.
	Include, Exclude []string
	// Version is that of the program, which servers are given. "" is "(devel)".
	Version string
	// Compared is called after each comparison of the tools that the server offers with the reviewed ones.
	// changes describes the differences; "" means that both are equal. Compared may be nil.
	Compared func(changes string)
	// Explain returns a hint for a program that ended with an error, by the end of its error output; ""
	// means the usual hint. It may be nil.
	Explain func(output string) (hint string)
	// Now replaces the clock. Nil means time.Now.
	Now func() time.Time
}

const (
	// defaultTimeout is longer than that of a script: the first call may install a server.
	defaultTimeout = 2 * time.Minute
	// startTimeout bounds a start, with the list of the tools.
	startTimeout = time.Minute
	// processTimeout is how long a program may run. A longer run starts it again, at the next call.
	processTimeout = 30 * 24 * time.Hour
	// processMemory is the limit of one process of a server, in bytes. Programs in JavaScript and
	// Python need more than a command does.
	processMemory = 1 << 30
	// maxProcesses is how many processes a server may have.
	maxProcesses = 128
	// The wait before a server that has failed is started again. It doubles with each failure.
	firstWait, longestWait = time.Second, time.Minute
)

// A Server calls the tools of a server. It is safe for concurrent use. Close it when done.
type Server struct {
	opts   Options
	end    context.CancelFunc // ends the program
	ctx    context.Context
	accept Set // what was reviewed; nil for a review

	starting chan struct{} // has a value during a start: there is one at a time

	mu       sync.Mutex // guards what follows
	session  *session   // nil if it is not running
	failures int        // the failed starts in a row
	failed   error      // of the last start
	retry    time.Time  // no start before
	closed   bool
	running  sync.WaitGroup

	names   map[string]string // of the tools that a host has, by the names that the server has given them
	calls   int               // of handlers, in progress
	retired bool              // it ends with its last call
	next    *Server           // that has replaced it, or nil
}

// New returns a server whose tools are those of a set. It is not started.
func New(o Options, accept Set) *Server {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Process.Timeout = cmp.Or(o.Process.Timeout, processTimeout)
	o.Process.Memory = cmp.Or(o.Process.Memory, processMemory)
	o.Process.Processes = cmp.Or(o.Process.Processes, maxProcesses)
	o.Version = cmp.Or(o.Version, "(devel)")
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, end := context.WithCancel(context.Background())
	return &Server{opts: o, ctx: ctx, end: end, accept: accept, starting: make(chan struct{}, 1)}
}

// Fetch starts a server and returns the tools that it offers, for a review. It ends the server.
// An error is of kind Unavailable, Timeout, Limit or Invalid.
func Fetch(ctx context.Context, o Options) (Set, error) {
	s := New(o, Set{})
	defer s.Close()
	running, err := s.connect(ctx)
	if err != nil {
		return Set{}, err
	}
	return running.tools, nil
}

// Close ends the server and its calls. It waits until its processes have ended.
func (s *Server) Close() error {
	s.stop()
	s.running.Wait()
	return nil
}

// Wait waits until the processes of a server have ended that [Exchange] has retired, or that Close ends.
func (s *Server) Wait() {
	<-s.ctx.Done()
	s.running.Wait()
}

// stop is Close without the wait.
func (s *Server) stop() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
}

// Call calls a tool by the name that the server has given it. It starts the server if that is not
// running. The error is of kind Failed if the tool reports one or asks for input, or if the server ended
// during the call, whose effect is then unknown. It is of kind Unavailable if the server cannot be
// started, Denied if it does not offer what was reviewed, Timeout, Limit or Canceled.
//
// Nobody is asked during the call: for that, see [Server.Register].
func (s *Server) Call(ctx context.Context, name string, args *value.Dict) (value.Value, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Timeout, s.timedOut(s.opts.Timeout))
	defer cancel()
	reply, err := s.request(ctx, &flight{}, &sdk.CallToolParams{Name: name, Arguments: args.OrEmpty()})
	if err != nil {
		return nil, err
	}
	if reply.Has(replyRequests) {
		return nil, value.Errorf(value.Failed, "the tool %s of the server %s asks for input, and no user can answer now", value.Clean(name, maxShownName), s.opts.Name)
	}
	v, _ := reply.Get(replyResult)
	return v, nil
}

func (s *Server) timedOut(d time.Duration) error {
	return value.Errorf(value.Timeout, "the server %s did not answer within %v", s.opts.Name, d).WithLimit(value.LimitWall)
}

// started returns the running session, and starts the server if there is none.
func (s *Server) started(ctx context.Context) (*session, error) {
	select {
	case s.starting <- struct{}{}:
	case <-ctx.Done():
		return nil, value.AsError(context.Cause(ctx), value.Canceled)
	}
	defer func() { <-s.starting }()
	s.mu.Lock()
	running, failed := s.session, s.failed
	now := s.opts.Now()
	waits := now.Before(s.retry)
	s.mu.Unlock()
	switch {
	case running != nil && running.alive() && !running.stale(now):
		return running, nil
	case waits && failed != nil:
		return nil, failed
	}
	running, err := s.listed(ctx, running)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.session = nil
		if ctx.Err() == nil || errors.Is(err, value.ErrTimeout) { // otherwise the caller gave up, which says nothing about the server
			s.retry = s.opts.Now().Add(min(firstWait<<min(s.failures, 10), longestWait))
			s.failures, s.failed = s.failures+1, err
		}
		return nil, err
	}
	s.session, s.failures, s.failed = running, 0, nil
	return running, nil
}

// listed returns a session whose tools were listed and are the reviewed ones: the running one, if
// it is not nil and still alive, or else a new one.
func (s *Server) listed(ctx context.Context, running *session) (*session, error) {
	if running != nil && running.alive() {
		if err := running.relist(ctx, s.opts.Now()); err != nil {
			running.end()
		}
	}
	var err error
	if running == nil || !running.alive() {
		if running, err = s.connect(ctx); err != nil {
			return nil, err
		}
	}
	if err = s.check(running.tools); err != nil {
		running.end()
	}
	return running, err
}

// check refuses a set that is not the reviewed one.
func (s *Server) check(offered Set) error {
	changes, what := s.accept.Compare(offered), ""
	if len(changes) > 0 {
		what = summary(changes)
	}
	if s.opts.Compared != nil {
		s.opts.Compared(what)
	}
	if what == "" {
		return nil
	}
	return value.Errorf(value.Denied, "the tools of the server %s have changed since you reviewed them: %s", s.opts.Name, what).
		WithHint("the user can review the changes with: cassidy mcp review %s", s.opts.Name)
}
