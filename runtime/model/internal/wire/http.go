// Package wire sends requests to the APIs of models, and reads their replies: retries,
// timeouts, errors without the key, streams, and replies that arrive in pieces.
package wire

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
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
	attempts = 5
	// firstWait is the approximate delay of the first retry; later delays double.
	firstWait = time.Second
	// longestWait is the longest Retry-After that is obeyed. A longer one is an error, after
	// which a recorded turn waits.
	longestWait = time.Minute
	// maxErrorBody is the limit of an error's body, in bytes.
	maxErrorBody = 64 << 10
)

// errSlow ends an exchange after the idle timeout.
var errSlow = errors.New("no data from the API")

// errLong ends an answer that exceeds its limit.
var errLong = errors.New("the reply is too long")

// A Wire sends requests to one API. Its errors never contain the key.
type Wire struct {
	model.HTTP
	name      string
	Base      string
	keyHint   string
	LostHint  string
	Prefix    string   // of errors for a status
	Instructs bool     // the API has instructions in mid-conversation
	Dialect   Dialect  // of an API with native calls
	secrets   []string // the encodings of the key and other secrets, to remove from errors
	long      []string // those of secrets that are too long to occur in a reply by chance
}

// New returns a wire to the API at base. name is that of the model, in errors.
func New(name, base, key, keyHint string, h model.HTTP) (*Wire, error) {
	base, err := checkBase(base)
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, value.Errorf(value.Invalid, "%s: the key contains a space or an invalid character", name).
			WithHint("%s", cmp.Or(keyHint, "copy the key again, without spaces and line breaks"))
	}
	for header := range h.Header {
		if strings.ContainsFunc(h.Header.Get(header), func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, value.Errorf(value.Invalid, "%s: the header %s contains a line break or another invalid character", name, value.Clean(header, 60)).
				WithHint("copy its value again, as one line")
		}
	}
	h.Client, h.Timeout, h.MaxReply = ownClient(h.Client), cmp.Or(h.Timeout, defaultTimeout), cmp.Or(h.MaxReply, defaultMaxReply)
	if h.Sleep == nil {
		h.Sleep = sleep
	}
	w := &Wire{
		HTTP: h, name: name, Base: base, keyHint: cmp.Or(keyHint, "check the key"),
		LostHint: "check the name of the model (to list the names: cassidy models) and the address of the API, " + base,
	}
	w.secrets, w.long = formsOf(append([]string{key}, h.Secrets...))
	return w, nil
}

// Named returns a wire for a model that is behind no API.
func Named(name string) *Wire { return &Wire{name: name} }

// An api is a [model.Model] behind an API.
type api struct {
	w      *Wire
	native bool
	ask    func(ctx context.Context, r *model.Request) (*model.Reply, *Failure)
	lookUp func(ctx context.Context) model.Info

	looking sync.Mutex
	info    *model.Info // the result of lookUp
}

// NewModel returns a model whose replies are those of ask. native is the result of Native, and
// lookUp is called once for [model.InfoOf].
func NewModel(w *Wire, native bool, ask func(ctx context.Context, r *model.Request) (*model.Reply, *Failure), lookUp func(ctx context.Context) model.Info) model.Model {
	return &api{w: w, native: native, ask: ask, lookUp: lookUp}
}

// Info is for [model.InfoOf].
func (m *api) Info(ctx context.Context) model.Info {
	m.looking.Lock()
	defer m.looking.Unlock()
	if m.info == nil {
		i := m.lookUp(ctx)
		if ctx.Err() != nil {
			return i // perhaps incomplete
		}
		i.MaxTools = cmp.Or(i.MaxTools, m.w.Dialect.Tools)
		m.info = &i
	}
	return *m.info
}

func (m *api) Name() string { return m.w.name }
func (m *api) Native() bool { return m.native }

// Ask implements [model.Model].
func (m *api) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	start := time.Now()
	if !m.w.Instructs {
		r = uninstructed(r)
	}
	sent := &rendering{r: *r}
	if m.w.Base != "" { // a script takes everything
		sent = m.w.Dialect.render(r)
	}
	reply, f := m.ask(ctx, &sent.r)
	if f != nil {
		return reply, f.Err // perhaps the thread of an empty reply
	}
	sent.read(reply)
	reply.Usage.Wall = time.Since(start)
	return reply, nil
}

// NoModel returns the error of options without a model.
func NoModel(kind, example string) error {
	return value.Errorf(value.Invalid, "%s: the model name is missing", kind).WithHint("set Options.Model, as in %q", example)
}

