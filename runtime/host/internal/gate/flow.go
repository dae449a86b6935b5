package gate

import (
	"cmp"
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Within makes the run one of the conversation in a context, which knows what was read before, and has it
// hold memory in the tree of the context, if there is one.
func (r *Run) Within(ctx context.Context) *Run {
	if m := taint.Of(ctx); m != nil {
		r.marks = m
	}
	if t := membudget.TreeOf(ctx); t != nil && t.Of(r.gate.Memory) {
		r.held = t
	}
	return r
}

// NoteSources records what the conversation of a new run has read, for when the run is resumed
// without it.
func (r *Run) NoteSources(ctx context.Context) error {
	for _, s := range r.marks.Before(nil) {
		if err := r.note(ctx, nil, s.Dict()); err != nil {
			return err
		}
	}
	return nil
}

// Conversation returns the context of a conversation that has read nothing.
func Conversation(ctx context.Context) context.Context { return taint.With(ctx, &taint.Marks{}) }

// AddSources adds to the conversation of a context what a recorded run has read, by its notes.
func AddSources(ctx context.Context, notes []*value.Dict) {
	if m := taint.Of(ctx); m != nil {
		m.AddNotes(notes)
	}
}

// addSource notes in a run that untrusted text was read.
func (r *Run) addSource(ctx context.Context, s taint.Source) error {
	if !r.record.Live() || !r.marks.Add(s) || !r.record.Keeps() {
		return nil
	}
	return r.note(context.WithoutCancel(ctx), s.At, s.Dict())
}

// chosen returns the call that a model chose, and that this one is or is made for: one of a
// model, or one of a program that a model wrote. It is nil if only people and their scripts chose.
func (p *Pass) chosen() *Pass {
	for ; p != nil; p = p.above {
		if p.program == nil && (p.call.Caller == tool.ByModel || p.byModelProgram()) {
			return p
		}
	}
	return nil
}

// byModelProgram reports whether a program makes the call that a model wrote for a call of its own.
// A person can run a program too.
func (p *Pass) byModelProgram() bool {
	by := p.above
	return by != nil && by.program != nil && by.call.Caller == tool.ByModel && by.above.chosen() != nil
}

// readBefore returns the untrusted texts that the model had read when it chose the call, or nil
// if the call was approved with them. note is for an effect that writes a note, which the question
// about the call did not show.
func (p *Pass) readBefore(note bool) []taint.Source {
	by := p.chosen()
	if by == nil || p.consent.probe {
		return nil
	}
	for q := p; ; q = q.above {
		if q.consent.informed && !note {
			return nil
		}
		if q == by {
			return p.Run.marks.Before(by.call.StepPath)
		}
	}
}

// steersCall returns the untrusted texts that the model had read when it chose a call that may be
// a sink, or nil. What another program says of its tool, such as that it only reads, does not make the
// tool harmless: it gets the text that the model has composed.
func (p *Pass) steersCall() []taint.Source {
	sink := taint.MaySink(p.tool.Tool, p.tool.Location == tool.Embedded)
	if !sink && !p.tool.Foreign {
		return nil
	}
	read := p.readBefore(false)
	if read == nil || sink {
		return read
	}
	by, marks := p.chosen(), p.Run.marks
	if !marks.Composed(p.tool.Tool, p.call.Args) || by != p && !marks.Composed(by.tool.Tool, by.call.Args) {
		return nil
	}
	return read
}

// steers is steersCall for an effect that is a sink and was not approved in this call.
func (s *step) steers() []taint.Source {
	p := s.of
	if !taint.IsSink(p.tool.Tool, s.fn, s.effect.Args, s.takes) || p.consent.sinks[s.functionKey()] {
		return nil
	}
	read := p.readBefore(slices.Contains(s.takes, taint.Notes))
	if by := p.chosen(); read != nil && p.Run.marks.Known(s.effect.Args, s.takes, taint.Choice{Tool: by.tool.Tool, Args: by.call.Args}) {
		return nil
	}
	return read
}

// mark notes what an effect has read, if that is untrusted. Its error can quote what was read.
// mark returns this error, or that of the record.
func (s *step) mark(ctx context.Context, out tool.Outcome, err error) error {
	p := s.of
	what := p.Run.sources.Read(p.Run.marks, s.fn, s.effect, s.takes, out, err)
	if what == "" || p.trusts() || p.Run.leavesOpen(err) {
		return err
	}
	source := taint.Source{At: s.effect.StepPath, Tool: p.tool.Name, What: what, Sum: taint.Sum(s.effect.Args, s.takes)}
	return cmp.Or(p.Run.addSource(ctx, source), err)
}

// markResult notes that the model gets the result or the error of a call, if that is untrusted.
// It returns the error, or that of the record.
func (p *Pass) markResult(ctx context.Context, err error) error {
	lists, t := p.Run.sources, p.tool.Tool
	returns := taint.ReturnsUntrusted(t, p.tool.Location == tool.Embedded) || lists.DistrustsTool(t)
	if !returns || p.Run.leavesOpen(err) || p.trusts() {
		return err
	}
	if failure := p.Run.addSource(ctx, taint.Source{At: p.call.StepPath, Tool: t.Name}); failure != nil {
		return failure
	}
	return err
}

// trusts reports whether the user trusts what the tool, or one that called it, reads.
func (p *Pass) trusts() bool {
	for ; p != nil && p.program == nil; p = p.above {
		if p.Run.sources.TrustsTool(p.tool.Tool) {
			return true
		}
	}
	return false
}
