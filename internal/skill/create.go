package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Draft is a new skill before it is written. Its fields are the arguments of skill.create.
type Draft struct {
	Name        string        `json:"name"`        // in kebab-case, as its folder
	Title       string        `json:"title"`       // the heading for people
	Description string        `json:"description"` // what it is for and when to use it
	Content     string        `json:"content"`     // the instructions, in Markdown, without front matter
	Auto        bool          `json:"auto_invoke"` // a model may choose it by itself
	Requires    []string      `json:"requires"`
	Location    tool.Location `json:"location"` // Project or Personal
}

// tidy normalizes the texts.
func (s *Draft) tidy() {
	s.Title, s.Description = folder.OneLine(s.Title), folder.OneLine(s.Description)
	s.Content = strings.TrimSpace(strings.ReplaceAll(s.Content, "\r\n", "\n"))
}

// Create writes the file of a new skill and returns the skill with the path of its
// file. Its warnings name required skills that do not exist. An empty root means no
// project. Writing a file does not make it trusted. A name that is not in kebab-case
// and empty texts are Invalid. An existing name is Failed: no file is ever replaced.
func Create(root string, o *trust.Scope, n Draft) (Skill, error) {
	skills, err := n.check(root, o)
	if err != nil {
		return Skill{}, err
	}
	place, err := n.place(root, o)
	if err != nil {
		return Skill{}, err
	}
	name := path.Join(n.Name, mainFile)
	s := Skill{
		Key: n.Name, Name: n.Name, Title: n.Title, Description: n.Description, Auto: n.Auto, Requires: n.Requires,
		Location: n.Location, Path: path.Join(place.Shown, name), Warnings: n.missing(skills),
	}
	s.checkStandard()
	if err := place.Create(name, n.file()); errors.Is(err, fs.ErrExist) {
		return Skill{}, exists(s.Path)
	} else if err != nil {
		return Skill{}, value.Errorf(value.Failed, "write %s: %w", s.Path, folder.Cause(err))
	}
	files, done, err := place.Open()
	if err != nil {
		return Skill{}, place.FileError(name, err)
	}
	defer done()
	left := int64(maxBytes)
	written, err := read(place, files, name, &left)
	s.Status = written.Status
	return s, err
}

// Check returns the error of [Create] without writing anything.
func (s *Draft) Check(root string, o *trust.Scope) error {
	c := *s
	_, err := c.check(root, o)
	return err
}

// check also returns the existing skills.
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

// place returns the folder for the skill.
func (s *Draft) place(root string, o *trust.Scope) (trust.Place, error) {
	places := o.Places(root, Dir)
	at := slices.IndexFunc(places, func(p trust.Place) bool { return p.Location == s.Location && p.Files == nil })
	if at < 0 {
		other := tool.Personal
		if s.Location == tool.Personal {
			other = tool.Project
		}
		return trust.Place{}, value.Errorf(value.Invalid, "no folder is configured for %s skills", s.Location).WithHint("use the location %s", other)
	}
	return places[at], nil
}

// missing returns warnings about required skills that do not exist.
func (s *Draft) missing(skills []Skill) []string {
	var warnings []string
	for _, name := range s.Requires {
		if !slices.ContainsFunc(skills, func(other Skill) bool { return tool.Key(other.Key) == tool.Key(name) }) {
			warnings = append(warnings, "the required skill "+name+" does not exist: create it too")
		}
	}
	return warnings
}

func exists(file string) error {
	return value.Errorf(value.Failed, "Skill already exists: %s", file).WithHint("use a different name, or ask the user to edit the file")
}

// taken returns the file of an existing skill with the same name, or "". Broken files
// count.
func (s *Draft) taken(skills []Skill, broken []*value.Error) string {
	for _, other := range skills {
		if tool.Key(other.Key) == tool.Key(s.Name) {
			return other.Path
		}
	}
	for _, e := range broken {
		if tool.Key(keyOf(e.Pos.File)) == tool.Key(s.Name) {
			return e.Pos.File
		}
	}
	return ""
}

func emptyField(name, meaning string) error {
	return value.Errorf(value.Invalid, "the %s of the skill is empty", name).WithHint("pass %s: %s", name, meaning)
}

// checkTexts validates a new skill.
func (s *Draft) checkTexts() error {
	if !kebabCase(s.Name) {
		return value.Errorf(value.Invalid, "Skill name must be kebab-case: %q", s.Name).
			WithHint("use lower-case letters, digits and -, at most %d characters, as in make-release", tool.MaxName)
	}
	for _, name := range s.Requires {
		if !kebabCase(name) {
			return value.Errorf(value.Invalid, "Skill name must be kebab-case: %q in requires", name).WithHint("use names of skills, as in make-release")
		}
		if name == s.Name {
			return value.Errorf(value.Invalid, "the skill '%s' cannot require itself", name)
		}
	}
	switch {
	case s.Title == "":
		return emptyField("title", "the heading of the skill")
	case s.Description == "":
		return emptyField("description", "what the skill is for and when to use it")
	case s.Content == "":
		return emptyField("content", "the instructions, in Markdown")
	case strings.HasPrefix(s.Content, "---\n"):
		return value.Errorf(value.Invalid, "the content contains front matter").WithHint("pass only the instructions: the other arguments become the front matter")
	case len(s.file()) > maxSize:
		return value.Errorf(value.Limit, "the skill is larger than %d KB", maxSize>>10)
	case len(s.Title)+len(s.Description) > yaml.MaxSize/8:
		return value.Errorf(value.Limit, "title and description are longer than %d KB in total", yaml.MaxSize>>13)
	case !utf8.ValidString(s.Content):
		return value.Errorf(value.Invalid, "the content is not UTF-8 text")
	}
	if _, err := (&Skill{Path: mainFile}).read(s.file()); err != nil { // for example too many required skills
		return fmt.Errorf("read the new skill: %w", err)
	}
	return nil
}

// kebabCase reports whether a name consists of words of small letters and digits,
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

// quote returns a text for YAML: the quotes and escapes of Go are also those of YAML. Some programs take --- for the end of
// the front matter wherever it is.
func quote(text string) string {
	return strings.ReplaceAll(fmt.Sprintf("%q", text), "---", `\u002d\u002d\u002d`)
}

// file returns the text of the skill's file, as the standard has it.
func (s *Draft) file() string {
	content := s.Content
	if !strings.HasPrefix(content, "# ") {
		content = "# " + s.Title + "\n\n" + content
	}
	metadata := ""
	if heading(content) != s.Title {
		metadata += "  " + metaTitle + ": " + quote(s.Title) + "\n"
	}
	if !s.Auto {
		metadata += "  " + metaAuto + ": \"false\"\n"
	}
	if len(s.Requires) > 0 {
		metadata += "  " + metaRequires + ": " + quote(strings.Join(s.Requires, " ")) + "\n"
	}
	if metadata != "" {
		metadata = "metadata:\n" + metadata
	}
	return "---\nname: " + quote(s.Name) + "\ndescription: " + quote(s.Description) + "\n" + metadata + "---\n\n" + content + "\n"
}

// report returns the message about a new skill with the next steps.
func report(s *Skill) string {
	how := "name it in the task"
	if s.Auto {
		how += "; a model may also select it by its description"
	}
	text := "Created skill: " + s.Path + "\n\nNext steps:\n" +
		"- Test: read the file, and go through its steps once\n" +
		"- Use in tasks: " + how
	for _, w := range s.Warnings {
		text += "\n- " + w
	}
	return text
}
