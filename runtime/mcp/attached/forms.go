package attached

import (
	"context"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/forms"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A call of a tool is a sequence of steps: a request, the forms that its reply asks for, the same request
// with the answers, and so on. Each step is recorded. So a run that waits for an answer continues with the
// answers, in any process, and does not send the first request again.
const (
	requestStep = "mcp.call"
	formStep    = "mcp.form"
)

// The names in the result of the request: the result of the tool, or what it asks for.
const (
	replyResult   = "result"
	replyRequests = "requests"
	replyState    = "state" // what the server gets back with the answers, unchanged
)

// The bounds of what a server can ask for in one call.
const (
	maxForms   = 20
	maxRounds  = 20
	maxState   = 256 << 10 // bytes
	maxAsked   = 256 << 10 // of the forms of one reply as JSON, in bytes
	maxKey     = 200
	maxMessage = 4 << 10
	maxShown   = 8 << 10 // of a question with its fields
)

// steps returns the steps of a tool of the server, which is registered with h.
func (s *Server) steps(h *host.Host, t *tool.Tool) []tool.Func {
	kind := tool.External
	if t.Hints.ReadOnly {
		kind = tool.Read
	}
	return []tool.Func{{
		Name: requestStep, Doc: "Call a tool of an MCP server.", Kind: kind,
		Params: []tool.Param{
			tool.Required("server", tool.TypeString, "its name"), tool.Required("name", tool.TypeString, "the name of the tool at the server"), tool.Required("arguments", tool.TypeObject, "its arguments"),
			tool.Maybe("responses", tool.TypeObject, "the answers to its forms, by key"), tool.Maybe("state", tool.TypeString, "what the server gets back"),
		},
		Untrusted: func(*value.Dict) bool { return true },
		Reported:  func(result value.Value) (value.Value, error) { return value.NewDict(replyResult, result), nil },
		Prepare: func(ctx context.Context, _ tool.Effect) error {
			if _, err := s.started(ctx); err != nil {
				return unsent(err)
			}
			return nil
		},
		Do: func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			reply, err := s.request(ctx, &flight{form: g.Form, hint: terminalHint(ctx, h, &g.Call)}, paramsOf(e.Args))
			if err != nil {
				return tool.Outcome{}, err
			}
			return tool.Outcome{Value: reply}, nil
		},
	}, {
		Name: formStep, Doc: "Ask the user to fill in a form of an MCP server.", Kind: tool.Repeatable,
		Params: []tool.Param{tool.Required("message", tool.TypeString, "the question"), tool.Required("form", tool.TypeObject, "the schema of the form")},
		Target: func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "human"}}, nil },
		Do: func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			if g.Form == nil {
				return tool.Outcome{}, unanswered(s.opts.Name, e.Args.Text("message"), nil, terminalHint(ctx, h, &g.Call))
			}
			response, err := g.Form(ctx, e.Args.Text("message"), e.Args.Dict("form"), false)
			if kind := value.KindOf(err); kind == value.Denied || kind == value.Unanswered {
				err = unanswered(s.opts.Name, e.Args.Text("message"), err, terminalHint(ctx, h, &g.Call))
			}
			return tool.Outcome{Value: response}, err
		},
	}}
}

// paramsOf returns the parameters of a request from the arguments of its step.
func paramsOf(args *value.Dict) *sdk.CallToolParams {
	params := &sdk.CallToolParams{Name: args.Text("name"), Arguments: args.Dict("arguments").OrEmpty(), RequestState: args.Text(replyState)}
	if responses := args.Dict("responses"); responses != nil {
		params.InputResponses = sdk.InputResponseMap{}
		for key, v := range responses.All() {
			response, _ := v.(*value.Dict)
			params.InputResponses[key.(string)] = resultOfForm(response)
		}
	}
	return params
}

// resultOfForm returns a response in the form of the SDK.
func resultOfForm(d *value.Dict) *sdk.ElicitResult {
	out := &sdk.ElicitResult{Action: d.Text("action")}
	if out.Action != forms.Accept {
		return out
	}
	out.Content = map[string]any{}
	for name, v := range d.Dict("content").OrEmpty().All() {
		if list, ok := value.Elements(v); ok {
			out.Content[name.(string)] = value.Map(list, value.Display) // the options that were chosen
			continue
		}
		out.Content[name.(string)] = v
	}
	return out
}

// unsent returns the error of a call that was not sent, since its server could not be started, or offers
// something else than was reviewed. A run waits until that is repaired, and then makes the call without asking
// whether it was made.
func unsent(err error) error {
	e := *value.ErrorOf(err, value.Unavailable)
	switch {
	case e.Limit != "":
	case e.Kind == value.Denied:
		e.Limit = value.LimitTool
	case e.Kind == value.Unavailable:
		e.Limit = value.LimitUnsent
	}
	return &e
}

