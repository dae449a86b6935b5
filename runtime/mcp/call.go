package mcp

import (
	"context"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A request is one request of a client for a call of a tool.
type request struct {
	client  client
	tool    *tool.Tool
	inGo    bool // its handler is in Go
	call    tool.Call
	digest  string               // of the call: the same for each request for it
	run     string               // the run that makes the call; "" means none yet
	state   string               // what the client sends back of an earlier reply, or ""
	answers sdk.InputResponseMap // to the questions of that reply

	detached *detached // nil: the call cannot become a task
	live     *liveCall // nil: the call is made during the request
}

// A reply is the answer to a request: the result of the call, or what the call waits for.
type reply struct {
	result  tool.Result
	inputs  sdk.InputRequestMap // what the client is asked, or nil
	state   string              // what the client sends back with the answers
	waiting bool                // for answers that the client cannot give, or for a repair
	open    []tool.Question     // the questions that it waits for
	task    *taskInfo           // what the call has become, or nil
}

// callTool makes the call that a client asks for.
func (s *Server) callTool(ctx context.Context, params *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	r, err := s.read(clientOf(params), params.Params.Name, params.Params.Arguments)
	if err != nil {
		return failed(err), nil
	}
	r.state, r.answers = params.Params.RequestState, params.Params.InputResponses
	stop := r.client.beats(ctx)
	reply, err := s.serve(ctx, r)
	stop()
	switch {
	case err != nil:
		return nil, err
	case reply.inputs != nil:
		return &sdk.CallToolResult{Content: []sdk.Content{}, InputRequests: reply.inputs, RequestState: reply.state}, nil
	case reply.task != nil:
		return &sdk.CallToolResult{Meta: sdk.Meta{taskMeta: reply.task}, Content: []sdk.Content{}}, nil
	case reply.waiting:
		return waiting(r, reply.result, reply.open), nil
	}
	out, err := resultOf(r.tool, named(r.tool, r.call.Args, reply.result))
	if err != nil {
		return failed(err), nil
	}
	if r.client.showsAll() && !isDeclared(r.tool) { // otherwise it must be there
		out.StructuredContent = nil
	}
	return out, nil
}

// read returns the request for a call.
func (s *Server) read(c client, name string, arguments []byte) (*request, error) {
	t, err := s.host.Tool(name)
	if err != nil {
		return nil, err
	}
	args := &value.Dict{}
	if len(arguments) > 0 && string(arguments) != "null" {
		if err := args.UnmarshalJSON(arguments); err != nil {
			return nil, value.Errorf(value.Invalid, "the arguments of '%s': %w", t.Name, err).WithHint("pass a JSON object")
		}
	}
	call := tool.Call{ID: newID(), Tool: t.Name, Args: args, Caller: tool.ByModel}
	return &request{client: c, tool: &t.Tool, inGo: t.Location == tool.Embedded, call: call, digest: digestOf(call.Tool, args)}, nil
}

// serve makes the call of a request, or continues the run that makes it, until the call ends
// or nobody answers. Its error is one of the protocol.
func (s *Server) serve(ctx context.Context, r *request) (reply, error) {
	if r.state != "" {
		var err error
		if r.run, err = s.states.open(r.state, r.digest); err == nil && s.liveOf(r) == nil {
			err = s.take(ctx, r)
		}
		if err != nil {
			return reply{}, invalidParams(err)
		}
	}
	ctx = s.conversation(ctx, r.client.session)
	if c := s.liveOf(r); c != nil {
		if r.state != "" { // otherwise the client has not seen the questions
			c.take(func(key string) sdk.InputResponse { return r.answers[key] })
		}
		return s.await(ctx, c, r)
	}
	tasks := r.client.tasks && host.Operate(s.host).HasStore()
	switch required := r.tool.Hints.Other[TaskRequiredHint]; {
	case required && !tasks:
		return reply{}, lacksTasks()
	case tasks || r.client.version >= stateless && (r.guarded() || r.inGo):
		return s.serveApart(ctx, r)
	}
	return s.converse(ctx, r)
}

// converse makes the call of a request and asks the client what the call asks, until it ends
// or the client does not answer.
func (s *Server) converse(ctx context.Context, r *request) (reply, error) {
	ctx = s.asking(ctx, r)
	for {
		result, err := untilAsked(ctx, s.tasks.woken(r.run), func() (tool.Result, error) { return s.make(ctx, r) })
		var parked *host.ParkedError
		if !errors.As(err, &parked) {
			s.parked.forget(r.digest)
			return reply{result: result}, nil
		}
		if len(parked.Questions) == 0 {
			return s.unrepaired(r, parked, result), nil
		}
		if r.detached != nil && r.detached.is() {
			return reply{result: result, waiting: true}, nil // the client reads it with the task
		}
		asked, err := s.ask(ctx, r, parked)
		if err != nil {
			return reply{}, err
		}
		if asked.answered {
			continue
		}
		s.parked.keep(r.digest, r.run)
		if asked.inputs == nil {
			if r.detached != nil {
				r.detached.detach()
			}
			return reply{result: result, waiting: true, open: parked.Questions}, nil
		}
		return reply{inputs: asked.inputs, state: s.states.seal(r.run, r.digest)}, nil
	}
}

// unrepaired returns the reply to a call that has failed because of its environment, such as a full
// disk, and can continue after a repair: the failure, since no client can repair anything. The same call
// continues it, unless the call has reached a limit: it would only reach it again.
func (s *Server) unrepaired(r *request, parked *host.ParkedError, result tool.Result) reply {
	s.tasks.failed(r.run, result)
	if parked.Reason == limitReason {
		s.parked.forget(r.digest)
		return reply{result: result}
	}
	s.parked.keep(r.digest, r.run)
	return reply{result: result, waiting: true}
}

// untilAsked makes a call until it ends or waits for an answer: one that sleeps is continued
// when it is time, or when woken has something.
func untilAsked(ctx context.Context, woken <-chan struct{}, call func() (tool.Result, error)) (tool.Result, error) {
	for {
		result, err := call()
		var parked *host.ParkedError
		if !errors.As(err, &parked) || len(parked.Questions) > 0 || parked.Until.IsZero() {
			return result, err
		}
		wake := time.NewTimer(time.Until(parked.Until))
		select {
		case <-wake.C:
		case <-woken:
			wake.Stop()
		case <-ctx.Done():
			wake.Stop()
			return result, err
		}
	}
}

// guarded reports whether something that the call does may be asked about. That of a script without capabilities
// can only be asked about before it begins.
func (r *request) guarded() bool {
	return len(r.tool.Needs) > 0 || len(r.tool.Steps) > 0 || r.tool.NeedsApproval()
}

// make makes the call, or continues its run. A call that may have to wait for an answer is
// recorded. One that is not guarded, and a handler in Go that only reads and so can be repeated, are
// recorded if it turns out that somebody must be asked.
func (s *Server) make(ctx context.Context, r *request) (tool.Result, error) {
	if r.run == "" {
		r.run = s.parked.run(r.digest)
	}
	asks := r.guarded() || r.inGo && !r.tool.Hints.ReadOnly
	if r.run == "" && (!asks || !host.Operate(s.host).HasStore()) {
		result, err := s.reported(ctx, r, host.EventFilter{Call: r.call.ID}, func() (tool.Result, error) { return s.host.Call(ctx, r.call) })
		if value.KindOf(err) != value.Denied || !host.Operate(s.host).HasStore() {
			return result, err
		}
	}
	if r.run == "" {
		r.run = s.runFor(ctx, r)
	}
	return s.reported(ctx, r, host.EventFilter{Run: r.run}, func() (tool.Result, error) {
		if r.run != r.call.ID { // an earlier request has begun it
			return s.resumed(ctx, r.run)
		}
		return s.host.Call(ctx, r.call, host.Durable(r.run))
	})
}

// resumed continues a run, which a command may have ended, outside the conversation of the client.
func (s *Server) resumed(ctx context.Context, run string) (tool.Result, error) {
	result, err := s.host.Resume(ctx, run)
	if failure := host.Operate(s.host).NoteRead(ctx, run); failure != nil && err == nil {
		e := value.ErrorOf(failure, value.Failed)
		return tool.Fail(e, result.Usage), e
	}
	return result, err
}

// reported makes the call by do, and passes on to the client what its script reports meanwhile.
func (s *Server) reported(ctx context.Context, r *request, f host.EventFilter, do func() (tool.Result, error)) (tool.Result, error) {
	if !r.client.hears && r.detached == nil {
		return do()
	}
	watched, stop := context.WithCancel(ctx)
	events, passed := s.host.Subscribe(watched, f), make(chan struct{})
	go func() {
		defer close(passed)
		for e := range events {
			if r.detached != nil && r.tool.Hints.Other[TaskHint] {
				r.detached.detach() // its run is recorded now
			}
			to := r.listener(ctx)
			to.client.notify(to.ctx, r.tool.Name, e)
		}
	}()
	defer func() { stop(); <-passed }() // reports come before the result
	return do()
}
