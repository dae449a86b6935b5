package attached

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// maxLine is the limit of one message of a server, in bytes: media of [value.MaxMedia] as
	// base64, and text beside them.
	maxLine = 16 << 20
	// maxUnasked is how many bytes a server may write to each of its outputs for one request. A
	// server that writes without end is ended.
	maxUnasked = 4 * maxLine
	// lineCost counts for each line besides its bytes, since reading it takes time.
	lineCost = 1 << 10
	// maxStderr is how much of the last error output an error shows, in bytes.
	maxStderr = 1 << 10
	// maxQueued is how many messages may wait until the server reads them.
	maxQueued = 256
	// probeTimeout is how long a server may take to refuse the request server/discover, which
	// older servers do not know. It is then asked as those are.
	probeTimeout = 10 * time.Second
)

// listChanged is the notification of a server that its tools have changed.
const listChanged = "notifications/tools/list_changed"

// A process is a server that is a program, as a connection of the SDK.
type process struct {
	name  string
	lines chan []byte   // that the server has written
	queue chan []byte   // for the server
	input io.Closer     // of the server
	end   func()        // ends the program
	ended chan struct{} // closed when it has ended
	err   error         // why, after ended
	stop  chan struct{} // closed by Close
	once  sync.Once

	changed *atomic.Bool               // the server says that its tools have changed
	explain func(output string) string // see Options.Explain

	out, errs output

	mu      sync.Mutex
	waiting map[jsonrpc.ID]waiting // the requests without an answer
	newest  int64                  // the ID of the last request
	wrong   *value.Error           // an answer that nobody asked for, or nil
}

// A waiting is a request that waits for its answer.
type waiting struct {
	ctx  context.Context
	way  *sending
	call bool // of a tool
}

// startProcess starts a program. It runs until ctx ends, or Close is called. running counts it
// until it has ended.
func startProcess(ctx context.Context, o *Options, running *sync.WaitGroup, changed *atomic.Bool) *process {
	ctx, end := context.WithCancel(ctx)
	input, toInput := io.Pipe()
	p := &process{
		name: o.Name, lines: make(chan []byte, 16), queue: make(chan []byte, maxQueued), input: input, end: end,
		ended: make(chan struct{}), stop: make(chan struct{}), changed: changed, explain: o.Explain,
		waiting: map[jsonrpc.ID]waiting{},
	}
	p.out.line = p.received
	spec := o.Process
	spec.Stdin, spec.Stdout, spec.Stderr = input, &p.out, &p.errs
	running.Go(func() {
		exit, err := o.Launch(ctx, &spec)
		p.err = p.exited(exit, err)
		close(p.ended)
		end()
		_ = input.Close()
	})
	go p.send(toInput) // ends with the program
	return p
}

// send passes messages to the program.
func (p *process) send(to *io.PipeWriter) {
	defer to.Close()
	for {
		select {
		case line := <-p.queue:
			if _, err := to.Write(line); err != nil {
				return
			}
		case <-p.ended:
			return
		case <-p.stop:
			return
		}
	}
}

// received takes a line of the program. It waits until the line is read, so a server that writes
// faster than it is read has to wait.
func (p *process) received(line []byte) error {
	if line = p.admit(line); line != nil {
		line = bounded(line)
	}
	if line == nil {
		return nil
	}
	select {
	case p.lines <- line:
		return nil
	case <-p.stop:
		return errClosed
	}
}

// maxOwn is the limit of a message that is not an answer, in bytes.
const maxOwn = 1 << 20

// roomTime is how long an answer waits for memory. What follows it waits too, and may be what somebody waits for who holds the
// memory.
const roomTime = 30 * time.Second

// admit takes memory for a message, if it is large, in the scope of the request that it answers. It returns the message, or
// nil for one that nobody waits for, or the error that replaces it.
func (p *process) admit(line []byte) []byte {
	if len(line) <= membudget.Small {
		return line
	}
	id, isAnswer := answeredBy(line)
	if !isAnswer {
		if len(line) > maxOwn {
			return nil
		}
		return line
	}
	p.mu.Lock()
	w, known := p.waiting[id]
	delete(p.waiting, id)
	p.mu.Unlock()
	if !known || w.ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, roomTime)
	defer cancel()
	answer := incoming{way: w.way}
	if err := answer.to(ctx, int64(len(line))); err != nil {
		return refused(line, err)
	}
	return line
}

// asked returns an error for the answer to a request that was never made, and ends the program: the one that
// was meant would wait for nothing.
func (p *process) asked(id jsonrpc.ID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, isNumber := id.Raw().(int64)
	if isNumber && n <= p.newest {
		return nil // it may be late, or a second one
	}
	p.wrong = value.Errorf(value.Failed, "the server %s answered a request that was not made: %s", p.name, value.Clean(fmt.Sprint(id.Raw()), maxShownName))
	_ = p.Close()
	return p.wrong
}

// note notes that a request waits for its answer, and forgets those that wait no longer.
func (p *process) note(ctx context.Context, r *jsonrpc.Request, way *sending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[r.ID] = waiting{ctx, way, r.Method == "tools/call"}
	if n, ok := r.ID.Raw().(int64); ok {
		p.newest = max(p.newest, n)
	}
	calls := int64(0)
	for id, w := range p.waiting { // few: those with small answers, and those in progress
		switch {
		case w.ctx.Err() != nil:
			delete(p.waiting, id)
		case w.call:
			calls++
		}
	}
	p.out.calls.Store(calls)
}

