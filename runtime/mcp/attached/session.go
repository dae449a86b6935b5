package attached

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A session is a connection with a running server.
type session struct {
	name  string
	uses  func(tool string) bool
	tools Set // that the server offered when it was started
	sdk   *sdk.ClientSession

	transport sdk.Transport
	ended     <-chan struct{} // closed when the connection has ended
	why       func() error    // why it has ended, after that; nil if nothing is known
	end       func()          // ends it
	relists   time.Duration   // how long its list of tools is valid; 0 is until the server says so
	changed   atomic.Bool     // the server says that its tools have changed
	unasked   atomic.Int64    // what came over HTTP since the last call or list, through streams that answer no request
	at        time.Time       // of the list

	mu      sync.Mutex // guards what follows
	calls   int64
	flights map[string]*flight // by token
}

// connect starts the server, and lists its tools. The caller closes the session.
func (s *Server) connect(ctx context.Context) (*session, error) {
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.running.Add(1) // so that Close waits for the program that is started here
		defer s.running.Done()
	}
	s.mu.Unlock()
	switch {
	case closed:
		return nil, value.Errorf(value.Closed, "the server %s was closed", s.opts.Name)
	case s.opts.Launch == nil && s.opts.URL == "":
		return nil, value.Errorf(value.Unavailable, "the server %s cannot be started: programs cannot be confined on this machine", s.opts.Name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, s.timedOut(startTimeout))
	defer cancel()
	running := &session{name: s.opts.Name, uses: s.opts.uses, at: s.opts.Now(), flights: map[string]*flight{}}
	if s.opts.URL != "" {
		running.overHTTP(s.ctx, &s.opts)
	} else {
		p := startProcess(s.ctx, &s.opts, &s.running, &running.changed)
		running.transport, running.ended, running.why = p, p.ended, func() error { return p.err }
		running.end = func() { _ = p.Close() }
	}
	err := running.open(ctx, s.opts.Version)
	if err != nil {
		running.end()
		return nil, running.failed(ctx, nil, err)
	}
	return running, nil
}

// open begins the conversation with a server.
func (r *session) open(ctx context.Context, version string) error {
	client := sdk.NewClient(&sdk.Implementation{Name: "cassidy", Version: version}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}}, // a server gets no model and no list of folders
		ElicitationHandler:          r.elicited,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) {}, // so that it is asked for; see process.Read
		ProgressNotificationHandler: r.progressed,
	})
	return r.wait(ctx, func() (err error) {
		if r.sdk, err = client.Connect(ctx, r.transport, nil); err != nil {
			if _, version, found := strings.Cut(err.Error(), "unsupported protocol version: "); found {
				known := sdk.SupportedProtocolVersions()
				return value.Errorf(value.Unavailable, "the server %s answered with version %s of the protocol: the versions are %s to %s", r.name, value.Clean(version, maxShownName), known[len(known)-1], known[0])
			}
			return err
		}
		opened := r.sdk
		go func() { // nothing of the SDK stays behind
			<-r.ended
			_ = opened.Close()
		}()
		go func() { // a session that has failed is not used again
			_ = opened.Wait()
			r.end()
		}()
		r.tools, err = r.list(ctx)
		return err
	})
}

