package stdlib

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// A commandSchema says which arguments a command takes here. It is written as
// text, so that a table of them can be read:
//
//	flags   "-abc"        three flags that take nothing, also joined: -cab
//	        "-n=int"      one that takes a value of a kind: -n 5, -n5
//	        "-M?=int"     one that may take a value, joined to it: -M, -M90
//	        "--name", "--name=int", "--name?=word"
//	        "-#"          a number of its own: -20
//	args    "pattern path*": kinds of the others, the last any number of times (*)
//	        or not at all (?); "=list" is that very word
//
// Kinds are in [shellKinds].
type commandSchema struct {
	flags string
	args  string
	// instead names flags that stand for the first of args, as -e for grep.
	instead string
	free    bool // whatever it takes, it only says it again: no flag can harm
	always  []string
	without string // a flag with which always is left out
	missing string // what stands in for args where there are none
	bare    bool   // it does not know --
}

// A commandFlag is one flag of a schema.
type commandFlag struct {
	kind string
	must bool // it takes a value; else it may
	none bool
}

// read takes the flags' text apart.
func (s *commandSchema) read() (flags map[string]commandFlag, digits bool) {
	flags = map[string]commandFlag{}
	for word := range strings.FieldsSeq(s.flags) {
		name, kind, valued := strings.Cut(word, "=")
		name, optional := strings.CutSuffix(name, "?")
		switch {
		case word == "-#":
			digits = true
		case valued:
			flags[name] = commandFlag{kind: kind, must: !optional}
		case strings.HasPrefix(word, "--"):
			flags[word] = commandFlag{none: true}
		default:
			for _, letter := range word[1:] {
				flags["-"+string(letter)] = commandFlag{none: true}
			}
		}
	}
	return flags, digits
}

