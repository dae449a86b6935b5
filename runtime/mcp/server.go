//lint:file-ignore SA1019 clients of older versions have logging, sampling and roots.

package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure a server.
type Options struct {
	// Name and Version are those that clients see of the server. Name is "cassidy" if
	// it is empty.
	Name, Version string
	// Instructions explain to the model of a client how to use the tools. They may be empty.
	Instructions string
	// Tools select the tools, in the words of [host.Host.Select]. None selects all tools but
	// the built-in ones, since clients have their own tools for files and commands.
	Tools []string
	// Prompts and Resources return the documents that clients can read, besides the prompts that
	// tools write, see [PromptHint]. They are called when clients list something, not
	// concurrently, and by [Server.Update]. Nil means none.
	Prompts, Resources func() []Document
	// Key seals the states that clients of 2026-07-28 send back with an answer. A state can
	// be used for an hour, and by each server with the same key. Nil makes up a key. It has
	// at least 16 bytes.
	Key []byte
	// AnswerTimeout is how long a call that is in progress waits for the next request of a client of
	// 2026-07-28, or of a task, which brings the answer to a form: see AskingLive of package operate. 0 means ten
	// minutes.
	AnswerTimeout time.Duration
	// Unasked leaves what runs ask people to others, such as the users of a server who may answer: clients get
	// no form of a run, and the call waits. The user of a client is not always somebody who may approve.
	Unasked bool
	// Logger gets messages for operators, without arguments and results. Nil logs nothing.
	Logger *slog.Logger
}

// A Server serves the tools of one host. It is safe for concurrent use, and has any number
// of clients.
type Server struct {
	host   *host.Host
	sdk    *sdk.Server
	opts   Options
	states states
	parked parkedCalls
	served served
	talks  talks
	tasks  tasks
	lives  lives

	holdings holdings
}

// New returns a server for a host. Its tools are looked up when the first client asks for
// them. The host should have a store: without one, a call that needs an answer fails, as
// nothing can wait for it. New fails with kind Invalid for a key that is too short.
func New(h *host.Host, o *Options) (*Server, error) {
	if err := host.Operate(h).Valid(); err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	key := o.Key
	if key == nil {
		key = make([]byte, 32)
		rand.Read(key) // never fails
	}
	if len(key) < 16 {
		return nil, value.Errorf(value.Invalid, "the key of the server has %d bytes, which is too short", len(key)).WithHint("set Options.Key to 16 or more random bytes")
	}
	s := &Server{host: h, opts: *o, states: states{key}, served: served{known: definitions{}}}
	can := &sdk.ServerCapabilities{
		Tools:   &sdk.ToolCapabilities{ListChanged: true},
		Prompts: &sdk.PromptCapabilities{ListChanged: true},
		Logging: &sdk.LoggingCapabilities{},
	}
	if o.Resources != nil { // clients connect before there is one, and ask only a server that declares them
		can.Resources = &sdk.ResourceCapabilities{ListChanged: true}
	}
	can.AddExtension(tasksExtension, nil)
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: cmp.Or(o.Name, "cassidy"), Version: o.Version}, &sdk.ServerOptions{
		Instructions:      o.Instructions,
		Logger:            o.Logger,
		Capabilities:      can,
		CompletionHandler: s.complete,
		// The SDK keeps who has subscribed to a resource; it asks these for permission.
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		SetCacheable:       private,
	})
	s.sdk.AddReceivingMiddleware(s.upToDate)
	s.sdk.AddSendingMiddleware(s.onlyChanges)
	if err := s.registerTasks(); err != nil {
		return nil, err
	}
	s.sdk.AddReceivingMiddleware(s.holds) // around all others
	return s, nil
}

// private bounds how long clients may keep what they have read: a tool may change at any time.
func private(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
	c.TTLMs, c.CacheScope = int((10 * time.Second).Milliseconds()), "private"
}

// SDK returns the server of the SDK, for prompts and resources that a program adds. Tools
// belong to the host.
func (s *Server) SDK() *sdk.Server { return s.sdk }
