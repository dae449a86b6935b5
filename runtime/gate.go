package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A gate stands between one call and the world. Each effect passes it in the
// same order: count → grant → begin → do. Each step is an Effector around the
// next, so that what later belongs here (a record before the grant) is one more
// wrapper and no other change.
type gate struct {
	host  *Host
	tool  *tool.Tool
	call  tool.Call
	above *gate // of the call that made this one, or nil
	depth int   // 1 for a call that no tool made
	stage tool.Stage
	wall  wall

	// What somebody is asked, and has said; see approve.go.
	asksChanges bool              // nobody has approved yet that it writes
	declined    error             // what was said to its changes, if no
	settled     map[string]bool   // paths whose changes were approved
	approved    []tool.Capability // for the effect under way
	doing       tool.Effect       // the effect under way, and its context
	doingIn     context.Context
	looking     bool // nobody asked for the call, so nobody is asked about it

	// What all that came of a call has used up; only the first gate counts.
	refusals, tree atomic.Int32

	wrapped  tool.Effector // put together for the first effect
	effects  int           // how many have come, notices among them
	notices  int
	logBytes int
	logLines int
	silenced bool // it has told too much
}

// gate returns the gate of a call, which another may have made.
func (h *Host) gate(t *tool.Tool, c tool.Call, above *gate) *gate {
	g := &gate{host: h, tool: t, call: c, above: above, depth: 1}
	if above != nil {
		g.depth = above.depth + 1
	}
	return g
}

// root returns the gate of the call that no tool made.
func (g *gate) root() *gate {
	for g.above != nil {
		g = g.above
	}
	return g
}

// admit refuses a call that must not be made, whoever makes it and whatever
// its arguments are.
func (g *gate) admit() error {
	err := g.admissible()
	if err != nil && tool.KindOf(err) == tool.Denied {
		return g.refused(decision{what: callItself, place: g.call.Place}, err)
	}
	return err
}

func (g *gate) admissible() error {
	switch t := g.tool; {
	case g.depth > MaxDepth:
		err := tool.Errorf(tool.Limit, "tools call tools more than %d deep", MaxDepth)
		err.Limit = "depth"
		return err
	case t.State == tool.Untrusted:
		return untrusted(t)
	case t.State == tool.NotHere:
		return tool.Errorf(tool.Denied, "the tool '%s' is %s: %s", t.Name, t.State, t.Reason)
	}
	if verdict, r := g.judgeCall(); verdict == tool.Deny {
		return denied("the call of '"+g.tool.Name+"'", r)
	}
	return nil
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
		switch {
		case f.Do == nil: // the host's own: a tool's availability is no matter of other tools
		case f.Class == tool.Recorded, f.Class == tool.Read, f.Class == tool.Notice:
			return g.effect(ctx, e)
		}
	}
	return tool.Outcome{}, tool.Errorf(tool.Denied, "%s is not for finding out whether a tool can be used", e.Func)
}

// counted bounds how often a call may ask. What it tells has bounds of its own.
func (g *gate) counted(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		g.effects++
		most := MaxEffects
		if f := g.host.funcs[e.Func]; f != nil && f.Class == tool.Notice {
			g.notices++
		} else if g.root().tree.Add(1) > MaxTreeEffects {
			most = MaxTreeEffects
		}
		if g.effects-g.notices > MaxEffects || most > MaxEffects {
			err := tool.Errorf(tool.Limit, "the call asked for more than %d effects", most)
			err.Limit = "effects"
			return tool.Outcome{}, err
		}
		return next(ctx, e)
	}
}

// granted refuses what the call may not do.
func (g *gate) granted(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		f, ok := g.host.funcs[e.Func]
		if !ok || f.Internal && f.Class != tool.Recorded {
			err := tool.Errorf(tool.Denied, "there is no effect %s", e.Func)
			return tool.Outcome{}, g.refused(decision{what: e.Func, place: e.Place}, err)
		}
		g.approved = g.approved[:0]
		if f.Target != nil {
			takes, err := targets(f, e)
			if err == nil {
				err = g.permit(ctx, e, takes)
			}
			if err != nil {
				return tool.Outcome{}, g.failed(e, takes, err)
			}
		}
		return next(ctx, e)
	}
}

// targets asks a row which capabilities an effect takes.
func targets(f *tool.Func, e tool.Effect) (takes []tool.Capability, err error) {
	defer recovered(e.Func, &err)
	return f.Target(e.Args)
}