// shellKinds is what the values of flags and the other arguments may be; nil
// and path are judged by the project.
var shellKinds = map[string]*regexp.Regexp{
	"int":    regexp.MustCompile(`^[+-]?[0-9]+[A-Za-z]{0,3}$`),
	"number": regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?[smhd]?$`),
	"word":   regexp.MustCompile(`^[!-~]+$`),
	"text":   regexp.MustCompile(`^[^\x00]*$`),
	"format": regexp.MustCompile(`^[^\x00]*$`),
	"plus":   regexp.MustCompile(`^\+[^\x00]*$`), // a format of date
	"path":   nil,
	"ref":    nil, // a commit, or a path
}

// A shellCheck says whether a text is of a kind.
type shellCheck func(kind, text string) error

// shellChecker checks the kinds for a command that starts in a folder of the
// project.
func (w *World) shellChecker(dir string) shellCheck {
	return func(kind, text string) error {
		if word, ok := strings.CutPrefix(kind, "="); ok {
			if text != word {
				return value.Errorf(value.Denied, "%q is not %q", text, word)
			}
			return nil
		}
		switch kind {
		case "path":
			return w.shellInside(dir, text)
		case "ref":
			if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
				return value.Errorf(value.Denied, "%q is neither a commit nor a path", text)
			}
			if path.IsAbs(text) || slices.Contains(strings.Split(text, "/"), "..") {
				return w.shellInside(dir, text)
			}
			return nil
		case "format":
			// What checks a signature starts a program that the repository names.
			if strings.Contains(text, "%G") || strings.Contains(text, "signature") {
				return value.Errorf(value.Denied, "a format that checks signatures is not allowed")
			}
		}
		if !shellKinds[kind].MatchString(text) {
			return value.Errorf(value.Denied, "%q is no %s", text, kind)
		}
		return nil
	}
}

// shellInside says whether a path that a command reads leads into the project,
// by its words; where its links lead, the kernel judges.
func (w *World) shellInside(dir, text string) error {
	if text == "/dev/null" {
		return nil
	}
	if err := fs.CheckText(text); err != nil {
		return err
	}
	if w.files.Absolute(text) {
		_, err := w.files.Inside(text)
		return err
	}
	if clean := path.Join(dir, text); clean == ".." || strings.HasPrefix(clean, "../") {
		return fs.Outside(text)
	}
	return nil
}

// shellMatch checks the arguments of a command of the table, and gives those
// to run it with.
func shellMatch(name string, args []string, check shellCheck) ([]string, error) {
	if name == "git" {
		return gitMatch(args, check)
	}
	schema, ok := commandTable[name]
	if !ok {
		return nil, value.Errorf(value.Denied, "the command %s is not among those that may run", name).
			WithHint("commands that only read may: %s; a person can allow this one in the user's config: commands: {%s: {exec: any}}",
				strings.Join(append(sortedKeys(commandTable), "git"), ", "), name)
	}
	return schema.match(name, args, check)
}

// A commandMatch is the work of matching arguments against a schema.
type commandMatch struct {
	name   string
	schema commandSchema
	flags  map[string]commandFlag
	digits bool
	check  shellCheck

	given  map[string]bool
	passed []string // flags and their values
	others []string
}

// match checks arguments against a schema. What comes back has the flags
// first, then --, then the rest, so that the program cannot take one for the
// other.
func (s commandSchema) match(name string, args []string, check shellCheck) ([]string, error) {
	if s.free {
		return args, nil
	}
	m := &commandMatch{name: name, schema: s, check: check, given: map[string]bool{}}
	m.flags, m.digits = s.read()
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" && !s.bare {
			m.others = append(m.others, args...)
			break
		}
		if !strings.HasPrefix(arg, "-") {
			m.others = append(m.others, arg)
			continue
		}
		rest, err := m.flag(arg, args)
		if err != nil {
			return nil, err
		}
		args = rest
	}
	if err := m.positionals(); err != nil {
		return nil, err
	}
	all := m.passed
	if !m.given[s.without] {
		all = append(slices.Clone(s.always), all...)
	}
	if len(m.others) == 0 && s.missing != "" {
		m.others = []string{s.missing}
	}
	if len(m.others) == 0 {
		return all, nil
	}
	if !s.bare {
		all = append(all, "--")
	}
	return append(all, m.others...), nil
}

// flag takes one argument that begins with -, and its value from the rest if
// it stands there.
func (m *commandMatch) flag(arg string, rest []string) ([]string, error) {
	switch {
	case strings.HasPrefix(arg, "--"):
		name, value, joined := strings.Cut(arg, "=")
		f, ok := m.flags[name]
		if !ok || joined && f.none {
			return nil, m.refuse(name)
		}
		return m.take(name, f, arg, value, joined, rest)
	case m.digits && len(arg) > 1 && strings.Trim(arg[1:], "0123456789") == "":
		m.passed = append(m.passed, arg)
		return rest, nil
	case arg == "-":
		return nil, value.Errorf(value.Denied, "%s: - means what comes in, and nothing does", m.name)
	}
	for i, letter := range arg[1:] {
		name := "-" + string(letter)
		f, ok := m.flags[name]
		if !ok {
			return nil, m.refuse(name)
		}
		if f.none {
			m.given[name] = true
			continue
		}
		value := arg[1+i+len(string(letter)):]
		return m.take(name, f, arg, value, value != "", rest)
	}
	m.passed = append(m.passed, arg)
	return rest, nil
}

// take checks the value of a flag. One that stands apart must not look like a
// flag: a program that knows the flag as one without a value would take it so.
func (m *commandMatch) take(name string, f commandFlag, arg, val string, joined bool, rest []string) ([]string, error) {
	m.given[name] = true
	m.passed = append(m.passed, arg)
	if f.none || !f.must && !joined {
		return rest, nil
	}
	if !joined {
		if len(rest) == 0 {
			return nil, value.Errorf(value.Invalid, "%s: %s takes a value", m.name, name)
		}
		val, rest = rest[0], rest[1:]
		if strings.HasPrefix(val, "-") && (f.kind != "int" && f.kind != "number" || strings.Trim(val[1:], "0123456789") != "") {
			return nil, value.Errorf(value.Denied, "%s: the value %q of %s looks like a flag", m.name, val, name).
				WithHint("join it to the flag, as in %s", m.joined(name, val))
		}
		m.passed = append(m.passed, val)
	}
	if err := m.check(f.kind, val); err != nil {
		return nil, m.about(err)
	}
	return rest, nil
}

func (m *commandMatch) joined(name, value string) string {
	if strings.HasPrefix(name, "--") {
		return name + "=" + value
	}
	return name + value
}

// positionals checks the arguments that are no flags.
func (m *commandMatch) positionals() error {
	kinds := strings.Fields(m.schema.args)
	for name := range strings.FieldsSeq(m.schema.instead) {
		if m.given[name] {
			kinds = kinds[1:]
			break
		}
	}
	for _, text := range m.others {
		if len(kinds) == 0 {
			return value.Errorf(value.Denied, "%s takes no more arguments here: %q is too many", m.name, text)
		}
		kind := kinds[0]
		if many, ok := strings.CutSuffix(kind, "*"); ok {
			kind = many
		} else {
			kind = strings.TrimSuffix(kind, "?")
			kinds = kinds[1:]
		}
		if err := m.check(kind, text); err != nil {
			return m.about(err)
		}
	}
	if len(kinds) > 0 && strings.HasPrefix(kinds[0], "=") {
		return value.Errorf(value.Denied, "%s may only be %s %s", m.name, m.name, kinds[0][1:])
	}
	if len(kinds) > 0 && !strings.HasSuffix(kinds[0], "*") && !strings.HasSuffix(kinds[0], "?") {
		return value.Errorf(value.Invalid, "%s lacks an argument: a %s", m.name, kinds[0])
	}
	return nil
}

// about names the command in an error of one of its arguments.
func (m *commandMatch) about(err error) error {
	e := *value.ErrorOf(err, value.Denied)
	e.Err = value.Errorf(e.Kind, "%s: %w", m.name, e.Err)
	return &e
}

func (m *commandMatch) refuse(flag string) error {
	allowed := slices.Sorted(maps.Keys(m.flags))
	if m.digits {
		allowed = append(allowed, "-NUMBER")
	}
	if len(allowed) == 0 {
		return value.Errorf(value.Denied, "%s does not take %s here", m.name, flag).WithHint("it takes no flags")
	}
	return value.Errorf(value.Denied, "%s does not take %s here", m.name, flag).
		WithHint("its flags are %s; a person can allow the others in the user's config", strings.Join(allowed, " "))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
