package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
	err := s.sdk.Run(ctx, &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out, messages: make(chan jsonrpc.Message), ended: make(chan struct{}),
		closed: make(chan struct{}), idle: closed(),
	})
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
	in       *bufio.Reader
	messages chan jsonrpc.Message
	ended    chan struct{} // closed after the last message
	err      error         // after ended: why there are no more
	closing  sync.Once
	closed   chan struct{}

	writing sync.Mutex
	out     io.Writer

	mu   sync.Mutex
	open int           // requests without an answer
	idle chan struct{} // closed while there are none
}

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
	select {
	case m := <-l.messages:
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			l.count(1)
		}
		return m, nil
	case <-l.ended:
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if errors.Is(l.err, io.EOF) {
		late := time.NewTimer(lingers)
		defer late.Stop()
		select {
		case <-l.answered():
		case <-late.C:
		case <-ctx.Done():
		}
	}
	return nil, l.err
}

// Write writes a message.
func (l *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := m.(*jsonrpc.Response); ok {
		defer l.count(-1)
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return l.write(text)
}

// Close ends Read. The input and the output belong to the program.
func (l *lines) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// count counts the requests without an answer.
func (l *lines) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.open
	l.open += n
	switch {
	case before == 0 && l.open > 0:
		l.idle = make(chan struct{})
	case before > 0 && l.open == 0:
		close(l.idle)
	}
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
	case line[0] != '[':
		return l.passOne(line)
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil {
		return l.refuse(nil, jsonrpc.CodeParseError, notJSON)
	} else if len(batch) == 0 {
		return l.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch has no messages")
	}
	for _, text := range batch {
		if err := l.passOne(text); err != nil {
			return err
		}
	}
	return nil
}

// notJSON says what a line is for which no other error fits.
const notJSON = "the line is not JSON: each message must be one line of JSON"

// passOne passes on the message that a text is, or answers it with an error.
func (l *lines) passOne(text []byte) error {
	id, m, err := decode(text)
	switch {
	case err == nil:
	case !json.Valid(text):
		return l.refuse(nil, jsonrpc.CodeParseError, notJSON)
	default:
		return l.refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
	}
	select {
	case l.messages <- m:
		return nil
	case <-l.closed:
		return io.EOF
	}
}

// decode returns the message in a text, or why it is invalid, with its ID if that is valid. An ID is a string or an
// integer of 64 bits: the SDK changes other numbers, so no client could recognize the answer.
func decode(text []byte) (id json.RawMessage, m jsonrpc.Message, err error) {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(text, &message); err != nil {
		return nil, nil, errors.New("the message is not a JSON object")
	}
	if id = message.ID; len(id) > 0 && id[0] != '"' && string(id) != "null" {
		if _, err := strconv.ParseInt(string(id), 10, 64); err != nil {
			return nil, nil, errors.New("the id of the message must be a string or an integer of 64 bits")
		}
	}
	m, err = jsonrpc.DecodeMessage(text)
	return id, m, err
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
