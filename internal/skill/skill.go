// Package skill reads and writes skills: Markdown files with instructions for kinds of
// tasks.
package skill

import (
	"io/fs"
	"path"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Skill describes a skill without its instructions. A skill is a Markdown file with
// instructions for a kind of task, in the folder skills of a project or of its user.
type Skill struct {
	Key         string // the stem of the file name, which identifies it
	Name        string // the name in the file; default: the key
	Title       string // the heading for people, or ""
	Description string // what it is for and when to use it
	Auto        bool   // a model may choose it by itself
	Requires    []string
	Location    tool.Location
	Path        string // the file in messages
	trust.Status
	Warnings []string // deprecated or unusual parts of the file
}

const (
	Dir = "skills"
	// maxSize is the limit of a skill's file, in bytes: a model reads all of it.
	maxSize = 256 << 10
	// Max is how many skills a folder may have. A model chooses by their descriptions,
	// and cannot handle more.
	Max = 1000
)

// List reads the skills of a project and of its user, by location and name. An invalid
// file is reported and does not affect other skills. If two skills have the same name,
// neither is used. Untrusted skills of the project are in the state Untrusted. An empty
// root means no project.
func List(root string, o *trust.Scope) ([]Skill, []*value.Error) {
	var all []Skill
	var broken []*value.Error
	for _, place := range o.Places(root, Dir) {
		broken = append(broken, place.ReadFiles(Max, IsFile, func(files fs.FS, name string) error {
			s, _, err := read(place, files, name)
			if err == nil {
				all = append(all, s)
			}
			return err
		})...)
	}
	kept, conflicts := trust.Unique("skill", all, func(s *Skill) trust.Name {
		return trust.Name{Name: s.Key, Path: s.Path, Location: s.Location, Status: s.Status}
	}, false)
	return kept, append(broken, conflicts...)
}

// IsFile reports whether an entry of the folder is expected to be a skill.
func IsFile(e fs.DirEntry) bool {
	name := e.Name()
	return !e.IsDir() && path.Ext(name) == ".md" && !strings.HasPrefix(name, ".") && !strings.EqualFold(name, "README.md")
}

// read reads one skill's file and returns the skill and its instructions.
func read(p trust.Place, files fs.FS, name string) (s Skill, body string, err error) {
	text, err := folder.ReadText(files, path.Join(p.Dir, name), maxSize)
	if err != nil {
		return Skill{}, "", err
	}
	key := strings.TrimSuffix(name, ".md")
	s = Skill{Key: key, Name: key, Auto: true, Location: p.Location, Path: path.Join(p.Shown, name)}
	s.Status = p.Status(trust.KindSkill, name, tool.HashBytes([]byte(text)))
	body, err = s.read(text)
	return s, body, err
}

// read parses a skill's file and returns the instructions.
func (s *Skill) read(text string) (body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	meta, n := yaml.FrontMatter(lines)
	switch n {
	case 0:
		return text, s.readBold(lines) // its fields are part of the text
	case -1:
		return "", malformed("No valid YAML frontmatter found: the second --- is missing")
	}
	v, err := yaml.Parse(meta)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.Line > 0 {
			e.Pos.Line++ // the line --- above
		}
		return "", &e
	}
	fields, ok := v.(*value.Dict)
	if !ok {
		return "", malformed("No valid YAML frontmatter found: expected lines such as \"description: TEXT\"")
	}
	return strings.Join(lines[n:], "\n"), s.readFields(fields)
}

func malformed(format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos.Line = 1
	return e.WithHint("begin the file with three lines: \"---\", \"description: TEXT\" and \"---\"")
}

// readFields reads the front matter. Unknown fields are ignored: other programs may use
// them.
func (s *Skill) readFields(fields *value.Dict) error {
	for _, field := range []struct {
		name string
		to   *string
	}{{"name", &s.Name}, {"title", &s.Title}, {"description", &s.Description}} {
		v, _ := fields.Get(field.name)
		text, ok := v.(string)
		if v != nil && !ok {
			return value.Errorf(value.Invalid, "'%s' should be a string but got %s", field.name, value.TypeOf(v)).WithHint("put the value in quotes")
		}
		if text = folder.OneLine(text); text != "" {
			*field.to = text
		}
	}
	if s.Description == "" {
		return value.Errorf(value.Invalid, "the skill has no description").WithHint(`add to the front matter: "description: what the skill is for and when to use it"`)
	}
	if v, _ := fields.Get("auto_invoke"); v != nil {
		auto, ok := v.(bool)
		if !ok {
			return value.Errorf(value.Invalid, "'auto_invoke' should be true or false but got %s", value.TypeOf(v))
		}
		s.Auto = auto
	}
	v, _ := fields.Get("requires")
	return s.readRequires(v)
}

func (s *Skill) readRequires(v value.Value) error {
	if text, ok := v.(string); ok {
		s.Requires = splitNames(text)
		return nil
	}
	items, ok := value.Elements(v)
	if v != nil && !ok {
		return value.Errorf(value.Invalid, "'requires' should be a list of skills but got %s", value.TypeOf(v))
	}
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return value.Errorf(value.Invalid, "'requires' should be a list of skills but contains %s", value.TypeOf(item))
		}
		s.Requires = append(s.Requires, folder.OneLine(name))
	}
	return nil
}

func splitNames(text string) []string {
	return strings.FieldsFunc(folder.Plain(text), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

// maxBoldLines is how many lines of a file may have fields in bold.
const maxBoldLines = 30

// readBold reads the deprecated form with bold field names, as in **Description:** ….
func (s *Skill) readBold(lines []string) error {
	for _, line := range lines[:min(len(lines), maxBoldLines)] {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "**"), ":**")
		if !ok {
			continue
		}
		switch value = folder.OneLine(value); strings.ToLower(name) {
		case "name":
			s.Title = value // in this form it is the heading
		case "description":
			s.Description = value
		case "auto-invoke":
			s.Auto = !strings.EqualFold(value, "no") && !strings.EqualFold(value, "false")
		case "requires":
			s.Requires = splitNames(value)
		}
	}
	if s.Description == "" {
		return malformed("No valid YAML frontmatter found: the file does not begin with ---")
	}
	s.Warnings = []string{"fields with bold names are deprecated: write them as YAML between two --- lines"}
	return nil
}
