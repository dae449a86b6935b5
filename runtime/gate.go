package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A gate stands between one call and the world. Each effect passes it in the
// same order: count → grant → begin → do. Each step is an Effector around the
// next, so that what later belongs here (a record before the grant, an
// approval after it) is one more wrapper and no other change.
type gate struct {
	host  *Host
	tool  *tool.Tool
	call  tool.Call
	stage tool.Stage

	wrapped  tool.Effector // put together for the first effect
	effects  int           // how many have come, notices among them
	notices  int
	logBytes int
	logLines int
	silenced bool // it has told too much
}

func (h *Host) newGate(t *tool.Tool, c tool.Call) *gate {
	return &gate{host: h, tool: t, call: c}
}

// effect is the call's Effector.
func (g *gate) effect(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	if g.wrapped == nil {
		g.wrapped = g.counted(g.granted(g.begun(g.done)))
	}
	return g.wrapped(ctx, e)
}

// look is the Effector of a question that nobody asked for, as whether a tool
// can be used here: it may read, and changes nothing.
func (g *gate) look(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	if f := g.host.funcs[e.Func]; f != nil {
		switch f.Class {
		case tool.Recorded, tool.Read, tool.Notice:
		default:
			return tool.Outcome{}, tool.Errorf(tool.Denied, "%s is not for finding out whether a tool can be used", e.Func)
		}
	}
	return g.effect(ctx, e)
}

// counted bounds how often a call may ask. What it tells has bounds of its own.
func (g *gate) counted(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		g.effects++
		if f := g.host.funcs[e.Func]; f != nil && f.Class == tool.Notice {
			g.notices++
		}
		if g.effects-g.notices > MaxEffects {
			err := tool.Errorf(tool.Limit, "the call asked for more than %d effects", MaxEffects)
			err.Limit = "effects"
			return tool.Outcome{}, err
		}
		return next(ctx, e)
	}
}

// granted refuses what the tool has not declared.
func (g *gate) granted(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		f, ok := g.host.funcs[e.Func]
		if !ok {
			return tool.Outcome{}, tool.Errorf(tool.Denied, "there is no effect %s", e.Func)
		}
		if f.Target != nil {
			targets, err := f.Target(e.Args)
			if err != nil {
				return tool.Outcome{}, err
			}
			for _, c := range targets {
				if err := g.check(c); err != nil {
					return tool.Outcome{}, err
				}
			}
		}
		return next(ctx, e)
	}
}

// check says whether the call may use a concrete capability.
func (g *gate) check(c tool.Capability) error {
	if tool.AllowsAny(g.tool.Needs, c) {
		return nil
	}
	err := tool.Errorf(tool.Denied, "the tool '%s' does not declare that it needs %s", g.tool.Name, c)
	for _, declared := range g.tool.Needs {
		if declared.Name == c.Name {
			return err.WithHint("it declares %s only", declared)
		}
	}
	return err.WithHint("its author can add %q to its needs", c.Name)
}

// begun commits what the call has staged before anything outside the project
// can look at it.
func (g *gate) begun(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		switch g.host.funcs[e.Func].Class {
		case tool.External, tool.Repeatable:
			if err := g.commit(ctx, e.Place.Child(0)); err != nil {
				return tool.Outcome{}, err
			}
		case tool.Notice:
			if !g.mayTell(e.Args) {
				return tool.Outcome{}, nil // the call goes on
			}
		}
		return next(ctx, e)
	}
}

// mayTell bounds what a call tells. The first piece that is too much is
// replaced by a word about it.
func (g *gate) mayTell(args *tool.Dict) bool {
	if g.silenced {
		return false
	}
	g.logLines++
	g.logBytes += len(tool.FormatJSON(args, ""))
	g.silenced = g.logLines > MaxLogLines || g.logBytes > MaxLogBytes
	if g.silenced {
		g.tell(tool.Event{Type: tool.Log, Data: tool.NewDict("message",
			fmt.Sprintf("(what it tells from here on is left out: a call may tell %d pieces and %d KB)", MaxLogLines, MaxLogBytes>>10))})
	}
	return !g.silenced
}

// done carries the effect out. Nobody else calls a Func of the host.
func (g *gate) done(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	f := g.host.funcs[e.Func]
	start := time.Now()
	out, err := f.Do(ctx, e, tool.Grant{Call: g.call, Check: g.check, Stage: &g.stage, Emit: g.tell})
	if f.Class != tool.Notice && g.host.Events.Wanted() {
		d := tool.NewDict("func", e.Func, "place", e.Place.String(), "success", err == nil,
			"wall_ms", float64(time.Since(start).Microseconds())/1000)
		if err != nil {
			d.Put("error", tool.AsError(err, tool.Failed).Message())
		}
		g.host.emit(tool.EffectDone, g.call, d)
	}
	return out, err
}

// tell brings an event of the call to whoever listens.
func (g *gate) tell(e tool.Event) {
	g.host.emit(e.Type, g.call, e.Data)
}

// commit carries out what the call has staged, at a place of its own: before
// an effect at 3 that is 3.0.
func (g *gate) commit(ctx context.Context, at tool.Place) error {
	if g.stage.Empty() {
		return nil
	}
	if g.host.funcs[commitEffect] == nil {
		return tool.Errorf(tool.Internal, "the host cannot commit writes: it has no %s", commitEffect)
	}
	_, err := g.done(ctx, tool.Effect{Func: commitEffect, Args: &tool.Dict{}, Place: at})
	return err
}

// commitEffect is the effect that carries out a call's staged writes.
const commitEffect = "fs.commit"
