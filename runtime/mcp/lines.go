package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is the limit of a message over standard input, in bytes. It is below that of the SDK, which
// ends the connection.
const maxLine = maxBody - 1<<10

// lines reads the messages of a client, each on a line. It passes on the valid ones, since the SDK ends
// the connection at an invalid one, and answers the others with an error. A batch becomes single messages.
type lines struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of valid messages
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Read reads from valid messages.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil && len(line) == 0 {
			return 0, err
		}
		if err := l.add(line); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
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

// add adds the valid messages of a line to rest, and answers the others. It fails if the client reads no
// answers.
func (l *lines) add(line []byte) error {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil
	case len(line) > maxLine:
		return l.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is larger than %d MB", maxBody>>20))
	case !json.Valid(line):
		return l.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON: each message must be one line of JSON")
	}
	messages := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &messages); err != nil || len(messages) == 0 {
			return l.refuse(nil, jsonrpc.CodeInvalidRequest, "the batch has no messages")
		}
	}
	for _, m := range messages {
		id, err := checkMessage(m)
		if err == nil {
			l.rest = append(append(l.rest, m...), '\n')
		} else if err := l.refuse(id, jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
			return err
		}
	}
	return nil
}

// refuse answers an invalid message. id is nil if it has no valid ID.
func (l *lines) refuse(id json.RawMessage, code int, message string) error {
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	reply := jsonOf(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{code, message}})
	_, err := l.out.Write(append(reply, '\n'))
	return err
}

// checkMessage reports why a message is invalid, and its ID if that is valid. An ID is a string or an
// integer of 64 bits: the SDK changes other numbers, so no client could recognize the answer.
func checkMessage(m json.RawMessage) (id json.RawMessage, err error) {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(m, &message); err != nil {
		return nil, errors.New("the message is not a JSON object")
	}
	if text := message.ID; len(text) > 0 && text[0] != '"' && string(text) != "null" {
		if _, err := strconv.ParseInt(string(text), 10, 64); err != nil {
			return nil, errors.New("the id of the message must be a string or an integer of 64 bits")
		}
	}
	_, err = jsonrpc.DecodeMessage(m)
	return message.ID, err
}

// A lockedWriter writes for several goroutines, each message in one step.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

// Write writes one message.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// Close does nothing: the output belongs to the program.
func (w *lockedWriter) Close() error { return nil }
