package model

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

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Auth is a way to send a key. CassidyAI's documentation and servers differ, and
// Anthropic is changing from one to the other.
type Auth string

const (
	AuthKey    Auth = "x-api-key" // a separate header; known to work
	AuthBearer Auth = "bearer"    // Authorization: Bearer, as documented
	// AuthAuto starts with AuthKey. If creating a thread fails with 401, it tries
	// AuthBearer once, and keeps it if that works. It is only for CassidyAI.
	AuthAuto Auth = "auto"
)

const (
	// cassidyTimeout is the timeout of a message. The server in front of the API gives
	// up after 100 seconds, with status 524.
	cassidyTimeout = 5 * time.Minute
	// cassidyThreadTimeout is the timeout of creating or reading a thread.
	cassidyThreadTimeout = 2 * time.Minute
	// cassidyMaxMessage is how many characters a message may have; longer ones are
	// known to fail.
	cassidyMaxMessage = 250_000
)

// cassidyChunking is the prefix of a task that timed out the first time.
const cassidyChunking = `IMPORTANT: The previous attempt at this task timed out. Do it in smaller steps: answer
with the first part only, keep it short, and say what is left. You will be asked
to continue.

Original task:

`

// CassidyOptions configure the connection to a CassidyAI assistant. Key and Assistant
// are required.
type CassidyOptions struct {
	BaseURL    string // default https://app.cassidyai.com/api
	Key        string
	Assistant  string // its ID
	Auth       Auth   // default AuthKey
	MaxMessage int    // characters of one message; default 250,000
	KeyHint    string // hint for a wrong key; default "check the key"
	HTTP       HTTP   // its Timeout is 5 minutes by default
}

type cassidy struct {
	o      CassidyOptions
	w      *wire       // for messages
	quick  *wire       // for all other requests
	bearer atomic.Bool // which header carries the key
}