// request sends a call to the server, and returns its reply.
func (s *Server) request(ctx context.Context, f *flight, params *sdk.CallToolParams) (*value.Dict, error) {
	running, err := s.started(ctx)
	if err != nil {
		return nil, unsent(err)
	}
	d, err := running.call(ctx, f, params)
	if errors.Is(err, errGone) {
		if running, err = s.started(ctx); err != nil {
			return nil, unsent(err)
		}
		d, err = running.call(ctx, f, params)
	}
	switch {
	case errors.Is(err, errGone):
		return nil, value.ErrorOf(err, value.Unavailable)
	case err != nil:
		return nil, err
	case d.Text("resultType") == inputRequired:
		return s.requests(d)
	}
	v, err := resultOf(d)
	if err != nil {
		return nil, err
	}
	return value.NewDict(replyResult, v), nil
}

// requests reads a reply that asks for input.
func (s *Server) requests(d *value.Dict) (*value.Dict, error) {
	asked := d.Dict("inputRequests").OrEmpty()
	if asked.Len() > maxForms {
		return nil, value.Errorf(value.Limit, "the server %s asks for more than %d forms", s.opts.Name, maxForms)
	}
	if len(jsonOf(asked)) > maxAsked {
		return nil, value.Errorf(value.Limit, "the server %s asks for forms of more than %d KB", s.opts.Name, maxAsked>>10)
	}
	reply := value.NewDict(replyRequests, asked)
	if v, ok := d.Get("requestState"); ok && v != nil {
		state, isText := v.(string)
		if !isText || len(state) > maxState {
			return nil, value.Errorf(value.Limit, "the requestState of the server %s should be a string of at most %d KB", s.opts.Name, maxState>>10)
		}
		reply.Put(replyState, state)
	}
	for key, v := range asked.All() {
		r, _ := v.(*value.Dict)
		switch name, _ := key.(string); {
		case len(name) > maxKey:
			return nil, value.Errorf(value.Limit, "the server %s asks for a form with a name of more than %d bytes", s.opts.Name, maxKey)
		case r.Text("method") != "elicitation/create":
			return nil, value.Errorf(value.Failed, "the server %s asks for %q, which cassidy does not support", s.opts.Name, value.Clean(r.Text("method"), maxShownName))
		}
	}
	return reply, nil
}

// converse calls a tool for its handler: it makes requests until the reply is the result, and has the
// user answer what the others ask for.
func (s *Server) converse(ctx context.Context, name string, args *value.Dict) (value.Value, error) {
	request := value.NewDict("server", s.opts.Name, "name", name, "arguments", args.OrEmpty())
	asked := 0
	for range maxRounds {
		v, err := host.Do(ctx, requestStep, request)
		if err != nil {
			return nil, err
		}
		reply, _ := v.(*value.Dict)
		if !reply.Has(replyRequests) {
			v, _ = reply.Get(replyResult)
			return v, nil
		}
		request = value.NewDict("server", s.opts.Name, "name", name, "arguments", args.OrEmpty(), "responses", &value.Dict{})
		for key, q := range reply.Dict(replyRequests).All() {
			if asked++; asked > maxForms {
				return nil, value.Errorf(value.Limit, "the server %s asks for more than %d forms in one call", s.opts.Name, maxForms)
			}
			d, _ := q.(*value.Dict)
			response, err := s.answer(ctx, d.Dict("params"))
			if err != nil {
				return nil, err
			}
			request.Dict("responses").Put(key.(string), response)
		}
		if state, ok := reply.Get(replyState); ok {
			request.Put(replyState, state)
		}
	}
	return nil, value.Errorf(value.Limit, "the server %s asks for input more than %d times in one call", s.opts.Name, maxRounds)
}

// answer has the user answer a request for a form.
func (s *Server) answer(ctx context.Context, params *value.Dict) (*value.Dict, error) {
	text, form, err := questionOf(s.opts.Name, params)
	if err != nil {
		host.Emit(ctx, tool.Log{Message: declined(s.opts.Name, err)})
		return value.NewDict("action", forms.Decline), nil
	}
	v, err := host.Do(ctx, formStep, value.NewDict("message", text, "form", form))
	switch {
	case value.KindOf(err) == value.Denied: // by a rule, or by the needs of a tool that makes the call
		return nil, refusedForm(s.opts.Name, err)
	case err != nil:
		return nil, err
	}
	response, _ := v.(*value.Dict)
	return response, nil
}

func declined(server string, err error) string {
	return "a form of the server " + server + " was declined, because it cannot be shown: " + value.ErrorOf(err, value.Invalid).Message()
}

