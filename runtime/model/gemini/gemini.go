// Package gemini asks models of Google's Gemini API.
//
// Source: https://ai.google.dev/api/generate-content
package gemini

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure the connection to a model of Gemini. Model is required.
type Options struct {
	Model   string
	BaseURL string // with the version; default https://generativelanguage.googleapis.com/v1beta
	Key     string
	// Auth is how the key is sent: AuthGoogle, the default, or AuthBearer, as Vertex AI wants it.
	Auth model.Auth
	// Plain says that the model does not support tools, as Gemma: calls are part of its text.
	Plain   bool
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    model.HTTP
	// Extra are further fields of each request, as the API documents them, such as safetySettings.
	// They replace the fields of this package; objects are merged, lists joined, and nil removes
	// a field. See [model.CheckExtra] for those that it cannot have. It must not change after New.
	Extra *value.Dict
}

type client struct {
	o Options
	w *wire.Wire
	v version
}

// New returns a model of Gemini's API. It fails if the model is missing, or the key or the
// address is invalid.
func New(opts *Options) (model.Model, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.Model = strings.TrimPrefix(o.Model, "models/")
	if o.Model == "" {
		return nil, wire.NoModel("gemini", "gemini-2.5-flash")
	}
	if strings.Trim(o.Model, nameCharacters+"/") != "" || strings.Contains(o.Model, "..") {
		return nil, value.Errorf(value.Invalid, "gemini: the model name %q is invalid", value.Clean(o.Model, 100)).
			WithHint("use a name of the list: cassidy models gemini; in Go, call List")
	}
	m, err := connect(&o)
	if err != nil {
		return nil, err
	}
	return wire.NewModel(m.w, !o.Plain, m.ask, m.info), nil
}

// nameCharacters are those that the names of models and functions consist of.
const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-"

// connect returns a client for the API, whose model may be missing.
func connect(o *Options) (*client, error) {
	auth, err := wire.CheckAuth("gemini", o.Auth, model.AuthGoogle, model.AuthBearer)
	if err != nil {
		return nil, err
	}
	o.Auth = auth
	if err := model.CheckExtra(o.Extra); err != nil {
		return nil, err
	}
	w, err := wire.New("gemini:"+o.Model, cmp.Or(o.BaseURL, "https://generativelanguage.googleapis.com/v1beta"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	w.Dialect = wire.Dialect{Names: wire.Form{Also: "_.:-", Max: 128, Letter: true}, Tools: 128}
	return &client{o: *o, w: w, v: versionOf(o.Model)}, nil
}

func (m *client) header() http.Header { return wire.KeyHeader(m.o.Auth, m.o.Key) }

// path returns the address of the model, after the base URL.
func (m *client) path() string {
	if strings.Contains(m.o.Model, "/") { // of a tuned model, or on Vertex AI
		return "/" + m.o.Model
	}
	return "/models/" + m.o.Model
}

// ask asks once, and again with less if the API rejects what can be left out.
func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	if f := m.w.Check(r); f != nil {
		return nil, f
	}
	c := newConversation(m, r)
	malformed := 0
	for {
		reply, f := c.send(ctx)
		var bad *malformedError
		switch {
		case f == nil:
			return reply, nil
		case ctx.Err() != nil:
			return nil, f
		case errors.As(f.Err.Err, &bad):
			if malformed++; malformed > 1 {
				return c.answerable(bad, f)
			}
		case !c.leaveOut(f):
			return nil, m.explain(f)
		}
		if r.Notice != nil {
			r.Notice(model.Notice{Retry: f.Err})
		}
	}
}

// leaveOut changes what is sent after the API has rejected it, and reports whether to send it
// again. The signatures of the conversation's replies are replaced by the dummy, and then
// removed. A level of reasoning that the model does not have is replaced by the next higher one.
func (c *conversation) leaveOut(f *wire.Failure) bool {
	if f.Status != 400 {
		return false
	}
	said := strings.ReplaceAll(explanation(f), "_", " ")
	switch {
	case strings.Contains(said, "thought signature") || strings.Contains(said, "thoughtsignature"):
		return c.resetSignatures()
	case strings.Contains(said, "thinking") && c.r.Effort == "" && !c.noThinking:
		c.noThinking = true
		return true
	case strings.Contains(said, "thinking level") && c.v.atLeast(3, 0) && c.v.level(c.r.Effort)+c.raise < len(levels)-1:
		c.raise++
		return true
	}
	return false
}

// explanation returns the full message of a failure, in lower case.
func explanation(f *wire.Failure) string {
	return strings.ToLower(cmp.Or(f.Body.Text("message"), f.Err.Message()))
}

// explain adds to a failure what is special about this API: a wrong key is a bad request.
func (m *client) explain(f *wire.Failure) *wire.Failure {
	said := explanation(f)
	switch {
	case f.Status == 400 && (strings.Contains(said, "api key") || strings.Contains(said, "api_key")):
		f.Err.Kind, f.Err.Hint = value.Unavailable, cmp.Or(m.o.KeyHint, "check the key")
	case f.Status == 400 && strings.Contains(said, "thinking"):
		f.Err.Hint = "use another level of --effort, or omit it: the model does not have this one; in Go, set Request.Effort"
	case f.Status == 400 && strings.Contains(said, "payload size"):
		f.Err.Hint = "attach fewer or smaller files"
	case f.Status == 400 && strings.Contains(said, "function calling"):
		f.Err.Hint = "use --format pure_json, or a model that supports tools; in Go, set Options.Plain"
	}
	return f
}

// send sends the conversation.
func (c *conversation) send(ctx context.Context) (*model.Reply, *wire.Failure) {
	body, f := c.body()
	if f != nil {
		return nil, f
	}
	q := &wire.Query{Path: c.path() + ":generateContent", Header: c.header(), Body: body}
	if c.r.Text != nil {
		q.Path, q.Stream = c.path()+":streamGenerateContent?alt=sse", true
	}
	return c.w.Reply(ctx, c.r, q, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		s := &stream{Draft: wire.Draft{W: c.w, OnText: c.r.Text}, c: c}
		if res.Is("text/event-stream") {
			return res.Assemble(true, s)
		}
		return s.whole(res)
	})
}