// NewCassidy returns a model of CassidyAI's threads. It fails if the key or the
// assistant is missing, or the key, the address or the auth style is invalid.
func NewCassidy(opts *CassidyOptions) (Model, error) {
	o := CassidyOptions{}
	if opts != nil {
		o = *opts
	}
	o.MaxMessage, o.Auth = cmp.Or(o.MaxMessage, cassidyMaxMessage), cmp.Or(o.Auth, AuthKey)
	switch {
	case o.Key == "":
		return nil, value.Errorf(value.Invalid, "cassidy: the key is missing").WithHint("%s", cmp.Or(o.KeyHint, "set CassidyOptions.Key"))
	case o.Assistant == "":
		return nil, value.Errorf(value.Invalid, "cassidy: the assistant is missing").WithHint("set CassidyOptions.Assistant to the ID of the assistant")
	case o.Auth != AuthKey && o.Auth != AuthBearer && o.Auth != AuthAuto:
		return nil, value.Errorf(value.Invalid, "cassidy: unknown auth style %q", string(o.Auth)).
			WithHint("set Auth to x-api-key, bearer or auto")
	}
	o.HTTP.Timeout = cmp.Or(o.HTTP.Timeout, cassidyTimeout)
	w, err := newWire("cassidy", cmp.Or(o.BaseURL, "https://app.cassidyai.com/api"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	w.lostHint = "check the ID of the assistant and the base URL " + w.base
	w.prefix = "Cassidy API request failed "
	quick := *w
	quick.Timeout = min(w.Timeout, cassidyThreadTimeout)
	m := &cassidy{o: o, w: w, quick: &quick}
	m.bearer.Store(o.Auth == AuthBearer)
	return &api{w, false, m.ask}, nil
}

// ask answers a request. Tools are described in the text, so those of the request are
// ignored.
func (m *cassidy) ask(ctx context.Context, r *Request) (*Reply, *failure) {
	text, f := m.message(r)
	if f != nil {
		return nil, f
	}
	thread := r.Thread
	if thread == "" {
		if thread, f = m.create(ctx); f != nil {
			return nil, f
		}
	}
	reply, f := m.say(ctx, thread, text)
	if f != nil && f.unsure() && ctx.Err() == nil {
		reply, f = m.recover(ctx, r, thread, text, f)
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
func (m *cassidy) message(r *Request) (string, *failure) {
	if strings.HasPrefix(r.Thread, "conv_") {
		return "", m.w.fail(value.Errorf(value.Invalid, "invalid thread ID %q: this is the ID of a saved conversation", value.Clean(r.Thread, 60)).
			WithHint("use the thread ID of the conversation"))
	}
	if r.Thread != "" && strings.TrimSpace(r.Thread) == "" {
		return "", m.w.fail(value.Errorf(value.Invalid, "Thread ID is required"))
	}
	system, messages := r.System, r.Messages
	for i := len(messages) - 1; i >= 0 && r.Thread != ""; i-- {
		if messages[i].Role == Assistant {
			system, messages = "", messages[i+1:]
			break
		}
	}
	for _, one := range messages {
		if one.Role == User && strings.TrimSpace(one.Text) == "" {
			messages = nil
		}
	}
	if len(messages) == 0 || messages[len(messages)-1].Role == Assistant {
		return "", m.w.fail(value.Errorf(value.Invalid, "Message cannot be empty"))
	}
	text := transcript(system, messages)
	if n := utf8.RuneCountInString(text); n > m.o.MaxMessage {
		return "", m.w.fail(limitError(value.LimitMessage, "the message is too long: %d characters, limit %d", n, m.o.MaxMessage).
			WithHint("send a shorter message"))
	}
	return text, nil
}

// create creates a thread and returns its ID.
func (m *cassidy) create(ctx context.Context) (string, *failure) {
	q := &query{path: "/assistants/thread/create", body: value.NewDict("assistant_id", m.o.Assistant), retry: cassidyRepeats}
	bearer := m.bearer.Load()
	body, f := m.exchange(ctx, m.quick, q, bearer)
	if f != nil && f.status == 401 && m.o.Auth == AuthAuto {
		var other *failure
		if body, other = m.exchange(ctx, m.quick, q, !bearer); other == nil {
			m.bearer.Store(!bearer)
			f = nil
		} else if other.status != 401 {
			f = other
		} else {
			f.err.Err = errors.New(f.err.Err.Error() + "; then as " + string(style(!bearer)))
		}
	}
	if f != nil {
		return "", f
	}
	thread := body.Text("thread_id")
	if thread == "" {
		return "", m.w.fail(value.Errorf(value.Unavailable, "invalid response: thread_id is missing").WithHint("check the ID of the assistant and the base URL %s", m.w.base))
	}
	return thread, nil
}

// say sends a message and returns the answer.
func (m *cassidy) say(ctx context.Context, thread, text string) (*Reply, *failure) {
	q := &query{path: "/assistants/message/create", body: value.NewDict("thread_id", thread, "message", text), retry: cassidyRetries}
	body, f := m.exchange(ctx, m.w, q, m.bearer.Load())
	if f != nil {
		return nil, f
	}
	for _, name := range []string{"content", "message", "response"} {
		if said := body.Text(name); strings.TrimSpace(said) != "" {
			return &Reply{Text: m.w.said(said), Stop: StopEnd, References: references(body)}, nil
		}
	}
	if v, _ := body.Get("error"); v != nil {
		return nil, m.w.failIn(body)
	}
	return nil, m.w.empty()
}

// exchange sends one request. Errors name the header that carried the key.
func (m *cassidy) exchange(ctx context.Context, w *wire, q *query, bearerAuth bool) (*value.Dict, *failure) {
	q.header = http.Header{"X-Api-Key": {m.o.Key}}
	if bearerAuth {
		q.header = bearer(m.o.Key)
	}
	body, f := w.ask(ctx, q)
	if f == nil {
		return body, nil
	}
	if f.status != 0 {
		f.err.Err = errors.New(f.err.Err.Error() + " (key sent as " + string(style(bearerAuth)) + ")")
	}
	if f.status == 401 && m.o.Auth != AuthAuto {
		f.err.Hint += "; or set Auth to " + string(style(!bearerAuth))
	}
	return nil, f
}

func style(bearerAuth bool) Auth {
	if bearerAuth {
		return AuthBearer
	}
	return AuthKey
}

// cassidyRetries reports whether a failure is retried: the server had not accepted the
// message.
func cassidyRetries(f *failure) bool {
	return f.unsent && f.cut || f.status == 429 || f.status == 502 || f.status == 503 || f.status == 504
}

// cassidyRepeats reports whether a failure of an idempotent request is retried.
func cassidyRepeats(f *failure) bool { return f.cut || cassidyRetries(f) }

// unsure reports whether the server may have stored the message, and may still answer
// it: a timeout or a broken connection.
func (f *failure) unsure() bool { return f.status == 524 || (f.slow || f.cut) && !f.unsent }

// recover handles a message without an answer. If the thread has the answer, it returns
// that. Otherwise it sends the message once more, with the advice to split the task. If
// the thread cannot be read, nothing is sent.
func (m *cassidy) recover(ctx context.Context, r *Request, thread, text string, f *failure) (*Reply, *failure) {
	reply, looked := m.look(ctx, r, thread, text)
	if reply != nil || looked != nil {
		return reply, firstOf(reply, looked, f)
	}
	text = cassidyChunking + text
	reply, again := m.say(ctx, thread, text)
	if again == nil || !again.unsure() || ctx.Err() != nil {
		return reply, again
	}
	reply, looked = m.look(ctx, r, thread, text)
	return reply, firstOf(reply, looked, again)
}

// firstOf returns the failure to report after a failed exchange and a failed or
// unsuccessful look at the thread: that of the exchange, unless the caller canceled
// meanwhile.
func firstOf(reply *Reply, looked, f *failure) *failure {
	switch {
	case reply != nil:
		return nil
	case looked != nil && (looked.err.Kind == value.Canceled || looked.err.Kind == value.Timeout && !looked.slow):
		return looked
	}
	f.err.Hint = "try a smaller task; the thread may already contain the message"
	return f
}

// look reads the thread, and returns the answer to a text if there is one.
func (m *cassidy) look(ctx context.Context, r *Request, thread, text string) (*Reply, *failure) {
	q := &query{method: http.MethodGet, path: "/assistants/thread/get?thread_id=" + url.QueryEscape(thread), retry: cassidyRepeats}
	body, f := m.exchange(ctx, m.quick, q, m.bearer.Load())
	if f != nil {
		return nil, f
	}
	messages := children(body, "messages")
	if len(messages) < 2 {
		return nil, nil
	}
	last := messages[len(messages)-1]
	said := threadText(last)
	if !strings.EqualFold(last.Text("role"), string(Assistant)) || strings.TrimSpace(said) == "" || said == lastAnswer(r) {
		return nil, nil // not an answer, or the answer to an earlier message with the same text
	}
	before := messages[len(messages)-2]
	if strings.EqualFold(before.Text("role"), string(Assistant)) || !sameText(threadText(before), text) {
		return nil, nil
	}
	return &Reply{Text: m.w.said(said), Stop: StopEnd, References: references(last)}, nil
}

func threadText(message *value.Dict) string {
	return cmp.Or(message.Text("content"), message.Text("message"))
}

// lastAnswer returns the last known answer of the model.
func lastAnswer(r *Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == Assistant {
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
