package history

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Replay is a [Record] that answers every effect from another record: it executes,
// asks and records nothing. Calls are executed again, since the effects inside them are
// recorded too, and their outcomes are compared.
type Replay struct {
	None                  // records nothing
	record  Record        // the replayed record; read-only
	changed bool          // a script was replaced
	from    tool.StepPath // the first step at which the replacement is used

	mu       sync.Mutex
	answered map[string]bool   // the steps whose entries were used
	again    map[string]*Entry // the calls that are executed again, by their current step
	outcome  Replayed
}

// Replayed is the result of a [Replay].
type Replayed struct {
	Steps int // how many effects were answered from the record
	// Differences are the calls with another outcome than recorded. An exact replay
	// ends at the first one.
	Differences []Difference
	// Would are writes of a replaced script that are not in the record. They were not
	// executed.
	Would []tool.Effect
	// Assumed are the effects whose outcomes come from the record, although an earlier step
	// differs and could have changed them, such as a read after another write. With any, the
	// outcome of the replay is not certain.
	Assumed []tool.Effect
}

// A Difference is a call with another outcome than recorded.
type Difference struct {
	StepPath  tool.StepPath
	Call      string
	Was, Is   value.Value
	WasFailed *value.Error // nil: it succeeded
	IsFailed  error
}

// NewReplay returns a replay of a record. changed reports that a script of the run was
// replaced, starting at the step from; nil is the first step.
func NewReplay(r Record, changed bool, from tool.StepPath) *Replay {
	return &Replay{record: r, changed: changed, from: from, answered: map[string]bool{}, again: map[string]*Entry{}}
}

// Outcome returns the result of the replay so far.
func (p *Replay) Outcome() Replayed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome
}

// Forked reports whether a step is at or after the first one that uses a replaced
// script.
func (p *Replay) Forked(at tool.StepPath) bool {
	return p.changed && slices.Compare(at, p.from) >= 0
}

// Run implements [Record].
func (p *Replay) Run() Run { return p.record.Run() }

// Script implements [Record].
func (p *Replay) Script() tool.Script { return p.record.Script() }

// Recorded implements [Record].
func (p *Replay) Recorded(at tool.StepPath) (Entry, bool, error) { return p.record.Recorded(at) }

// Inside implements [Record].
func (p *Replay) Inside(at tool.StepPath) []int { return p.record.Inside(at) }

// Notes implements [Record].
func (p *Replay) Notes() iter.Seq2[*value.Dict, error] { return p.record.Notes() }

// Changes implements [Record].
func (p *Replay) Changes(unknown bool) iter.Seq2[Entry, error] { return p.record.Changes(unknown) }

// Live implements [Record].
func (p *Replay) Live() bool { return false }

// Recall implements [Record]. An effect without a recorded answer is an error of kind
// Conflict, except calls and writes of a replaced script.
func (p *Replay) Recall(e tool.Effect, f *tool.Func) (*Entry, Recollection, error) {
	found, known, err := p.Recorded(e.StepPath)
	if err != nil {
		return nil, Unknown, err
	}
	entry := &found
	known = known && !entry.Intended.IsZero() && entry.matches(e, f) == nil
	if !known && p.Forked(e.StepPath) {
		entry, known = p.elsewhere(e)
	}
	if !known {
		return nil, Unknown, p.unanswered(e, f)
	}
	p.count(entry.StepPath)
	switch {
	case f.MakesCalls() && (notMade(entry) || !p.Forked(e.StepPath) && p.mightSucceed(entry)):
		return entry, Known, nil
	case f.MakesCalls():
		p.mu.Lock()
		p.again[e.StepPath.String()] = entry
		p.mu.Unlock()
		return nil, Unknown, nil
	case entry.Unknown():
		return nil, Unknown, value.Errorf(value.Conflict, "the record ends in the middle of step %s, %s", e.StepPath, e.Func)
	case f.Kind == tool.Read || f.Kind == tool.Repeatable || f.Kind == tool.External:
		p.assume(e)
	}
	return entry, Known, nil
}

// failureOf reports whether a recorded call failed, also one whose error went to a model, and
// whether because of its environment.
func failureOf(e *Entry) (failed, environment bool) {
	d, _ := e.Outcome.Value.(*value.Dict)
	switch {
	case e.Err != nil:
		return true, environmental(e.Err.Kind)
	case d != nil && d.Has("made") && d.Has("success") && !d.Bool("success"):
		return true, environmentalType(d.Text("error_type"))
	}
	return false, false
}

// notMade reports whether a recorded call of a model was not made, such as one whose result the
// model had.
func notMade(e *Entry) bool {
	d, _ := e.Outcome.Value.(*value.Dict)
	return e.Err == nil && d != nil && d.Has("made") && !d.Bool("made")
}

// environmental reports whether calls fail with errors of a kind because of where they run, such
// as for lack of memory: another execution could get further than the record.
func environmental(k value.Kind) bool {
	switch k {
	case value.Limit, value.Timeout, value.Unavailable, value.Canceled:
		return true
	}
	return false
}

// environmentalType is environmental for the type of an error.
func environmentalType(text string) bool {
	for k := range value.LastKind + 1 {
		if environmental(k) && k.Type() == text {
			return true
		}
	}
	return false
}

