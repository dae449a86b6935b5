// Package skill reads and writes skills: instructions for kinds of tasks, in a Markdown file or in a folder with other
// files beside it.
package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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

// A Skill describes a skill without its instructions.
type Skill struct {
	Key         string // the name of its folder or the stem of its file, which identifies it
	Name        string // the name in the file; default: the key
	Title       string // the heading for people, or ""
	Description string // what it is for and when to use it
	Auto        bool   // a model may choose it by itself
	Requires    []string
	License     string // as the author says, or ""
	// Compatibility is what the author says that the skill needs, or "".
	Compatibility string
	// AllowedTools are the tools that the author expects it to use. They grant nothing.
	AllowedTools string
	Location     tool.Location
	Path         string // the file in messages
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
// file is reported and does not affect other skills. If several folders of one location have
// a skill with the same name, that of the first counts: .cassidy/skills, .agents/skills, .claude/skills. If two other
// skills have the same name, neither is used, unless they are equal. Untrusted skills of the project are in the state
// Untrusted. An empty root means no project.
func List(root string, o *trust.Scope) ([]Skill, []*value.Error) {
	var all []file
	var broken []*value.Error
	for _, place := range o.Places(root, Dir) {
		left := int64(maxBytes)
		broken = append(broken, Read(place, func(files fs.FS, name string) error {
			f, err := read(place, files, name, &left)
			if err == nil {
				all = append(all, f)
			}
			return err
		})...)
	}
	nameOf := func(f *file) trust.Name {
		return trust.Name{Name: f.Key, Path: f.Path, Location: f.Location, Folder: f.in, Content: f.hash, Status: f.Status}
	}
	all, hidden := trust.First("skill", all, nameOf)
	kept, conflicts := trust.Unique("skill", all, nameOf, false)
	slices.SortStableFunc(kept, func(a, b file) int {
		return cmp.Or(-strings.Compare(string(a.Location), string(b.Location)), strings.Compare(a.Key, b.Key))
	})
	return value.Map(kept, func(f file) Skill { return f.Skill }), slices.Concat(broken, hidden, conflicts)
}

// A file is a skill as it was read.
type file struct {
	Skill
	in   string // the folder of skills, in messages
	hash string // of what a review covers
	body string // the instructions
	*bundle
}

// read reads a skill and the files beside it, for which left is how many bytes may be read.
func read(p trust.Place, files fs.FS, name string, left *int64) (f file, err error) {
	at := path.Join(p.Dir, name)
	text, err := folder.ReadText(files, at, maxSize)
	if errors.Is(err, fs.ErrNotExist) && isSkill(name) {
		return f, value.Errorf(value.Invalid, "the folder has no file SKILL.md, so it is no skill").WithHint("write SKILL.md, or remove the folder")
	}
	if err != nil {
		return f, err
	}
	reviewed := sha256.New()
	if f.bundle = new(bundle); isSkill(name) {
		f.bundle, err = newBundle(reviewed, left, files, path.Dir(at), text)
	} else {
		_, err = io.WriteString(reviewed, text)
	}
	if err != nil {
		return f, err
	}
	key := keyOf(at)
	f.in, f.hash = p.Shown, hex.EncodeToString(reviewed.Sum(nil))
	f.Skill = Skill{Key: key, Name: key, Auto: true, Location: p.Location, Path: path.Join(p.Shown, name)}
	f.Status = p.Status(trust.KindSkill, name, f.hash)
	f.body, err = f.read(text)
	return f, err
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
	fields, warnings, err := yaml.Fields(meta)
	if err == nil && fields == nil {
		err = malformed("No valid YAML frontmatter found: expected lines such as \"description: TEXT\"")
	}
	if err != nil {
		return "", err
	}
	s.Warnings = warnings
	body = strings.Join(lines[n:], "\n")
	if err := s.readFields(fields); err != nil || !isSkill(s.Path) {
		return body, err
	}
	if s.Title == "" {
		s.Title = heading(body)
	}
	s.checkStandard()
	return body, nil
}

// heading returns the text of the heading with which instructions begin, or "".
func heading(body string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(body, "\n"), "\n")
	title, _ := strings.CutPrefix(first, "# ")
	if title == first {
		return ""
	}
	return folder.OneLine(title)
}

// maxDescription is how long a description of the standard may be, in characters.
const maxDescription = 1024

// checkStandard warns of what other programs may reject.
func (s *Skill) checkStandard() {
	if s.Name != s.Key {
		s.Warnings = append(s.Warnings, "the name '"+value.Cut(s.Name, 80)+"' differs from that of the folder, by which the skill is loaded")
	}
	if utf8.RuneCountInString(s.Description) > maxDescription {
		s.Warnings = append(s.Warnings, fmt.Sprintf("other programs accept only descriptions of at most %d characters", maxDescription))
	}
	if !kebabCase(s.Key) {
		s.Warnings = append(s.Warnings, fmt.Sprintf("other programs accept only names of at most %d small letters, digits and hyphens", tool.MaxName))
	}
}

func malformed(format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos.Line = 1
	return e.WithHint("begin the file with three lines: \"---\", \"description: TEXT\" and \"---\"")
}

// The names of the fields of cassidy in the metadata of the standard, whose values are texts.
const (
	metaTitle    = "cassidy-title"
	metaAuto     = "cassidy-auto-invoke"
	metaRequires = "cassidy-requires"
)

// readFields reads the front matter: the fields of the standard, those of cassidy, at the top or in the metadata, and that
// with which Claude Code leaves a skill to its user. Others are ignored, since other programs may use them.
func (s *Skill) readFields(fields *value.Dict) error {
	metadata := fields.Dict("metadata")
	get := func(name, meta string) value.Value {
		if v, _ := fields.Get(name); v != nil || meta == "" {
			return v
		}
		v, _ := metadata.Get(meta)
		return v
	}
	for _, field := range []struct {
		name, meta string
		to         *string
	}{
		{"name", "", &s.Name}, {"title", metaTitle, &s.Title}, {"description", "", &s.Description}, {"license", "", &s.License},
		{"compatibility", "", &s.Compatibility},
	} {
		v := get(field.name, field.meta)
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
	manual, _ := fields.Get("disable-model-invocation")
	s.Auto = manual != true
	if v := get("auto_invoke", metaAuto); v != nil {
		auto, ok := v.(bool)
		if text, isText := v.(string); isText && !fields.Has("auto_invoke") {
			auto, ok = text == "true", text == "true" || text == "false"
		}
		if !ok {
			return value.Errorf(value.Invalid, "'auto_invoke' should be true or false but got %s", value.TypeOf(v))
		}
		s.Auto = auto
	}
	if v, _ := fields.Get("allowed-tools"); v != nil {
		text, ok := v.(string)
		if !ok {
			text = value.FormatJSON(v, "")
		}
		s.AllowedTools = folder.OneLine(text)
	}
	return s.readRequires(get("requires", metaRequires))
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
