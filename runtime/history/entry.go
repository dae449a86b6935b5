package history

import (
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An Intent says what is about to be done, and where in the run.
type Intent struct {
	Place tool.Place
	Func  string     // "fs.write"
	Args  *tool.Dict // complete; compared whole when the run is executed again
	Kind  tool.EffectKind
	// Staged says that doing it changes nothing yet: so nobody need wait until the
	// intent is on disk. It is not kept.
	Staged bool
	// Change says, of a write, what is there and what will be, in hashes: what
	// whoever finds no outcome needs to see which of the two there is. Nil means
	// nothing to tell.
	Change *tool.Dict
}

// An Entry is all that is recorded at one place of a run.
type Entry struct {
	Intent             // but for Place zero if there is none
	Key      string    // RUN/PLACE: the same for each try, for services that do a thing once per key
	Intended time.Time // when; zero means never

	Settled time.Time    // when the outcome was recorded; zero means that none was
	Outcome tool.Outcome // what came of it
	Err     *tool.Error  // or what failed; the usage stands in Outcome

	Question *Question    // what was asked at this place, or nil
	Answer   tool.Value   // what was answered: a bool or a string
	Answered time.Time    // when; zero means not yet
	Notes    []*tool.Dict // what was decided at this place, in order
}

// Unknown reports whether the effect may or may not have happened: it was
// intended, and has no outcome.
func (e *Entry) Unknown() bool { return !e.Intended.IsZero() && e.Settled.IsZero() }

// Matches returns nil if an effect is the one that is recorded, and else an
// error of kind Conflict that says what was expected and what came.
func (e *Entry) Matches(got tool.Effect) error {
	if e.Intended.IsZero() || e.Func == got.Func && tool.Equal(orEmpty(e.Args), orEmpty(got.Args)) {
		return nil
	}
	return tool.Errorf(tool.Conflict, "step %s is not what was recorded: the record has %s, and now it is %s",
		got.Place, effectText(e.Func, e.Args), effectText(got.Func, got.Args)).
		WithHint("the script took another way than before: it must do the same with the same answers")
}

func orEmpty(d *tool.Dict) *tool.Dict {
	if d == nil {
		return &tool.Dict{}
	}
	return d
}

func effectText(name string, args *tool.Dict) string {
	const most = 500 // enough to tell two apart on a screen
	return tool.Clean(name+"("+args.String()+")", most)
}

// A Question is what a run waits for: somebody's word, or a time.
type Question struct {
	Place   tool.Place
	Text    string     // what is asked, for people
	Confirm bool       // only yes or no will do
	Until   time.Time  // a sleep: the run goes on by itself then; zero is none
	Data    *tool.Dict // what else whoever asks wants to keep, or nil
	Asked   time.Time  // set when it is recorded
}

// A step is what is recorded at a place, unread: it is read when it is asked
// for. What this process has added is only counted.
type step struct {
	place     tool.Place
	records   []record
	intended  bool
	settled   bool
	questions int
	answer    *answer
}

var errTwice = errors.New("more than one outcome")

// add takes in a record.
func (s *step) add(r record) error {
	switch {
	case r.kind == effectSettled && s.settled:
		return errTwice
	case r.kind == effectSettled && !s.intended:
		return errors.New("an outcome of nothing")
	case r.kind == effectIntended && s.settled:
		return errors.New("an intent after its outcome")
	}
	s.note(r.kind)
	s.records = append(s.records, r)
	return nil
}

func (s *step) note(k recordKind) {
	switch k {
	case effectIntended:
		s.intended = true
	case effectSettled:
		s.settled = true
	case questionAsked:
		s.questions++
	}
}

// entry reads what is recorded. The place is known even where the rest is not.
func (s *step) entry(run string, blobs blobReader) (Entry, error) {
	e := Entry{Intent: Intent{Place: s.place}, Key: key(run, s.place)}
	for _, r := range s.records {
		f := &fields{rest: r.fields, blobs: blobs}
		f.raw() // the place
		switch r.kind {
		case effectIntended:
			p := f.tuple()
			e.Intended, e.Func, e.Kind = moment(part[int64](&p)), part[string](&p), p.kind()
			f.end(p)
			e.Args, e.Change = f.dict(), f.dict()
		case effectSettled:
			p := f.tuple()
			e.Settled, e.Outcome.Usage = moment(part[int64](&p)), p.usage()
			e.Outcome.Undo = f.undo(&p)
			f.end(p)
			e.Err, e.Outcome.Value = f.failure(), f.value()
		case placeNoted:
			f.time()
			e.Notes = append(e.Notes, orEmpty(f.dict()))
		case questionAsked:
			q := &Question{Place: s.place, Asked: f.time(), Text: field[string](f), Confirm: field[bool](f), Until: f.time(), Data: f.dict()}
			e.Question = q
		}
		if err := f.done(); err != nil {
			return Entry{Intent: Intent{Place: s.place}, Key: e.Key}, damaged(run, "step "+s.place.String(), err)
		}
	}
	if s.answer != nil {
		if s.answer.err != nil {
			return Entry{Intent: Intent{Place: s.place}, Key: e.Key}, damaged(run, "the answer at step "+s.place.String(), s.answer.err)
		}
		e.Answer, e.Answered = s.answer.value, s.answer.at
	}
	return e, nil
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

func key(run string, p tool.Place) string { return run + "/" + p.String() }
