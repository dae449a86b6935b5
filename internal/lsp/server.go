// Package lsp serves what an editor needs to know about the scripts of a project, over the
// Language Server Protocol. It reads scripts and runs none.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/cassidy-run/cassidy/internal/assist"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
)

// Options configure a server.
type Options struct {
	Version string // of the program
	// Open opens the project of a folder. The folder is "" if the client names none.
	Open func(ctx context.Context, folder string) (*Project, error)
}

// A Project is what a server uses of a project. Its functions are called concurrently.
type Project struct {
	// World returns what is known besides a script.
	World func() *assist.World
	// Check returns the faults of a file with a text.
	Check func(file, text string) []diagnostic.Diagnostic
	// Format returns the text of a file in its canonical layout. It is not called for Lua.
	Format func(file, text string) (string, error)
	// Refresh reads the project again, after a file has changed.
	Refresh func(ctx context.Context)
	// Close ends the use of the project.
	Close func()
}

// concurrency is how many messages are handled in parallel.
const concurrency = 4

// A server serves one client.
type server struct {
	opts      *Options
	ctx       context.Context // ends with the connection
	wire      *wire
	rpc       *jrpc2.Server
	documents documents
	checks    checks

	project  atomic.Pointer[Project]
	shutdown atomic.Bool
	exit     chan struct{} // closed when the client has sent exit
	exits    sync.Once
}

// Serve serves a client until it sends exit, or the input or ctx ends. After exit, it does not wait
// for the end of in, which has to end for all goroutines of Serve to end. [ErrNoShutdown] means that the client has sent exit without
// shutdown before.
func Serve(ctx context.Context, in io.Reader, out io.WriteCloser, o *Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{opts: o, ctx: ctx, wire: newWire(in, out), documents: documents{open: map[string]*document{}}, exit: make(chan struct{})}
	s.checks.wake = make(chan struct{}, 1)
	s.rpc = jrpc2.NewServer(methods{s}, &jrpc2.ServerOptions{
		Concurrency: concurrency, DisableBuiltin: true, NewContext: func() context.Context { return ctx },
	})
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		s.check()
	}()
	ended := make(chan error, 1)
	s.rpc.Start(s.wire)
	go func() { ended <- s.rpc.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	case <-s.exit:
		s.wire.drain()
		if !s.shutdown.Load() {
			err = ErrNoShutdown
		}
	}
	// The server of jrpc2 is not stopped, since it panics if a message arrives at this moment. It ends
	// with the input, and answers nothing until then.
	cancel()
	s.wire.end()
	select {
	case <-checked:
	case <-time.After(patience): // the client does not read what is published
	}
	if p := s.project.Load(); p != nil {
		p.Close()
	}
	return err
}

// patience is how long Serve waits for a check of a file at its end.
const patience = 2 * time.Second

// ErrNoShutdown reports that a client has ended the server without a request shutdown.
var ErrNoShutdown = errors.New("the client has sent exit without shutdown")

// methods finds the handler of a method. It returns one for each method, since each message has
// to be counted.
type methods struct{ *server }

// Assign returns the handler of a method.
func (m methods) Assign(_ context.Context, method string) jrpc2.Handler {
	return func(ctx context.Context, r *jrpc2.Request) (v any, err error) {
		defer func() {
			if cause := recover(); cause != nil { // a fault of the server: the editor continues without this answer
				err = jrpc2.Errorf(jrpc2.InternalError, "%s: %v", method, cause)
			}
		}()
		if r.IsNotification() {
			defer m.wire.done() // a request is done when its response is sent
			if m.ctx.Err() != nil {
				return nil, nil
			}
			m.notification(method, r)
			return nil, nil
		}
		if err := m.refused(method); err != nil {
			return nil, err
		}
		v, err = m.request(ctx, method, r)
		if ctx.Err() != nil {
			return nil, jrpc2.Errorf(requestCancelled, "%s: cancelled", method)
		}
		return v, err
	}
}

// refused returns the error of a request that has no answer in the state of the server.
func (m methods) refused(method string) error {
	initialized := m.project.Load() != nil
	switch {
	case m.ctx.Err() != nil || m.shutdown.Load():
		return jrpc2.Errorf(jrpc2.InvalidRequest, "%s: the server has shut down: send exit", method)
	case method == "initialize" && initialized:
		return jrpc2.Errorf(jrpc2.InvalidRequest, "initialize: the server is already initialized")
	case method != "initialize" && !initialized:
		return jrpc2.Errorf(notInitialized, "%s: the server is not initialized: send initialize first", method)
	}
	return nil
}

