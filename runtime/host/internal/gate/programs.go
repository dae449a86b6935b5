package gate

import (
	"context"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Program is the part of a program that tools do not have.
type Program struct {
	Modules []tool.Module     // which only this program may use
	Most    []tool.Capability // see [rights.Rights]
	Review  func(by *tool.Tool, from tool.Location, changes []tool.Change) error
	Reason  func(v value.Value, err error) string // returns why it ended, in one word; or nil
	Session string
	Watch   func(tool.Event)                                                               // or nil
	Within  func(ctx context.Context, effect string) (context.Context, context.CancelFunc) // the context of an effect; or nil
	// Middleware wraps the calls that are made for the program, or is nil.
	Middleware Middleware
	Start      *tool.RunStart // the event with which it begins; nil for none
	End        func(v value.Value, err error) tool.RunEnd
	started    time.Time // when its RunStart was emitted; zero if it was not, or has ended
}

// fn returns the function of an effect that only the program has, or nil.
func (p *Program) fn(name string) *tool.Func {
	module, fn, _ := strings.Cut(name, ".")
	for _, m := range p.Modules {
		if m.Name != module {
			continue
		}
		for i := range m.Funcs {
			if m.Funcs[i].Name == fn {
				return &m.Funcs[i]
			}
		}
	}
	return nil
}

// NewProgram returns the pass of a program, and emits its RunStart. above is the pass of
// the call that runs it, or nil.
func (r *Run) NewProgram(t *Callee, c tool.Call, above *Pass, own *Program) *Pass {
	p := r.newPass(t, c, above)
	p.call.Limits = p.now.Bounds.Of(c, t.Tool)
	p.program, p.rights.Program, p.rights.Most = own, true, own.Most
	if start := own.Start; start != nil {
		own.Start, own.started = nil, time.Now() // a program that waits does not hold it
		p.report(*start)
	}
	return p
}

// Narrow adds rules, which deny or ask, for the program and everything that it calls.
func (p *Pass) Narrow(rules []tool.Rule) {
	if len(rules) > 0 {
		p.rights.Policy = p.rights.Policy.With(rules, p.Run.gate.FileNames)
	}
}

// RunProgram runs a program to its end.
func (p *Pass) RunProgram(ctx context.Context, runner tool.Runner) (tool.Outcome, error) {
	defer p.emitEnd(nil, errPanicked) // no-op if it has ended
	defer p.release()
	ctx = p.within(ctx)
	switch {
	case p.above != nil:
	case p.Run.record.Keeps():
		var out tool.Outcome
		err := p.Run.execute(ctx, func(ctx context.Context) (err error) {
			out, err = p.run(ctx, runner, p.effector())
			p.emitProfile(out)
			out, err = p.endProgram(ctx, out, err)
			return err
		})
		p.emitEnd(nil, err) // if it was not executed
		return out, err
	default:
		ctx = p.wall.Open(ctx)
		defer p.wall.Stop()
		p.Run.gate.Inflight.Watch(&p.wall)
		defer p.Run.gate.Inflight.Forget(&p.wall)
	}
	out, err := p.run(ctx, runner, p.effector())
	p.emitProfile(out)
	return p.endProgram(ctx, out, err)
}

// effector returns what carries out the effects of a program.
func (p *Pass) effector() tool.Effector {
	within := p.program.Within
	if within == nil {
		return p.perform
	}
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		ctx, done := within(ctx, e.Func)
		defer done()
		return p.perform(ctx, e)
	}
}

// endProgram ends the record of a program, or parks its run.
func (p *Pass) endProgram(ctx context.Context, out tool.Outcome, err error) (tool.Outcome, error) {
	if err == nil {
		out.Value, err = p.tool.CheckResult(out.Value)
	}
	if err == nil {
		err = p.call.Limits.CheckResult(out.Value)
	}
	if p.above == nil {
		reason := ""
		if p.program.Reason != nil {
			reason = p.program.Reason(out.Value, err)
		}
		err = p.Run.end(ctx, reason, out, err)
	}
	if err != nil {
		err = p.Run.callError(err, p.above)
	}
	p.emitEnd(out.Value, err) // if it is part of another run
	return out, err
}

// emitEnd emits the RunEnd of a program, once, if its RunStart was emitted.
func (p *Pass) emitEnd(v value.Value, err error) {
	program := p.program
	if program == nil || program.started.IsZero() {
		return
	}
	end := tool.RunEnd{Success: err == nil}
	switch {
	case program.End != nil:
		end = program.End(v, err)
	case err != nil:
		end.Error = value.ErrorOf(err, value.Failed).Message()
	}
	if end.Reason == "" && program.Reason != nil {
		end.Reason = program.Reason(v, err)
	}
	end.Waited = p.waited.sum()
	end.Duration = time.Since(program.started) - end.Waited
	program.started = time.Time{}
	p.report(end)
}
