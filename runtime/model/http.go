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
	// defaultTimeout is how long an API may keep silent: what the vendors' own
	// clients wait, since a long answer that is not streamed takes minutes.
	defaultTimeout = 10 * time.Minute
	// defaultMaxReply is how many bytes an answer may have. The longest that a
	// model writes today is below 1 MB, and a stream takes ten times its text.
	defaultMaxReply = 8 << 20
	// streamOverhead is how many times longer a stream may be than its text:
	// each word comes in a frame of some 300 bytes.
	streamOverhead = 64
	// attempts is how often a request is sent at most.
	attempts = 3
	// firstWait is about how long the first retry waits; the next waits double.
	firstWait = 500 * time.Millisecond
	// longestWait is the longest Retry-After that is waited for. Who is told to
	// wait longer is better told so.
	longestWait = time.Minute
	// maxErrorBody is how much of an error's body is read.
	maxErrorBody = 64 << 10
)

// errSlow ends an exchange in which the API kept silent too long.
var errSlow = errors.New("the API keeps silent")

// errLong ends an answer that is longer than what is read of one.
var errLong = errors.New("the answer is too long")

// A link is what the options of every API have in common.
type link struct {
	name     string // of the model, for errors
	base     string // the address, or ""
	usual    string // what "" means
	key      string
	keyHint  string
	client   *http.Client
	timeout  time.Duration
	maxReply int64
	sleep    func(ctx context.Context, d time.Duration) error
}

// A wire sends requests to one API. No error that it returns holds the key.
type wire struct {
	name      string
	base      string
	keyHint   string
	lostHint  string
	prefix    string   // of what is said about a status
	secrets   []string // the forms in which the key could come back
	keyLength int
	client    *http.Client
	timeout   time.Duration
	maxReply  int64
	sleep     func(ctx context.Context, d time.Duration) error
}

func newWire(l link) (*wire, error) {
	base, err := checkBase(cmp.Or(l.base, l.usual))
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(l.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, value.Errorf(value.Invalid, "%s: the key holds a space or a character that no key has", l.name).
			WithHint("%s", cmp.Or(l.keyHint, "copy the key again, without line breaks"))
	}
	w := &wire{
		name:      l.name,
		base:      base,
		keyHint:   cmp.Or(l.keyHint, "check the key"),
		lostHint:  "check the name of the model and the base URL " + base,
		secrets:   secretForms(l.key),
		keyLength: len(l.key),
		client:    ownClient(l.client),
		timeout:   cmp.Or(l.timeout, defaultTimeout),
		maxReply:  cmp.Or(l.maxReply, defaultMaxReply),
		sleep:     l.sleep,
	}
	if w.sleep == nil {
		w.sleep = sleep
	}
	return w, nil
}

// checkBase returns an address to which a path can be added. Its errors do not
// repeat it, because of the passwords that people put there.
func checkBase(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", value.Errorf(value.Invalid, "the base URL is not an address").
			WithHint(`it begins with http:// or https:// and a host, as in "https://api.example.com/v1"`)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return "", value.Errorf(value.Invalid, "the base URL holds a password, a query or a fragment").
			WithHint("give the key as the key, and end the base URL with its path")
	}
	return strings.TrimRight(base, "/"), nil
}

// ownClient returns a client that follows no redirect: the vendors' APIs have
// none, and another host must see neither the key nor the conversation.
func ownClient(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // which would be read from the environment
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
	method string // "" means POST
	path   string // after the base URL
	header http.Header
	body   *value.Dict           // nil for none
	retry  func(f *failure) bool // what is worth another attempt; nil means stateless
	stream bool
}

// stateless retries what a model without a memory may be asked again: nothing
// of the first attempt is left.
func stateless(f *failure) bool {
	switch f.status {
	case 0:
		return f.cut
	case 429, 500, 502, 503, 504, 529:
		return true
	}
	return false
}

// A failure is an exchange that gave no answer.
type failure struct {
	err    *value.Error
	status int           // that the server answered with, or 0
	after  time.Duration // how long the server asks to wait, or 0
	unsent bool          // the request did not leave
	slow   bool          // the API kept silent too long
	cut    bool          // the connection failed
	final  bool          // trying again would not help
}

