package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Draft is a skill that is to be written.
type Draft struct {
	Name        string // in kebab-case, as the stem of its file
	Title       string // the heading for people
	Description string // what it is for and when to use it
	Content     string // the instructions, in Markdown, without front matter
	Auto        bool   // a model may use it without being told to
	Requires    []string
	Location    tool.Location // Project or Personal
}

// newSkill takes a skill from the arguments of skill.create.
func draftOf(args *value.Dict) *Draft {
	s := &Draft{
		Name: args.Text("name"), Title: args.Text("title"), Description: args.Text("description"), Content: args.Text("content"),
		Auto: args.Bool("auto_invoke"), Location: tool.Location(args.Text("location")),
	}
	v, _ := args.Get("requires")
	items, _ := value.Elements(v)
	for _, item := range items {
		name, _ := item.(string)
		s.Requires = append(s.Requires, name)
	}
	return s
}

// tidy brings the texts into the form in which they are kept.
func (s *Draft) tidy() {
	s.Title, s.Description = folder.OneLine(s.Title), folder.OneLine(s.Description)
	s.Content = strings.TrimSpace(strings.ReplaceAll(s.Content, "\r\n", "\n"))
}

// Create writes the file of a new skill, and returns the skill with the
// path of its file; its warnings say what it requires and there is not. An
// empty root means that there is no project, and
// nothing is trusted by being written. A name that is not in kebab-case is
// Invalid, and so are texts that are empty; a name that is taken already is
// Failed, and no file is ever replaced.
func Create(root string, o *trust.Scope, n Draft) (Skill, error) {
	skills, err := n.check(root, o)
	if err != nil {
		return Skill{}, err
	}
	place, err := n.place(root, o)
	if err != nil {
		return Skill{}, err
	}
	s := Skill{
		Key: n.Name, Name: n.Name, Title: n.Title, Description: n.Description, Auto: n.Auto, Requires: n.Requires,
		Location: n.Location, Path: path.Join(place.Shown, n.Name+".md"), State: tool.Ready, Warnings: n.missing(skills),
	}
	if err := create(place, n.Name+".md", n.file()); errors.Is(err, fs.ErrExist) {
		return Skill{}, exists(s.Path)
	} else if err != nil {
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return Skill{}, value.Errorf(value.Failed, "cannot write %s: %w", s.Path, err)
	}
	return s, nil
}

// Check says what [Create] would refuse, without writing anything: for who
// makes the folder first.
func (s *Draft) Check(root string, o *trust.Scope) error {
	c := *s
	_, err := c.check(root, o)
	return err
}

// check also returns the skills that there are.
func (s *Draft) check(root string, o *trust.Scope) ([]Skill, error) {
	s.tidy()
	if err := s.checkTexts(); err != nil {
		return nil, err
	}
	skills, broken := List(root, o)
	if taken := s.taken(skills, broken); taken != "" {
		return nil, exists(taken)
	}
	return skills, nil
}

// place is where the skill goes.
func (s *Draft) place(root string, o *trust.Scope) (trust.Place, error) {
	places := o.Places(root, Dir)
	at := slices.IndexFunc(places, func(p trust.Place) bool { return p.Location == s.Location && p.Files == nil })
	if at < 0 {
		return trust.Place{}, value.Errorf(value.Invalid, "there is no folder for %s skills here", s.Location).WithHint("choose the other location")
	}
	return places[at], nil
}

// missing says which skills it requires that there are not.
func (s *Draft) missing(skills []Skill) []string {
	var warnings []string
	for _, name := range s.Requires {
		if !slices.ContainsFunc(skills, func(other Skill) bool { return tool.Key(other.Key) == tool.Key(name) }) {
			warnings = append(warnings, "Create the skill "+name+" too: this one requires it, and there is none")
		}
	}
	return warnings
}

func exists(file string) error {
	return value.Errorf(value.Failed, "Skill already exists: %s", file).WithHint("choose a different name, or let the user change that file")
}

