package gate

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Emit reports something about the call of a context.
func Emit(ctx context.Context, r tool.Report) {
	o, _ := ctx.Value(callKey{}).(*origin)
	if o == nil || r == nil {
		return
	}
	o.pass.report(r)
}

// Subscribed reports whether anybody has subscribed to what Emit reports.
func Subscribed(ctx context.Context) bool {
	o, _ := ctx.Value(callKey{}).(*origin)
	return o != nil && o.pass.subject().subscribed()
}

// EmitAnswered reports a call that was answered without being made, as one that the call of
// a context has made.
func EmitAnswered(ctx context.Context, c tool.Call, preview string, err *value.Error) {
	o, _ := ctx.Value(callKey{}).(*origin)
	if o == nil {
		return
	}
	c.ID, _ = o.next(c.StepPath)
	s := subject{o.pass.Run, o.pass, &c}
	s.emit(tool.ToolCallStart{Args: c.Args, Reasoning: c.Reasoning})
	s.emit(tool.ToolCallEnd{Success: err == nil, Preview: preview, Err: err})
}

// A subject is the call that events are about.
type subject struct {
	run  *Run
	pass *Pass // of the call; before it has one, that of the call above, or nil
	call *tool.Call
}

// subject returns the call of a pass as the subject of events.
func (p *Pass) subject() subject { return subject{p.Run, p, &p.call} }

// event returns an event about the call without its data.
func (s subject) event() tool.Event {
	return tool.Event{Run: s.run.ID, Call: s.call.ID, Tool: s.call.Tool, Session: s.session()}
}

// hasReaders reports whether anybody gets the events about the call, or the record keeps them.
func (s subject) hasReaders() bool { return s.run.record.Keeps() || s.heard() }

// heard reports whether a program or a subscriber gets the events about the call.
func (s subject) heard() bool { return s.watched() || s.subscribed() }

// subscribed reports whether somebody has subscribed to events about the call.
func (s subject) subscribed() bool {
	if !s.run.gate.Hub.Any() {
		return false
	}
	e := s.event()
	return s.run.gate.Hub.Wanted(&e)
}

// watched reports whether a program watches the call, or one above it.
func (s subject) watched() bool {
	for p := s.pass; p != nil; p = p.above {
		if p.program != nil && p.program.Watch != nil {
			return true
		}
	}
	return false
}

// session returns the agent's session that the call is part of, or "".
func (s subject) session() string {
	for p := s.pass; p != nil; p = p.above {
		if p.program != nil && p.program.Session != "" {
			return p.program.Session
		}
	}
	return ""
}

// emit sends an event about the call to the programs that watch it, to the record of the run
// and to the subscribers.
func (s subject) emit(data any) {
	if !s.hasReaders() {
		return
	}
	e, hub := s.notify(data), s.run.gate.Hub
	switch data.(type) {
	case tool.ToolOutput, tool.Progress, tool.Log, tool.Text, tool.ModelRetry, trace.Profile:
		hub.Deliver(&e)
	default:
		s.run.record.AddEvent(&e, func() { hub.Deliver(&e) })
	}
}

// repeat sends an event again that is in the record of the run already.
func (s subject) repeat(data any) {
	e := s.notify(data)
	s.run.gate.Hub.Deliver(&e)
}

// notify makes an event, and sends it to the programs that watch the call.
func (s subject) notify(data any) tool.Event {
	e := s.event()
	e.Time, e.Data = s.run.gate.EventTime(), data
	for p := s.pass; p != nil; p = p.above {
		if p.program != nil && p.program.Watch != nil {
			p.program.Watch(e)
		}
	}
	return e
}

// emit sends an event about the call.
func (p *Pass) emit(data any) { p.subject().emit(data) }

// emitProfile sends the lines of a call, if they were counted.
func (p *Pass) emitProfile(out tool.Outcome) {
	if out.Lines != nil {
		p.report(trace.Profile{Lines: out.Lines})
	}
}

// report sends an event about the call. The event of a program names no tool.
func (p *Pass) report(data any) {
	c := p.call
	if p.program != nil {
		c.Tool = ""
	}
	subject{p.Run, p, &c}.emit(data)
}