// wait calls a function of the SDK. It does not wait longer than ctx, whatever the SDK waits for.
func (r *session) wait(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxPages is how many pages a list of tools may have.
const maxPages = 100

// list returns the tools that the server offers.
func (r *session) list(ctx context.Context) (Set, error) {
	r.unasked.Store(0)
	var all value.List
	params, seen := &sdk.ListToolsParams{}, map[string]bool{}
	for range maxPages {
		page, err := r.sdk.ListTools(ctx, params)
		if err != nil {
			return Set{}, err
		}
		for _, t := range page.Tools {
			if t != nil && r.uses(t.Name) {
				all = append(all, textOf(t.Description))
			}
		}
		if len(all) > maxTools || page.NextCursor == "" {
			s, err := newSet(all)
			if err != nil {
				return Set{}, value.Errorf(value.KindOf(err), "list the tools of the server %s: %w", r.name, err)
			}
			return s, nil
		}
		if seen[page.NextCursor] {
			return Set{}, value.Errorf(value.Invalid, "the list of tools of the server %s has no end: the cursor %q comes again", r.name, value.Clean(page.NextCursor, maxShownName))
		}
		seen[page.NextCursor] = true
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return Set{}, value.Errorf(value.Limit, "the server %s lists its tools on more than %d pages", r.name, maxPages)
}

// relistAfter is how long the tools of a server over HTTP are valid: it may be another one behind
// the same address, and it cannot report a change in all versions of the protocol.
const relistAfter = time.Minute

// overHTTP describes a session over HTTP.
func (r *session) overHTTP(ctx context.Context, o *Options) {
	ctx, end := context.WithCancel(ctx)
	r.ended, r.end, r.relists = ctx.Done(), end, relistAfter
	r.transport, r.why = o.overHTTP(ctx, &r.changed, &r.unasked)
}

// alive reports whether the connection has not ended.
func (r *session) alive() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// stale reports whether the tools must be listed again.
func (r *session) stale(now time.Time) bool {
	return r.changed.Load() || r.relists > 0 && now.Sub(r.at) > r.relists
}

// relist lists the tools again.
func (r *session) relist(ctx context.Context, now time.Time) error {
	r.changed.Store(false) // before the list: a change during it is listed by the next call
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var tools Set
	err := r.wait(ctx, func() (err error) {
		tools, err = r.list(ctx)
		return err
	})
	if err == nil {
		r.tools, r.at = tools, now
	}
	return err
}

// call calls a tool, and returns its result in the form of the protocol.
func (r *session) call(ctx context.Context, f *flight, params *sdk.CallToolParams) (*value.Dict, error) {
	r.unasked.Store(0)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.ctx, f.server, f.left = ctx, r.name, maxProgress
	token, done := r.follow(f)
	defer done()
	params.Meta = sdk.Meta{"progressToken": token}
	if info := r.sdk.InitializeResult(); f.form == nil && info != nil && info.ProtocolVersion >= perRequest {
		params.Meta[sdk.MetaKeyClientCapabilities] = map[string]any{}
	}
	var result *sdk.CallToolResult
	way := new(sending)
	err := r.wait(ctx, func() (err error) {
		result, err = r.sdk.CallTool(context.WithValue(ctx, sendingKey{}, way), params)
		return err
	})
	if err != nil {
		err = r.failed(ctx, way, err)
	}
	if no := way.noRoom.Load(); no != nil && err != nil {
		err = *no
	}
	cancel() // ends an open form, for which failure waits
	if failure := f.failure(); err == nil {
		err = failure
	}
	if err != nil {
		return nil, err
	}
	d := textOf(result.StructuredContent)
	result = nil
	membudget.Of(ctx).Keep(membudget.Copies * way.size.Load())
	return d, nil
}

// perRequest is the first version of the protocol in which each request declares what the client can do.
const perRequest = "2026-07-28"

// notSent is the code of the SDK's error for a request over HTTP that was not sent or not accepted.
const notSent = -32005

// endedWait is how long an error waits for the end of the program, which explains it.
const endedWait = time.Second

// errGone is the error of a call whose session the server has forgotten: the call was not carried out.
var errGone = errors.New("the server has ended the session")

// failed returns the error of a call that came as far as way, or with nil, of the start of the server.
func (r *session) failed(ctx context.Context, way *sending, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return value.AsError(cause, value.Canceled)
	}
	var no *refusal
	if way != nil {
		no = way.refusal.Load()
	}
	var wire *jsonrpc.Error
	said := errors.As(err, &wire) && wire.Code != notSent && !errors.Is(err, sdk.ErrConnectionClosed)
	var own *value.Error
	switch {
	case no.gone():
		r.end()
		return fmt.Errorf("%w: %w", errGone, no.error(r.name, ""))
	case no != nil && no.passes() && errors.As(err, &own): // of what signs the requests
		return unsent(own)
	case no != nil && !said:
		return no.error(r.name, "")
	case no != nil && no.passes() && no.status != http.StatusNotFound: // the protocol answers an unknown method so
		return no.error(r.name, value.Clean(wire.Message, value.MaxErrorText))
	}
	if said {
		kind := value.Failed
		if way == nil {
			kind = value.Unavailable
		}
		return value.Errorf(kind, "the server %s: %s", r.name, value.Clean(wire.Message, value.MaxErrorText))
	}
	if errors.As(err, &own) {
		return own
	}
	r.end()
	timer := time.NewTimer(endedWait)
	defer timer.Stop()
	select {
	case <-r.ended:
		if why := r.why(); why != nil {
			own = value.ErrorOf(why, value.Unavailable)
		}
	case <-timer.C:
	}
	if own == nil {
		text := err.Error()
		if wire != nil {
			if _, cause, found := strings.Cut(text, wire.Message+": "); found {
				text = cause
			}
		}
		own = value.Errorf(value.Unavailable, "the server %s: %s", r.name, value.Clean(text, value.MaxErrorText))
	}
	switch {
	case way != nil && way.kept.Load():
		return value.Errorf(value.Unavailable, "%s", own.Message()).WithLimit(value.LimitUnsent).WithHint("%s", own.Hint)
	case way != nil:
		return value.Errorf(value.Failed, "the call may have been carried out in part: %s", own.Message()).WithHint("%s", own.Hint)
	}
	return own
}

// A flight is a call in flight.
type flight struct {
	ctx    context.Context
	server string
	form   func(ctx context.Context, text string, form *value.Dict, live bool) (*value.Dict, error) // see [tool.Grant]; nil: nobody can be asked

	hint string // where the user can answer a form that reaches nobody

	left int // reports, guarded by the session

	mu    sync.Mutex // held while the user is asked; guards what follows
	asked int        // forms
	err   error      // why a form was not answered, or nil
}

// maxProgress is how many reports of one call are passed on, as each is recorded.
const maxProgress = 200

// follow has a call get what the server reports about it, until done is called.
func (r *session) follow(f *flight) (token string, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	token = fmt.Sprintf("call-%d", r.calls)
	r.flights[token] = f
	return token, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.flights, token)
	}
}

// only returns the call in flight, or nil if there are several: a server does not say which call it asks
// for, and the user of another one must not be asked. Then each call reports that.
func (r *session) only() *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.flights {
		if len(r.flights) == 1 {
			return f
		}
		if f.left > 0 {
			f.left--
			host.Emit(f.ctx, tool.Log{Message: "a form of the server " + r.name + " was cancelled, because it does not say which of several calls asks: make the calls one after the other"})
		}
	}
	return nil
}

func (r *session) progressed(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
	token, _ := n.Params.ProgressToken.(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.flights[token]; f != nil && f.left > 0 {
		f.left--
		host.Emit(f.ctx, tool.Progress{Message: value.Clean(n.Params.Message, maxProgressText), Done: n.Params.Progress, Total: n.Params.Total})
	}
}

// maxProgressText is the limit of the text of a report, in bytes.
const maxProgressText = 500
