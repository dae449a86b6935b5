package runtime

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A gate stands between one call and the world. Each effect passes it in the
// same order: count → answer from the record → grant → begin → record → do. Each
// step is an Effector around the next.
type gate struct {
	host  *Host
	tool  *tool.Tool
	call  tool.Call
	above *gate // of the call that made this one, or nil
	depth int   // 1 for a call that no tool made
	stage tool.Stage
	wall  wall

	// Of a program; lent is nil where it is a call.
	lent   []tool.Module // what this run alone may ask for
	review func(*tool.Tool, []tool.Change) error
	typed  bool       // a person has typed the call that it makes
	record *recording // of the run, or nil

	// Of the effect under way, as the record has it.
	intended bool                  // it was written down that it begins
	unstaged []tool.Effect         // writes that are answered from the record and not staged
	looked   []look                // what the call has seen of files by its record
	left     map[tool.Value]string // and how it has left those that it wrote, by path
	away     *awayOutcome          // that of the last effect, where it can be tried again later

	// What somebody is asked, and has said; see approve.go.
	asksChanges bool              // nobody has approved yet that it writes
	declined    error             // what was said to its changes, if no
	settled     map[string]bool   // paths whose changes were approved
	approved    []tool.Capability // for the effect under way
	reads       []tool.Capability // what the call may read, as somebody has said
	takes       []tool.Capability // by the effect under way
	lends       bool              // the effect under way is lent to the program
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

// isProgram reports whether what runs is a [Program] and no tool.
func (g *gate) isProgram() bool { return g.lent != nil }

// made returns the gate of the call that all of this is for: that of no tool,
// or of a program.
func (g *gate) made() *gate {
	for g.above != nil && !g.above.isProgram() {
		g = g.above
	}
	return g
}

// lentFunc returns the row of an effect that the run alone has, or nil.
func (g *gate) lentFunc(name string) *tool.Func {
	module, fn, _ := strings.Cut(name, ".")
	for _, m := range g.lent {
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

// fn returns the row of an effect, or nil where there is none.
func (g *gate) fn(name string) *tool.Func {
	if f := g.lentFunc(name); f != nil {
		return f
	}
	return g.host.funcs[name]
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
	r := g.root().record
	switch t := g.tool; {
	case g.depth > MaxDepth:
		return tooDeep()
	case r != nil && r.replay != nil: // it reaches nothing but the record, whatever holds now
		return nil
	case t.State == tool.Untrusted:
		return untrusted(t)
	case t.State == tool.NotHere:
		return tool.Errorf(tool.Denied, "the tool '%s' is %s: %s", t.Name, t.State, t.Reason)
	}
	if verdict, r := g.judgeCall(); verdict == tool.Deny {
		return denied("the call of '"+g.tool.Name+"'", r)
	}
	// A script that calls it declares this before; one for which a handler in
	// Go or a program calls it does not get more that way.
	return g.callersHave(tool.Capability{Name: "tool", Target: g.tool.Name})
}

func tooDeep() error {
	err := tool.Errorf(tool.Limit, "tools call tools more than %d deep", MaxDepth)
	err.Limit = tool.LimitDepth
	return err
}

// effect is the call's Effector.
func (g *gate) effect(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	if g.wrapped == nil {
		g.wrapped = g.counted(g.recorded(g.granted(g.begun(g.begunRecord(g.done)))))
	}
	return g.wrapped(ctx, e)
}

// look is the Effector of a question that nobody asked for, as whether a tool
// can be used here: it may read, and changes nothing.
func (g *gate) look(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	if f := g.fn(e.Func); f != nil {
		switch {
		case f.Do == nil: // the host's own: a tool's availability is no matter of other tools
		case f.Kind == tool.Recorded, f.Kind == tool.Read, f.Kind == tool.Notice:
			return g.effect(ctx, e)
		}
	}
	return tool.Outcome{}, tool.Errorf(tool.Denied, "%s is not for finding out whether a tool can be used", e.Func)
}

// counted bounds how often a call may ask. What it tells has bounds of its own.
func (g *gate) counted(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		g.effects++
		if f := g.fn(e.Func); f != nil && f.Kind == tool.Notice {
			g.notices++
		} else if g.root().tree.Add(1) > MaxTreeEffects {
			return tool.Outcome{}, tooManyEffects(MaxTreeEffects)
		}
		if g.effects-g.notices > MaxEffects && !g.isProgram() {
			return tool.Outcome{}, tooManyEffects(MaxEffects)
		}
		return next(ctx, e)
	}
}

func tooManyEffects(most int) error {
	err := tool.Errorf(tool.Limit, "the call asked for more than %d effects", most)
	err.Limit = tool.LimitEffects
	return err.WithHint("do less in one call: a file that is read in parts takes one for each, and again each time that it is looked through")
}

// granted refuses what the call may not do.
func (g *gate) granted(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		f := g.fn(e.Func)
		if f == nil || f.Internal && f.Kind != tool.Recorded {
			err := tool.Errorf(tool.Denied, "there is no effect %s", e.Func)
			return tool.Outcome{}, g.refused(decision{what: e.Func, place: e.Place}, err)
		}
		g.approved, g.takes, g.lends = g.approved[:0], nil, g.lentFunc(e.Func) != nil
		if f.Target != nil {
			var err error
			if g.takes, err = targets(f, e); err == nil {
				err = g.permit(ctx, e, g.takes)
			}
			if err != nil {
				return tool.Outcome{}, g.failed(e, g.takes, err)
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
			if slices.Contains(g.reads, c) {
				g.approved = append(g.approved, c)
				continue
			}
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
		if g.looking || g.fn(g.doing.Func).Kind == tool.Read {
			return tool.Errorf(tool.Denied, "%s is only to be had by its name: %s", c, ruleText(r))
		}
		return g.askEffect(g.doingIn, g.doing, []tool.Capability{c}, r)
	}
	return nil
}

// failed tells of an effect that was refused, and returns its error.
func (g *gate) failed(e tool.Effect, takes []tool.Capability, err error) error {
	switch tool.KindOf(err) {
	case tool.Denied, tool.Security, tool.Unanswered:
		return g.refused(decision{what: e.Func, place: e.Place, takes: takes}, err)
	}
	return err
}

// begun commits what the call has staged before anything outside the project,
// or another call, can look at it.
func (g *gate) begun(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		switch g.fn(e.Func).Kind {
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
	f := g.fn(e.Func)
	start, takes := time.Now(), g.takes
	out, err := g.carryOut(ctx, f, e)
	if f.Kind != tool.Notice && g.host.Events.Wanted() {
		g.tellDone(e, takes, err, time.Since(start))
	}
	if err != nil && e.Func != toolsCall { // that a call was refused, it tells itself
		err = g.failed(e, nil, err)
	}
	return out, err
}

// tellDone tells that an effect was carried out.
func (g *gate) tellDone(e tool.Effect, takes []tool.Capability, err error, took time.Duration) {
	d := tool.NewDict("func", e.Func, "place", e.Place.String(), "capabilities", capabilityTexts(takes), "success", err == nil,
		"wall_ms", float64(took.Microseconds())/1000)
	if err != nil {
		d.Put("error", tool.ErrorOf(err, tool.Failed).Message())
	}
	g.host.emit(tool.EffectDone, g.call, d)
}

// carryOut calls the function. One that panics is the tool's failure.
func (g *gate) carryOut(ctx context.Context, f *tool.Func, e tool.Effect) (out tool.Outcome, err error) {
	defer recovered(e.Func, &err)
	if f.Do == nil {
		return g.own(ctx, e)
	}
	ctx = g.doneFor(ctx, g.call.ID+"/"+strconv.Itoa(g.effects), e.Place)
	g.doing, g.doingIn = e, ctx
	defer func() { g.doing = tool.Effect{} }()
	if slices.ContainsFunc(g.takes, func(c tool.Capability) bool { return c.Name == "model" }) {
		g.wall.pause() // which takes its time
		defer g.wall.resume()
	}
	grant := tool.Grant{Call: g.call, Check: g.check, Narrowed: g.narrowed, Stage: &g.stage, Emit: g.tell, Ask: g.askFor, Sleep: g.sleep}
	if r := g.root().record; r != nil {
		grant.Key = r.log.Key(e.Place)
	}
	return f.Do(ctx, e, grant)
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