// request answers a request.
func (m methods) request(ctx context.Context, method string, r *jrpc2.Request) (any, error) {
	switch method {
	case "initialize":
		return answer(ctx, r, m.initialize)
	case "shutdown":
		m.shutdown.Store(true)
		return nil, nil
	case "textDocument/hover":
		return answer(ctx, r, m.hover)
	case "textDocument/completion":
		return answer(ctx, r, m.completion)
	case "textDocument/signatureHelp":
		return answer(ctx, r, m.signatureHelp)
	case "textDocument/definition":
		return answer(ctx, r, m.definition)
	case "textDocument/documentSymbol":
		return answer(ctx, r, m.symbols)
	case "textDocument/formatting":
		return answer(ctx, r, m.formatting)
	case "textDocument/codeAction":
		return answer(ctx, r, m.codeActions)
	}
	return nil, jrpc2.Errorf(jrpc2.MethodNotFound, "%s: unknown method", method)
}

// notification handles a notification. An invalid one is ignored, as the protocol requires.
func (m methods) notification(method string, r *jrpc2.Request) {
	switch method {
	case "exit":
		m.exits.Do(func() { close(m.exit) })
		return
	case "$/cancelRequest":
		var p cancelParams
		if r.UnmarshalParams(&p) == nil {
			id, _ := json.Marshal(p.ID)
			m.rpc.CancelRequest(string(id))
		}
		return
	}
	if m.project.Load() == nil || m.shutdown.Load() {
		return
	}
	switch method {
	case "textDocument/didOpen":
		notified(r, m.didOpen)
	case "textDocument/didChange":
		notified(r, m.didChange)
	case "textDocument/didClose":
		notified(r, m.didClose)
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		m.project.Load().Refresh(m.ctx)
		m.checks.add(m.documents.all()...)
	}
}

// answer decodes the parameters of a request and answers it.
func answer[P any](ctx context.Context, r *jrpc2.Request, do func(context.Context, *P) (any, error)) (any, error) {
	var p P
	if err := json.Unmarshal(paramsOf(r), &p); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: invalid parameters: %v", r.Method(), err)
	}
	return do(ctx, &p)
}

// notified decodes the parameters of a notification and handles it.
func notified[P any](r *jrpc2.Request, do func(*P)) {
	var p P
	if json.Unmarshal(paramsOf(r), &p) == nil {
		do(&p)
	}
}

// paramsOf returns the parameters of a request in JSON.
func paramsOf(r *jrpc2.Request) []byte {
	if !r.HasParams() {
		return []byte("{}")
	}
	return []byte(r.ParamString())
}

// initialize opens the project.
func (s *server) initialize(ctx context.Context, p *initializeParams) (any, error) {
	folder := pathOf(p.RootURI)
	if len(p.WorkspaceFolders) > 0 {
		folder = pathOf(p.WorkspaceFolders[0].URI)
	}
	project, err := s.opts.Open(s.ctx, folder)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InternalError, "initialize: %v", err)
	}
	if !s.project.CompareAndSwap(nil, project) {
		project.Close()
		return nil, jrpc2.Errorf(jrpc2.InvalidRequest, "initialize: the server is already initialized")
	}
	const fullText = 1
	return &initializeResult{
		ServerInfo: map[string]string{"name": "cassidy", "version": s.opts.Version},
		Capabilities: map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": fullText, "save": map[string]any{}},
			"hoverProvider":              true,
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "\"", "'", ":"}},
			"signatureHelpProvider":      map[string]any{"triggerCharacters": []string{"(", ",", "{"}},
			"definitionProvider":         true,
			"documentSymbolProvider":     true,
			"documentFormattingProvider": true,
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
	}, nil
}

func (s *server) didOpen(p *didOpenParams) {
	t := &p.TextDocument
	if doc := s.documents.put(t.URI, kindOf(t.URI, t.LanguageID), t.Version, t.Text); doc != nil {
		s.checks.add(doc)
	}
}

// didChange replaces a text. Only changes of the complete text are supported, as the server announces.
func (s *server) didChange(p *didChangeParams) {
	n := len(p.ContentChanges)
	if n == 0 || p.ContentChanges[n-1].Range != nil || s.documents.get(p.TextDocument.URI) == nil {
		return
	}
	if doc := s.documents.put(p.TextDocument.URI, "", p.TextDocument.Version, p.ContentChanges[n-1].Text); doc != nil {
		s.checks.add(doc)
	}
}

func (s *server) didClose(p *documentParams) {
	if s.documents.get(p.TextDocument.URI) == nil {
		return
	}
	s.documents.remove(p.TextDocument.URI)
	s.wire.notify("textDocument/publishDiagnostics", &publishParams{URI: p.TextDocument.URI, Diagnostics: []diagnosticItem{}})
}
