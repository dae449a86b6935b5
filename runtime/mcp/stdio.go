package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lingers is how long a server finishes the requests of a client that has closed its end.
const lingers = 10 * time.Second

// maxLine is the limit of a message over standard input, in bytes.
const maxLine = maxBody - 1<<10

// ServeStdio serves one client, which writes messages to in and reads them from out, each
// on a line. When the client has closed in, ServeStdio answers the requests that it has got,
// for at most ten seconds, and returns nil. It also returns nil if the client has closed out,
// and the error of ctx when that ends. A line that is not a message, or larger than 16 MB, is answered
// with an error.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	l := &lines{
		server: s, in: bufio.NewReaderSize(in, 64<<10), out: out, messages: make(chan heldMessage), ended: make(chan struct{}),
		open: map[jsonrpc.ID]*holding{}, idle: closed(),
	}
	l.ctx, l.close = context.WithCancel(context.WithoutCancel(ctx))
	defer l.endAll()
	err := s.sdk.Run(ctx, l)
	if ctx.Err() == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE)) {
		return nil
	}
	return err
}

// closed returns a closed channel.
func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// lines is a connection to one client, with a message on each line; it is its own transport. The transport of the
// SDK would end at an invalid line, and with the input: a script may write its requests to a pipe and close it.
// Here an invalid line is answered with an error, a batch becomes single messages, and the connection ends after
// all requests are answered.
type lines struct {
	server   *Server
	in       *bufio.Reader
	messages chan heldMessage
	ended    chan struct{} // closed after the last message
	err      error         // after ended: why there are no more
	ctx      context.Context
	close    context.CancelFunc
	passed   *holding // of the last message, unless it is a call; only Read uses it

	writing sync.Mutex
	out     io.Writer

	mu    sync.Mutex
	open  map[jsonrpc.ID]*holding // of the requests without an answer
	calls int                     // how many there are
	free  int                     // what the small lines of these calls cost that take nothing of the memory of the host
	idle  chan struct{}           // closed while there are none
}

// A heldMessage is a message, and what it takes of the memory of the host.
type heldMessage struct {
	jsonrpc.Message
	holding *holding
}

const (
	// callCost is what a request costs besides its line, in bytes.
	callCost = 16 << 10
	// maxFree is how much the small lines of a client may cost together that take nothing of the memory of the host.
	maxFree = 4 << 20
)

// Connect begins to read.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	go func() { // which nothing can end but the client: a read of standard input
		defer close(l.ended)
		l.err = l.readAll()
	}()
	return l, nil
}

// SessionID returns "": there is one client.
func (l *lines) SessionID() string { return "" }

// Read returns the next message.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	if l.passed != nil {
		l.drop(l.passed)
		l.passed = nil
	}
	select {
	case m := <-l.messages:
		if r, ok := m.Message.(*jsonrpc.Request); ok && r.IsCall() {
			l.begin(r, m.holding)
		} else {
			l.passed = m.holding
		}
		return m.Message, nil
	case <-l.ended:
	case <-l.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(l.err, io.EOF) {
		late := time.NewTimer(lingers)
		defer late.Stop()
		select {
		case <-l.answered():
		case <-l.ctx.Done(): // the client reads no answers
		case <-late.C:
		case <-ctx.Done():
		}
	}
	return nil, l.err
}

// Write writes a message. The answer to a request holds its memory until then.
func (l *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		defer l.finish(r.ID)
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	text, err := jsonrpc.EncodeMessage(m) // one at a time: a client that reads slowly has many answers wait
	if err != nil {
		return err
	}
	_, err = l.out.Write(append(text, '\n'))
	return err
}

// Close ends Read. The input and the output belong to the program.
func (l *lines) Close() error {
	l.close()
	return nil
}

// begin notes a request. The SDK refuses one with the ID of another that is open.
func (l *lines) begin(r *jsonrpc.Request, h *holding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls++; l.calls == 1 {
		l.idle = make(chan struct{})
	}
	if _, taken := l.open[r.ID]; taken {
		l.giveBack(h)
		return
	}
	l.server.holdings.put(h)
	l.open[r.ID] = h
	r.Extra = &sdk.RequestExtra{Header: http.Header{holdingHeader: {h.id}}}
}

// finish notes the answer to a request.
func (l *lines) finish(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.open[id]; h != nil {
		delete(l.open, id)
		l.giveBack(h)
	}
	if l.calls--; l.calls == 0 {
		close(l.idle)
	}
}

// giveBack ends a holding. It needs the lock.
func (l *lines) giveBack(h *holding) {
	l.free -= h.free
	l.server.holdings.end(h)
}