// checkBase returns an address to which a path can be added. Its errors do not contain
// the address, which may have a password.
func checkBase(base string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", value.Errorf(value.Invalid, "the base URL is invalid").
			WithHint(`use a URL with http:// or https:// and a host, as in "https://api.example.com/v1"`)
	case u.User != nil:
		return "", value.Errorf(value.Invalid, "the base URL has a user name or a password").
			WithHint("remove the part before the @ from the URL, and pass the key in its own field")
	case u.RawQuery != "" || u.Fragment != "":
		return "", value.Errorf(value.Invalid, "the base URL contains ? or #").
			WithHint("remove the ? or #, and what follows it, from the URL")
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

// A Query is one request to an API.
type Query struct {
	Method string // default: POST
	Path   string // after the base URL
	Header http.Header
	Body   *value.Dict           // or nil
	Retry  func(f *Failure) bool // whether to retry; default: [Stateless]
	Stream bool
	Notice func(model.Notice) // reports that the request is sent again, or nil
}

// Stateless reports whether a failure of a request without side effects is retried.
func Stateless(f *Failure) bool {
	switch f.Status {
	case 0:
		return f.Cut
	case 429:
		return f.Body.Text("code") != "insufficient_quota" // waiting does not help
	case 408, 409, 500, 502, 503, 504, 529:
		return true
	}
	return false
}

// A Failure is an exchange without an answer.
type Failure struct {
	Err    *value.Error
	Status int           // of the server's answer, or 0
	after  time.Duration // the delay that the server requests, or 0
	Unsent bool          // the request was not sent
	Slow   bool          // the idle timeout expired
	Cut    bool          // the connection failed
	again  bool          // the server asks to retry
	final  bool          // retrying would not help
	// Body is the error as the server sent it, or nil: an object with fields such as message,
	// code and param. It may contain the key.
	Body *value.Dict
}

// Reply sends a request and returns the reply that read makes of the response. It retries
// also after a failure of read, such as that of a stream which breaks off: no call of an
// incomplete reply was made. Each attempt streams its text anew, see [model.Notice].
func (w *Wire) Reply(ctx context.Context, r *model.Request, q *Query, read func(*Response) (*model.Reply, *Failure)) (*model.Reply, *Failure) {
	q.Notice = r.Notice
	var reply *model.Reply
	f := w.exchange(ctx, q, func(res *Response) (f *Failure) {
		reply, f = read(res)
		return f
	})
	if f != nil {
		return nil, f
	}
	return w.Finish(r, reply)
}

// exchange sends a request and reads the response, with retries, until that succeeds or fails
// finally.
func (w *Wire) exchange(ctx context.Context, q *Query, read func(*Response) *Failure) *Failure {
	body, err := encodeBody(q.Body)
	if err != nil {
		return w.Fail(value.ErrorOf(err, value.Invalid))
	}
	for attempt := 1; ; attempt++ {
		r, f := w.attempt(ctx, q, body)
		if f == nil {
			f = read(r)
			r.close()
		}
		if f == nil {
			return nil
		}
		if attempt == attempts || f.final || f.after > longestWait || ctx.Err() != nil || !f.again && !q.retries(f) {
			return f
		}
		d := wait(attempt, f.after)
		if q.Notice != nil {
			q.Notice(model.Notice{Retry: f.Err, Wait: d})
		}
		if err := w.Sleep(ctx, d); err != nil {
			return w.Ended(ctx, err)
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
func (w *Wire) attempt(ctx context.Context, q *Query, body []byte) (*Response, *Failure) {
	if err := ctx.Err(); err != nil {
		return nil, w.Ended(ctx, err)
	}
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(w.Timeout, func() { cancel(errSlow) })
	stop := func() {
		timer.Stop()
		cancel(nil)
	}
	var left atomic.Bool
	traced := httptrace.WithClientTrace(inner, &httptrace.ClientTrace{WroteHeaders: func() { left.Store(true) }})
	req, err := http.NewRequestWithContext(traced, cmp.Or(q.Method, http.MethodPost), w.Base+q.Path, bytes.NewReader(body))
	if err != nil {
		stop()
		return nil, w.Fail(value.Errorf(value.Invalid, "the base URL is invalid"))
	}
	w.setHeader(req, q)
	res, err := w.Client.Do(req)
	if err != nil {
		defer stop()
		f := w.lost(ctx, inner, err)
		f.Unsent = !left.Load()
		return nil, f
	}
	r := &Response{w: w, ctx: ctx, inner: inner, status: res.StatusCode, header: res.Header}
	limited := &bounded{r: res.Body, left: w.MaxReply, arrived: func() {
		timer.Reset(w.Timeout)
		if q.Notice != nil {
			q.Notice(model.Notice{})
		}
	}}
	if q.Stream {
		limited.left *= streamOverhead
	}
	r.body = limited
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

func (w *Wire) setHeader(req *http.Request, q *Query) {
	req.Header.Set("User-Agent", "cassidy")
	req.Header.Set("Accept", "application/json")
	if q.Stream {
		req.Header.Set("Accept", "text/event-stream, application/x-ndjson, application/json")
	}
	if q.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, more := range []http.Header{w.Header, q.Header} {
		for name, values := range more {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
}

// retries reports whether a failure is retried.
func (q *Query) retries(f *Failure) bool {
	if q.Retry != nil {
		return q.Retry(f)
	}
	return Stateless(f)
}

// Ask sends a request and returns the object in its answer.
func (w *Wire) Ask(ctx context.Context, q *Query) (d *value.Dict, f *Failure) {
	f = w.exchange(ctx, q, func(r *Response) (f *Failure) {
		d, f = r.Object()
		return f
	})
	return d, f
}

// A Response is a successful response with an unread body.
type Response struct {
	w      *Wire
	ctx    context.Context // the caller's
	inner  context.Context // of this exchange
	status int
	header http.Header
	body   io.Reader
	close  func()
}

// Object reads the full body as one JSON object.
func (r *Response) Object() (*value.Dict, *Failure) {
	data, err := io.ReadAll(r.body)
	if err != nil {
		return nil, r.w.lost(r.ctx, r.inner, err)
	}
	return r.w.object(data)
}

// object parses a JSON object.
func (w *Wire) object(data []byte) (*value.Dict, *Failure) {
	v, err := value.ReadJSON(data, value.MaxDepth, value.MaxNodes)
	if d, ok := v.(*value.Dict); ok && err == nil {
		return d, nil
	}
	if said := bytes.TrimSpace(data); len(said) == 0 || said[0] != '{' {
		return nil, w.BadResponse("expected JSON but got: " + w.explain(data))
	}
	if err == nil {
		err = errors.New("expected a JSON object")
	}
	return nil, w.BadResponse(err.Error())
}

// A bounded reader returns an error after a number of bytes.
type bounded struct {
	r       io.Reader
	left    int64
	arrived func() // is called when bytes arrive
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if n > 0 {
		b.arrived()
	}
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

// Is reports whether a response has a content type.
func (r *Response) Is(want string) bool {
	got, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return got == want
}

// Bearer returns the header for a key, or nil for no key.
func Bearer(key string) http.Header { return KeyHeader(model.AuthBearer, key) }

// KeyHeader returns the header that carries a key, or nil for no key.
func KeyHeader(auth model.Auth, key string) http.Header {
	switch {
	case key == "":
		return nil
	case auth == model.AuthBearer:
		return http.Header{"Authorization": {"Bearer " + key}}
	}
	return http.Header{http.CanonicalHeaderKey(string(auth)): {key}}
}

// CheckAuth returns an error if an API, called name, does not accept a way to send the key. The
// first of the known ones is the default.
func CheckAuth(name string, auth model.Auth, known ...model.Auth) (model.Auth, error) {
	if auth == "" {
		return known[0], nil
	}
	if slices.Contains(known, auth) {
		return auth, nil
	}
	words := value.Map(known, func(a model.Auth) string { return string(a) })
	return "", value.Errorf(value.Invalid, "%s: the key cannot be sent as %q%s", name, value.Clean(string(auth), 60), value.DidYouMean(string(auth), words)).
		WithHint("set Auth to %s", strings.Join(words, " or "))
}

// Child returns the object with a name, or nil, which is an empty dict.
func Child(d *value.Dict, name string) *value.Dict {
	v, _ := d.Get(name)
	c, _ := v.(*value.Dict)
	return c
}

// Merged returns an object with the fields of another, which replace its own. Objects in both are
// merged, lists in both are joined, and a null removes a field.
func Merged(d, more *value.Dict) *value.Dict {
	if more.Len() == 0 {
		return d
	}
	all := value.NewDict()
	for k, own := range d.All() {
		name, _ := k.(string)
		if v, replaced := more.Get(name); !replaced {
			all.Put(name, own)
		} else if v != nil {
			all.Put(name, merged(own, v))
		}
	}
	for k, v := range more.All() {
		if name, _ := k.(string); v != nil && !d.Has(name) {
			all.Put(name, v)
		}
	}
	return all
}

// merged returns a value of a field with what it is merged with.
func merged(own, more value.Value) value.Value {
	switch more := more.(type) {
	case *value.Dict:
		if d, ok := own.(*value.Dict); ok {
			return Merged(d, more)
		}
	case value.List:
		if list, ok := own.(value.List); ok {
			return joined(list, more)
		}
	}
	return more
}

// joined returns a list with the items of another that it does not have.
func joined(list, more value.List) value.List {
	all := slices.Clone(list)
	for _, item := range more {
		if !slices.ContainsFunc(all, func(v value.Value) bool { return value.EqualJSON(v, item) }) {
			all = append(all, item)
		}
	}
	return all
}

// Children returns the objects in the list with a name.
func Children(d *value.Dict, name string) []*value.Dict {
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
