package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// roomTime is how long a request waits for memory before it is read. It is then refused, so that what follows it, such as
// the answer to a form of a call that holds the memory, can be read.
const roomTime = 2 * readTime

// A holding is what one request of a client takes of the memory of its host: its line or body, its call, and its
// answer until the client has read it. They are one tree, so a call never waits for what its own request holds.
type holding struct {
	tree *membudget.Tree
	own  membudget.Tree

	mu    sync.Mutex // guards ended
	ended bool
	scope membudget.Scope // the request and the answer
	free  int             // see lines.free
	id    string          // see holdings; "" before the request is carried out
}

// newHolding returns an empty holding.
func newHolding(h *host.Host) *holding {
	x := &holding{own: host.Operate(h).Memory().Tree()}
	x.tree = &x.own
	x.scope = x.tree.Scope()
	return x
}

// part returns the holding of a message in a batch: a batch is one tree.
func (h *holding) part() *holding { return &holding{tree: h.tree, scope: h.tree.Scope()} }

// take takes memory for a request of n bytes, and waits no longer than roomTime.
func (h *holding) take(ctx context.Context, n int) error {
	n *= membudget.Copies
	if done, err := h.scope.Try(int64(n)); done {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, roomTime)
	defer cancel()
	return h.scope.Take(ctx, int64(n))
}

// answer has the holding keep what the answer takes, of n bytes, beside the request. result is what the call holds of it already.
func (h *holding) answer(ctx context.Context, result *membudget.Scope, n int) error {
	if n <= membudget.Small {
		n = 0
	}
	err := result.Set(ctx, int64(membudget.Copies*n))
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || h.ended { // nobody gets the answer
		result.End()
		return err
	}
	result.Move(&h.scope)
	return nil
}

// end gives everything back.
func (h *holding) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.scope.End()
}

// holdings are those of the requests that are carried out, by an ID. The SDK passes nothing from a connection to the handler of a
// request but headers: the ID is in one of them.
type holdings struct {
	last atomic.Int64
	of   sync.Map
}

const holdingHeader = "Cassidy-Holding"

// put adds a holding.
func (s *holdings) put(h *holding) {
	h.id = strconv.FormatInt(s.last.Add(1), 36)
	s.of.Store(h.id, h)
}

// end ends a holding.
func (s *holdings) end(h *holding) {
	if h.id != "" {
		s.of.Delete(h.id)
	}
	h.end()
}

// holds carries out a request within its holding, which keeps the answer.
func (s *Server) holds(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		extra := r.GetExtra()
		if extra == nil {
			return next(ctx, method, r)
		}
		found, ok := s.holdings.of.Load(extra.Header.Get(holdingHeader))
		if !ok {
			return next(ctx, method, r)
		}
		h := found.(*holding)
		within := membudget.With(ctx, h.tree)
		out, err := next(within, method, r)
		failure := h.answer(ctx, &within.Scope, sizeOf(out))
		switch {
		case failure == nil || err != nil:
			return out, err
		case method == "tools/call":
			return failed(membudget.Acted("the call was made, but there is no memory for its result", failure)), nil
		}
		return nil, failure
	}
}

// sizeOf returns how many bytes the large parts of a result have.
func sizeOf(r sdk.Result) (n int) {
	switch r := r.(type) {
	case *sdk.CallToolResult:
		if r == nil {
			break
		}
		for _, c := range r.Content {
			n += sizeOfContent(c)
		}
		if text, ok := r.StructuredContent.(json.RawMessage); ok {
			n += len(text)
		}
	case *sdk.GetPromptResult:
		if r == nil {
			break
		}
		for _, m := range r.Messages {
			n += sizeOfContent(m.Content)
		}
	case *sdk.ReadResourceResult:
		if r == nil {
			break
		}
		for _, c := range r.Contents {
			n += len(c.Text) + len(c.Blob)
		}
	case *taskInfo:
		if r != nil && r.Result != nil {
			n = sizeOf(r.Result)
		}
	}
	return n
}

func sizeOfContent(c sdk.Content) int {
	switch c := c.(type) {
	case *sdk.TextContent:
		return len(c.Text)
	case *sdk.ImageContent:
		return len(c.Data)
	case *sdk.AudioContent:
		return len(c.Data)
	case *sdk.EmbeddedResource:
		if c.Resource != nil {
			return len(c.Resource.Text) + len(c.Resource.Blob)
		}
	}
	return 0
}

// A slowWriter writes an answer to a client over HTTP. One that reads nothing for a while loses its connection, and
// no longer holds memory that others wait for.
type slowWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

const (
	// readTime is how long a client may take to read a part of an answer.
	readTime = time.Minute
	// part is how much of an answer is written at a time, in bytes.
	part = 256 << 10
)

// Unwrap is for [http.ResponseController].
func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements [io.Writer].
func (w *slowWriter) Write(b []byte) (n int, err error) {
	for {
		_ = w.control.SetWriteDeadline(time.Now().Add(readTime)) // a writer without deadlines has its own limits
		m, err := w.ResponseWriter.Write(b[n:min(len(b), n+part)])
		if n += m; err != nil || n == len(b) {
			_ = w.control.SetWriteDeadline(time.Time{})
			return n, err
		}
	}
}

// serveHeld serves a request over HTTP, which holds memory from its body to the end of its answer.
func (s *Server) serveHeld(to http.Handler, w http.ResponseWriter, r *http.Request) {
	h := newHolding(s.host)
	s.holdings.put(h)
	defer s.holdings.end(h)
	r.Header.Set(holdingHeader, h.id)
	n := r.ContentLength
	if n < 0 || n > maxBody {
		n = maxBody
	}
	if n > membudget.Small {
		if err := h.take(r.Context(), int(n)); err != nil {
			status := http.StatusServiceUnavailable
			if value.KindOf(err) == value.Limit {
				status = http.StatusRequestEntityTooLarge
			}
			refuse(w, value.ErrorOf(err, value.Busy).Message(), status)
			return
		}
	}
	limitBody(w, r, func(read int64) { h.scope.Keep(membudget.Copies * read) })
	if of, ok := r.Context().Value(http.ServerContextKey).(*http.Server); !ok || of.WriteTimeout == 0 { // its program has set none
		w = &slowWriter{w, http.NewResponseController(w)}
	}
	to.ServeHTTP(w, r)
}
