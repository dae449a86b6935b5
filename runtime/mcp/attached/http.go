package attached

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// overHTTP returns the transport to a server at an address, and what tells why it refused to go on, or nil. unasked counts what comes through streams
// that answer no request. The caller resets it: each message of such a stream can cause a request. ctx is
// that of the session.
func (o *Options) overHTTP(ctx context.Context, changed *atomic.Bool, unasked *atomic.Int64) (t sdk.Transport, why func() error) {
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	client.Transport = &boundedTransport{base: base, header: o.Header, changed: changed, unasked: unasked}
	if o.SSE {
		signed := &signedTransport{base: client.Transport, at: o.URL, oauth: o.OAuth}
		client.Transport = signed
		return &sseTransport{sdk.SSEClientTransport{Endpoint: o.URL, HTTPClient: &client, MaxEventSize: maxLine}, ctx}, signed.why
	}
	return &sdk.StreamableClientTransport{
		Endpoint: o.URL, HTTPClient: &client, MaxRetries: 1, OAuthHandler: o.OAuth, MaxEventSize: maxLine,
	}, func() error { return nil }
}

// A boundedTransport adds the headers of a server to requests, and bounds the answers.
type boundedTransport struct {
	base    http.RoundTripper
	header  http.Header
	changed *atomic.Bool
	unasked *atomic.Int64 // see overHTTP
}

// RoundTrip implements [http.RoundTripper].
func (t *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(t.header) > 0 {
		r = r.Clone(r.Context())
		for name, values := range t.header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	read := t.unasked // an older server asks for forms through a stream that answers no request
	if r.Method != http.MethodGet {
		read = new(atomic.Int64)
	}
	way, asked := sendingOf(r.Context()), askedBy(r)
	resp, err := t.base.RoundTrip(way.begin(r))
	if err != nil {
		return nil, err
	}
	way.refusal.Store(refusalOf(r, resp, time.Now()))
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		resp.Body = &events{body: resp.Body, lines: bufio.NewReaderSize(resp.Body, 64<<10), changed: t.changed, read: read, ctx: r.Context(), held: incoming{way: way}, asked: asked}
		return resp, nil
	case "application/json":
		err = t.message(resp, &heldBody{resp.Body, r.Context(), 0, incoming{way: way}}, asked)
	default:
		resp.Body = &cutBody{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// maxErrorBody is how much is read of an answer that is not a message, in bytes.
const maxErrorBody = 64 << 10

type cutBody struct {
	io.Reader
	io.Closer
}

var errMessageSize = value.Limitf(value.LimitResult, "the server sent a message of more than %d MB", maxLine>>20)

// message replaces the body of an answer to the request asked that is one message.
func (t *boundedTransport) message(resp *http.Response, body io.Reader, asked value.Value) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxLine+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxLine:
		return errMessageSize
	}
	if resp.StatusCode != http.StatusOK {
		asked = nil // the status says what is wrong
	}
	text = answerTo(asked, text)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// A heldBody takes memory for what is read.
type heldBody struct {
	io.Reader
	ctx  context.Context
	size int64
	held incoming
}

// Read implements [io.Reader].
func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.size += int64(n)
	if failure := b.held.to(b.ctx, b.size); failure != nil {
		return 0, failure
	}
	return n, err
}

// events reads a stream of events, whose data are messages.
type events struct {
	body    io.ReadCloser
	lines   *bufio.Reader
	rest    []byte        // of the line that is read
	read    *atomic.Int64 // bytes and costs of lines so far
	changed *atomic.Bool
	ctx     context.Context // of the request
	held    incoming        // the longest line
	asked   value.Value     // the ID of the request, or nil
}

// Read implements [io.Reader].
func (e *events) Read(b []byte) (int, error) {
	for len(e.rest) == 0 {
		line, err := e.line()
		if err != nil {
			return 0, err
		}
		e.rest = e.bounded(line)
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (e *events) Close() error { return e.body.Close() }

// line reads a line with its end.
func (e *events) line() (line []byte, err error) {
	for {
		part, err := e.lines.ReadSlice('\n')
		if failure := e.held.to(e.ctx, int64(len(line)+len(part))); failure != nil {
			return nil, failure
		}
		line = append(line, part...)
		if e.read.Add(int64(len(part))) > maxUnasked {
			return nil, value.Limitf(value.LimitResult, "the server sent more than %d MB for one request", maxUnasked>>20)
		}
		switch {
		case len(line) > maxLine:
			return nil, errMessageSize
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
			return line, nil
		case err != nil:
			return nil, err
		}
		e.read.Add(lineCost)
		return line, nil
	}
}

// bounded returns a line of the stream as the SDK may read it. A message that spans several lines
// is passed on, within the limits of length.
func (e *events) bounded(line []byte) []byte {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return line
	}
	text := bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff"))
	isObject := bytes.HasPrefix(text, []byte("{")) && bytes.HasSuffix(text, []byte("}"))
	if !isObject && !(bytes.HasPrefix(text, []byte("[")) && bytes.HasSuffix(text, []byte("]"))) {
		return line
	}
	if bytes.Contains(text, []byte(listChanged)) {
		e.changed.Store(true) // at worst the tools are listed once too often
	}
	message := answerTo(e.asked, text)
	if message == nil {
		return []byte("\n")
	}
	return append(append([]byte("data: "), message...), '\n')
}
