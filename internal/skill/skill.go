// Package skill reads and writes skills: Markdown files with instructions for kinds of
// tasks.
package skill

import (
	"errors"
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

// A Skill is what is known of a skill without loading it: a Markdown file with
// instructions for a kind of task, in the folder skills of a project or of its
// user.
type Skill struct {
	Key         string // the stem of the file, by which it is found
	Name        string // what it is called; the key unless the file says otherwise
	Title       string // the heading for people, or ""
	Description string // what it is for and when to use it
	Auto        bool   // a model may use it without being told to
	Requires    []string
	Location    tool.Location
	Path        string // as messages name the file
	State       tool.State
	Reason      string   // why it is untrusted, or ""
	Warnings    []string // what is odd about the file but not wrong
}

const (
	Dir = "skills"
	// maxSkill is how long a skill's file may be: a model reads it whole.
	maxSize = 256 << 10
	// Max is how many skills one folder may hold. A model chooses among
	// their descriptions, and long before this many it cannot.
	Max = 1000
)

// List reads the skills of a project and of its user, by location and name.
// A file that is not right is reported and hides no other; of two skills with
// one name neither is used. A project's skill that the user does not trust is
// among them, in the state Untrusted. An empty root means that there is no
// project.
func List(root string, o *trust.Scope) ([]Skill, []*value.Error) {
	var all []Skill
	var broken []*value.Error
	for _, place := range o.Places(root, Dir) {
		skills, errs := skillsIn(place)
		all, broken = append(all, skills...), append(broken, errs...)
	}
	kept, errs := withoutTwins(all)
	return kept, append(broken, errs...)
}

// skillsIn reads the skills that a place holds.
func skillsIn(p trust.Place) ([]Skill, []*value.Error) {
	files, done, err := p.Open()
	if err != nil {
		return nil, []*value.Error{p.FileError("", err)}
	}
	defer done()
	entries, more, err := folder.ReadDir(files, p.Dir, Max)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []*value.Error{p.FileError("", err)}
	}
	var skills []Skill
	var broken []*value.Error
	if more {
		broken = append(broken, p.FileError("", value.Errorf(value.Limit, "more than %d files: the rest is not read", Max)))
	}
	for _, e := range entries {
		name := e.Name()
		if !IsFile(e) {
			continue
		}
		s, _, err := read(p, files, name)
		if err != nil {
			broken = append(broken, p.FileError(name, err))
			continue
		}
		skills = append(skills, s)
	}
	return skills, broken
}

// IsFile reports whether an entry of the folder should be a skill.
func IsFile(e fs.DirEntry) bool {
	name := e.Name()
	return !e.IsDir() && path.Ext(name) == ".md" && !strings.HasPrefix(name, ".") && !strings.EqualFold(name, "README.md")
}

// readSkill reads one skill's file: what is known of it, and its instructions.
func read(p trust.Place, files fs.FS, name string) (s Skill, body string, err error) {
	data, cut, err := folder.ReadHead(files, path.Join(p.Dir, name), maxSize)
	switch {
	case err != nil:
		return Skill{}, "", err
	case cut:
		return Skill{}, "", value.Errorf(value.Limit, "the file is longer than %d KB", maxSize>>10)
	case !utf8.Valid(data):
		return Skill{}, "", value.Errorf(value.Invalid, "the file is not UTF-8 text")
	}
	key := strings.TrimSuffix(name, ".md")
	s = Skill{Key: key, Name: key, Auto: true, Location: p.Location, Path: path.Join(p.Shown, name), State: tool.Ready}
	if p.Location == tool.Project {
		if s.Reason = p.Ledger.File(trust.KindSkill, s.Path, tool.HashBytes(data)); s.Reason != "" {
			s.State = tool.Untrusted
		}
	}
	body, err = s.read(string(data))
	return s, body, err
}

