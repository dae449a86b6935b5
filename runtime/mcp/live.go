package mcp

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/forms"
	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Some forms cannot wait in the record of a run: an older attached server waits for the answer during its
// request. The client answers such a form while the call is made. A client of a version with sessions is
// asked during its request. The request of a client of 2026-07-28 ends with the form, and the call goes on
// without a request: the next request brings the answer to the same call. The client of a task gets the
// form with the task.

const (
	// answerTimeout is the default of Options.AnswerTimeout.
	answerTimeout = 10 * time.Minute
	// maxLive is how many calls can wait for the next request of their clients: each keeps a call of an
	// attached server open.
	maxLive = 100
)

// A liveCall is a call that is made apart from the requests for it.
type liveCall struct {
	digest   string
	detached *detached // nil: it cannot become a task
	stop     context.CancelFunc
	done     chan struct{} // closed when it has ended
	reply    reply         // after done
	err      error         // after done, one of the protocol

	mu       sync.Mutex
	id       string                   // its run, or its call if nothing is recorded; "" before the first form
	open     map[string]*liveQuestion // by key
	asked    int                      // the number of its questions so far
	changed  chan struct{}            // closed when a question is added
	requests []*listener              // that wait for the call, the newest last

	holds *membudget.Scope // of the call, or nil: the result, until a request takes it
}

// A listener is a request while it waits for a call.
type listener struct {
	ctx    context.Context
	client client
}

// A liveQuestion is a form that a call waits for.
type liveQuestion struct {
	tool.Question
	input  sdk.InputRequest
	answer chan tool.Answer // has room for one
}

// lives are the calls that have asked for a form, by their ID.
type lives struct {
	sync.Mutex
	calls map[string]*liveCall
}

// find returns a call by its ID, or nil.
func (l *lives) find(id string) *liveCall {
	l.Lock()
	defer l.Unlock()
	return l.calls[id]
}

// add adds a call, unless there are too many.
func (l *lives) add(id string, c *liveCall) bool {
	l.Lock()
	defer l.Unlock()
	if l.calls[id] != c && len(l.calls) >= maxLive {
		return false
	}
	if l.calls == nil {
		l.calls = map[string]*liveCall{}
	}
	l.calls[id] = c
	return true
}

func (l *lives) remove(c *liveCall) {
	l.Lock()
	defer l.Unlock()
	if id := c.name(""); l.calls[id] == c {
		delete(l.calls, id)
	}
}

// name names the call, unless it has a name or id is "", and returns the name.
func (c *liveCall) name(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = cmp.Or(c.id, id)
	return c.id
}

// serveApart serves a request whose call is made apart from it: the call may outlast the request.
func (s *Server) serveApart(ctx context.Context, r *request) (reply, error) {
	alone := context.WithoutCancel(ctx)
	if r.client.tasks && host.Operate(s.host).HasStore() {
		r.detached = newDetached()
		if r.run == "" {
			r.run = s.runFor(ctx, r)
		}
		alone = context.WithValue(alone, detachedKey{}, r.detached)
		s.tasks.began(r.run)
	}
	alone, stop := context.WithCancel(alone)
	c := r.apart(stop)
	if tree := membudget.TreeOf(ctx); tree != nil {
		held := membudget.With(alone, tree) // the request may end before the call
		alone, c.holds = held, &held.Scope
	}
	go func() {
		defer stop()
		c.reply, c.err = s.converse(alone, r)
		if r.detached != nil {
			s.tasks.ended(r.run)
		}
		s.lives.remove(c)
		close(c.done)
		c.forsake()
	}()
	return s.await(ctx, c, r)
}

// apart makes the call of a request one that is made apart from it.
func (r *request) apart(stop context.CancelFunc) *liveCall {
	r.live = &liveCall{digest: r.digest, detached: r.detached, stop: stop, done: make(chan struct{}), changed: make(chan struct{}), id: r.run}
	return r.live
}

// liveOf returns the call that a request is about, if it waits for a form, or nil.
func (s *Server) liveOf(r *request) *liveCall {
	c := s.lives.find(cmp.Or(r.run, s.parked.run(r.digest)))
	if c == nil || c.digest != r.digest {
		return nil
	}
	return c
}

// await waits with a request until its call ends, asks the client for a form, or becomes a task.
func (s *Server) await(ctx context.Context, c *liveCall, r *request) (reply, error) {
	leave := c.join(ctx, r.client)
	defer func() {
		leave()
		c.forsake()
	}()
	var begun <-chan struct{}
	if c.detached != nil {
		begun = c.detached.begun
	}
	for {
		inputs, changed := c.inputs()
		if len(inputs) > 0 && (c.detached == nil || !c.detached.is()) {
			return reply{inputs: inputs, state: s.states.seal(c.name(""), c.digest)}, nil
		}
		select {
		case <-c.done:
			if c.detached == nil || !c.detached.is() {
				c.holds.Move(membudget.Of(ctx))
				return c.reply, c.err
			}
			return s.taskReply(ctx, c) // it ended, or waits, right after it became a task
		case <-changed:
		case <-ctx.Done():
			if !leave() { // another request waits for it
				return reply{}, ctx.Err()
			}
			c.stop()
			<-c.done
			return c.reply, c.err
		case <-begun:
			return s.taskReply(ctx, c)
		}
	}
}