// drop is giveBack with the lock.
func (l *lines) drop(h *holding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveBack(h)
}

// endAll ends the connection, with what its requests hold whose answers the client does not get.
func (l *lines) endAll() {
	l.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, h := range l.open {
		delete(l.open, id)
		l.giveBack(h)
	}
}

// take takes memory for a line. The lines of a client that are small cost nothing as long as it has few requests open.
func (l *lines) take(h *holding, size int) error {
	cost := size + callCost
	if size > membudget.Small {
		return h.take(l.ctx, size)
	}
	l.mu.Lock()
	isFree := l.free+cost <= maxFree
	if isFree {
		l.free, h.free = l.free+cost, cost
	}
	l.mu.Unlock()
	if isFree {
		return nil
	}
	return h.take(l.ctx, cost)
}

// answered returns the channel that is closed when all requests are answered.
func (l *lines) answered() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle
}

// readAll reads the messages of all lines, and returns why there are no more.
func (l *lines) readAll() error {
	for {
		line, err := l.line()
		if failure := l.pass(bytes.TrimSpace(line)); failure != nil {
			return failure
		}
		if err != nil {
			return err
		}
	}
}

// line returns the next line. Of one that is too long, it returns the first maxLine+1 bytes.
func (l *lines) line() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxLine+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// pass passes on the messages of a line, and answers what is none. It fails if the client reads no
// answers, or the connection is closed.
func (l *lines) pass(line []byte) error {
	switch {
	case len(line) == 0:
		return nil
	case len(line) > maxLine:
		return l.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is larger than %d MB", maxBody>>20))
	}
	h := newHolding(l.server.host)
	if err := l.take(h, len(line)); err != nil {
		id, _ := idOf(line)
		return l.noRoom(id, err)
	}
	if line[0] != '[' {
		return l.passOne(h, line)
	}
	defer l.drop(h)
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil {
		return l.refuse(nil, jsonrpc.CodeParseError, notJSON)
	} else if len(batch) == 0 {
		return l.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch has no messages")
	}
	for _, text := range batch {
		one := h.part()
		if err := l.take(one, len(text)); err != nil {
			id, _ := idOf(text)
			err = l.noRoom(id, err)
			if err != nil {
				return err
			}
			continue
		}
		if err := l.passOne(one, text); err != nil {
			return err
		}
	}
	return nil
}

// noRoom answers a request for which there is no memory.
func (l *lines) noRoom(id json.RawMessage, err error) error {
	if l.ctx.Err() != nil {
		return io.EOF
	}
	code := jsonrpc.CodeInternalError
	if value.KindOf(err) == value.Limit {
		code = jsonrpc.CodeInvalidRequest
	}
	return l.refuse(id, code, "the message was not read: "+value.ErrorOf(err, value.Busy).Message())
}

// notJSON says what a line is for which no other error fits.
const notJSON = "the line is not JSON: each message must be one line of JSON"

// passOne passes on the message that a text is with its holding, or answers it with an error.
func (l *lines) passOne(h *holding, text []byte) error {
	passed := false
	defer func() {
		if !passed {
			l.drop(h)
		}
	}()
	id, m, err := decode(text)
	switch {
	case err == nil:
	case !json.Valid(text):
		return l.refuse(nil, jsonrpc.CodeParseError, notJSON)
	default:
		return l.refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
	}
	select {
	case l.messages <- heldMessage{m, h}:
		passed = true
		return nil
	case <-l.ctx.Done():
		return io.EOF
	}
}

// decode returns the message in a text, or why it is invalid, with its ID if that is valid. An ID is a string or an
// integer of 64 bits: the SDK changes other numbers, so no client could recognize the answer.
func decode(text []byte) (id json.RawMessage, m jsonrpc.Message, err error) {
	if id, err = idOf(text); err != nil {
		return nil, nil, err
	}
	m, err = jsonrpc.DecodeMessage(text)
	return id, m, err
}

// idOf returns the ID in a text, or why it is invalid.
func idOf(text []byte) (id json.RawMessage, err error) {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(text, &message); err != nil {
		return nil, errors.New("the message is not a JSON object")
	}
	if id = message.ID; len(id) > 0 && id[0] != '"' && string(id) != "null" {
		if _, err := strconv.ParseInt(string(id), 10, 64); err != nil {
			return nil, errors.New("the id of the message must be a string or an integer of 64 bits")
		}
	}
	return id, nil
}

// refuse answers an invalid message. id is nil if it has no valid ID.
func (l *lines) refuse(id json.RawMessage, code int, message string) error {
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	return l.write(jsonOf(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{code, message}}))
}

// write writes a line in one step.
func (l *lines) write(text []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	return err
}
