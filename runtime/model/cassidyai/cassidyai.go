// Package cassidyai asks assistants of CassidyAI.
package cassidyai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// timeout is the timeout of a message. The server in front of the API gives
	// up after 100 seconds, with status 524.
	timeout = 5 * time.Minute
	// threadTimeout is the timeout of creating or reading a thread.
	threadTimeout = 2 * time.Minute
	// maxMessage is how many characters a message may have; longer ones are
	// known to fail.
	maxMessage = 250_000
)

// chunking is the prefix of a task that timed out the first time.
const chunking = `IMPORTANT: The previous attempt at this task timed out. Do it in smaller steps: answer
with the first part only, keep it short, and say what is left. You will be asked
to continue.

Original task:

`

// Options configure the connection to a CassidyAI assistant. Key and Assistant
// are required.
type Options struct {
	BaseURL    string // default https://app.cassidyai.com/api
	Key        string
	Assistant  string     // its ID
	Auth       model.Auth // default AuthKey
	MaxMessage int        // characters of one message; default 250,000
	KeyHint    string     // hint for a wrong key; default "check the key"
	HTTP       model.HTTP // its Timeout is 5 minutes by default
}

type client struct {
	o      Options
	w      *wire.Wire  // for messages
	quick  *wire.Wire  // for all other requests
	bearer atomic.Bool // which header carries the key
}