// taken returns the file that has the skill's name already, or "". A file that
// is broken has it too.
func (s *Draft) taken(skills []Skill, broken []*value.Error) string {
	for _, other := range skills {
		if tool.Key(other.Key) == tool.Key(s.Name) {
			return other.Path
		}
	}
	for _, e := range broken {
		if stem, ok := strings.CutSuffix(path.Base(e.Pos.File), ".md"); ok && tool.Key(stem) == tool.Key(s.Name) {
			return e.Pos.File
		}
	}
	return ""
}

// checkTexts says what is wrong with a new skill.
func (s *Draft) checkTexts() error {
	if !kebabCase(s.Name) {
		return value.Errorf(value.Invalid, "Skill name must be kebab-case: %q", s.Name).
			WithHint("small letters and digits in words joined by -, at most %d, as in make-release", tool.MaxName)
	}
	for _, name := range s.Requires {
		if !kebabCase(name) {
			return value.Errorf(value.Invalid, "Skill name must be kebab-case: %q in requires", name).WithHint("give the names of skills, as in make-release")
		}
		if name == s.Name {
			return value.Errorf(value.Invalid, "the skill '%s' cannot require itself", name)
		}
	}
	switch {
	case s.Title == "" || s.Description == "" || s.Content == "":
		return value.Errorf(value.Invalid, "title, description and content must not be empty")
	case strings.HasPrefix(s.Content, "---\n"):
		return value.Errorf(value.Invalid, "the content begins with front matter of its own").WithHint("give only the instructions: the fields are written from the other arguments")
	case len(s.file()) > maxSize || len(s.Title)+len(s.Description) > yaml.MaxSize/8:
		return value.Errorf(value.Limit, "a skill of more than %d KB, or a very long title or description", maxSize>>10)
	case !utf8.ValidString(s.Content):
		return value.Errorf(value.Invalid, "the content is not UTF-8 text")
	}
	if _, err := new(Skill).read(s.file()); err != nil { // as where it requires thousands of others
		return fmt.Errorf("the skill could not be read back: %w", err)
	}
	return nil
}

// kebabCase reports whether a name is one of small letters and digits in words
// joined by "-".
func kebabCase(name string) bool {
	if len(name) > tool.MaxName {
		return false
	}
	for word := range strings.SplitSeq(name, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// file writes the skill as its file holds it.
func (s *Draft) file() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ntitle: %s\ndescription: %s\nauto_invoke: %t\n", quoteYAML(s.Name), quoteYAML(s.Title), quoteYAML(s.Description), s.Auto)
	if len(s.Requires) > 0 {
		b.WriteString("requires:\n")
		for _, name := range s.Requires {
			b.WriteString("  - " + quoteYAML(name) + "\n")
		}
	}
	b.WriteString("---\n\n")
	if !strings.HasPrefix(s.Content, "# ") {
		b.WriteString("# " + s.Title + "\n\n")
	}
	return b.String() + s.Content + "\n"
}

// quoteYAML writes a string in double quotes, so that nothing in it can be
// taken for anything else.
func quoteYAML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// create creates a file in a place; one that exists is an error.
func create(p trust.Place, name, text string) error {
	if p.Location == tool.Project {
		root, err := os.OpenRoot(p.Base)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(p.Dir, 0o755); err != nil {
			return err
		}
		name = path.Join(p.Dir, name)
		return createFile(name, text, root.OpenFile, root.Remove)
	}
	if err := os.MkdirAll(p.Path(), 0o755); err != nil {
		return err
	}
	return createFile(filepath.Join(p.Path(), name), text, os.OpenFile, os.Remove)
}

// createFile writes a file that must not exist yet; of one that cannot be written
// whole nothing stays.
func createFile(name, text string, open func(string, int, fs.FileMode) (*os.File, error), remove func(string) error) error {
	f, err := open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, remove(name))
	}
	return nil
}

// createdSkill tells that a skill is there, and what to do next.
func report(s *Skill) string {
	how := "name it in the task"
	if s.Auto {
		how += "; a model may also choose it by its description"
	}
	text := "Created skill: " + s.Path + "\n\nNext steps:\n" +
		"- Test: read the file, and go through its steps once\n" +
		"- Use in tasks: " + how
	for _, w := range s.Warnings {
		text += "\n- " + w
	}
	return text
}