// send sends a request until it is answered with success, and as long as the
// failures are worth a retry. The response must be closed.
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
		if err := w.sleep(ctx, wait(attempt, f.after)); err != nil {
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

// wait returns how long to wait after an attempt: what the server asks for, or
// twice as long each time. The jitter keeps many clients from coming back at
// the same moment, and never makes one come early.
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
	timer := time.AfterFunc(w.timeout, func() { cancel(errSlow) })
	stop := func() {
		timer.Stop()
		cancel(nil)
	}
	var left atomic.Bool
	traced := httptrace.WithClientTrace(inner, &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	req, err := http.NewRequestWithContext(traced, cmp.Or(q.method, http.MethodPost), w.base+q.path, bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, w.fail(value.Errorf(value.Invalid, "the base URL is not an address"))
	}
	w.setHeader(req, q)
	res, err := w.client.Do(req)
	if err != nil {
		defer stop()
		f := w.lost(ctx, inner, err)
		f.unsent = !left.Load()
		return nil, f
	}
	r := &response{w: w, ctx: ctx, inner: inner, status: res.StatusCode, header: res.Header}
	r.body = &bounded{r: res.Body, left: w.maxReply}
	if q.stream {
		r.body = &bounded{r: res.Body, left: w.maxReply * streamOverhead}
	}
	r.touch = func() { timer.Reset(w.timeout) }
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

// retries reports whether a failure is worth another attempt.
func (q *query) retries(f *failure) bool {
	if q.retry != nil {
		return q.retry(f)
	}
	return stateless(f)
}

// ask sends a request and returns the object that answers it.
func (w *wire) ask(ctx context.Context, q *query) (*value.Dict, *failure) {
	r, f := w.send(ctx, q)
	if f != nil {
		return nil, f
	}
	defer r.close()
	return r.object()
}

// A response is a successful answer, whose body is still to be read.
type response struct {
	w      *wire
	ctx    context.Context // the caller's
	inner  context.Context // of this exchange
	status int
	header http.Header
	body   io.Reader
	touch  func() // gives the API its time anew
	close  func()
}

// object reads the whole body as one JSON object.
func (r *response) object() (*value.Dict, *failure) {
	data, err := io.ReadAll(r.body)
	if err != nil {
		return nil, r.w.lost(r.ctx, r.inner, err)
	}
	return r.w.object(data)
}

// object reads a JSON object. Bytes that are not UTF-8 are replaced, so that a
// single one does not cost the whole answer.
func (w *wire) object(data []byte) (*value.Dict, *failure) {
	v, err := value.ParseJSON(bytes.ToValidUTF8(data, []byte("\ufffd")))
	if d, ok := v.(*value.Dict); ok && err == nil {
		return d, nil
	}
	if said := bytes.TrimSpace(data); len(said) == 0 || said[0] != '{' {
		return nil, w.fail(value.Errorf(value.Unavailable, "the answer is not JSON: %s", w.explain(data)).
			WithHint("check the base URL %s", w.base))
	}
	if err == nil {
		err = errors.New("not an object")
	}
	return nil, w.fail(value.Errorf(value.Unavailable, "the answer cannot be read: %s", err))
}

// A bounded reads at most so many bytes, and fails where there are more.
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

// retryAfter reads how long the server asks to wait, or 0.
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

// seconds makes a duration of what a server says, which may be any number.
func seconds(s float64) time.Duration {
	if !(s > 0) { // which NaN is not either
		return 0
	}
	return time.Duration(min(s, 1e6) * float64(time.Second))
}

// is reports whether a response has a content type.
func (r *response) is(want string) bool {
	got, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return got == want
}

// bearer returns the header that carries a key, or none for none.
func bearer(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}

// child returns the object under a name, or nil, which reads as empty.
func child(d *value.Dict, name string) *value.Dict {
	v, _ := d.Get(name)
	c, _ := v.(*value.Dict)
	return c
}

// children returns the objects of the list under a name.
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