// assume notes an effect whose recorded outcome an earlier difference could have changed.
func (p *Replay) assume(e tool.Effect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.outcome.Would) > 0 || len(p.outcome.Differences) > 0 {
		p.outcome.Assumed = append(p.outcome.Assumed, e)
	}
}

// handlerStep returns the step of the handler in Go of a call.
func handlerStep(at tool.StepPath) tool.StepPath { return at.Child(0).Child(0) }

// began reports whether a recorded call reached its first effect.
func (p *Replay) began(at tool.StepPath) bool {
	for _, first := range []tool.StepPath{at.Child(1), handlerStep(at)} {
		if _, known, err := p.Recorded(first); known || err != nil {
			return true
		}
	}
	return false
}

// mightSucceed reports whether a recorded call that failed could get further now: it failed
// before its first effect, or because of its environment. Of a handler in Go the record has the
// failure.
func (p *Replay) mightSucceed(e *Entry) bool {
	failed, environment := failureOf(e)
	_, handler, _ := p.Recorded(handlerStep(e.StepPath))
	return failed && (environment && !handler || !p.began(e.StepPath))
}

// Refused returns the recorded error of one of several tool calls at a step, if it failed
// because of its environment, or before its first effect and without a question: the call
// might succeed now. It is nil for any other call.
func (p *Replay) Refused(at tool.StepPath, name string) error {
	if len(at) == 0 || p.Forked(at) {
		return nil
	}
	own, _, err := p.Recorded(at)
	if err != nil || !own.Intended.IsZero() { // it is an effect of its own
		return nil
	}
	began := len(own.Questions) > 0 || p.began(at)
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
	if d == nil || !d.Has("ok") || d.Bool("ok") || began && !environmentalType(d.Text("error_type")) {
		return nil
	}
	for k := range value.LastKind + 1 {
		if k.Type() == d.Text("error_type") {
			return value.Errorf(k, "%s", strings.TrimPrefix(d.Text("error"), name+": ")).WithHint("%s", d.Text("hint"))
		}
	}
	return nil
}

func (p *Replay) count(at tool.StepPath) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := at.String(); !p.answered[name] {
		p.answered[name] = true
		p.outcome.Steps++
	}
}

// maxGap is how many consecutive steps without an entry a search skips: log lines of a
// call take steps too, 200 at most.
const maxGap = 200

// elsewhere finds an effect that a replaced script has moved to another step of the
// same call: the first equal one that was not used yet.
func (p *Replay) elsewhere(e tool.Effect) (*Entry, bool) {
	call := e.StepPath[:max(0, len(e.StepPath)-1)]
	gap := 0
	for n := 1; gap <= maxGap; n++ {
		entry, ok, err := p.Recorded(call.Child(n))
		if err != nil {
			return nil, false
		}
		if gap++; ok {
			gap = 0
		}
		same := !entry.Intended.IsZero() && entry.Matches(tool.Effect{Func: e.Func, Args: e.Args, StepPath: entry.StepPath}) == nil
		p.mu.Lock()
		used := p.answered[entry.StepPath.String()]
		p.mu.Unlock()
		if same && !used {
			return &entry, true
		}
	}
	return nil, false
}

// unanswered handles an effect without a recorded answer. It returns nil if a replaced
// script may execute it without changing anything.
func (p *Replay) unanswered(e tool.Effect, f *tool.Func) error {
	forked := p.Forked(e.StepPath)
	switch {
	case forked && f.MakesCalls(): // the effects inside it may be recorded
		return nil
	case forked && f.Kind == tool.Write: // it is staged, and never committed
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcome.Would = append(p.outcome.Would, e)
		return nil
	}
	text := value.Clean(e.Func+"("+e.Args.String()+")", maxEffectText)
	if p.changed {
		return value.Errorf(value.Conflict, "replay: the record has no outcome of step %s: %s", e.StepPath, text).
			WithHint("replay the original script, or record a new run")
	}
	if entry, known, _ := p.Recorded(e.StepPath); known && !entry.Intended.IsZero() {
		return entry.Matches(e)
	}
	return value.Errorf(value.Conflict, "the record has no step %s, but the script requests %s", e.StepPath, text).
		WithHint("replay the original script, or record a new run")
}

// maxEffectText is how much of an effect an error shows, in bytes.
const maxEffectText = 4 << 10

// Settle implements [Record]. It compares the outcome of a call that was executed again
// with the recorded one. Unless a script was replaced, a difference is an error of kind
// Conflict.
func (p *Replay) Settle(_ context.Context, at tool.StepPath, out tool.Outcome, failure error) error {
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
		StepPath: entry.StepPath, Call: value.Clean(entry.Func+"("+entry.Args.String()+")", maxEffectText),
		Was: entry.Outcome.Value, Is: out.Value, WasFailed: entry.Err, IsFailed: failure,
	})
	if p.changed {
		return nil
	}
	return value.Errorf(value.Conflict, "step %s has a different outcome: recorded %s, got %s",
		entry.StepPath, outcomeText(entry.Outcome.Value, entry.Err), outcomeText(out.Value, is))
}

func outcomeText(v value.Value, err *value.Error) string {
	const most = 200
	if err != nil {
		return "the failure " + strconv.Quote(value.Clean(err.Message(), most))
	}
	return value.Clean(value.FormatJSON(v, ""), most)
}
