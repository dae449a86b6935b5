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

// A Loaded is a skill with its instructions for a model.
type Loaded struct {
	Skill
	Text  string   // the instructions, after those of the skills that it requires, or the text of one of its files
	Parts []string // the keys of the skills in Text, in order; the skill's own is last
	Files []string // those beside SKILL.md, from its folder
	// Reviewed are the files of the project whose review covers Text.
	Reviewed []string
	Notes    []string // what was omitted, and warnings about the files
}

const (
	// maxText is how many bytes of instructions are loaded together: more than models
	// can use.
	maxText = 1 << 20
	// maxParts is how many skills are loaded together. A skill that requires more is a
	// mistake.
	maxParts = 64
	// maxNotes is how many notes are made. Required skills after that are not searched.
	maxNotes = 50
	// maxListed is how many files of a skill its text names.
	maxListed = 100
	// maxHint is how many skills a hint names.
	maxHint = 20
)

// Load loads a skill by its key or its name, with the skills that it requires, each
// once and before those that require it. In names "-" and "_" are the same. Required
// skills that are missing, invalid, untrusted or part of a cycle are omitted with a
// note. NAME/FILE loads the text of a file in the folder of a skill.
//
// An unknown skill is NotFound, an untrusted one of the project is Denied, and one with
// an invalid file is Invalid. An empty root means no project.
func Load(root string, o *trust.Scope, name string) (Loaded, error) {
	l := newLoading(root, o)
	name, resource, _ := strings.Cut(folder.OneLine(name), "/")
	s, err := l.find(name)
	if err != nil {
		return Loaded{}, err
	}
	main, err := l.read(s, resource)
	if err != nil {
		return Loaded{}, err
	}
	if resource == "" {
		l.require(&main.Skill)
	}
	l.parts = append(l.parts, part{&main.Skill, main.body})
	loaded := Loaded{Skill: main.Skill, Text: l.text(), Files: main.files, Notes: l.notes}
	for _, p := range l.parts {
		if loaded.Parts = append(loaded.Parts, p.skill.Key); p.skill.Location == tool.Project {
			loaded.Reviewed = append(loaded.Reviewed, p.skill.Path)
		}
	}
	return loaded, nil
}

// A loading is the state of loading one skill with its required skills.
type loading struct {
	skills []Skill
	broken []*value.Error
	places []trust.Place
	ledger *trust.Ledger
	begun  map[string]bool // by key; true while it is loading, false afterwards
	bytes  int
	parts  []part
	notes  []string
}

type part struct {
	skill *Skill
	body  string
}

func newLoading(root string, o *trust.Scope) *loading {
	l := &loading{ledger: o.Ledger(root), places: o.Places(root, Dir), begun: map[string]bool{}}
	l.skills, l.broken = List(root, o)
	return l
}

