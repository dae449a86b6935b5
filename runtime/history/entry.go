package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Intent is an effect that is about to be executed.
type Intent struct {
	StepPath tool.StepPath
	Func     string      // "fs.write"
	Args     *value.Dict // complete; all are compared when the run is executed again
	Kind     tool.EffectKind
	// Staged reports that the execution changes nothing yet, so the intent need not be
	// durable first. It is not recorded.
	Staged bool
	// Sync reports that the effect can find out itself what an interrupted try has done,
	// as long as nothing is cleaned up: the intent is durable when Intend returns, of
	// whatever kind, and the outcome when Settle returns. It is not recorded.
	Sync bool
	// Costly reports that the outcome is not free, such as the reply of a model: it is durable
	// when Settle returns, and so is a note when Note returns. It is not recorded.
	Costly bool
	// Change has the hashes before and after a write. If the outcome is missing, it
	// shows whether the write happened. It may be nil.
	Change *value.Dict
}

// An Entry is the record of one step of a run.
type Entry struct {
	Intent             // zero except StepPath if there is no intent
	Key      string    // NONCE/STEP: the same for each try; an idempotency key for services
	Intended time.Time // zero: never
	Tries    int       // how often it was intended

	Settled time.Time    // when the outcome was recorded; zero: never
	Outcome tool.Outcome // the outcome, or zero
	Err     *value.Error // the error; the usage is in Outcome

	Questions []Asked       // the questions of this step, in order
	Notes     []*value.Dict // the decisions at this step, in order
}

// Unknown reports whether the effect has an intent but no outcome: it may or may not have happened.
func (e *Entry) Unknown() bool { return !e.Intended.IsZero() && e.Settled.IsZero() }

// noteNotDone is the name in the note of a try that was surely not carried out.
const noteNotDone = "not_done"

// NotDone returns the note that a try of an effect was surely not carried out: the first is 1.
func NotDone(try int) *value.Dict { return value.NewDict(noteNotDone, int64(try)) }

// NotDone reports whether the last try of the effect was surely not carried out.
func (e *Entry) NotDone() bool {
	return slices.ContainsFunc(e.Notes, func(n *value.Dict) bool { return e.Tries > 0 && n.Int(noteNotDone) == int64(e.Tries) })
}

// Matches returns nil if an effect is the recorded one. Otherwise it returns an error
// of kind Conflict with both effects.
func (e *Entry) Matches(got tool.Effect) error {
	if e.Intended.IsZero() || e.Func == got.Func && value.Equal(e.Args.OrEmpty(), got.Args.OrEmpty()) {
		return nil
	}
	return value.Errorf(value.Conflict, "step %s differs from the record: recorded %s, got %s",
		got.StepPath, effectText(e.Func, e.Args), effectText(got.Func, got.Args)).
		WithHint("make the script deterministic: with the same results, it must make the same calls")
}

// matches is Matches for an effect of a function. A parameter that the function did not have
// when the effect was recorded has its default.
func (e *Entry) matches(got tool.Effect, f *tool.Func) error {
	if f == nil || e.Args == nil || got.Args == nil {
		return e.Matches(got)
	}
	args := &value.Dict{}
	for k, v := range got.Args.All() {
		isNew := slices.ContainsFunc(f.Params, func(p tool.Param) bool { return p.HasDefault && k == p.Name && value.Equal(v, p.Default) })
		if name, ok := k.(string); ok && (!isNew || e.Args.Has(name)) {
			args.Put(name, v)
		}
	}
	got.Args = args
	return e.Matches(got)
}

func effectText(name string, args *value.Dict) string {
	const most = 500 // enough to distinguish two on a screen
	return value.Clean(name+"("+args.String()+")", most)
}

// A step is the undecoded record of a place. It is decoded on demand. Records that this
// process has added are only counted.
type step struct {
	place   tool.StepPath
	name    string // the place as a text
	records []record
	progress
}

// A progress is the progress of a step.
type progress struct {
	questions int // the number of questions
	intended  bool
	settled   bool
	answered  bool // the answer to the last question was used
	sync      bool // the outcome must be durable when it is recorded, see [Intent.Sync] and [Intent.Costly]
	acts      bool // it is in progress, and must not be interrupted
}

// isOpen reports whether the last question of the step is open.
func (s *step) isOpen() bool { return s.questions > 0 && !s.answered && !s.settled }