// permit says whether an effect may take what it takes. A rule that asks is
// asked for all of it at once.
func (g *gate) permit(ctx context.Context, e tool.Effect, takes []tool.Capability) error {
	var asked []tool.Capability
	var asks, allows *tool.Rule
	for _, c := range takes {
		if err := g.within(c); err != nil {
			return err
		}
		if c.Name == "tool" {
			continue // the rules about calls are for the call itself
		}
		switch verdict, r := g.judge(c); verdict {
		case tool.Deny:
			return denied(c.String(), r)
		case tool.Ask:
			asked, asks = append(asked, c), r
		case tool.Allow:
			if c.Acts() {
				allows = r
			}
		}
	}
	if asks != nil {
		if g.looking {
			return tool.Errorf(tool.Denied, "a rule asks, and nobody is asked while a tool is looked at: %s", ruleText(asks))
		}
		return g.askEffect(ctx, e, asked, asks)
	}
	if allows != nil {
		g.allowed(decision{what: e.Func, place: e.Place, takes: takes, why: "a rule allows it: " + ruleText(allows)})
	}
	return nil
}

// check says whether the effect under way may also use a capability. What a
// rule wants asked is asked, unless the effect only reads: one that goes
// through a folder would ask about each file, so it gets what has been named
// and approved.
func (g *gate) check(c tool.Capability) error {
	if err := g.within(c); err != nil {
		return err
	}
	switch verdict, r := g.judge(c); verdict {
	case tool.Deny:
		return denied(c.String(), r)
	case tool.Ask:
		if slices.Contains(g.approved, c) {
			return nil
		}
		if g.looking || g.host.funcs[g.doing.Func].Class == tool.Read {
			return tool.Errorf(tool.Denied, "%s is only to be had by its name: %s", c, ruleText(r))
		}
		return g.askEffect(g.doingIn, g.doing, []tool.Capability{c}, r)
	}
	return nil
}

// failed tells of an effect that was refused, and returns its error.
func (g *gate) failed(e tool.Effect, takes []tool.Capability, err error) error {
	switch tool.KindOf(err) {
	case tool.Denied, tool.Security:
		return g.refused(decision{what: e.Func, place: e.Place, takes: takes}, err)
	}
	return err
}

// begun commits what the call has staged before anything outside the project,
// or another call, can look at it.
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
	out, err := g.carryOut(ctx, f, e)
	if f.Class != tool.Notice && g.host.Events.Wanted() {
		d := tool.NewDict("func", e.Func, "place", e.Place.String(), "success", err == nil,
			"wall_ms", float64(time.Since(start).Microseconds())/1000)
		if err != nil {
			d.Put("error", tool.AsError(err, tool.Failed).Message())
		}
		g.host.emit(tool.EffectDone, g.call, d)
	}
	if err != nil && e.Func != toolsCall { // that a call was refused, it tells itself
		err = g.failed(e, nil, err)
	}
	return out, err
}

// carryOut calls the function. One that panics is the tool's failure.
func (g *gate) carryOut(ctx context.Context, f *tool.Func, e tool.Effect) (out tool.Outcome, err error) {
	defer recovered(e.Func, &err)
	if f.Do == nil {
		return g.own(ctx, e)
	}
	g.doing, g.doingIn = e, ctx
	return f.Do(ctx, e, tool.Grant{Call: g.call, Check: g.check, Narrowed: g.narrowed, Stage: &g.stage, Emit: g.tell})
}

// recovered makes a panic of an effect its error.
func recovered(name string, err *error) {
	if p := recover(); p != nil {
		*err = tool.Errorf(tool.Internal, "%s panicked: %v", name, p)
	}
}

// tell brings an event of the call to whoever listens.
func (g *gate) tell(e tool.Event) {
	g.host.emit(e.Type, g.call, e.Data)
}

// commit carries out what the call has staged, if that is approved, at a place
// of its own: before an effect at 3 that is 3.0.
func (g *gate) commit(ctx context.Context, at tool.Place) error {
	if g.stage.Empty() {
		return nil
	}
	if g.host.funcs[commitEffect] == nil {
		return tool.Errorf(tool.Internal, "the host cannot commit writes: it has no %s", commitEffect)
	}
	if err := g.approveChanges(ctx, at); err != nil {
		return err
	}
	_, err := g.done(ctx, tool.Effect{Func: commitEffect, Args: &tool.Dict{}, Place: at})
	return err
}

// commitEffect is the effect that carries out a call's staged writes.
const commitEffect = "fs.commit"
