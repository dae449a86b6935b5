package mcp

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// talks are the conversations of the clients, by the ID of the session. Requests without a
// session belong to one conversation: after any of them has read untrusted text, the others
// ask before they send or run something.
type talks struct {
	sync.Mutex
	of map[string]context.Context
}

// conversation returns the context of a request, in the conversation of its session.
func (s *Server) conversation(ctx context.Context, client *sdk.ServerSession) context.Context {
	id := client.ID()
	s.talks.Lock()
	defer s.talks.Unlock()
	talk, known := s.talks.of[id]
	if !known {
		if s.talks.of == nil {
			s.talks.of = map[string]context.Context{}
		}
		talk = s.host.Conversation(context.Background())
		s.talks.of[id] = talk
		if id != "" {
			go s.forget(id, client.Wait)
		}
	}
	return within{ctx, talk}
}

// forget forgets the conversation of a session after its end.
func (s *Server) forget(id string, ended func() error) {
	_ = ended() // however it ends
	s.talks.Lock()
	defer s.talks.Unlock()
	delete(s.talks.of, id)
}

// within is a context with the values of another one.
type within struct {
	context.Context
	values context.Context
}

func (w within) Value(key any) any {
	if v := w.Context.Value(key); v != nil {
		return v
	}
	return w.values.Value(key)
}