var errClosed = errors.New("the connection is closed")

// exited describes how a program ended.
func (p *process) exited(exit int, err error) error {
	p.mu.Lock()
	wrong := p.wrong
	p.mu.Unlock()
	if wrong != nil {
		return wrong
	}
	hint := ""
	e := value.Errorf(value.Unavailable, "the server %s ended with exit code %d", p.name, exit)
	switch {
	case errors.Is(err, errClosed):
		e = value.Errorf(value.Unavailable, "the server %s was stopped", p.name)
	case err != nil:
		own := value.ErrorOf(err, value.Failed)
		what := "the server " + p.name + " ended"
		if own.Kind == value.Unavailable {
			what = "start the server " + p.name
		}
		e, hint = value.Errorf(own.Kind, "%s: %w", what, err), own.Hint
	case exit != 0:
		hint = "if the program could not use a file or open a connection, allow this with read, write or network in its entry in mcp.json"
	}
	last := p.errs.last()
	if exit > 0 && err == nil && p.explain != nil {
		if why := p.explain(last); why != "" {
			hint, last = why, lastLines(last)
		}
	}
	if last != "" {
		e = value.Errorf(e.Kind, "%w: %s", e, last)
	}
	return e.WithHint("%s", hint)
}

// maxLines is how many lines of an error output are shown that a hint explains.
const maxLines = 3

// lastLines returns the last lines of a text.
func lastLines(text string) string {
	lines := strings.Split(text, "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-maxLines):], "\n"))
}

// Read implements [sdk.Connection].
func (p *process) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var line []byte
		select {
		case line = <-p.lines:
		default:
			select {
			case line = <-p.lines:
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-p.stop:
				return nil, io.EOF
			case <-p.ended:
				select {
				case line = <-p.lines:
				default:
					return nil, io.EOF
				}
			}
		}
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil {
			continue // what is not a message is not an answer either
		}
		switch m := m.(type) {
		case *jsonrpc.Request:
			if m.Method == listChanged {
				p.changed.Store(true) // here, so that it is known before the answers that follow
			}
		case *jsonrpc.Response:
			if err := p.asked(m.ID); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
}

// Write implements [sdk.Connection]. It does not wait for the program.
func (p *process) Write(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	way := new(sending)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		way = sendingOf(ctx)
		p.note(ctx, r, way)
		p.out.allow()
		p.errs.allow()
		if r.Method == "server/discover" {
			p.probed(r.ID)
		}
	}
	way.kept.Store(true)
	select {
	case <-p.ended:
		return io.ErrClosedPipe
	case p.queue <- append(line, '\n'):
		way.kept.Store(false) // even if the program does not read it any more
		return nil
	default:
		p.Close()
		return value.Errorf(value.Unavailable, "the server %s does not read its input", p.name)
	}
}

// probed answers the first request for a server that ignores it, as old ones should not.
func (p *process) probed(id jsonrpc.ID) {
	answer, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer"}})
	if err != nil {
		return
	}
	go func() {
		timer := time.NewTimer(probeTimeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			_ = p.received(answer) // an answer to an answered request is dropped
		case <-p.ended:
		case <-p.stop:
		}
	}()
}

// Close implements [sdk.Connection]. It ends the program, and does not wait for that.
func (p *process) Close() error {
	p.once.Do(func() {
		close(p.stop)
		p.end()
	})
	return nil
}

// SessionID implements [sdk.Connection].
func (p *process) SessionID() string { return "" }

// Connect implements [sdk.Transport].
func (p *process) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// An output takes what a program writes, which may be anything, and without end.
type output struct {
	line    func(line []byte) error // gets each line; nil keeps only the end of the text
	written atomic.Int64            // how many bytes since the last request
	calls   atomic.Int64            // how many calls waited for their answers at the last request: each allows as many bytes

	mu   sync.Mutex
	rest []byte // the beginning of a line, or the last text
}

// allow begins a request.
func (o *output) allow() { o.written.Store(0) }

// Write implements [io.Writer]. An error ends the program.
func (o *output) Write(b []byte) (int, error) {
	if o.written.Add(int64(len(b)+bytes.Count(b, []byte("\n"))*lineCost)) > maxUnasked*max(1, o.calls.Load()) {
		return 0, value.Limitf(value.LimitResult, "the server wrote more than %d MB or %d lines for one request", maxUnasked>>20, maxUnasked/lineCost)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line == nil {
		o.rest = append(o.rest, b[max(0, len(b)-maxStderr):]...)
		o.rest = append(o.rest[:0], o.rest[max(0, len(o.rest)-maxStderr):]...)
		return len(b), nil
	}
	for text := b; len(text) > 0; {
		line, after, found := bytes.Cut(text, []byte("\n"))
		text = after
		if len(o.rest)+len(line) > maxLine {
			return 0, value.Limitf(value.LimitResult, "the server wrote a message of more than %d MB", maxLine>>20)
		}
		o.rest = append(o.rest, line...)
		if !found {
			break
		}
		complete := o.rest
		o.rest = nil
		if err := o.line(complete); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// last returns the last text, on one line.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return value.Clean(string(bytes.TrimSpace(o.rest)), maxStderr)
}
