package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lingers is how long a server finishes the requests of a client that has closed its end.
const lingers = 10 * time.Second

// ServeStdio serves one client, which writes messages to in and reads them from out, each
// on a line. When the client has closed in, ServeStdio answers the requests that it has got,
// for at most ten seconds, and returns nil. It also returns nil if the client has closed out,
// and the error of ctx when that ends. A line that is not a message, or larger than 16 MB, is answered
// with an error.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &lockedWriter{out: out}
	err := s.sdk.Run(ctx, answering{&sdk.IOTransport{Reader: io.NopCloser(newLines(in, w)), Writer: w}})
	if ctx.Err() == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE)) {
		return nil
	}
	return err
}

// answering is a transport whose connections end only after all requests are answered: a
// script may write its requests to a pipe and close it.
type answering struct{ sdk.Transport }

func (a answering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := a.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &answered{Connection: c, idle: closed()}, nil
}

// closed returns a closed channel.
func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

type answered struct {
	sdk.Connection
	mu   sync.Mutex
	open int           // requests without an answer
	idle chan struct{} // closed while there are none
}

func (a *answered) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := a.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		a.count(1)
	}
	if errors.Is(err, io.EOF) {
		late := time.NewTimer(lingers)
		defer late.Stop()
		select {
		case <-a.answers():
		case <-late.C:
		case <-ctx.Done():
		}
	}
	return m, err
}

func (a *answered) Write(ctx context.Context, m jsonrpc.Message) error {
	err := a.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		a.count(-1)
	}
	return err
}

// count counts the requests without an answer.
func (a *answered) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.open
	a.open += n
	switch {
	case before == 0 && a.open > 0:
		a.idle = make(chan struct{})
	case before > 0 && a.open == 0:
		close(a.idle)
	}
}

// answers returns the channel that is closed when all requests are answered.
func (a *answered) answers() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle
}
