package project

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

	"github.com/cassidy-run/cassidy/runtime/tool"
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
	skillsDir = "skills"
	// maxSkill is how long a skill's file may be: a model reads it whole.
	maxSkill = 256 << 10
	// maxSkills is how many skills one folder may hold. A model chooses among
	// their descriptions, and long before this many it cannot.
	maxSkills = 1000
)

// Skills reads the skills of a project and of its user, by location and name.
// A file that is not right is reported and hides no other; of two skills with
// one name neither is used. A project's skill that the user does not trust is
// among them, in the state Untrusted. An empty root means that there is no
// project; of the options Home, Trust and TrustOnce count.
func Skills(root string, o *Options) ([]Skill, []*tool.Error) {
	var all []Skill
	var broken []*tool.Error
	ledger := o.ledger(root)
	for _, place := range skillPlaces(root, o.Home) {
		place.ledger = ledger
		skills, errs := place.skills()
		all, broken = append(all, skills...), append(broken, errs...)
	}
	kept, errs := withoutTwins(all)
	return kept, append(broken, errs...)
}

// A skillPlace is a folder in which skills lie.
type skillPlace struct {
	location tool.Location
	base     string // the project's root, or the user's folder
	dir      string // of the skills, below base, with slashes
	shown    string // how messages name it
	ledger   *ledger
}

func skillPlaces(root, home string) []skillPlace {
	var places []skillPlace
	if root != "" {
		dir := Folder + "/" + skillsDir
		places = append(places, skillPlace{location: tool.Project, base: root, dir: dir, shown: dir})
	}
	if home != "" {
		places = append(places, skillPlace{location: tool.Personal, base: home, dir: skillsDir, shown: filepath.ToSlash(filepath.Join(home, skillsDir))})
	}
	if len(places) == 2 && sameFile(places[0].path(), places[1].path()) {
		return places[1:] // the user's own folder, seen from the folder it lies in
	}
	return places
}

func (p skillPlace) path() string { return filepath.Join(p.base, filepath.FromSlash(p.dir)) }

// open returns the files below base. Of a project, links that lead out of it
// are refused; a user's own may.
func (p skillPlace) open() (fs.FS, func(), error) {
	if p.location == tool.Personal {
		return os.DirFS(p.base), func() {}, nil
	}
	root, err := os.OpenRoot(p.base)
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), func() { _ = root.Close() }, nil // it was only read from
}

// skills reads what the place holds.
func (p skillPlace) skills() ([]Skill, []*tool.Error) {
	files, done, err := p.open()
	if err != nil {
		return nil, []*tool.Error{p.fileError("", err)}
	}
	defer done()
	entries, more, err := readFolder(files, p.dir, maxSkills)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []*tool.Error{p.fileError("", err)}
	}
	var skills []Skill
	var broken []*tool.Error
	if more {
		broken = append(broken, p.fileError("", tool.Errorf(tool.Limit, "more than %d files: the rest is not read", maxSkills)))
	}
	for _, e := range entries {
		name := e.Name()
		if !isSkillFile(e) {
			continue
		}
		s, err := p.skill(files, name)
		if err != nil {
			broken = append(broken, p.fileError(name, err))
			continue
		}
		skills = append(skills, s)
	}
	return skills, broken
}

func isSkillFile(e fs.DirEntry) bool {
	name := e.Name()
	return !e.IsDir() && path.Ext(name) == ".md" && !strings.HasPrefix(name, ".") && !strings.EqualFold(name, "README.md")
}

// fileError makes any error one about a file of the place, or about the place.
func (p skillPlace) fileError(name string, err error) *tool.Error {
	e := *tool.AsError(err, tool.Invalid)
	var inner *fs.PathError
	if errors.As(err, &inner) {
		e.Err = inner.Err
	}
	e.Pos.File = path.Join(p.shown, name)
	return &e
}

func (p skillPlace) skill(files fs.FS, name string) (Skill, error) {
	data, cut, err := readHead(files, path.Join(p.dir, name), maxSkill)
	switch {
	case err != nil:
		return Skill{}, err
	case cut:
		return Skill{}, tool.Errorf(tool.Limit, "the file is longer than %d KB", maxSkill>>10)
	case !utf8.Valid(data):
		return Skill{}, tool.Errorf(tool.Invalid, "the file is not UTF-8 text")
	}
	key := strings.TrimSuffix(name, ".md")
	s := Skill{Key: key, Name: key, Auto: true, Location: p.location, Path: path.Join(p.shown, name), State: tool.Ready}
	if p.location == tool.Project {
		if s.Reason = p.ledger.file(KindSkill, s.Path, tool.HashBytes(data)); s.Reason != "" {
			s.State = tool.Untrusted
		}
	}
	return s, s.read(string(data))
}

