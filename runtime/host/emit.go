package host

import (
	"context"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// eventTime is the time of an event.
func (h *Host) eventTime() time.Time { return h.now().UTC().Round(0) }

// Emit reports something about the call that a context belongs to: that of a
// handler in Go, or of an effect. With a [tool.Progress] a tool written in Go says
// how far it has come. Run, call, tool and session of the event are those of the
// call; a context that belongs to no call reports nothing. It never blocks, and is
// safe for concurrent use.
func Emit(ctx context.Context, r tool.Report) {
	o, _ := ctx.Value(callKey{}).(*origin)
	if o == nil || r == nil {
		return
	}
	report(o.pass, r)
}

// Subscribed reports whether anybody has subscribed to what [Emit] reports with a
// context, so that pieces of text need not be made for nobody.
func Subscribed(ctx context.Context) bool {
	o, _ := ctx.Value(callKey{}).(*origin)
	return o != nil && subjectOf(o.pass).subscribed()
}

// EmitAnswered reports a call that was answered without being made, as one that
// a model repeats, with its start and its end. It stands below the call that the
// context belongs to; one that belongs to no call reports nothing.
// preview shows the answer, and err is nil where it is a success.
func EmitAnswered(ctx context.Context, c tool.Call, preview string, err *value.Error) {
	o, _ := ctx.Value(callKey{}).(*origin)
	if o == nil {
		return
	}
	c.ID, _ = o.next()
	s := subject{o.pass.run, o.pass, &c}
	s.emit(tool.ToolCallStart{Args: c.Args, Reasoning: c.Reasoning})
	s.emit(tool.ToolCallEnd{Success: err == nil, Preview: preview, Err: err})
}

// next names and places the next call that is made for the origin.
func (o *origin) next() (id string, place tool.Place) {
	n := int(o.made.Add(1))
	if n == 1 {
		return o.id, o.place
	}
	return o.id + "." + strconv.Itoa(n), o.place.Child(0).Child(n) // 0 is no effect's, so this is nobody's
}

// A subject is the call that events are about.
type subject struct {
	run  *run
	pass *pass // the call's; where that is not made yet, the one above it, or nil
	call *tool.Call
}

// subjectOf returns the call as events name it.
func subjectOf(p *pass) subject { return subject{p.run, p, &p.call} }

// event returns an event about the call without its data.
func (s subject) event() tool.Event {
	return tool.Event{Run: s.run.id, Call: s.call.ID, Tool: s.call.Tool, Session: s.session()}
}

// wanted reports whether an event about the call is worth making.
func (s subject) wanted() bool { return s.run.record.Keeps() || s.heard() }

// heard reports whether anybody but the record of the run wants events about the
// call.
func (s subject) heard() bool { return s.watched() || s.subscribed() }

// subscribed reports whether somebody has subscribed to events about the call.
func (s subject) subscribed() bool {
	if !s.run.host.hub.Any() {
		return false
	}
	e := s.event()
	return s.run.host.hub.Wanted(&e)
}

// watched reports whether a program watches the call, or one above it.
func (s subject) watched() bool {
	for p := s.pass; p != nil; p = p.above {
		if p.program != nil && p.program.watch != nil {
			return true
		}
	}
	return false
}

// session returns the agent's session that the call is part of, or "".
func (s subject) session() string {
	for p := s.pass; p != nil; p = p.above {
		if p.program != nil && p.program.session != "" {
			return p.program.session
		}
	}
	return ""
}

// emit reports something about the call: to the programs that watch it, the record
// of the run and the subscribers.
func (s subject) emit(data any) {
	if !s.wanted() {
		return
	}
	e, hub := s.notify(data), &s.run.host.hub
	switch data.(type) {
	case tool.ToolOutput, tool.Progress, tool.Log, tool.Text:
		hub.Deliver(&e)
	default:
		s.run.record.AddEvent(&e, func() { hub.Deliver(&e) })
	}
}

// repeat reports what the record of the run answers, and has recorded before.
func (s subject) repeat(data any) {
	e := s.notify(data)
	s.run.host.hub.Deliver(&e)
}

// notify makes an event, and has the programs see it that watch the call.
func (s subject) notify(data any) tool.Event {
	e := s.event()
	e.Time, e.Data = s.run.host.eventTime(), data
	for p := s.pass; p != nil; p = p.above {
		if p.program != nil && p.program.watch != nil {
			p.program.watch(e)
		}
	}
	return e
}

// emit reports something about the call.
func (p *pass) emit(data any) { subjectOf(p).emit(data) }

// report reports something about the call. What is no tool is not named as one.
func report(p *pass, data any) {
	c := p.call
	if p.program != nil {
		c.Tool = ""
	}
	subject{p.run, p, &c}.emit(data)
}

// A callContext is the context of what is done for a call.
type callContext struct {
	context.Context
	host   *Host
	origin origin // its pass is nil where what is done is no part of a call
}

// callKey finds the origin of a context, of whichever host.
type callKey struct{}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	switch key := key.(type) {
	case originKey:
		if key.host != c.host {
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
