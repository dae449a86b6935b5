package attached

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A sending is how far the request of a call has come. It is in the context of the request. A call is repeated
// without a question only if it was surely not carried out.
type sending struct {
	kept    atomic.Bool // it was not sent
	refusal atomic.Pointer[refusal]
	size    atomic.Int64          // of the answer, in bytes
	noRoom  atomic.Pointer[error] // why the answer was not read
}

type sendingKey struct{}

// sendingOf returns the sending of a context. It is never nil.
func sendingOf(ctx context.Context) *sending {
	if w, ok := ctx.Value(sendingKey{}).(*sending); ok {
		return w
	}
	return new(sending)
}

// An incoming is the answer to a request while it arrives, which takes memory in the scope of the request's context. The
// text of an answer is read several times, so it takes more than what an effect carries.
type incoming struct {
	way  *sending
	held membudget.Growing
}

const readings = 2

// to takes the memory for an answer of n bytes. The error is of kind Failed: the request was sent.
func (i *incoming) to(ctx context.Context, n int64) error {
	if err := i.held.To(ctx, readings*n); err != nil {
		err = membudget.Acted("the server has answered, but the answer was not read", err)
		i.way.noRoom.Store(&err)
		return err
	}
	i.way.size.Store(max(n, i.way.size.Load()))
	return nil
}

// A refusal is an answer of HTTP which says that the request was not carried out.
type refusal struct {
	status  int
	session bool // the request belonged to a session
	after   time.Duration
}

// refusalOf returns what an answer to a request refuses, or nil. A tool reports its own failures in the body of
// a status 200, so all of 4xx are of the transport: by RFC 9110, the client has erred, and the request was not
// applied. With 503, a server that is overloaded says when the request can be repeated; without that, it can
// come from a gateway whose server has broken off, as 502 and 504 do, so nothing is known. Neither is after 500.
func refusalOf(r *http.Request, resp *http.Response, now time.Time) *refusal {
	after := resp.Header.Get("Retry-After")
	if resp.StatusCode/100 != 4 && (resp.StatusCode != http.StatusServiceUnavailable || after == "") {
		return nil
	}
	no := &refusal{status: resp.StatusCode, session: r.Header.Get("Mcp-Session-Id") != ""}
	if seconds, err := strconv.Atoi(after); err == nil {
		no.after = time.Duration(max(0, min(seconds, maxAfter))) * time.Second
	} else if at, err := http.ParseTime(after); err == nil {
		no.after = max(0, min(at.Sub(now), maxAfter*time.Second))
	}
	return no
}

// maxAfter is the longest wait that a server is granted, in seconds.
const maxAfter = 24 * 60 * 60

// begin returns a request that reports to w whether a connection was sought and made. Until one is made, with its
// TLS handshake, nothing is sent. A transport that does not report this reports neither.
func (w *sending) begin(r *http.Request) *http.Request {
	w.kept.Store(false) // an earlier request was redirected, or lacked its authorization
	w.refusal.Store(nil)
	return r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { w.kept.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.kept.Store(false) },
	}))
}

// gone reports whether the server has forgotten the session of the request. The protocol has the client begin
// another session then (Streamable HTTP, session management).
func (no *refusal) gone() bool { return no != nil && no.status == http.StatusNotFound && no.session }

// passes reports whether the same request can be carried out later: with other credentials, at a
// server that is there again, or after a while.
func (no *refusal) passes() bool {
	switch no.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// error returns the error of a refused call. more is what the server says, or "".
func (no *refusal) error(server, more string) *value.Error {
	text := fmt.Sprintf("the server %s refused the call: %d %s", server, no.status, http.StatusText(no.status))
	if more != "" {
		text += ": " + more
	}
	if !no.passes() {
		return value.Errorf(value.Failed, "%s", text)
	}
	e := value.Errorf(value.Unavailable, "%s", text).WithLimit(value.LimitUnsent)
	e.After = no.after
	return e
}
