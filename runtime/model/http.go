package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// defaultTimeout is the default idle timeout. It is that of the vendors' own
	// clients, since a long answer that is not streamed takes minutes.
	defaultTimeout = 10 * time.Minute
	// defaultMaxReply is the limit of an answer, in bytes. The longest that a model
	// writes today is below 1 MB, and a stream takes ten times its text.
	defaultMaxReply = 8 << 20
	// streamOverhead is how many times longer than its text a stream may be: each word
	// has a frame of some 300 bytes.
	streamOverhead = 64
	// attempts is how often a request is sent at most.
	attempts = 3
	// firstWait is the approximate delay of the first retry; later delays double.
	firstWait = 500 * time.Millisecond
	// longestWait is the longest Retry-After that is obeyed. A longer one is an error.
	longestWait = time.Minute
	// maxErrorBody is the limit of an error's body, in bytes.
	maxErrorBody = 64 << 10
)

// errSlow ends an exchange after the idle timeout.
var errSlow = errors.New("no data from the API")

// errLong ends an answer that exceeds its limit.
var errLong = errors.New("the reply is too long")

// HTTP configures the requests to an API. The zero value has the defaults.
type HTTP struct {
	Client   *http.Client  // default: one without a proxy; redirects are never followed
	Timeout  time.Duration // idle timeout; default 10 minutes
	MaxReply int64         // bytes of a reply; default 8 MB
	// Sleep waits between attempts; default: a timer. It returns the context's error
	// if that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A wire sends requests to one API. Its errors never contain the key.
type wire struct {
	HTTP
	name      string
	base      string
	keyHint   string
	lostHint  string
	prefix    string   // of errors for a status
	secrets   []string // the encodings of the key to remove from errors
	keyLength int
}

// newWire returns a wire to the API at base. name is that of the model, in errors.
func newWire(name, base, key, keyHint string, h HTTP) (*wire, error) {
	base, err := checkBase(base)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, value.Errorf(value.Invalid, "%s: the key contains a space or an invalid character", name).
			WithHint("%s", cmp.Or(keyHint, "copy the key again, without spaces and line breaks"))
	}
	h.Client, h.Timeout, h.MaxReply = ownClient(h.Client), cmp.Or(h.Timeout, defaultTimeout), cmp.Or(h.MaxReply, defaultMaxReply)
	if h.Sleep == nil {
		h.Sleep = sleep
	}
	return &wire{
		HTTP: h, name: name, base: base, keyHint: cmp.Or(keyHint, "check the key"),
		lostHint: "check the model name and the base URL " + base,
		secrets:  secretForms(key), keyLength: len(key),
	}, nil
}

// An api is a [Model] behind an API.
type api struct {
	w      *wire
	native bool
	ask    func(ctx context.Context, r *Request) (*Reply, *failure)
}

func (m *api) Name() string { return m.w.name }
func (m *api) Native() bool { return m.native }

// Ask implements [Model].
func (m *api) Ask(ctx context.Context, r *Request) (*Reply, error) {
	start := time.Now()
	reply, f := m.ask(ctx, r)
	if f != nil {
		return nil, f.err
	}
	reply.Usage.Wall = time.Since(start)
	return reply, nil
}

// checkBase returns an address to which a path can be added. Its errors do not contain
// the address, which may have a password.
func checkBase(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", value.Errorf(value.Invalid, "the base URL is invalid").
			WithHint(`use a URL with http:// or https:// and a host, as in "https://api.example.com/v1"`)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", value.Errorf(value.Invalid, "the base URL has a password, a query or a fragment").
			WithHint("remove them from the URL, and pass the key in its own field")
	}
	return strings.TrimRight(base, "/"), nil
}

// ownClient returns a client that follows no redirects: the vendors' APIs have none,
// and another host must see neither the key nor the conversation.
func ownClient(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // the default reads it from the environment
		c.Transport = t
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A query is one request to an API.
type query struct {
	method string // default: POST
	path   string // after the base URL
	header http.Header
	body   *value.Dict           // or nil
	retry  func(f *failure) bool // whether to retry; default: stateless
	stream bool
}

// stateless reports whether a failure of a request without side effects is retried.
func stateless(f *failure) bool {
	switch f.status {
	case 0:
		return f.cut
	case 429, 500, 502, 503, 504, 529:
		return true
	}
	return false
}

// A failure is an exchange without an answer.
type failure struct {
	err    *value.Error
	status int           // of the server's answer, or 0
	after  time.Duration // the delay that the server requests, or 0
	unsent bool          // the request was not sent
	slow   bool          // the idle timeout expired
	cut    bool          // the connection failed
	final  bool          // retrying would not help
}

// send sends a request, with retries, until it succeeds or fails finally. The response
// must be closed.
func (w *wire) send(ctx context.Context, q *query) (*response, *failure) {
	body, err := encodeBody(q.body)
	if err != nil {
		return nil, w.fail(value.ErrorOf(err, value.Invalid))
	}
	for attempt := 1; ; attempt++ {
		r, f := w.attempt(ctx, q, body)
		if f == nil {
			return r, nil
		}
		if attempt == attempts || f.final || f.after > longestWait || ctx.Err() != nil || !q.retries(f) {
			return nil, f
		}
		if err := w.Sleep(ctx, wait(attempt, f.after)); err != nil {
			return nil, w.ended(ctx, err)
		}
	}
}

func encodeBody(body *value.Dict) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	return value.AppendJSON(nil, body)
}

