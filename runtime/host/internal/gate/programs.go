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
		report(p, *start)
	}
	return p
}

// Narrow adds rules, which deny or ask, for the program and everything that it calls.
func Narrow(p *Pass, rules []tool.Rule) {
	if len(rules) > 0 {
		p.rights.Policy = p.rights.Policy.With(rules, p.Run.gate.FileNames)
	}
}

// RunProgram runs a program to its end.
func RunProgram(ctx context.Context, g *Pass, runner tool.Runner) (tool.Outcome, error) {
	defer g.program.ended(g, nil, errPanicked) // no-op if it has ended
	defer g.release()
	ctx = g.within(ctx)
	switch {
	case g.above != nil:
	case g.Run.record.Keeps():
		var out tool.Outcome
		err := g.Run.execute(ctx, func(ctx context.Context) (err error) {
			out, err = safely(ctx, g, runner, effector(g))
			profiled(g, out)
			out, err = endProgram(ctx, g, out, err)
			return err
		})
		g.program.ended(g, nil, err) // if it was not executed
		return out, err
	default:
		ctx = g.wall.Open(ctx)
		defer g.wall.Stop()
		g.Run.gate.Inflight.Watch(&g.wall)
		defer g.Run.gate.Inflight.Forget(&g.wall)
	}
	out, err := safely(ctx, g, runner, effector(g))
	profiled(g, out)
	return endProgram(ctx, g, out, err)
}

// effector returns what carries out the effects of a program.
func effector(g *Pass) tool.Effector {
	within := g.program.Within
	if within == nil {
		return g.perform
	}
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		ctx, done := within(ctx, e.Func)
		defer done()
		return g.perform(ctx, e)
	}
}

// endProgram ends the record of a program, or parks its run.
func endProgram(ctx context.Context, g *Pass, out tool.Outcome, err error) (tool.Outcome, error) {
	if err == nil {
		out.Value, err = g.tool.CheckResult(out.Value)
	}
	if err == nil {
		err = g.call.Limits.CheckResult(out.Value)
	}
	if g.above == nil {
		reason := ""
		if g.program.Reason != nil {
			reason = g.program.Reason(out.Value, err)
		}
		err = g.Run.end(ctx, reason, out, err)
	}
	if err != nil {
		err = g.Run.callError(err, g.above)
	}
	g.program.ended(g, out.Value, err) // if it is part of another run
	return out, err
}

// ended emits the RunEnd of a program, once, if its RunStart was emitted.
func (p *Program) ended(g *Pass, v value.Value, err error) {
	if p == nil || p.started.IsZero() {
		return
	}
	end := tool.RunEnd{Success: err == nil}
	switch {
	case p.End != nil:
		end = p.End(v, err)
	case err != nil:
		end.Error = value.ErrorOf(err, value.Failed).Message()
	}
	if end.Reason == "" && p.Reason != nil {
		end.Reason = p.Reason(v, err)
	}
	end.Waited = g.waited.sum()
	end.Duration = time.Since(p.started) - end.Waited
	p.started = time.Time{}
	report(g, end)
}
