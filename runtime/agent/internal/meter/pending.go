package meter

import (
	"cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Pending is what a function of a policy that is in progress has used, as far as it is not
// recorded. The zero value is nothing, without a record. It is not safe for concurrent use.
type Pending struct {
	used *Usage
	Note func(*value.Dict) error // records a fact about the function; nil without a record
}

// Begin returns what a function has used that begins now. note records a fact about it.
func Begin(note func(*value.Dict) error) Pending { return Pending{Note: note} }

// Count adds a request.
func (p *Pending) Count(u Usage) {
	if p.used == nil {
		p.used = &Usage{}
	}
	p.used.Add(u)
}

// Take returns what the function has used, for its outcome, and clears it.
func (p *Pending) Take() *value.Dict {
	u := p.used
	p.used = nil
	return u.Record()
}

// Keep records what the function has used as a note, which counts even if the function has no
// outcome: it fails, or its process dies in its next request. It returns err, or the error of the
// record.
func (p *Pending) Keep(err error) error {
	if p.used == nil || p.used.Requests == 0 || p.Note == nil {
		return err
	}
	d := p.used.Note()
	p.used = nil
	return cmp.Or(p.Note(d), err)
}

// Change records the ceilings of a meter that the record of the run does not have yet.
func (p *Pending) Change(m *Meter) error {
	if p.Note == nil {
		return nil
	}
	if changed := m.Change(); changed != nil {
		return p.Note(changed)
	}
	return nil
}
