package attached

import (
	"context"
	"maps"
	"reflect"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Exchange replaces the tools of some servers of a host by those of others, in one step, as
// [Server.Register] adds them. A server of to that the host has already stays as it is; its tools that
// could not be added before are tried again. The errors are as those of Register.
//
// The servers of from are retired: calls in progress end normally, and then the server is ended with
// its children. A run that began before may call a tool of a retired server later. If the server of to
// with the same name has the same tool, this one is called; otherwise the call fails with kind
// Unavailable. To wait for the end of a retired server, call its Wait, or its Close to end its calls.
//
// Exchange must not be called concurrently for the same host.
func Exchange(h *host.Host, from, to []*Server) (broken []*value.Error) {
	var remove, names []string
	var add []toolset.InGo
	var of []*Server
	for _, s := range from {
		for _, name := range s.registered() {
			remove = append(remove, name)
		}
	}
	for _, s := range to {
		has := s.registered()
		for _, d := range s.accept.tools {
			if _, known := has[d.Text("name")]; !known {
				add, names, of = append(add, s.goTool(h, d)), append(names, d.Text("name")), append(of, s)
			}
		}
	}
	for i, err := range host.Operate(h).Exchange(remove, add) {
		if err != nil {
			broken = append(broken, value.ErrorOf(err, value.Invalid))
			continue
		}
		of[i].noteRegistered(names[i], add[i].Tool.Name)
	}
	for _, s := range from { // afterwards: no call that begins now finds them
		s.retire(to)
	}
	return broken
}

// registered returns the names of the tools that a host has, by the names that the server has given them.
func (s *Server) registered() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.names)
}

func (s *Server) noteRegistered(own, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names = map[string]string{}
	}
	s.names[own] = name
}

// A servingKey is the key of the server that makes a call, in the context of its handler.
type servingKey struct{}

// goTool returns the tool of a definition for a host, with its handler.
func (s *Server) goTool(h *host.Host, d *value.Dict) toolset.InGo {
	name := d.Text("name")
	t := s.toolOf(d)
	t.Steps = s.steps(h, &t)
	for i := range t.Steps {
		own := t.Steps[i]
		serving := func(ctx context.Context) *tool.Func {
			if now, ok := ctx.Value(servingKey{}).(*Server); ok && now != s {
				return &now.steps(h, &t)[i]
			}
			return &own
		}
		t.Steps[i].Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			return serving(ctx).Do(ctx, e, g)
		}
		if own.Prepare != nil {
			t.Steps[i].Prepare = func(ctx context.Context, e tool.Effect) error { return serving(ctx).Prepare(ctx, e) }
		}
	}
	return toolset.InGo{Tool: t, Foreign: true, Do: func(ctx context.Context, args *value.Dict) (value.Value, error) {
		now, err := s.begin(name)
		if err != nil {
			return nil, err
		}
		defer now.done()
		held := membudget.With(ctx, membudget.TreeOf(ctx)) // the answers, which become the result
		defer held.Leave()
		return now.converse(context.WithValue(held, servingKey{}, now), name, args)
	}}
}

// begin begins a call of a tool, and returns the server that makes it: this one, or the one that has
// replaced it. Call done of that server after the call.
func (s *Server) begin(name string) (*Server, error) {
	for now := s; now != nil; {
		next, begun := now.enter()
		if begun {
			if now != s && !now.same(s, name) {
				now.done()
				return nil, value.Errorf(value.Unavailable, "the tool %s of the server %s has changed since this run began", value.Clean(name, maxShownName), s.opts.Name)
			}
			return now, nil
		}
		now = next
	}
	return nil, value.Errorf(value.Unavailable, "the server %s is no longer attached", s.opts.Name)
}

// enter notes a call. It returns false for a retired server, and the one that has replaced it.
func (s *Server) enter() (next *Server, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return s.next, false
	}
	s.calls++
	return nil, true
}

// done notes the end of a call. The last one ends a retired server.
func (s *Server) done() {
	s.mu.Lock()
	s.calls--
	last := s.retired && s.calls == 0
	s.mu.Unlock()
	if last {
		s.stop()
	}
}

// retire ends the server when its calls have ended. Later calls are made by the server of a list that
// has the same name.
func (s *Server) retire(by []*Server) {
	s.mu.Lock()
	s.retired = true
	for _, next := range by {
		if next != s && next.opts.Name == s.opts.Name {
			s.next = next
		}
	}
	idle := s.calls == 0
	s.mu.Unlock()
	if idle {
		s.stop()
	}
}

// same reports whether a tool is that of another server, apart from its limit of time: what was approved
// for the one is approved for the other.
func (s *Server) same(other *Server, name string) bool {
	mine, theirs := s.definition(name), other.definition(name)
	if mine == nil || theirs == nil {
		return false
	}
	a, b := s.toolOf(mine), other.toolOf(theirs)
	b.Timeout = a.Timeout
	return reflect.DeepEqual(a, b)
}

// definition returns the reviewed definition of a tool, or nil.
func (s *Server) definition(name string) *value.Dict {
	for _, d := range s.accept.tools {
		if d.Text("name") == name {
			return d
		}
	}
	return nil
}
