package history

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Replay is a [Record] that answers every effect from another record: nothing
// is done, asked or recorded. Calls are made again, since the effects inside
// them are recorded too, and their outcomes are compared.
type Replay struct {
	Record             // what is replayed; it is only read
	changed bool       // a script was replaced
	from    tool.Place // the first step at which the replacement is used

	mu       sync.Mutex
	answered map[string]bool   // the steps whose entries were used
	again    map[string]*Entry // the calls that are made again, by the step at which they are made now
	outcome  Replayed
}

// Replayed is what came of a [Replay].
type Replayed struct {
	Steps int // how many effects the record has answered
	// Differences are the calls with another outcome than the record's. In an
	// exact replay there is at most one, and it ends the replay.
	Differences []Difference
	// Would are writes that a replaced script asked for, and that are not in the
	// record. They were not done.
	Would []tool.Effect
}

// A Difference is a call with another outcome than the record's.
type Difference struct {
	Place     tool.Place
	Call      string
	Was, Is   value.Value
	WasFailed *value.Error // nil for a success
	IsFailed  error
}

// NewReplay returns a replay of a record. changed reports that a script of the run
// was replaced, from a step on; nil is the first one.
func NewReplay(r Record, changed bool, from tool.Place) *Replay {
	return &Replay{Record: r, changed: changed, from: from, answered: map[string]bool{}, again: map[string]*Entry{}}
}

// Outcome returns what came of the replay so far.
func (p *Replay) Outcome() Replayed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome
}

// Forked reports whether a step is at or after the first one at which a
// replaced script is used.
func (p *Replay) Forked(at tool.Place) bool {
	return p.changed && slices.Compare(at, p.from) >= 0
}

// Live implements [Record].
func (p *Replay) Live() bool { return false }

// Keeps implements [Record].
func (p *Replay) Keeps() bool { return false }

// Key implements [Record].
func (p *Replay) Key(tool.Place) string { return "" }

// Recall implements [Record]. An effect that the record cannot answer is an
// error of kind Conflict, unless a replaced script asks for a call or a write.
func (p *Replay) Recall(e tool.Effect, f *tool.Func) (*Entry, Recollection, error) {
	found, known, err := p.Recorded(e.Place)
	if err != nil {
		return nil, Unknown, err
	}
	entry := &found
	known = known && !entry.Intended.IsZero() && entry.Matches(e) == nil
	if !known && p.Forked(e.Place) {
		entry, known = p.elsewhere(e)
	}
	if !known {
		return nil, Unknown, p.unanswered(e, f)
	}
	p.count(entry.Place)
	switch {
	case f.Calls && entry.Err != nil && !p.Forked(e.Place) && !p.began(e.Place):
		return entry, Known, nil // what refused it then may allow it now
	case f.Calls:
		p.mu.Lock()
		p.again[e.Place.String()] = entry
		p.mu.Unlock()
		return nil, Unknown, nil
	case entry.Unknown():
		return nil, Unknown, value.Errorf(value.Conflict, "the record ends in the middle of step %s, %s", e.Place, e.Func)
	}
	return entry, Known, nil
}

// began reports whether a recorded call came as far as its first effect.
func (p *Replay) began(at tool.Place) bool {
	for _, first := range []tool.Place{at.Child(1), at.Child(0).Child(0)} { // the second is that of a handler in Go
		if _, known, err := p.Recorded(first); known || err != nil {
			return true
		}
	}
	return false
}

// Refused returns the error of a call of a tool that is one of several made at a
// step, and that failed before its first effect and without a question: what refused
// it then may allow it now. It is nil for any other call.
func (p *Replay) Refused(at tool.Place, name string) error {
	if len(at) == 0 || p.Forked(at) || p.began(at) {
		return nil
	}
	if own, _, err := p.Recorded(at); err != nil || len(own.Questions) > 0 || !own.Intended.IsZero() { // or an effect of its own
		return nil
	}
	i := at[len(at)-1] - 1
	p.mu.Lock()
	entry := p.again[at[:len(at)-1].String()]
	p.mu.Unlock()
	if entry == nil {
		return nil
	}
	results, _ := entry.Outcome.Value.(value.List)
	if i < 0 || i >= len(results) {
		return nil
	}
	d, _ := results[i].(*value.Dict)
	if d == nil || !d.Has("ok") || d.Bool("ok") {
		return nil
	}
	for k := range value.LastKind + 1 {
		if k.Type() == d.Text("error_type") {
			return value.Errorf(k, "%s", strings.TrimPrefix(d.Text("error"), name+": "))
		}
	}
	return nil
}

func (p *Replay) count(at tool.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := at.String(); !p.answered[name] {
		p.answered[name] = true
		p.outcome.Steps++
	}
}

// maxGap is how many steps in a row may have no entry where an effect is
// searched for: what a call logs takes steps too, 200 at most.
const maxGap = 200