// read takes what a skill's file says of it, and returns the instructions.
func (s *Skill) read(text string) (body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return text, s.readBold(lines) // its fields are a part of the text
	}
	end := 1 + slices.IndexFunc(lines[1:], func(line string) bool { return strings.TrimRight(line, " \t") == "---" })
	if end == 0 {
		return "", malformed("No valid YAML frontmatter found: the second --- is missing")
	}
	v, err := yaml.Parse(strings.Join(lines[1:end], "\n"))
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.Line > 0 {
			e.Pos.Line++ // the line --- above
		}
		return "", &e
	}
	fields, ok := v.(*value.Dict)
	if !ok {
		return "", malformed("No valid YAML frontmatter found: it should be fields, as in description: …")
	}
	return strings.Join(lines[end+1:], "\n"), s.readFields(fields)
}

func malformed(format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos.Line = 1
	return e.WithHint("begin the file with ---, description: …, and ---; the instructions follow")
}

// readFields reads the front matter. Fields that mean nothing here are left to
// whoever they mean something to.
func (s *Skill) readFields(fields *value.Dict) error {
	for _, field := range []struct {
		name string
		to   *string
	}{{"name", &s.Name}, {"title", &s.Title}, {"description", &s.Description}} {
		v, _ := fields.Get(field.name)
		text, ok := v.(string)
		if v != nil && !ok {
			return value.Errorf(value.Invalid, "'%s' should be a string but got %s", field.name, value.TypeOf(v)).WithHint("put it into quotes")
		}
		if text = folder.OneLine(text); text != "" {
			*field.to = text
		}
	}
	if s.Description == "" {
		return value.Errorf(value.Invalid, "the description is missing").WithHint("add description: what the skill is for and when to use it")
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
			return value.Errorf(value.Invalid, "'requires' should be a list of skills but holds %s", value.TypeOf(item))
		}
		s.Requires = append(s.Requires, folder.OneLine(name))
	}
	return nil
}

func splitNames(text string) []string {
	return strings.FieldsFunc(folder.Plain(text), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

// maxBoldLines is how far down a file the old form's fields may stand.
const maxBoldLines = 30

// readBold reads the form in which the first skills were written: fields with
// bold names, as in **Description:** ….
func (s *Skill) readBold(lines []string) error {
	for _, line := range lines[:min(len(lines), maxBoldLines)] {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "**"), ":**")
		if !ok {
			continue
		}
		switch value = folder.OneLine(value); strings.ToLower(name) {
		case "name":
			s.Title = value // it was the heading for people
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
	s.Warnings = []string{"fields with bold names are deprecated: write them as YAML between two lines ---"}
	return nil
}

// withoutTwins leaves out the skills whose name another one has: a project
// must not slip its own instructions under the name of the user's, and one that
// nobody has reviewed must not switch his off.
func withoutTwins(all []Skill) (kept []Skill, twins []*value.Error) {
	paths, personal := map[string][]string{}, map[string]bool{}
	for _, s := range all {
		personal[tool.Key(s.Key)] = personal[tool.Key(s.Key)] || s.Location == tool.Personal
	}
	switchedOff := func(s *Skill) bool { return s.State == tool.Untrusted && personal[tool.Key(s.Key)] }
	for i := range all {
		if s := &all[i]; !switchedOff(s) {
			paths[tool.Key(s.Key)] = append(paths[tool.Key(s.Key)], s.Path)
		}
	}
	for i := range all {
		s := &all[i]
		same := paths[tool.Key(s.Key)]
		var e *value.Error
		switch {
		case switchedOff(s):
			e = value.Errorf(value.Invalid, "a personal skill has the name '%s', and nobody has reviewed this one", s.Key).
				WithHint("rename one of them, and run cassidy trust")
		case len(same) > 1:
			others := slices.DeleteFunc(slices.Clone(same), func(p string) bool { return p == s.Path })
			e = value.Errorf(value.Invalid, "two skills have the name '%s': also %s", s.Key, strings.Join(others, ", ")).WithHint("rename one of the files")
		default:
			kept = append(kept, *s)
			continue
		}
		e.Pos = value.Position{File: s.Path, Line: 1}
		twins = append(twins, e)
	}
	return kept, twins
}