// find returns the skill with a key or a name. Ready skills take precedence: an
// untrusted file cannot hide a skill of the user.
func (l *loading) find(name string) (*Skill, error) {
	key := tool.Key(name)
	var same []*Skill // ready, and called so
	var hidden *Skill // untrusted
	for i := range l.skills {
		s := &l.skills[i]
		isKey, isName := tool.Key(s.Key) == key, tool.Key(s.Name) == key
		switch {
		case s.Trusted && isKey:
			return s, nil
		case s.Trusted && isName:
			same = append(same, s)
		case hidden == nil && (isKey || isName):
			hidden = s
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return nil, value.Errorf(value.Invalid, "two skills have the name '%.80s': %s, %s", name, same[0].Key, same[1].Key).
			WithHint("use the name of the file or of the folder, as in %s", same[0].Key)
	case hidden != nil:
		return nil, untrusted(name, hidden.Reason)
	}
	for _, e := range l.broken {
		if tool.Key(keyOf(e.Pos.File)) == key {
			return nil, l.invalidFile(e)
		}
	}
	return nil, l.unknown(name)
}

// untrusted returns the error of an untrusted skill. It contains only the requested
// name: other texts of an untrusted file could influence a model.
func untrusted(name, reason string) error {
	return trust.Untrusted(fmt.Sprintf("the skill '%.80s'", name), reason)
}

// invalidFile returns the error of using an invalid file. For an untrusted file it
// hides the details, which its author could choose to influence a model.
func (l *loading) invalidFile(e *value.Error) error {
	if !trust.NeedsReview(e.Pos.File) || l.ledger.OwnProject() {
		return e
	}
	hidden := value.Errorf(value.Invalid, "the file is invalid and has not been reviewed").WithHint("to see the error, run: cassidy skill list")
	hidden.Pos.File = e.Pos.File
	return hidden
}

func (l *loading) unknown(name string) error {
	var ready []string
	for i := range l.skills {
		if l.skills[i].Trusted {
			ready = append(ready, l.skills[i].Key)
		}
	}
	e := value.Errorf(value.NotFound, "Unknown skill: %.80s%s", name, value.DidYouMean(name, ready))
	switch n := len(ready) - maxHint; {
	case len(ready) == 0:
		return e.WithHint("create a skill with: cassidy skill new NAME")
	case n > 0:
		return e.WithHint("use one of: \"%s\"; to list %d more: cassidy skill list", strings.Join(ready[:maxHint], `", "`), n)
	}
	return e.WithHint("use one of: \"%s\"", strings.Join(ready, `", "`))
}

// read reads a skill again, with its instructions, or instead with the text of one of its files. It may have changed since
// it was listed, so trust is checked for what is read now.
func (l *loading) read(listed *Skill, resource string) (f file, err error) {
	place, name := l.placeOf(listed)
	files, done, err := place.Open()
	if err != nil {
		return file{}, place.FileError(name, err)
	}
	defer done()
	left := int64(maxBytes)
	f, err = read(place, files, name, &left)
	switch {
	case err != nil:
		return file{}, l.invalidFile(place.FileError(name, err))
	case !f.Trusted:
		return file{}, untrusted(f.Key, f.Reason)
	case resource != "":
		f.body, err = f.resource(files, path.Join(place.Dir, path.Dir(name)), resource)
	default:
		f.body = withFiles(f.body, path.Dir(f.Path), f.files)
	}
	if err != nil {
		return file{}, err
	}
	f.body = strings.TrimRight(strings.TrimLeft(folder.Plain(f.body), "\n"), " \t\n")
	if l.bytes+len(f.body) > maxText {
		return file{}, value.Errorf(value.Limit, "the skill and its required skills are larger than %d KB in total", maxText>>10)
	}
	l.bytes += len(f.body)
	for _, w := range f.Warnings {
		l.note("'%s': %s", f.Key, w)
	}
	if f.body == "" {
		l.note("'%s': the file has no instructions", f.Key)
	}
	return f, nil
}

// placeOf returns the folder of a skill, and the name of its file there.
func (l *loading) placeOf(s *Skill) (trust.Place, string) {
	for _, place := range l.places {
		if name, ok := strings.CutPrefix(s.Path, place.Shown+"/"); ok && place.Location == s.Location {
			return place, name
		}
	}
	return trust.Place{}, s.Path // no listed skill
}

// withFiles adds the names of the files in the folder of a skill to its instructions.
func withFiles(body, dir string, files []string) string {
	if len(files) == 0 {
		return body
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nThe skill's folder is %s. Paths in the skill are relative to it. It has these files:\n\n", strings.TrimRight(body, " \t\n"), folder.OneLine(dir))
	for i, name := range files {
		if i == maxListed {
			fmt.Fprintf(&b, "- … and %d more\n", len(files)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", folder.OneLine(name))
	}
	return b.String()
}

// require loads the skills that a skill requires.
func (l *loading) require(s *Skill) {
	l.begun[s.Key] = true
	for _, name := range s.Requires {
		if len(l.notes) > maxNotes {
			break
		}
		if err := l.dependency(name); err != nil {
			l.note("'%s': the required skill '%.80s' is omitted: %s", s.Key, name, value.ErrorOf(err, value.Failed).Message())
		}
	}
	l.begun[s.Key] = false
}

// dependency loads a required skill.
func (l *loading) dependency(name string) error {
	listed, err := l.find(name)
	if err != nil {
		return err
	}
	switch loading, begun := l.begun[listed.Key]; {
	case loading:
		return value.Errorf(value.Invalid, "the skill requires itself, directly or indirectly")
	case begun:
		return nil
	case len(l.begun) == maxParts:
		return value.Errorf(value.Limit, "the skill requires more than %d skills", maxParts)
	}
	f, err := l.read(listed, "")
	if err != nil {
		return err
	}
	l.require(&f.Skill)
	l.parts = append(l.parts, part{&f.Skill, f.body})
	return nil
}

func (l *loading) note(format string, args ...any) {
	switch n := len(l.notes); {
	case n < maxNotes:
		l.notes = append(l.notes, fmt.Sprintf(format, args...))
	case n == maxNotes:
		l.notes = append(l.notes, "more problems are omitted")
	}
}

// text joins the parts; the skill itself is last. A skill without required skills is
// only its instructions.
func (l *loading) text() string {
	last := len(l.parts) - 1
	main := l.parts[last]
	if last == 0 {
		return main.body
	}
	rule := strings.Repeat("=", 70)
	var b strings.Builder
	fmt.Fprintf(&b, "## Referenced Skills\n\n'%s' builds on these skills:\n", main.skill.Key)
	for i, p := range l.parts {
		what := "DEPENDENCY"
		if i == last {
			what = "MAIN SKILL"
		}
		fmt.Fprintf(&b, "\n%s\n%s: %s\n%s\n\n%s\n", rule, what, p.skill.Key, rule, p.body)
	}
	return strings.TrimRight(b.String(), "\n")
}