// read takes what a skill's file says of it.
func (s *Skill) read(text string) error {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return s.readBold(lines)
	}
	end := 1 + slices.IndexFunc(lines[1:], func(line string) bool { return strings.TrimRight(line, " \t") == "---" })
	if end == 0 {
		return skillForm("No valid YAML frontmatter found: the second --- is missing")
	}
	v, err := tool.ParseYAML(strings.Join(lines[1:end], "\n"))
	if err != nil {
		e := *tool.AsError(err, tool.Invalid)
		if e.Pos.Line > 0 {
			e.Pos.Line++ // the line --- above
		}
		return &e
	}
	fields, ok := v.(*tool.Dict)
	if !ok {
		return skillForm("No valid YAML frontmatter found: it should be fields, as in description: …")
	}
	return s.readFields(fields)
}

func skillForm(format string, args ...any) error {
	e := tool.Errorf(tool.Invalid, format, args...)
	e.Pos.Line = 1
	return e.WithHint("begin the file with ---, description: …, and ---; the instructions follow")
}

// readFields reads the front matter. Fields that mean nothing here are left to
// whoever they mean something to.
func (s *Skill) readFields(fields *tool.Dict) error {
	for _, field := range []struct {
		name string
		to   *string
	}{{"name", &s.Name}, {"title", &s.Title}, {"description", &s.Description}} {
		v, _ := fields.Get(field.name)
		text, ok := v.(string)
		if v != nil && !ok {
			return tool.Errorf(tool.Invalid, "'%s' should be a string but got %s", field.name, tool.TypeOf(v)).WithHint("put it into quotes")
		}
		if text = oneLine(text); text != "" {
			*field.to = text
		}
	}
	if s.Description == "" {
		return tool.Errorf(tool.Invalid, "the description is missing").WithHint("add description: what the skill is for and when to use it")
	}
	if v, _ := fields.Get("auto_invoke"); v != nil {
		auto, ok := v.(bool)
		if !ok {
			return tool.Errorf(tool.Invalid, "'auto_invoke' should be true or false but got %s", tool.TypeOf(v))
		}
		s.Auto = auto
	}
	v, _ := fields.Get("requires")
	return s.readRequires(v)
}

func (s *Skill) readRequires(v tool.Value) error {
	if text, ok := v.(string); ok {
		s.Requires = splitNames(text)
		return nil
	}
	items, ok := tool.Elements(v)
	if v != nil && !ok {
		return tool.Errorf(tool.Invalid, "'requires' should be a list of skills but got %s", tool.TypeOf(v))
	}
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return tool.Errorf(tool.Invalid, "'requires' should be a list of skills but holds %s", tool.TypeOf(item))
		}
		s.Requires = append(s.Requires, oneLine(name))
	}
	return nil
}

func splitNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
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
		switch value = oneLine(value); strings.ToLower(name) {
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
		return skillForm("No valid YAML frontmatter found: the file does not begin with ---")
	}
	s.Warnings = []string{"fields with bold names are deprecated: write them as YAML between two lines ---"}
	return nil
}

// withoutTwins leaves out the skills whose name another one has: a project
// must not slip its own instructions under the name of the user's, and one that
// nobody has reviewed must not switch his off.
func withoutTwins(all []Skill) (kept []Skill, twins []*tool.Error) {
	paths := map[string][]string{}
	personal := map[string]bool{}
	for _, s := range all {
		personal[tool.Key(s.Key)] = personal[tool.Key(s.Key)] || s.Location == tool.Personal
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s Skill) bool { return s.State == tool.Untrusted && personal[tool.Key(s.Key)] })
	for _, s := range all {
		paths[tool.Key(s.Key)] = append(paths[tool.Key(s.Key)], s.Path)
	}
	for _, s := range all {
		same := paths[tool.Key(s.Key)]
		if len(same) == 1 {
			kept = append(kept, s)
			continue
		}
		others := slices.DeleteFunc(slices.Clone(same), func(p string) bool { return p == s.Path })
		e := tool.Errorf(tool.Invalid, "two skills have the name '%s': also %s", s.Key, strings.Join(others, ", ")).WithHint("rename one of the files")
		e.Pos = tool.Position{File: s.Path, Line: 1}
		twins = append(twins, e)
	}
	return kept, twins
}

// newSkill takes a skill from the arguments of skill.create.
func newSkill(args *tool.Dict) skillText {
	s := skillText{
		Skill: Skill{
			Key: args.Text("name"), Title: oneLine(args.Text("title")), Description: oneLine(args.Text("description")),
			Auto: args.Bool("auto_invoke"), Location: tool.Location(args.Text("location")),
		},
		content: strings.TrimSpace(strings.ReplaceAll(args.Text("content"), "\r\n", "\n")),
	}
	v, _ := args.Get("requires")
	items, _ := tool.Elements(v)
	for _, item := range items {
		name, _ := item.(string)
		s.Requires = append(s.Requires, name)
	}
	return s
}