// refusedForm returns the error that the user must not be asked.
func refusedForm(server string, err error) *value.Error {
	return value.Errorf(value.Denied, "ask the user for the server %s: %w", server, err).WithHint("%s", value.ErrorOf(err, value.Denied).Hint)
}

// maxCommand is how long the arguments of a call in a command may be, in bytes.
const maxCommand = 200

// terminalHint returns the command that makes a call again in a terminal: that of its recorded run, or else
// that of the call.
func terminalHint(ctx context.Context, h *host.Host, c *tool.Call) string {
	const where = "where you can answer, in a terminal, type: "
	if run, _ := host.Operate(h).StepOf(ctx); run != "" {
		return where + "cassidy runs retry " + run
	}
	command := where + "cassidy tool run " + c.Tool
	if c.Args.OrEmpty().Len() == 0 {
		return command
	}
	if args := value.FormatJSON(c.Args, ""); len(args) <= maxCommand && !strings.ContainsAny(args, ";\n") {
		return command + " --input " + hint.Quote(args)
	}
	return command + " --input @FILE, with the arguments of the call in FILE"
}

// unanswered returns the error that nobody answers the question of a server. err is why, or nil.
func unanswered(server, question string, err error, hint string) *value.Error {
	why := "no user can answer now"
	if value.KindOf(err) == value.Unanswered {
		why = value.ErrorOf(err, value.Unanswered).Message()
	}
	return value.Errorf(value.Failed, "the server %s needs an answer from the user, but %s: %s", server, why, value.Clean(question, maxMessage)).
		WithHint("%s", hint)
}

// questionOf returns the question of a form, and its schema. The error says why it cannot be shown.
func questionOf(server string, params *value.Dict) (text string, schema *value.Dict, err error) {
	if mode := params.Text("mode"); mode != "" && mode != "form" {
		text := "the mode " + value.Clean(mode, maxShownName) + " is not supported"
		if address := params.Text("url"); address != "" {
			text += "; the server wants you to open " + value.Clean(address, maxMessage)
		}
		return "", nil, value.Errorf(value.Invalid, "%s", text)
	}
	form, err := forms.Parse(params.Dict("requestedSchema"))
	if err != nil {
		return "", nil, err
	}
	message := params.Text("message")
	if len(message) > maxMessage {
		return "", nil, value.Errorf(value.Limit, "its message is longer than %d KB", maxMessage>>10)
	}
	message = strings.TrimSpace(value.Clean(message, maxMessage))
	message = strings.ReplaceAll(message, "\n", "\n  ") // so that no line of it looks like a field
	lines := append([]string{"The server " + server + " asks: " + message}, form.Lines()...)
	lines = append(lines, "Your answer is sent to the server "+server+". Do not enter passwords or keys: a server must not ask for them in a form.")
	if text = strings.Join(lines, "\n"); len(text) > maxShown {
		return "", nil, value.Errorf(value.Limit, "its text is longer than %d KB", maxShown>>10)
	}
	return text, form.Schema(), nil
}

// elicited answers a form that a server of an older version asks for during a call.
func (r *session) elicited(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	f := r.only()
	if f == nil {
		return &sdk.ElicitResult{Action: forms.Cancel}, nil
	}
	return resultOfForm(f.ask(textOf(req.Params.Message))), nil
}

// ask has the user answer a form during the call. If nobody can answer now, the call fails later.
func (f *flight) ask(params *value.Dict) *value.Dict {
	f.mu.Lock()
	defer f.mu.Unlock()
	cancelled := value.NewDict("action", forms.Cancel)
	text, form, err := questionOf(f.server, params)
	switch f.asked++; {
	case f.asked > maxForms || f.err != nil || f.ctx.Err() != nil: // after a form without an answer, the call fails
		return cancelled
	case err != nil:
		host.Emit(f.ctx, tool.Log{Message: declined(f.server, err)})
		return value.NewDict("action", forms.Decline)
	case f.asked > 1: // the same form can be asked twice
		text += "\nThis is question " + value.Display(int64(f.asked)) + " of the call."
	}
	if f.form == nil {
		f.err = unanswered(f.server, text, nil, f.hint)
		return cancelled
	}
	response, err := f.form(f.ctx, text, form, true)
	switch {
	case err == nil:
		return response
	case f.ctx.Err() != nil: // the call has ended without the answer
	case value.KindOf(err) == value.Denied: // by a rule, or by the needs of a tool that makes the call
		f.err = refusedForm(f.server, err)
	default:
		f.err = unanswered(f.server, text, err, f.hint)
	}
	return cancelled
}

// failure returns the error of a call during which a form was not answered, or nil. It waits until the
// user is not asked any more.
func (f *flight) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
