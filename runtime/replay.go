package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Replay says how a recorded run is run again from its record alone: nothing
// is done, nobody is asked, and nothing is recorded.
type Replay struct {
	// Program is that of the run, with its ID; its script and arguments are those
	// of the record.
	Program *Program
	// With is a script that takes the place of one of the run's: of the tool of
	// its name, or where Root is set of the program itself. Nil replaces nothing.
	With *tool.Script
	Root bool
	// From is the first step at which With is used.
	From tool.Place
}

// Replayed tells what came of a [Replay].
type Replayed struct {
	Outcome tool.Outcome
	Err     error // of the script, or of the record where Ended is set
	Steps   int   // how many effects the record has answered
	// Differences are the calls that came out otherwise than in the record. In an
	// exact replay there is at most one, and it ends the replay.
	Differences []Difference
	// Would are writes that a replaced script asked for, and that are not in the
	// record. They were not done.
	Would []tool.Effect
	// Ended says that the record had nothing more to answer with.
	Ended bool
	// Used says that With was.
	Used bool
}

// A Difference is a call that came out otherwise than in the record.
type Difference struct {
	Place     tool.Place
	Call      string
	Was, Is   tool.Value
	WasFailed *tool.Error // nil for a success
	IsFailed  error
}

// Replay runs a recorded run again, offline. The error says why it could not
// begin; how it ended is told by the result.
func (h *Host) Replay(ctx context.Context, o Replay) (*Replayed, error) {
	if h.opts.Journal == nil {
		return nil, tool.Errorf(tool.Invalid, "the host has no journal to replay from")
	}
	log, err := h.opts.Journal.Read(ctx, o.Program.ID)
	if err != nil {
		return nil, err
	}
	r := &recording{log: log, pinned: map[string]*pinned{}, replay: &replaying{Replay: o, answered: map[string]bool{}}}
	if err := h.recall(ctx, r, false); err != nil {
		return nil, err
	}
	p := *o.Program
	p.Script, p.Args, p.Resume = log.Script(), log.Run().Args, false
	if o.With != nil && o.Root {
		p.Script, r.replay.out.Used = *o.With, true
	}
	p.record = r
	out, err := h.Run(ctx, &p)
	result := &r.replay.out
	result.Outcome, result.Err = out, err
	if e := tool.ErrorOf(err, tool.Failed); e != nil && e.Limit == tool.LimitRecord {
		result.Ended = true
	}
	return result, nil
}

// A replaying run takes everything from its record.
type replaying struct {
	Replay
	mu       sync.Mutex
	out      Replayed
	answered map[string]bool // places whose record was used
}

// forked reports whether a place is at or behind where another script is used.
func (p *replaying) forked(at tool.Place) bool {
	return p.With != nil && slices.Compare(at, p.From) >= 0
}

// effect answers an effect from the record. Calls are made again, since what
// they do is there too, and compared.
func (p *replaying) effect(ctx context.Context, g *gate, f *tool.Func, e tool.Effect, again tool.Effector) (tool.Outcome, error) {
	entry, known, err := g.root().record.log.Recorded(e.Place)
	if err != nil {
		return tool.Outcome{}, unrecorded(err)
	}
	known = known && !entry.Intended.IsZero() && entry.Matches(e) == nil
	if !known {
		entry, known = p.elsewhere(g, e)
	}
	p.count(entry.Place, known)
	switch {
	case !known && f.Calls && p.forked(e.Place): // what it does may be known
		return again(ctx, e)
	case !known && f.Kind == tool.Write && p.forked(e.Place):
		p.mu.Lock()
		p.out.Would = append(p.out.Would, e)
		p.mu.Unlock()
		return again(ctx, e) // it is staged, and never committed
	case !known:
		return tool.Outcome{}, p.end(g, e)
	case f.Calls && entry.Err != nil && !p.forked(e.Place) && !p.began(g, e.Place):
		return g.answered(f, e, &entry) // what refused it may be another thing now
	case f.Calls:
		out, err := again(ctx, e)
		if open(err) {
			return out, err
		}
		return p.compare(&entry, out, err)
	case entry.Unknown():
		return tool.Outcome{}, unrecorded(tool.Errorf(tool.Conflict, "the record ends in the middle of step %s, %s", e.Place, e.Func))
	}
	if f.Kind != tool.Read && f.Kind != tool.Write { // before which something may have been committed
		_ = p.commit(g, e.Place.Child(0)) // if that failed, so did the effect
	}
	return g.answered(f, e, &entry)
}

