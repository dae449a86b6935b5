package skill

import (
	"fmt"
	"path"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Loaded is a skill with what a model is given of it.
type Loaded struct {
	Skill
	Text  string   // the instructions, after those of the skills that it requires
	Parts []string // the keys of the skills in Text, in order; its own is the last
	Notes []string // what was left out, and what is odd about the files
}

const (
	// maxSkillText is how many bytes of instructions are loaded together: more
	// than any model reads with profit.
	maxText = 1 << 20
	// maxSkillParts is how many skills are loaded together, as a skill that is
	// built on more of them is surely a mistake.
	maxParts = 64
	// maxSkillNotes is how many notes are made. Nobody reads more, and what is
	// required after them is not looked for.
	maxNotes = 50
	// maxSkillHint is how many skills a hint names.
	maxHint = 20
)

// Load finds a skill by its key or its name, and loads it with the skills
// that it requires, each once and before those that require it. In names "-"
// and "_" are the same. What is required and is missing, not right or not
// trusted is left out with a note, and so is what would lead back to itself.
//
// A skill that there is not is NotFound, one of the project that the user does
// not trust is Denied, and one whose file is not right Invalid. An empty root
// means that there is no project.
func Load(root string, o *trust.Scope, name string) (Loaded, error) {
	l := newLoading(root, o)
	s, err := l.find(folder.OneLine(name))
	if err != nil {
		return Loaded{}, err
	}
	main, body, err := l.read(s)
	if err != nil {
		return Loaded{}, err
	}
	l.require(&main)
	l.parts = append(l.parts, part{main.Key, body})
	loaded := Loaded{Skill: main, Text: l.text(), Notes: l.notes}
	for _, p := range l.parts {
		loaded.Parts = append(loaded.Parts, p.key)
	}
	return loaded, nil
}

// A skillLoading is one skill while it is loaded with what it requires.
type loading struct {
	skills []Skill
	broken []*value.Error
	places map[tool.Location]trust.Place
	ledger *trust.Ledger
	byKey  map[string]*Skill   // those that are ready, by the key of their key
	byName map[string][]*Skill // and by the key of a name that is another
	begun  map[string]bool     // by key; true while it is loaded, false after
	bytes  int
	parts  []part
	notes  []string
}

type part struct{ key, body string }

func newLoading(root string, o *trust.Scope) *loading {
	l := &loading{
		ledger: o.Ledger(root), places: map[tool.Location]trust.Place{},
		byKey: map[string]*Skill{}, byName: map[string][]*Skill{}, begun: map[string]bool{},
	}
	l.skills, l.broken = List(root, o)
	for _, place := range o.Places(root, Dir) {
		l.places[place.Location] = place
	}
	for i := range l.skills {
		s := &l.skills[i]
		if s.State != tool.Ready {
			continue
		}
		l.byKey[tool.Key(s.Key)] = s
		if name := tool.Key(s.Name); name != tool.Key(s.Key) {
			l.byName[name] = append(l.byName[name], s)
		}
	}
	return l
}

// find returns the skill of a key or a name. One that can be used comes before
// any that cannot: a stranger's file takes away no skill of the user's.
func (l *loading) find(name string) (*Skill, error) {
	key := tool.Key(name)
	if s := l.byKey[key]; s != nil {
		return s, nil
	}
	switch same := l.byName[key]; {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return nil, value.Errorf(value.Invalid, "two skills are called '%.80s': %s, %s", name, same[0].Key, same[1].Key).
			WithHint("give the name of the file, as in %s", same[0].Key)
	}
	for i := range l.skills {
		if s := &l.skills[i]; s.State == tool.Untrusted && (tool.Key(s.Key) == key || tool.Key(s.Name) == key) {
			return nil, untrusted(name, s.Reason)
		}
	}
	for _, e := range l.broken {
		if stem, ok := strings.CutSuffix(path.Base(e.Pos.File), ".md"); ok && tool.Key(stem) == key {
			return nil, l.notRight(e)
		}
	}
	return nil, l.unknown(name)
}

// untrustedSkill names a skill as it was asked for: what else a stranger calls
// it may be words for a model.
func untrusted(name, reason string) error {
	return value.Errorf(value.Denied, "the skill '%.80s' is untrusted: %s", name, reason).
		WithHint("cassidy trust shows it, and asks; a program sets Options.TrustSource for what is its own")
}

// notRight is the error of using a file that is broken. What is wrong with a
// stranger's file may say what he wants, and this may reach a model.
func (l *loading) notRight(e *value.Error) error {
	if !strings.HasPrefix(e.Pos.File, folder.Name+"/") || l.ledger.OwnProject() {
		return e
	}
	hidden := value.Errorf(value.Invalid, "the file is not right, and nobody has reviewed it").WithHint("cassidy skill list tells what is wrong with it")
	hidden.Pos.File = e.Pos.File
	return hidden
}

func (l *loading) unknown(name string) error {
	var ready []string
	for i := range l.skills {
		if l.skills[i].State == tool.Ready {
			ready = append(ready, l.skills[i].Key)
		}
	}
	e := value.Errorf(value.NotFound, "Unknown skill: %.80s%s", name, value.DidYouMean(name, ready))
	switch n := len(ready) - maxHint; {
	case len(ready) == 0:
		return e.WithHint("there are no skills here; cassidy skill new NAME makes one")
	case n > 0:
		return e.WithHint("skills are %s, and %d more", strings.Join(ready[:maxHint], ", "), n)
	}
	return e.WithHint("skills are %s", strings.Join(ready, ", "))
}

// read reads a skill's file again, with its instructions. It may have changed
// since it was listed, so whether it is trusted is judged by what is read now.
func (l *loading) read(listed *Skill) (s Skill, body string, err error) {
	place, name := l.places[listed.Location], path.Base(listed.Path)
	files, done, err := place.Open()
	if err != nil {
		return Skill{}, "", place.FileError(name, err)
	}
	defer done()
	s, body, err = read(place, files, name)
	switch {
	case err != nil:
		return Skill{}, "", l.notRight(place.FileError(name, err))
	case s.State == tool.Untrusted:
		return Skill{}, "", untrusted(s.Key, s.Reason)
	}
	body = strings.TrimRight(strings.TrimLeft(folder.Plain(body), "\n"), " \t\n")
	if l.bytes+len(body) > maxText {
		return Skill{}, "", value.Errorf(value.Limit, "together they are longer than %d KB", maxText>>10)
	}
	l.bytes += len(body)
	for _, w := range s.Warnings {
		l.note("'%s': %s", s.Key, w)
	}
	if body == "" {
		l.note("'%s': the file holds no instructions", s.Key)
	}
	return s, body, nil
}

// require loads what a skill requires, before the skill itself.
func (l *loading) require(s *Skill) {
	l.begun[s.Key] = true
	for _, name := range s.Requires {
		if len(l.notes) > maxNotes {
			break
		}
		if err := l.dependency(name); err != nil {
			l.note("'%s' requires '%.80s', which is left out: %s", s.Key, name, value.ErrorOf(err, value.Failed).Message())
		}
	}
	l.begun[s.Key] = false
}

// dependency loads a skill that another one requires.
func (l *loading) dependency(name string) error {
	listed, err := l.find(name)
	if err != nil {
		return err
	}
	switch loading, begun := l.begun[listed.Key]; {
	case loading:
		return value.Errorf(value.Invalid, "it requires itself, by way of others or at once")
	case begun:
		return nil
	case len(l.begun) == maxParts:
		return value.Errorf(value.Limit, "more than %d skills are required", maxParts)
	}
	s, body, err := l.read(listed)
	if err != nil {
		return err
	}
	l.require(&s)
	l.parts = append(l.parts, part{s.Key, body})
	return nil
}

func (l *loading) note(format string, args ...any) {
	switch n := len(l.notes); {
	case n < maxNotes:
		l.notes = append(l.notes, fmt.Sprintf(format, args...))
	case n == maxNotes:
		l.notes = append(l.notes, "there is more that is not right, and it is left out")
	}
}

// text joins the parts, the skill itself last. A skill that stands alone is its
// instructions and nothing else.
func (l *loading) text() string {
	last := len(l.parts) - 1
	main := l.parts[last]
	if last == 0 {
		return main.body
	}
	rule := strings.Repeat("=", 70)
	var b strings.Builder
	fmt.Fprintf(&b, "## Referenced Skills\n\n'%s' builds on these skills:\n", main.key)
	for i, p := range l.parts {
		what := "DEPENDENCY"
		if i == last {
			what = "MAIN SKILL"
		}
		fmt.Fprintf(&b, "\n%s\n%s: %s\n%s\n\n%s\n", rule, what, p.key, rule, p.body)
	}
	return strings.TrimRight(b.String(), "\n")
}
