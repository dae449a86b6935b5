package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
)

// The limits of what a client sends.
const (
	maxMessage = 4 << 20 // bytes; a script has at most 256 KB, which JSON makes at most six times as long
	maxHeader  = 4 << 10 // bytes of a line of the header
	maxPending = 32      // messages that are being handled
)

// A wire is the connection to a client. It is a channel of jrpc2 that answers by itself what is
// not a message, and receives the next message only while few others are being handled. Garbage
// does not end it.
type wire struct {
	in      *bufio.Reader
	out     channel.Channel
	pending chan struct{} // has an element for each message that is being handled
	stopped chan struct{}
	stop    sync.Once
	mu      sync.Mutex // of out
	isBad   bool       // the input is garbage since the last message
	waits   bool       // the next message is handled after all others
}

func newWire(in io.Reader, out io.WriteCloser) *wire {
	return &wire{
		in:      bufio.NewReaderSize(in, maxHeader),
		out:     channel.LSP(strings.NewReader(""), out),
		pending: make(chan struct{}, maxPending),
		stopped: make(chan struct{}),
	}
}

// Send sends a response.
func (w *wire) Send(message []byte) error {
	w.done()
	return w.write(message)
}

// done ends the handling of a message.
func (w *wire) done() {
	select {
	case <-w.pending:
	default:
	}
}

func (w *wire) write(message []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Send(message)
}

// notify sends a notification.
func (w *wire) notify(method string, params any) {
	message, err := json.Marshal(map[string]any{"jsonrpc": jrpc2.Version, "method": method, "params": params})
	if err == nil {
		_ = w.write(message) // if the client is gone, the input ends too
	}
}

// Close ends the connection.
func (w *wire) Close() error {
	w.end()
	return w.out.Close()
}

// end lets Recv return io.EOF from now on, once the input has another message.
func (w *wire) end() { w.stop.Do(func() { close(w.stopped) }) }

// drain waits until all messages are handled.
func (w *wire) drain() {
	for range maxPending {
		select {
		case w.pending <- struct{}{}:
		case <-w.stopped:
			return
		}
	}
}

// Recv returns the next request or notification. At the end of the input it waits until all
// messages are handled.
func (w *wire) Recv() ([]byte, error) {
	message, err := w.receive()
	if err != nil {
		w.drain()
	}
	return message, err
}

func (w *wire) receive() ([]byte, error) {
	if w.waits {
		w.waits = false
		w.drain()
		for range maxPending {
			w.done()
		}
	}
	for {
		size, err := w.header()
		var invalid invalidError
		switch {
		case errors.As(err, &invalid):
			w.refuse(nil, jrpc2.ParseError, invalid.Error())
			continue
		case err != nil:
			return nil, err
		case size > maxMessage:
			w.refuse(nil, jrpc2.InvalidRequest, fmt.Sprintf("the message has %d bytes, but at most %d are allowed", size, maxMessage))
			if _, err := io.CopyN(io.Discard, w.in, size); err != nil {
				return nil, io.EOF
			}
			continue
		}
		message := make([]byte, size)
		if _, err := io.ReadFull(w.in, message); err != nil {
			return nil, io.EOF // the client has gone in the middle of a message
		}
		if !w.accepts(message) {
			continue
		}
		w.isBad = false
		select {
		case <-w.stopped:
			return nil, io.EOF
		default:
		}
		select {
		case w.pending <- struct{}{}:
			return message, nil
		case <-w.stopped:
			return nil, io.EOF
		}
	}
}

// An invalidError says why a part of the input is not a message.
type invalidError string

func (e invalidError) Error() string { return string(e) }

// header reads the header of a message, and returns the length of the message.
func (w *wire) header() (size int64, err error) {
	size = -1
	for {
		line, err := w.line()
		if err != nil {
			return 0, err
		}
		name, text, ok := strings.Cut(line, ":")
		switch {
		case line == "" && size >= 0:
			return size, nil
		case line == "":
			continue // between messages, or after garbage
		case !ok || strings.ContainsAny(name, " \t{}\"'"):
			return 0, invalidError("invalid header: expected Content-Length: NUMBER")
		case strings.EqualFold(name, "Content-Length"):
			size, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil || size < 0 {
				return 0, invalidError("invalid header: Content-Length is not a number of bytes")
			}
		}
	}
}

// line reads a line of a header. The rest of a line that is too long is discarded.
func (w *wire) line() (string, error) {
	line, err := w.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = w.in.ReadSlice('\n')
		}
		if err != nil {
			return "", io.EOF
		}
		return "", invalidError("invalid header: the line is too long")
	}
	if err != nil {
		return "", io.EOF
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

// accepts reports whether a message is a request or a notification. If it is not, it is answered here.
func (w *wire) accepts(message []byte) bool {
	if bytes.HasPrefix(bytes.TrimLeft(message, " \t\r\n"), []byte("[")) {
		w.refuse(nil, jrpc2.InvalidRequest, "batches are not supported: send one message at a time")
		return false
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(message, &m)
	switch {
	case err != nil && !json.Valid(message):
		w.refuse(nil, jrpc2.ParseError, "the message is not valid JSON")
	case err != nil || m.Version != jrpc2.Version || m.Method != nil && *m.Method == "":
		w.refuse(m.ID, jrpc2.InvalidRequest, "the message is not a request of JSON-RPC 2.0")
	case m.Method != nil:
		w.waits = *m.Method == "initialize" || *m.Method == "shutdown" // they change what the next message means
		return true
	case m.Result == nil && m.Error == nil: // responses are ignored, since the server sends no requests
		w.refuse(m.ID, jrpc2.InvalidRequest, "the message has no method")
	}
	return false
}

// refuse answers what is not a message, once until the next message.
func (w *wire) refuse(id json.RawMessage, code jrpc2.Code, text string) {
	if w.isBad && id == nil {
		return
	}
	w.isBad = id == nil
	if len(id) == 0 || id[0] != '"' && (id[0] < '0' || id[0] > '9') {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": jrpc2.Version, "id": id, "error": map[string]any{"code": int(code), "message": text}})
	if err == nil {
		_ = w.write(answer)
	}
}