// refusal returns why a record of a kind cannot be added, or nil.
func (s *step) refusal(k recordKind) error {
	switch {
	case k == effectSettled && s.settled:
		return errors.New("already has an outcome")
	case k == effectSettled && !s.intended:
		return errors.New("has no intent")
	case k == effectIntended && s.settled:
		return errors.New("already has an outcome")
	}
	return nil
}

// add adds a record that was read from the store.
func (s *step) add(r record) error {
	if err := s.refusal(r.kind); err != nil {
		return fmt.Errorf("step %s %w", s.place, err)
	}
	n := 0
	if r.kind == questionAnswered {
		f := &fields{rest: r.fields}
		f.raw() // the place
		if n = int(f.small(math.MaxInt32)); f.err != nil {
			return f.err
		}
	}
	s.note(r.kind, n)
	if s.records == nil {
		s.records = make([]record, 0, 2) // most steps have an intent and an outcome
	}
	s.records = append(s.records, r)
	return nil
}

// note counts a record. For an answer, n is the number of its question.
func (s *step) note(k recordKind, n int) {
	switch k {
	case effectIntended:
		s.intended = true
	case effectSettled:
		s.settled = true
	case questionAsked: // an open question is replaced
		s.questions++
		s.answered = false
	case questionAnswered:
		s.answered = s.answered || n == s.questions
	}
}

// isWrite reports whether an earlier process has recorded the intent of a write.
func (s *step) isWrite() bool {
	for _, r := range s.records {
		if r.kind == effectIntended {
			f := &fields{rest: r.fields}
			f.raw() // the place
			var h intentHead
			if f.unpack(&h); f.err == nil && h.Kind == tool.Write {
				return true
			}
		}
	}
	return false
}

// entry decodes the records of a step. If that fails, the entry still has the place.
func (s *step) entry(run *Run, store journal.Store) (Entry, error) {
	e := Entry{Intent: Intent{StepPath: s.place}, Key: key(run, s.name)}
	var f fields
	for _, r := range s.records {
		f = fields{rest: r.fields, store: store}
		f.raw() // the place
		e.take(run.ID, r.kind, &f)
		if err := f.done(); err != nil {
			return Entry{Intent: Intent{StepPath: s.place}, Key: e.Key}, damaged(run.ID, "step "+s.name, err)
		}
	}
	return e, nil
}

// take adds a record to the entry.
func (e *Entry) take(run string, kind recordKind, f *fields) {
	switch kind {
	case effectIntended:
		var h intentHead
		if f.unpack(&h); !h.Kind.Valid() {
			f.fail(errRecord)
		}
		e.begin(Intent{StepPath: e.StepPath, Func: h.Func, Kind: h.Kind, Args: f.dict(), Change: f.dict()}, moment(h.At))
	case effectSettled:
		var h outcomeHead
		f.unpack(&h)
		e.Settled, e.Outcome.Usage = moment(h.At), h.Usage
		e.Outcome.Undo = f.undo(h.Undo)
		e.Err, e.Outcome.Value = f.failure(), f.value()
	case placeNoted:
		f.time()
		e.Notes = append(e.Notes, f.dict().OrEmpty())
	case questionAsked:
		q := Asked{StepPath: e.StepPath}
		n, at := int(f.small(math.MaxInt32)), f.time()
		asked, err := tool.QuestionOf(f.dict().OrEmpty())
		q.Question, q.Data = asked, f.dict()
		if q.identify(run, n, at); err != nil || n != len(e.Questions)+1 {
			f.fail(errRecord)
		}
		e.Questions = append(e.Questions, q)
	case questionAnswered:
		n := f.small(int64(len(e.Questions)))
		a, err := readAnswer(f.value())
		if err != nil || n == 0 {
			f.fail(errRecord)
			return
		}
		e.Questions[n-1].Answer = a
	}
}

// begin adds an intent. The answers that were used before it apply only to this try.
func (e *Entry) begin(i Intent, at time.Time) {
	e.Intent, e.Intended, e.Tries = i, at, e.Tries+1
	for i := range e.Questions {
		e.Questions[i].Spent = e.Questions[i].Answer != nil
	}
}

// undo reads the effect that would undo another one, or nil.
func (f *fields) undo(h *undoHead) *tool.Effect {
	args := f.dict()
	if h == nil {
		return nil
	}
	at, err := ParseStepPath(h.StepPath)
	if err != nil {
		f.fail(err)
	}
	return &tool.Effect{Func: h.Func, Args: args, StepPath: at}
}

func key(run *Run, at string) string { return run.Nonce + "/" + at }