// commit gives what the record says of a commit that was refused, or failed.
// Nothing is staged that could be committed.
func (p *replaying) commit(g *gate, at tool.Place) error {
	entry, known, err := g.root().record.log.Recorded(at)
	if err != nil {
		return unrecorded(err)
	}
	if !known || entry.Func != commitEffect || p.forked(at) {
		return nil
	}
	if entry.Err == nil && !entry.Unknown() && g.host.Events.Wanted() {
		g.tellRecorded(&entry)
	}
	return firstError(nil, entry.Err)
}

// began reports whether a call came as far as its first effect.
func (p *replaying) began(g *gate, at tool.Place) bool {
	for n := range 2 { // a handler in Go stands at 0
		if _, known, err := g.root().record.log.Recorded(at.Child(n)); known || err != nil {
			return true
		}
	}
	return false
}

func (p *replaying) count(at tool.Place, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known && !p.answered[at.String()] {
		p.answered[at.String()] = true
		p.out.Steps++
	}
}

// elsewhere finds an effect of a changed script where the script has it now at
// another place: among what the same call did, the first that is the same and
// was not used yet.
func (p *replaying) elsewhere(g *gate, e tool.Effect) (history.Entry, bool) {
	if !p.forked(e.Place) {
		return history.Entry{}, false
	}
	gap := 0 // what a call tells has places too, and no record
	for n := 1; gap <= MaxLogLines; n++ {
		entry, ok, err := g.root().record.log.Recorded(g.call.Place.Child(n))
		if err != nil {
			return history.Entry{}, false
		}
		if gap++; ok {
			gap = 0
		}
		same := !entry.Intended.IsZero() && entry.Matches(tool.Effect{Func: e.Func, Args: e.Args, Place: entry.Place}) == nil
		p.mu.Lock()
		used := p.answered[entry.Place.String()]
		p.mu.Unlock()
		if same && !used {
			return entry, true
		}
	}
	return history.Entry{}, false
}

// end says that the record has nothing for an effect: what it has, and what
// came.
func (p *replaying) end(g *gate, e tool.Effect) error {
	entry, known, _ := g.root().record.log.Recorded(e.Place)
	if p.With != nil {
		return unrecorded(tool.Errorf(tool.Conflict, "the record does not know what comes of step %s: now it is %s", e.Place, clip(e.Func+"("+e.Args.String()+")")).
			WithHint("the changed script asks for what the run did not do, or for the same with other arguments"))
	}
	if known && !entry.Intended.IsZero() {
		return unrecorded(entry.Matches(e))
	}
	return unrecorded(tool.Errorf(tool.Conflict, "the record has nothing at step %s: now it is %s", e.Place, clip(e.Func+"("+e.Args.String()+")")).
		WithHint("the run had not come further, or the script took another way"))
}

// compare compares what came of a call with its record. Where nothing was
// replaced, a difference ends the replay.
func (p *replaying) compare(entry *history.Entry, out tool.Outcome, err error) (tool.Outcome, error) {
	is := tool.ErrorOf(err, tool.Failed)
	sameError := (is == nil) == (entry.Err == nil) && (is == nil || is.Kind == entry.Err.Kind && is.Message() == entry.Err.Message())
	if entry.Unknown() || sameError && tool.Equal(out.Value, entry.Outcome.Value) {
		return out, err
	}
	p.mu.Lock()
	d := Difference{Place: entry.Place, Call: clip(entry.Func + "(" + entry.Args.String() + ")"), Was: entry.Outcome.Value, Is: out.Value, WasFailed: entry.Err, IsFailed: err}
	p.out.Differences = append(p.out.Differences, d)
	p.mu.Unlock()
	if p.With == nil {
		return out, unrecorded(tool.Errorf(tool.Conflict, "step %s came out otherwise than recorded: the record has %s, and now it is %s",
			entry.Place, outcomeText(entry.Outcome.Value, firstError(nil, entry.Err)), outcomeText(out.Value, err)))
	}
	return out, err
}

func outcomeText(v tool.Value, err error) string {
	const most = 200
	if err != nil {
		return "the failure " + fmt.Sprintf("%q", tool.Clean(tool.ErrorOf(err, tool.Failed).Message(), most))
	}
	return tool.Clean(tool.FormatJSON(v, ""), most)
}