// wait returns the delay after an attempt: what the server requests, or twice the delay
// before. The jitter spreads the retries of many clients, and never shortens what the
// server requests.
func wait(attempt int, after time.Duration) time.Duration {
	if after > 0 {
		return after + time.Duration(rand.Float64()*float64(after)/10)
	}
	d := firstWait << (attempt - 1)
	return d/2 + time.Duration(rand.Float64()*float64(d))
}

// attempt sends a request once.
func (w *wire) attempt(ctx context.Context, q *query, body []byte) (*response, *failure) {
	if err := ctx.Err(); err != nil {
		return nil, w.ended(ctx, err)
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(w.Timeout, func() { cancel(errSlow) })
	stop := func() {
		timer.Stop()
		cancel(nil)
	}
	var left atomic.Bool
	traced := httptrace.WithClientTrace(inner, &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	req, err := http.NewRequestWithContext(traced, cmp.Or(q.method, http.MethodPost), w.base+q.path, bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, w.fail(value.Errorf(value.Invalid, "the base URL is invalid"))
	}
	w.setHeader(req, q)
	res, err := w.Client.Do(req)
	if err != nil {
		defer stop()
		f := w.lost(ctx, inner, err)
		f.unsent = !left.Load()
		return nil, f
	}
	r := &response{w: w, ctx: ctx, inner: inner, status: res.StatusCode, header: res.Header}
	r.body = &bounded{r: res.Body, left: w.MaxReply}
	if q.stream {
		r.body = &bounded{r: res.Body, left: w.MaxReply * streamOverhead}
	}
	r.touch = func() { timer.Reset(w.Timeout) }
	r.close = func() {
		stop()
		res.Body.Close()
	}
	if res.StatusCode/100 == 2 {
		return r, nil
	}
	defer r.close()
	return nil, w.refused(r)
}

func (w *wire) setHeader(req *http.Request, q *query) {
	req.Header.Set("User-Agent", "cassidy")
	req.Header.Set("Accept", "application/json")
	if q.stream {
		req.Header.Set("Accept", "text/event-stream, application/x-ndjson, application/json")
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range q.header {
		req.Header[name] = values
	}
}

// retries reports whether a failure is retried.
func (q *query) retries(f *failure) bool {
	if q.retry != nil {
		return q.retry(f)
	}
	return stateless(f)
}

// ask sends a request and returns the object in its answer.
func (w *wire) ask(ctx context.Context, q *query) (*value.Dict, *failure) {
	r, f := w.send(ctx, q)
	if f != nil {
		return nil, f
	}
	defer r.close()
	return r.object()
}

// A response is a successful response with an unread body.
type response struct {
	w      *wire
	ctx    context.Context // the caller's
	inner  context.Context // of this exchange
	status int
	header http.Header
	body   io.Reader
	touch  func() // restarts the idle timeout
	close  func()
}

// object reads the full body as one JSON object.
func (r *response) object() (*value.Dict, *failure) {
	data, err := io.ReadAll(r.body)
	if err != nil {
		return nil, r.w.lost(r.ctx, r.inner, err)
	}
	return r.w.object(data)
}

// object parses a JSON object. Invalid UTF-8 is replaced, so that one invalid byte does
// not lose the answer.
func (w *wire) object(data []byte) (*value.Dict, *failure) {
	v, err := value.ParseJSON(bytes.ToValidUTF8(data, []byte("\ufffd")))
	if d, ok := v.(*value.Dict); ok && err == nil {
		return d, nil
	}
	if said := bytes.TrimSpace(data); len(said) == 0 || said[0] != '{' {
		return nil, w.fail(value.Errorf(value.Unavailable, "invalid response: expected JSON but got: %s", w.explain(data)).
			WithHint("check the base URL %s", w.base))
	}
	if err == nil {
		err = errors.New("expected a JSON object")
	}
	return nil, w.fail(value.Errorf(value.Unavailable, "invalid response: %s", err))
}

// A bounded reader returns an error after a number of bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLong
	}
	return n, err
}

// retryAfter returns the delay that the server requests, or 0.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// seconds converts a server's number to a duration. The number may have any value.
func seconds(s float64) time.Duration {
	if !(s > 0) { // also false for NaN
		return 0
	}
	return time.Duration(min(s, 1e6) * float64(time.Second))
}

// is reports whether a response has a content type.
func (r *response) is(want string) bool {
	got, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return got == want
}

// bearer returns the header for a key, or nil for no key.
func bearer(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

// child returns the object with a name, or nil, which is an empty dict.
func child(d *value.Dict, name string) *value.Dict {
	v, _ := d.Get(name)
	c, _ := v.(*value.Dict)
	return c
}

// children returns the objects in the list with a name.
func children(d *value.Dict, name string) []*value.Dict {
	v, _ := d.Get(name)
	items, _ := value.Elements(v)
	var list []*value.Dict
	for _, item := range items {
		if c, ok := item.(*value.Dict); ok {
			list = append(list, c)
		}
	}
	return list
}
