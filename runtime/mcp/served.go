package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Document is a text that clients can read: a prompt, which people choose, or a resource.
type Document struct {
	Name        string // of a prompt, or the URI of a resource; unique
	Title       string // for people
	Description string
	Type        string // of a resource: its media type; "" is text/markdown
	// Read returns the text. It is called for each request, concurrently.
	Read func(ctx context.Context) (string, error)
}

// served is what clients can see.
type served struct {
	sync.Mutex
	known   definitions
	begun   bool           // clients have seen something
	changes [3]atomic.Bool // whether the entries of a kind have changed since then
}

// definitions are the texts by which a change of what clients can see is noticed.
type definitions map[entry]string

// An entry is one thing that clients can see. A prompt may have the name of a tool.
type entry struct {
	kind kind
	name string // of a resource: its URI
}

// A kind is what an entry is for clients.
type kind uint8

const (
	aTool kind = iota
	aPrompt
	aResource
)

// upToDate looks for changes before a client lists something, or uses what it has not seen.
func (s *Server) upToDate(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if s.mayBeNew(method, r) {
			if err := s.Update(); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, r)
	}
}

// mayBeNew reports whether a request is about something that may have been added.
func (s *Server) mayBeNew(method string, r sdk.Request) bool {
	switch p := r.GetParams().(type) {
	case *sdk.CallToolParamsRaw:
		return !s.serves(entry{aTool, p.Name})
	case *sdk.GetPromptParams:
		return !s.serves(entry{aPrompt, p.Name})
	case *sdk.ReadResourceParams:
		return !s.serves(entry{aResource, p.URI})
	case *sdk.CompleteParams:
		return p.Ref != nil && !s.serves(entry{aPrompt, p.Ref.Name})
	}
	return strings.HasSuffix(method, "/list")
}

// serves reports whether clients can see an entry.
func (s *Server) serves(e entry) bool {
	s.served.Lock()
	defer s.served.Unlock()
	_, known := s.served.known[e]
	return known
}

// Update makes what clients see that of the host and of the options, and notifies the clients if
// it has changed. The server calls it before clients list something, or use what it does not know; call it
// after [host.Host.Refresh] or [host.Host.Swap], so that clients learn of a change at once.
// The first Update fails if Options.Tools name a tool that is unknown or untrusted. Later, clients
// see the tools that remain.
func (s *Server) Update() error {
	tools, err := s.selected()
	if err != nil {
		return err
	}
	s.served.Lock()
	defer s.served.Unlock()
	now := make(definitions, len(tools))
	for i := range tools {
		s.addTool(now, &tools[i].Tool)
	}
	for _, d := range documents(s.opts.Prompts) {
		if s.changed(now, entry{aPrompt, d.Name}, d.definition()) {
			s.noteChange(aPrompt)
			s.sdk.AddPrompt(d.prompt(), d.getPrompt)
		}
	}
	for _, d := range documents(s.opts.Resources) {
		if s.changed(now, entry{aResource, d.Name}, d.definition()) {
			s.noteChange(aResource)
			s.sdk.AddResource(d.resource(), d.read)
		}
	}
	s.remove(now)
	s.served.known, s.served.begun = now, true
	return nil
}

// addTool adds a tool to what clients see now.
func (s *Server) addTool(now definitions, t *tool.Tool) {
	definition, err := t.Definition(tool.MCP)
	if err != nil {
		return // the host lists the tool as broken
	}
	e := entry{aTool, t.ModelName()} // as clients know it
	if t.Hints.Other[PromptHint] {
		e.kind = aPrompt
	}
	if !s.changed(now, e, value.FormatJSON(definition, "")) {
		return
	}
	s.noteChange(e.kind)
	if e.kind == aPrompt {
		s.sdk.AddPrompt(sdkPrompt(t), s.getPrompt)
	} else {
		s.sdk.AddTool(sdkTool(definition), s.callTool)
	}
}

// changed notes the definition of an entry, unless now has the entry already, and reports whether clients
// have not seen this definition so far.
func (s *Server) changed(now definitions, e entry, definition string) bool {
	if _, taken := now[e]; taken {
		return false
	}
	now[e] = definition
	seen, known := s.served.known[e]
	return !known || seen != definition
}

// remove removes what clients can no longer see.
func (s *Server) remove(now definitions) {
	gone := map[kind][]string{}
	for e := range s.served.known {
		if _, still := now[e]; !still {
			gone[e.kind] = append(gone[e.kind], e.name)
		}
	}
	for kind, names := range gone {
		s.noteChange(kind)
		switch kind {
		case aTool:
			s.sdk.RemoveTools(names...)
		case aPrompt:
			s.sdk.RemovePrompts(names...)
		case aResource:
			s.sdk.RemoveResources(names...)
		}
	}
}

// changeOf returns the kind of the entries that a notification says have changed.
func changeOf(method string) (k kind, ok bool) {
	switch method {
	case "notifications/tools/list_changed":
		return aTool, true
	case "notifications/prompts/list_changed":
		return aPrompt, true
	case "notifications/resources/list_changed":
		return aResource, true
	}
	return 0, false
}

// noteChange notes a change of entries, before the SDK notifies the clients of it.
func (s *Server) noteChange(k kind) {
	if s.served.begun {
		s.served.changes[k].Store(true)
	}
}

// onlyChanges keeps clients from listing everything twice at the beginning: the SDK notifies them of the
// entries that the first Update adds.
func (s *Server) onlyChanges(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if k, ok := changeOf(method); ok && !s.served.changes[k].Load() {
			return nil, nil
		}
		return next(ctx, method, r)
	}
}

// selected returns the tools that clients may see.
func (s *Server) selected() ([]toolset.Info, error) {
	tools, err := s.host.Select(s.opts.Tools...)
	if err != nil && s.isServing() {
		tools, err = host.Operate(s.host).Remaining(s.opts.Tools...), nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(tools, func(t toolset.Info) bool {
		return t.State != toolset.Ready || len(s.opts.Tools) == 0 && t.Location == tool.Builtin
	}), nil
}

// isServing reports whether an Update has succeeded.
func (s *Server) isServing() bool {
	s.served.Lock()
	defer s.served.Unlock()
	return s.served.begun
}

// logTimeout bounds how long a log notification waits for its clients.
const logTimeout = 5 * time.Second

// Warn sends an error to the clients that want log notifications, such as the error of a file that
// Options.Watch of package cassidy reports. It waits for a slow client at most five seconds.
func (s *Server) Warn(ctx context.Context, e *value.Error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	var sending sync.WaitGroup
	for session := range s.sdk.Sessions() {
		sending.Go(func() { // a slow client does not delay the others
			//lint:ignore SA1019 clients of the protocol before 2026-07-28 use it
			_ = session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Logger: "cassidy", Data: e.Error()}) // the client may have gone
		})
	}
	sending.Wait()
}
