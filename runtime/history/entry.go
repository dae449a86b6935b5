package history

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Intent is what is about to be done, and where in the run.
type Intent struct {
	Place tool.Place
	Func  string      // "fs.write"
	Args  *value.Dict // complete; all are compared when the run is executed again
	Kind  tool.EffectKind
	// Staged reports that doing it changes nothing yet: nobody waits until the
	// intent is on disk. It is not kept.
	Staged bool
	// Change is, for a write, what is there and what will be, in hashes. It shows
	// whoever finds no outcome which of the two is there. It may be nil.
	Change *value.Dict
}

// An Entry is all that is recorded at one place of a run.
type Entry struct {
	Intent             // zero but for Place if nothing was intended
	Key      string    // NONCE/STEP: the same for each try, for services that do a thing once per key
	Intended time.Time // when; zero means never

	Settled time.Time    // when the outcome was recorded; zero means that none was
	Outcome tool.Outcome // what came of it
	Err     *value.Error // or what failed; the usage is in Outcome

	Questions []Asked       // what was asked at this step, in order
	Notes     []*value.Dict // what was decided at this step, in order
}

// Unknown reports whether the effect may or may not have happened: it was
// intended, and has no outcome.
func (e *Entry) Unknown() bool { return !e.Intended.IsZero() && e.Settled.IsZero() }

// Matches returns nil if an effect is the one that is recorded, and else an
// error of kind Conflict with what was expected and what came.
func (e *Entry) Matches(got tool.Effect) error {
	if e.Intended.IsZero() || e.Func == got.Func && value.Equal(orEmpty(e.Args), orEmpty(got.Args)) {
		return nil
	}
	return value.Errorf(value.Conflict, "step %s is not what was recorded: the record has %s, and now it is %s",
		got.Place, effectText(e.Func, e.Args), effectText(got.Func, got.Args)).
		WithHint("the script took another way than before: it must do the same with the same answers")
}

func orEmpty(d *value.Dict) *value.Dict {
	if d == nil {
		return &value.Dict{}
	}
	return d
}

func effectText(name string, args *value.Dict) string {
	const most = 500 // enough to tell two apart on a screen
	return value.Clean(name+"("+args.String()+")", most)
}

// A step is what is recorded at a place, unread: it is read when it is asked
// for. What this process has added is only counted.
type step struct {
	place   tool.Place
	name    string // the place as a text
	records []record
	progress
}

// A progress is how far a step has come.
type progress struct {
	questions int // how many were asked
	intended  bool
	settled   bool
	answered  bool // the answer to the last one was used
}

// isOpen reports whether the last question of the step waits for an answer.
func (s *step) isOpen() bool { return s.questions > 0 && !s.answered && !s.settled }

// refusal returns why a record of a kind cannot be added, or nil.
func (s *step) refusal(k recordKind) error {
	switch {
	case k == effectSettled && s.settled:
		return errors.New("has an outcome already")
	case k == effectSettled && !s.intended:
		return errors.New("was not intended")
	case k == effectIntended && s.settled:
		return errors.New("is done already")
	}
	return nil
}

// add adds a record that was read.
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

// note counts a record. n is the number of the question that it answers.
func (s *step) note(k recordKind, n int) {
	switch k {
	case effectIntended:
		s.intended = true
	case effectSettled:
		s.settled = true
	case questionAsked: // one that is open is replaced
		s.questions++
		s.answered = false
	case questionAnswered:
		s.answered = s.answered || n == s.questions
	}
}

// entry reads what is recorded. The step is known even where the rest is not.
func (s *step) entry(run *Run, store journal.Store) (Entry, error) {
	e := Entry{Intent: Intent{Place: s.place}, Key: key(run, s.name)}
	var f fields
	for _, r := range s.records {
		f = fields{rest: r.fields, store: store}
		f.raw() // the place
		e.take(run.ID, r.kind, &f)
		if err := f.done(); err != nil {
			return Entry{Intent: Intent{Place: s.place}, Key: e.Key}, damaged(run.ID, "step "+s.name, err)
		}
	}
	return e, nil
}

// take reads a record of the step.
func (e *Entry) take(run string, kind recordKind, f *fields) {
	switch kind {
	case effectIntended:
		p := f.tuple()
		at, i := moment(part[int64](&p)), Intent{Place: e.Place, Func: part[string](&p), Kind: p.kind()}
		f.end(p)
		i.Args, i.Change = f.dict(), f.dict()
		e.begin(i, at)
	case effectSettled:
		p := f.tuple()
		e.Settled = moment(part[int64](&p))
		e.Outcome.Usage = f.usage()
		e.Outcome.Undo = f.undo(&p)
		f.end(p)
		e.Err, e.Outcome.Value = f.failure(), f.value()
	case placeNoted:
		f.time()
		e.Notes = append(e.Notes, orEmpty(f.dict()))
	case questionAsked:
		q := Asked{Place: e.Place}
		n, at := int(f.small(math.MaxInt32)), f.time()
		asked, err := tool.QuestionOf(orEmpty(f.dict()))
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

// begin adds an intent. The answers that were used before it hold for this try
// alone.
func (e *Entry) begin(i Intent, at time.Time) {
	e.Intent, e.Intended = i, at
	for i := range e.Questions {
		e.Questions[i].Spent = e.Questions[i].Answer != nil
	}
}

// undo reads the effect that would take another back, or nil: its function and
// place are the rest of p.
func (f *fields) undo(p *parts) *tool.Effect {
	args := f.dict()
	if len(p.list) == 0 {
		return nil
	}
	name, at := part[string](p), part[string](p)
	place, err := ParsePlace(at)
	if err != nil {
		f.fail(err)
	}
	return &tool.Effect{Func: name, Args: args, Place: place}
}

func key(run *Run, at string) string { return run.Nonce + "/" + at }