// A skillText is a skill with its instructions.
type skillText struct {
	Skill
	content string
}

// createSkill writes the file of a new skill, and says what to do next.
func createSkill(root string, o *Options, s skillText) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	places := skillPlaces(root, o.Home)
	at := slices.IndexFunc(places, func(p skillPlace) bool { return p.location == s.Location })
	if at < 0 {
		return "", tool.Errorf(tool.Invalid, "there is no folder for %s skills here", s.Location).WithHint("choose the other location")
	}
	skills, broken := Skills(root, o)
	if taken := s.taken(skills, broken); taken != "" {
		return "", skillExists(taken)
	}
	file := path.Join(places[at].shown, s.Key+".md")
	if err := places[at].write(s.Key+".md", s.file()); errors.Is(err, fs.ErrExist) {
		return "", skillExists(file)
	} else if err != nil {
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return "", tool.Errorf(tool.Failed, "cannot write %s: %w", file, err)
	}
	return s.created(file, skills), nil
}

func skillExists(file string) error {
	return tool.Errorf(tool.Failed, "Skill already exists: %s", file).WithHint("choose a different name, or let the user change that file")
}

// taken returns the file that has the skill's name already, or "". A file that
// is broken has it too.
func (s *skillText) taken(skills []Skill, broken []*tool.Error) string {
	for _, other := range skills {
		if tool.Key(other.Key) == tool.Key(s.Key) {
			return other.Path
		}
	}
	for _, e := range broken {
		if stem, ok := strings.CutSuffix(path.Base(e.Pos.File), ".md"); ok && tool.Key(stem) == tool.Key(s.Key) {
			return e.Pos.File
		}
	}
	return ""
}

// check says what is wrong with a new skill.
func (s *skillText) check() error {
	if !kebabCase(s.Key) {
		return tool.Errorf(tool.Invalid, "Skill name must be kebab-case: %q", s.Key).
			WithHint("small letters and digits in words joined by -, at most %d, as in make-release", tool.MaxName)
	}
	for _, name := range s.Requires {
		if !kebabCase(name) {
			return tool.Errorf(tool.Invalid, "Skill name must be kebab-case: %q in requires", name).WithHint("give the names of skills, as in make-release")
		}
	}
	switch {
	case s.Title == "" || s.Description == "" || s.content == "":
		return tool.Errorf(tool.Invalid, "title, description and content must not be empty")
	case strings.HasPrefix(s.content, "---\n"):
		return tool.Errorf(tool.Invalid, "the content begins with front matter of its own").WithHint("give only the instructions: the fields are written from the other arguments")
	case len(s.file()) > maxSkill || len(s.Title)+len(s.Description) > tool.MaxYAML/8:
		return tool.Errorf(tool.Limit, "a skill of more than %d KB, or a very long title or description", maxSkill>>10)
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
func (s *skillText) file() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nname: %s\ntitle: %s\ndescription: %s\nauto_invoke: %t\n", quoteYAML(s.Key), quoteYAML(s.Title), quoteYAML(s.Description), s.Auto)
	if len(s.Requires) > 0 {
		b.WriteString("requires:\n")
		for _, name := range s.Requires {
			b.WriteString("  - " + quoteYAML(name) + "\n")
		}
	}
	b.WriteString("---\n\n")
	if !strings.HasPrefix(s.content, "# ") {
		b.WriteString("# " + s.Title + "\n\n")
	}
	return b.String() + s.content + "\n"
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

// write creates a file in the place; one that exists is an error.
func (p skillPlace) write(name, text string) error {
	if p.location == tool.Project {
		root, err := os.OpenRoot(p.base)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(p.dir, 0o755); err != nil {
			return err
		}
		name = path.Join(p.dir, name)
		return writeNew(name, text, root.OpenFile, root.Remove)
	}
	if err := os.MkdirAll(p.path(), 0o755); err != nil {
		return err
	}
	return writeNew(filepath.Join(p.path(), name), text, os.OpenFile, os.Remove)
}

// writeNew writes a file that must not exist yet; of one that cannot be written
// whole nothing stays.
func writeNew(name, text string, open func(string, int, fs.FileMode) (*os.File, error), remove func(string) error) error {
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

// created tells that a skill is there, and what to do next.
func (s *skillText) created(file string, skills []Skill) string {
	how := "name it in the task"
	if s.Auto {
		how += "; a model may also choose it by its description"
	}
	text := "Created skill: " + file + "\n\nNext steps:\n" +
		"- Test: read the file, and go through its steps once\n" +
		"- Use in tasks: " + how
	for _, name := range s.Requires {
		if !slices.ContainsFunc(skills, func(other Skill) bool { return other.Key == name }) {
			text += "\n- Create the skill " + name + " too: this one requires it, and there is none"
		}
	}
	return text
}