// forsake gives back what the result of an ended call holds if no request waits for it.
func (c *liveCall) forsake() {
	select {
	case <-c.done:
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) == 0 {
		c.holds.End()
	}
}

// taskReply returns the reply to a request whose call has become a task.
func (s *Server) taskReply(ctx context.Context, c *liveCall) (reply, error) {
	t, err := s.taskOf(ctx, c.name(""))
	if err != nil {
		return reply{}, invalidParams(err)
	}
	t.ResultType, t.Inputs, t.Result = "task", nil, nil
	return reply{task: t}, nil
}

// join adds a request that waits for the call. leave removes it, and reports whether it was the last one.
func (c *liveCall) join(ctx context.Context, from client) (leave func() (last bool)) {
	one := &listener{ctx, from}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, one)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, other := range c.requests {
			if other == one {
				c.requests = append(c.requests[:i:i], c.requests[i+1:]...)
			}
		}
		return len(c.requests) == 0
	}
}

// listener returns who gets the reports of a call: the newest request that waits for it, or else the first
// request.
func (r *request) listener(ctx context.Context) *listener {
	if c := r.live; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.requests); n > 0 {
			return c.requests[n-1]
		}
	}
	return &listener{ctx, r.client}
}

// inputs returns the open questions, and a channel that is closed when there are more.
func (c *liveCall) inputs() (sdk.InputRequestMap, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := sdk.InputRequestMap{}
	for key, q := range c.open {
		open[key] = q.input
	}
	return open, c.changed
}

// take gives the responses of a client to the questions of the call. A response that does not fit its form
// is ignored: the client is asked again.
func (c *liveCall) take(response func(key string) sdk.InputResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, q := range c.open {
		if a, ok := liveAnswer(&q.Question, response(key)); ok {
			q.answer <- a
			delete(c.open, key)
		}
	}
}

// put adds a question.
func (c *liveCall) put(q *liveQuestion) (key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[string]*liveQuestion{}
	}
	key = stepOf(&q.Question)
	if c.asked++; key == "" { // without a record, questions have no ID; a key is used once, since a request can be repeated
		key = "form-" + strconv.Itoa(c.asked)
	}
	c.open[key] = q
	close(c.changed)
	c.changed = make(chan struct{})
	return key
}

func (c *liveCall) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, key)
}

// asking returns the context in which the call of a request is made: its client answers the forms that
// cannot wait.
func (s *Server) asking(ctx context.Context, r *request) context.Context {
	return host.Operate(s.host).AskingLive(ctx, host.AskerFunc(func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		return s.askLive(ctx, r, &q)
	}))
}

// askLive has the client of a request answer a form that cannot wait.
func (s *Server) askLive(ctx context.Context, r *request, q *tool.Question) (tool.Answer, error) {
	input, ok := inputOf(q)
	isTask := r.detached != nil && r.detached.is()
	switch shows := r.client.accepts(input); {
	case !ok:
		return tool.Answer{}, value.Errorf(value.Unanswered, "the form is too long for a client")
	case !shows && r.detached == nil:
		return tool.Answer{}, value.Errorf(value.Unanswered, "the client has not declared that it shows forms")
	case shows && r.client.version < stateless && !isTask:
		response, err := r.client.send(ctx, input)
		if err != nil {
			return tool.Answer{}, value.Errorf(value.Unanswered, "the client has not answered: %w", err)
		}
		if a, ok := liveAnswer(q, response); ok {
			return a, nil
		}
		return tool.Answer{}, value.Errorf(value.Unanswered, "the answer of the client does not fit the form")
	case !shows:
		r.detached.detach()
	}
	return s.askApart(ctx, r, &liveQuestion{*q, input, make(chan tool.Answer, 1)})
}

// askApart waits for the answer that a later request brings.
func (s *Server) askApart(ctx context.Context, r *request, q *liveQuestion) (tool.Answer, error) {
	c := r.live
	id := c.name(cmp.Or(r.run, r.call.ID))
	if !s.lives.add(id, c) {
		return tool.Answer{}, value.Errorf(value.Unanswered, "%d calls wait for an answer of their clients, which is the maximum", maxLive)
	}
	if r.detached == nil || !r.detached.is() {
		s.parked.keep(r.digest, id) // the same call again means this one
	}
	key := c.put(q)
	defer c.drop(key)
	timeout := cmp.Or(s.opts.AnswerTimeout, answerTimeout)
	late := time.NewTimer(timeout)
	defer late.Stop()
	select {
	case a := <-q.answer:
		return a, nil
	case <-late.C:
		return tool.Answer{}, value.Errorf(value.Unanswered, "no answer came within %v", timeout)
	case <-ctx.Done():
		return tool.Answer{}, context.Cause(ctx)
	}
}

// liveAnswer returns the answer in a response to a form. Unlike that of a parked call, a form that was
// declined or dismissed is answered: the attached server waits.
func liveAnswer(q *tool.Question, response sdk.InputResponse) (a tool.Answer, ok bool) {
	form, is := response.(*sdk.ElicitResult)
	if is && form != nil && (form.Action == forms.Decline || form.Action == forms.Cancel) {
		return tool.Answer{Value: value.FormatJSON(value.NewDict("action", form.Action, "content", &value.Dict{}), ""), By: clientUser}, true
	}
	return answerOf(q, response)
}