func (c *conversation) body() (*value.Dict, *wire.Failure) {
	body := value.NewDict()
	if c.r.System != "" {
		body.Put("systemInstruction", value.NewDict("parts", value.List{value.NewDict("text", c.r.System)}))
	}
	contents, f := c.contents()
	if f != nil {
		return nil, f
	}
	body.Put("contents", contents)
	tools, f := c.tools()
	if f != nil {
		return nil, f
	}
	if tools != nil {
		body.Put("tools", tools)
		if config := c.toolConfig(); config != nil {
			body.Put("toolConfig", config)
		}
	}
	if config := c.generation(tools != nil); config.Len() > 0 {
		body.Put("generationConfig", config)
	}
	return wire.Merged(body, c.o.Extra), nil
}

// tools returns the declarations of the tools, or nil for none.
func (c *conversation) tools() (value.List, *wire.Failure) {
	if c.o.Plain || len(c.r.Tools) == 0 {
		return nil, nil
	}
	var list value.List
	for i := range c.r.Tools {
		t := &c.r.Tools[i]
		schema, err := t.ArgsSchema()
		if err != nil {
			return nil, c.w.Fail(value.ErrorOf(err, value.Invalid))
		}
		list = append(list, value.NewDict("name", t.ModelName(), "description", t.Description, "parametersJsonSchema", schema))
	}
	return value.List{value.NewDict("functionDeclarations", list)}, nil
}

// toolConfig returns the configuration of calls, or nil for that of the API, which is AUTO.
func (c *conversation) toolConfig() *value.Dict {
	config := value.NewDict()
	switch choice := c.r.ToolChoice; choice {
	case "", model.ToolAuto:
		return nil
	case model.ToolNone:
		config.Put("mode", "NONE")
	case model.ToolRequired:
		config.Put("mode", "ANY")
	default:
		config.Put("mode", "ANY")
		config.Put("allowedFunctionNames", value.List{choice})
	}
	return value.NewDict("functionCallingConfig", config)
}

// generation returns the configuration of the reply.
func (c *conversation) generation(tools bool) *value.Dict {
	d := value.NewDict()
	if c.r.MaxTokens > 0 {
		d.Put("maxOutputTokens", int64(c.r.MaxTokens))
	}
	if c.r.Temperature != nil {
		d.Put("temperature", *c.r.Temperature)
	}
	// Before Gemini 3, a format together with tools is an error.
	if c.r.Schema != nil && (!tools || c.v.atLeast(3, 0)) {
		d.Put("responseMimeType", "application/json")
		if c.r.Schema.Len() > 0 { // the empty schema is any JSON value
			d.Put("responseJsonSchema", c.r.Schema)
		}
	}
	if thinking := c.v.thinking(c.r.Effort, c.raise); thinking != nil && !c.noThinking {
		d.Put("thinkingConfig", thinking)
	}
	return d
}

// answerable returns a reply with the malformed call, if the API reports which tool it is
// for: the caller answers that its arguments are invalid. Otherwise the reply is empty.
func (c *conversation) answerable(bad *malformedError, f *wire.Failure) (*model.Reply, *wire.Failure) {
	i := slices.IndexFunc(c.r.Tools, func(t tool.Tool) bool { return mentions(bad.message, t.ModelName()) })
	if i < 0 {
		return nil, f
	}
	bad.reply.Calls = []model.Call{{Tool: c.r.Tools[i].ModelName(), Raw: bad.message}}
	return c.w.Finish(c.r, bad.reply)
}

// mentions reports whether a text has a name as a word.
func mentions(text, name string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !strings.ContainsRune(nameCharacters, r) || r == '.' || r == ':' }), name)
}