// New returns a model of CassidyAI's threads. It fails if the key or the
// assistant is missing, or the key, the address or the auth style is invalid.
func New(opts *Options) (model.Model, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.MaxMessage = cmp.Or(o.MaxMessage, maxMessage)
	auth, err := wire.CheckAuth("cassidy", o.Auth, model.AuthKey, model.AuthBearer, model.AuthAuto)
	if err != nil {
		return nil, err
	}
	o.Auth = auth
	switch {
	case o.Key == "":
		return nil, value.Errorf(value.Invalid, "cassidy: the key is missing").WithHint("%s", cmp.Or(o.KeyHint, "set Options.Key"))
	case o.Assistant == "":
		return nil, value.Errorf(value.Invalid, "cassidy: the assistant is missing").WithHint("set Options.Assistant to the ID of the assistant")
	}
	o.HTTP.Timeout = cmp.Or(o.HTTP.Timeout, timeout)
	w, err := wire.New("cassidy", cmp.Or(o.BaseURL, "https://app.cassidyai.com/api"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	w.LostHint = "check the ID of the assistant, and the address of the API, " + w.Base
	w.Prefix = "Cassidy API request failed "
	quick := *w
	quick.Timeout = min(w.Timeout, threadTimeout)
	m := &client{o: o, w: w, quick: &quick}
	m.bearer.Store(o.Auth == model.AuthBearer)
	return wire.NewModel(w, false, m.ask, func(context.Context) model.Info { return model.Info{Threads: true} }), nil
}

// ask answers a request. Tools are described in the text, so those of the request are
// ignored.
func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	text, f := m.message(r)
	if f != nil {
		return nil, f
	}
	thread := r.Thread
	if thread == "" {
		if thread, f = m.create(ctx, r); f != nil {
			return nil, f
		}
	}
	reply, f := m.say(ctx, r, thread, text)
	if f != nil && unsure(f) && ctx.Err() == nil {
		reply, f = m.recover(ctx, r, thread, text, f)
	}
	if f != nil && errors.Is(f.Err, model.ErrEmpty) {
		return &model.Reply{Thread: thread}, f // the thread has the message
	}
	if f != nil {
		return nil, f
	}
	reply.Thread = thread
	if r.Text != nil {
		r.Text(reply.Text)
	}
	return reply, nil
}

// message returns the text to send: the full conversation in a new thread, else what
// the thread does not have yet.
func (m *client) message(r *model.Request) (string, *wire.Failure) {
	if strings.HasPrefix(r.Thread, "conv_") {
		return "", m.w.Fail(value.Errorf(value.Invalid, "invalid thread ID %q: this is the ID of a saved conversation", value.Clean(r.Thread, 60)).
			WithHint("use the ID of a thread, which does not begin with conv_"))
	}
	if r.Thread != "" && strings.TrimSpace(r.Thread) == "" {
		return "", m.w.Fail(value.Errorf(value.Invalid, "Thread ID is required").WithHint("omit the thread to begin a new one"))
	}
	system, messages := r.System, r.Messages
	for i := len(messages) - 1; i >= 0 && r.Thread != ""; i-- {
		if messages[i].Role == model.Assistant {
			system, messages = "", messages[i+1:]
			break
		}
	}
	for _, one := range messages {
		if len(one.Media) > 0 {
			return "", m.w.Fail(value.Errorf(value.Invalid, "an assistant cannot read files: %s (%s)", wire.MediaName(&one.Media[0]), value.Clean(one.Media[0].Type, 60)).
				WithHint("send the text of the file in the message, or use another model"))
		}
	}
	for _, one := range messages {
		if one.Role == model.User && strings.TrimSpace(one.Text) == "" {
			messages = nil
		}
	}
	if len(messages) == 0 || messages[len(messages)-1].Role == model.Assistant {
		return "", m.w.Fail(value.Errorf(value.Invalid, "Message cannot be empty").WithHint("write a message"))
	}
	text := wire.Transcript(system, messages)
	if n := utf8.RuneCountInString(text); n > m.o.MaxMessage {
		return "", m.w.Fail(wire.LimitError(value.LimitMessage, "the message is too long: %d characters, limit %d", n, m.o.MaxMessage).
			WithHint("shorten the message; a tool can read parts of a long file"))
	}
	return text, nil
}

// create creates a thread and returns its ID.
func (m *client) create(ctx context.Context, r *model.Request) (string, *wire.Failure) {
	q := &wire.Query{Path: "/assistants/thread/create", Body: value.NewDict("assistant_id", m.o.Assistant), Retry: repeats, Notice: r.Notice}
	bearer := m.bearer.Load()
	body, f := m.exchange(ctx, m.quick, q, bearer)
	if f != nil && f.Status == 401 && m.o.Auth == model.AuthAuto {
		var other *wire.Failure
		if body, other = m.exchange(ctx, m.quick, q, !bearer); other == nil {
			m.bearer.Store(!bearer)
			f = nil
		} else if other.Status != 401 {
			f = other
		} else {
			f.Err.Err = errors.New(f.Err.Err.Error() + ", and " + asHeader(!bearer))
		}
	}
	if f != nil {
		return "", f
	}
	thread := body.Text("thread_id")
	if thread == "" {
		return "", m.w.BadResponse("thread_id is missing")
	}
	return thread, nil
}

// say sends a message and returns the answer.
func (m *client) say(ctx context.Context, r *model.Request, thread, text string) (*model.Reply, *wire.Failure) {
	q := &wire.Query{Path: "/assistants/message/create", Body: value.NewDict("thread_id", thread, "message", text), Retry: retries, Notice: r.Notice}
	body, f := m.exchange(ctx, m.w, q, m.bearer.Load())
	if f != nil {
		return nil, f
	}
	for _, name := range []string{"content", "message", "response"} {
		if said := body.Text(name); strings.TrimSpace(said) != "" {
			return &model.Reply{Text: m.w.Said(said), Stop: model.StopEnd, References: references(body)}, nil
		}
	}
	if v, _ := body.Get("error"); v != nil {
		return nil, m.w.FailIn(body)
	}
	return nil, m.w.Empty()
}

// exchange sends one request. The error of a refused key names the header that carried it.
func (m *client) exchange(ctx context.Context, w *wire.Wire, q *wire.Query, bearerAuth bool) (*value.Dict, *wire.Failure) {
	q.Header = wire.KeyHeader(style(bearerAuth), m.o.Key)
	body, f := w.Ask(ctx, q)
	if f == nil {
		return body, nil
	}
	if f.Status == 401 || f.Status == 403 {
		f.Err.Err = errors.New(f.Err.Err.Error() + ": the key was sent " + asHeader(bearerAuth))
	}
	if f.Status == 401 && m.o.Auth != model.AuthAuto {
		f.Err.Hint += "; in Go, set Options.Auth to " + string(style(!bearerAuth)) + " if the server expects that"
	}
	return nil, f
}

// asHeader describes how a key is sent.
func asHeader(bearerAuth bool) string {
	if bearerAuth {
		return "as a bearer token"
	}
	return "in the header x-api-key"
}

func style(bearerAuth bool) model.Auth {
	if bearerAuth {
		return model.AuthBearer
	}
	return model.AuthKey
}

// retries reports whether a failure is retried: the server had not accepted the
// message.
func retries(f *wire.Failure) bool {
	return f.Unsent && f.Cut || f.Status == 429 || f.Status == 502 || f.Status == 503 || f.Status == 504
}

// repeats reports whether a failure of an idempotent request is retried.
func repeats(f *wire.Failure) bool { return f.Cut || retries(f) }

// unsure reports whether the server may have stored the message, and may still answer
// it: a timeout or a broken connection.
func unsure(f *wire.Failure) bool { return f.Status == 524 || (f.Slow || f.Cut) && !f.Unsent }

// recover handles a message without an answer. If the thread has the answer, it returns
// that. Otherwise it sends the message once more, with the advice to split the task. If
// the thread cannot be read, nothing is sent.
func (m *client) recover(ctx context.Context, r *model.Request, thread, text string, f *wire.Failure) (*model.Reply, *wire.Failure) {
	reply, looked := m.look(ctx, r, thread, text)
	if reply != nil || looked != nil {
		return reply, firstOf(reply, looked, f)
	}
	if r.Notice != nil {
		r.Notice(model.Notice{Retry: f.Err})
	}
	text = chunking + text
	reply, again := m.say(ctx, r, thread, text)
	if again == nil || !unsure(again) || ctx.Err() != nil {
		return reply, again
	}
	reply, looked = m.look(ctx, r, thread, text)
	return reply, firstOf(reply, looked, again)
}

// firstOf returns the failure to report after a failed exchange and a failed or
// unsuccessful look at the thread: that of the exchange, unless the caller canceled
// meanwhile.
func firstOf(reply *model.Reply, looked, f *wire.Failure) *wire.Failure {
	switch {
	case reply != nil:
		return nil
	case looked != nil && (looked.Err.Kind == value.Canceled || looked.Err.Kind == value.Timeout && !looked.Slow):
		return looked
	}
	f.Err.Hint = "the assistant may still answer in the thread. Try again later, or ask for a smaller part of the task"
	return f
}

// look reads the thread, and returns the answer to a text if there is one.
func (m *client) look(ctx context.Context, r *model.Request, thread, text string) (*model.Reply, *wire.Failure) {
	q := &wire.Query{Method: http.MethodGet, Path: "/assistants/thread/get?thread_id=" + url.QueryEscape(thread), Retry: repeats, Notice: r.Notice}
	body, f := m.exchange(ctx, m.quick, q, m.bearer.Load())
	if f != nil {
		return nil, f
	}
	messages := wire.Children(body, "messages")
	if len(messages) < 2 {
		return nil, nil
	}
	last := messages[len(messages)-1]
	said := threadText(last)
	if !strings.EqualFold(last.Text("role"), string(model.Assistant)) || strings.TrimSpace(said) == "" || said == lastAnswer(r) {
		return nil, nil // not an answer, or the answer to an earlier message with the same text
	}
	before := messages[len(messages)-2]
	if strings.EqualFold(before.Text("role"), string(model.Assistant)) || !sameText(threadText(before), text) {
		return nil, nil
	}
	return &model.Reply{Text: m.w.Said(said), Stop: model.StopEnd, References: references(last)}, nil
}

func threadText(message *value.Dict) string {
	return cmp.Or(message.Text("content"), message.Text("message"))
}

// lastAnswer returns the last known answer of the model.
func lastAnswer(r *model.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == model.Assistant {
			return r.Messages[i].Text
		}
	}
	return ""
}

// sameText compares a sent text with the stored one, which may differ in white space.
func sameText(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// references returns the sources of an answer; [[n]] in its text is the n-th.
func references(body *value.Dict) []string {
	v, _ := body.Get("references")
	items, _ := value.Elements(v)
	var list []string
	for i, item := range items {
		line, _ := item.(string)
		if d, ok := item.(*value.Dict); ok {
			line = strings.TrimSpace(d.Text("name") + " " + d.Text("url"))
		}
		if line != "" {
			list = append(list, "["+strconv.Itoa(i+1)+"] "+value.Clean(line, 2000))
		}
	}
	return list
}