// elsewhere finds the effect of a replaced script where the script has moved it
// to another step of the same call: the first equal one that was not used yet.
func (p *Replay) elsewhere(e tool.Effect) (*Entry, bool) {
	call := e.Place[:max(0, len(e.Place)-1)]
	gap := 0
	for n := 1; gap <= maxGap; n++ {
		entry, ok, err := p.Recorded(call.Child(n))
		if err != nil {
			return nil, false
		}
		if gap++; ok {
			gap = 0
		}
		same := !entry.Intended.IsZero() && entry.Matches(tool.Effect{Func: e.Func, Args: e.Args, Place: entry.Place}) == nil
		p.mu.Lock()
		used := p.answered[entry.Place.String()]
		p.mu.Unlock()
		if same && !used {
			return &entry, true
		}
	}
	return nil, false
}

// unanswered decides what becomes of an effect that the record has no answer for:
// nil where a replaced script may have it done without touching anything.
func (p *Replay) unanswered(e tool.Effect, f *tool.Func) error {
	forked := p.Forked(e.Place)
	switch {
	case forked && f.Calls: // the effects inside it may be recorded
		return nil
	case forked && f.Kind == tool.Write: // it is staged, and never committed
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcome.Would = append(p.outcome.Would, e)
		return nil
	}
	text := value.Clean(e.Func+"("+e.Args.String()+")", maxEffectText)
	if p.changed {
		return value.Errorf(value.Conflict, "the record does not know what comes of step %s: now it is %s", e.Place, text).
			WithHint("the changed script asks for what the run did not do, or for the same with other arguments")
	}
	if entry, known, _ := p.Recorded(e.Place); known && !entry.Intended.IsZero() {
		return entry.Matches(e)
	}
	return value.Errorf(value.Conflict, "the record has nothing at step %s: now it is %s", e.Place, text).
		WithHint("the run had not come further, or the script took another way")
}

// maxEffectText is how much of an effect an error shows, in bytes.
const maxEffectText = 4 << 10

// Intend implements [Record]. It records nothing.
func (p *Replay) Intend(context.Context, Intent) error { return nil }

// Note implements [Record]. It records nothing.
func (p *Replay) Note(context.Context, tool.Place, *value.Dict) error { return nil }

// Ask implements [Record]. It records nothing.
func (p *Replay) Ask(_ context.Context, q Asked) (Asked, error) { return q, nil }

// Identify implements [Record].
func (p *Replay) Identify(q Asked) (Asked, error) { return None{}.Identify(q) }

// Answered implements [Record]. It records nothing.
func (p *Replay) Answered(context.Context, Asked, tool.Answer) error { return nil }

// Answer implements [Record]. What the run has not used is not used.
func (p *Replay) Answer(context.Context, tool.Place, int) (*Answered, error) { return nil, nil }

// Questions implements [Record]. Nobody is asked.
func (p *Replay) Questions(context.Context) ([]Asked, error) { return nil, nil }

// CancelRequested implements [Record].
func (p *Replay) CancelRequested(context.Context) (bool, error) { return false, nil }

// Park implements [Record]. It records nothing.
func (p *Replay) Park(context.Context, string, time.Time) error { return nil }

// End implements [Record]. It records nothing.
func (p *Replay) End(context.Context, string, tool.Outcome, error) error { return nil }

// Close implements [Record].
func (p *Replay) Close() error { return nil }

// Settle implements [Record]: it compares the outcome of a call that was made
// again with the recorded one. Where no script was replaced, a difference is an
// error of kind Conflict.
func (p *Replay) Settle(_ context.Context, at tool.Place, out tool.Outcome, failure error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.again[at.String()]
	if entry == nil || entry.Unknown() {
		return nil
	}
	is := value.ErrorOf(failure, value.Failed)
	sameError := (is == nil) == (entry.Err == nil) && (is == nil || is.Kind == entry.Err.Kind && utf8Text(is.Message()) == entry.Err.Message())
	if sameError && value.Equal(out.Value, entry.Outcome.Value) {
		return nil
	}
	p.outcome.Differences = append(p.outcome.Differences, Difference{
		Place: entry.Place, Call: value.Clean(entry.Func+"("+entry.Args.String()+")", maxEffectText),
		Was: entry.Outcome.Value, Is: out.Value, WasFailed: entry.Err, IsFailed: failure,
	})
	if p.changed {
		return nil
	}
	return value.Errorf(value.Conflict, "step %s came out otherwise than recorded: the record has %s, and now it is %s",
		entry.Place, outcomeText(entry.Outcome.Value, entry.Err), outcomeText(out.Value, is))
}

func outcomeText(v value.Value, err *value.Error) string {
	const most = 200
	if err != nil {
		return "the failure " + strconv.Quote(value.Clean(err.Message(), most))
	}
	return value.Clean(value.FormatJSON(v, ""), most)
}
