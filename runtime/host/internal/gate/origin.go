package gate

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// originKey is the key of the [origin] in a [callContext] of a gate.
type originKey struct{ gate *Gate }

// An origin is what makes calls: an effect of a call, or the handler of a tool in Go.
type origin struct {
	pass *Pass
	id   string        // of the first call that it makes
	at   tool.StepPath // of that call
	made atomic.Int32  // the number of calls and steps so far
	step sync.Mutex    // held during a step of a handler
}

// contextFor returns the context of an effect or a handler. id and at are those of the first
// call that is made with it.
func (p *Pass) contextFor(ctx context.Context, id string, at tool.StepPath) context.Context {
	return &callContext{Context: ctx, gate: p.Run.gate, origin: origin{pass: p, id: id, at: at}}
}

// origin returns the origin of a context, or nil.
func (g *Gate) origin(ctx context.Context) *origin {
	o, _ := ctx.Value(originKey{g}).(*origin)
	return o
}

// InCall reports whether a context is that of an effect or a handler.
func (g *Gate) InCall(ctx context.Context) bool { return g.origin(ctx) != nil }

// StepOf returns the step of the call whose effect or handler has a context, and the ID of its run,
// or nil. The ID is "" if the run is not recorded.
func (g *Gate) StepOf(ctx context.Context) (run string, at tool.StepPath) {
	o := g.origin(ctx)
	if o == nil {
		return "", nil
	}
	if r := o.pass.Run; r.record.Keeps() {
		run = r.ID
	}
	return run, o.pass.call.StepPath
}

// EnterCall returns the pass of the call that makes c, by the context of c, or nil for a root
// call. It sets the ID and the step of c if they are missing, and stops the clock of the
// caller until done is called. The first call that an effect makes is at the step of the
// effect. A call with a step directly below has an ID with the number of this step, whatever
// the order in which parallel calls are made.
func (g *Gate) EnterCall(ctx context.Context, c *tool.Call) (above *Pass, done func()) {
	o := g.origin(ctx)
	if o == nil {
		if c.ID == "" {
			c.ID = g.nextID()
		}
		return nil, func() {}
	}
	id, at := o.next(c.StepPath)
	if c.ID == "" {
		c.ID = id
	}
	if c.StepPath == nil {
		c.StepPath = at
	}
	o.pass.wall.Pause()
	return o.pass, o.pass.wall.Resume
}

// next returns the ID and the step of the next call that the origin makes. chosen is the step
// that the caller has chosen, or nil.
func (o *origin) next(chosen tool.StepPath) (id string, at tool.StepPath) {
	if len(chosen) == len(o.at)+1 {
		return o.id + "." + strconv.Itoa(chosen[len(o.at)]), chosen
	}
	n := int(o.made.Add(1))
	if n == 1 {
		return o.id, o.at
	}
	return o.id + "." + strconv.Itoa(n), o.at.Child(0).Child(n) // no effect is at 0, so the step is free
}

// A callContext is the context of an effect or a handler.
type callContext struct {
	context.Context
	gate   *Gate
	origin origin // without a pass in a check of availability, which is not part of a call
}

// callKey is the key of the origin in a [callContext] of any gate.
type callKey struct{}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	switch key := key.(type) {
	case originKey:
		if key.gate != c.gate {
			break
		}
		return c.found()
	case callKey:
		return c.found()
	}
	return c.Context.Value(key)
}

func (c *callContext) found() *origin {
	if c.origin.pass == nil {
		return nil
	}
	return &c.origin
}
