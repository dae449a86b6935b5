package shell

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A commandSchema describes the arguments with which a command only reads. A command runs with the
// arguments that the caller wrote, in their order, or it does not run by the schema: to reorder them
// or to add one could make another command of it. Only guards are added. The schema is written as
// text, so that a table of them can be read:
//
//	flags   "-abc"        three flags without a value, also joined: -cab
//	        "-n=int"      one with a value of a kind: -n 5, -n5
//	        "-M?=int"     one with an optional value, joined to it: -M, -M90
//	        "--name", "--name=int", "--name?=word"
//	        "-#"          a number: -20
//	args    "pattern path*": the kinds of the other arguments, the last any number of
//	        times (*) or optional (?); "=list" is that word
//
// Kinds are in [argumentKinds].
type commandSchema struct {
	flags string
	args  string
	// instead names flags that replace the first of args, such as -e of grep.
	instead string
	free    bool // all arguments are allowed: the command only prints them
	// lists names the flags with which args are patterns of what is listed. Without one of
	// them, args would be created.
	lists string
	// guards are flags of git that keep it from starting programs that the repository names.
	// They change nothing else, except that changes of files inside submodules are not shown.
	guards []string
	// noInput is the argument with which the command does what it does at a terminal, if
	// args and the flags of withInput are missing. Otherwise it would read its input, and it has none.
	noInput, withInput string
	bare               bool // the command does not know --
}

// A commandFlag is one flag of a schema.
type commandFlag struct {
	kind     string // of its value; "" for a flag without a value
	optional bool   // the value may be omitted
}

// read parses the text of the flags.
func (s *commandSchema) read() (flags map[string]commandFlag, digits bool) {
	flags = map[string]commandFlag{}
	for word := range strings.FieldsSeq(s.flags) {
		name, kind, valued := strings.Cut(word, "=")
		name, optional := strings.CutSuffix(name, "?")
		switch {
		case word == "-#":
			digits = true
		case valued:
			flags[name] = commandFlag{kind, optional}
		case strings.HasPrefix(word, "--"):
			flags[word] = commandFlag{}
		default:
			for _, letter := range word[1:] {
				flags["-"+string(letter)] = commandFlag{}
			}
		}
	}
	return flags, digits
}

// argumentKinds are the kinds of values of flags and of other arguments. Those without an expression
// are checked against the project.
var argumentKinds = map[string]argumentKind{
	"int":    {"an integer, such as 20 or 10k", compiled(`^[+-]?[0-9]+[A-Za-z]{0,3}$`)},
	"number": {"a number, such as 1.5 or 10s", compiled(`^-?[0-9]+(\.[0-9]+)?[smhd]?$`)},
	"word":   {"printable ASCII without spaces", compiled(`^[!-~]+$`)},
	"text":   {"text without a NUL character", compiled(`^[^\x00]*$`)},
	"format": {"text without a NUL character", compiled(`^[^\x00]*$`)},
	"plus":   {"a format that begins with +", compiled(`^\+[^\x00]*$`)}, // of date
	"path":   {},
	"ref":    {}, // a commit, or a path
	"reflog": {}, // a ref that is not a subcommand of git reflog
}

type argumentKind struct {
	shown string // in errors
	form  func() *regexp.Regexp
}

// compiled returns a function that returns an expression, which is compiled at its first call.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// A checkFunc fails for a text that is not of a kind.
type checkFunc func(kind, text string) error

// checker returns the checkFunc of a command that starts in a folder of the project.
func (c *Commands) checker(dir string) checkFunc {
	return func(kind, text string) error {
		if word, ok := strings.CutPrefix(kind, "="); ok {
			if text != word {
				return value.Errorf(value.Denied, "expected %q but got %q", word, text)
			}
			return nil
		}
		switch kind {
		case "path":
			return c.inside(dir, text)
		case "ref", "reflog":
			if kind == "reflog" && slices.Contains([]string{"delete", "drop", "expire", "write"}, text) {
				return value.Errorf(value.Denied, "%s changes the reflog", text)
			}
			if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
				return value.Errorf(value.Denied, "invalid commit or path %q", text)
			}
			if path.IsAbs(text) || slices.Contains(strings.Split(text, "/"), "..") {
				return c.inside(dir, text)
			}
			return nil
		case "format":
			// Checking a signature starts a program that the repository names.
			if strings.Contains(text, "%G") || strings.Contains(text, "signature") {
				return value.Errorf(value.Denied, "the format is not allowed: '%%G' and 'signature' make git run a program that checks signatures").WithHint("remove '%%G' and 'signature' from the format")
			}
		}
		if k := argumentKinds[kind]; !k.form().MatchString(text) {
			return value.Errorf(value.Denied, "invalid argument %q: expected %s", text, k.shown)
		}
		return nil
	}
}

// inside fails for a path that leads out of the project by its text. The kernel checks where links
// lead.
func (c *Commands) inside(dir, text string) error {
	if text == "/dev/null" {
		return nil
	}
	return c.folder.CheckInside(dir, text)
}

// matchCommand checks the arguments of a command of the table, and returns those to run it
// with: the same and, for git, its guards. An error means that the command does more than read;
// one of kind Security, that it leads out of the project.
func matchCommand(name string, args []string, check checkFunc) ([]string, error) {
	if name == "git" {
		return gitMatch(args, check)
	}
	schema, ok := commandTable()[name]
	if !ok {
		return nil, value.Errorf(value.Denied, "%s is not a read-only command", name)
	}
	_, err := schema.match(name, args, check)
	return args, err
}

// A commandMatch is the work of matching arguments against a schema.
type commandMatch struct {
	name   string
	schema commandSchema
	flags  map[string]commandFlag
	digits bool
	check  checkFunc

	given  map[string]bool
	others []string // what is neither a flag nor the value of one
}

// match checks arguments against a schema.
func (s commandSchema) match(name string, args []string, check checkFunc) (*commandMatch, error) {
	if s.free {
		return &commandMatch{}, nil
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
		if err := m.late(append([]string{arg}, args[:len(args)-len(rest)]...)); err != nil {
			return nil, err
		}
		args = rest
	}
	return m, m.positionals()
}

// late checks a flag and its value that come after another argument. Some programs take them for
// paths there.
func (m *commandMatch) late(words []string) error {
	if m.schema.bare || len(m.others) == 0 || !strings.Contains(m.schema.args, "path") {
		return nil
	}
	for _, word := range words {
		if m.check("path", word) != nil {
			return value.Errorf(value.Denied, "%s: %q comes after another argument, where it could be a path outside the project", m.name, word)
		}
	}
	return nil
}

// has reports whether one of some flags is given.
func (m *commandMatch) has(flags string) bool {
	return slices.ContainsFunc(strings.Fields(flags), func(flag string) bool { return m.given[flag] })
}

// flag reads one argument that begins with -, and its value, which may be in rest.
func (m *commandMatch) flag(arg string, rest []string) ([]string, error) {
	switch {
	case strings.HasPrefix(arg, "--"):
		name, value, joined := strings.Cut(arg, "=")
		f, ok := m.flags[name]
		if !ok || joined && f.kind == "" {
			return nil, m.refuse(name)
		}
		return m.take(name, f, value, joined, rest)
	case m.digits && len(arg) > 1 && strings.Trim(arg[1:], "0123456789") == "":
		return rest, nil
	case arg == "-":
		return nil, value.Errorf(value.Denied, "%s: the argument - is not supported: commands have no standard input", m.name)
	}
	for i, letter := range arg[1:] {
		name := "-" + string(letter)
		f, ok := m.flags[name]
		if !ok {
			return nil, m.refuse(name)
		}
		if f.kind == "" {
			m.given[name] = true
			continue
		}
		value := arg[1+i+len(string(letter)):]
		return m.take(name, f, value, value != "", rest)
	}
	return rest, nil
}

// take checks the value of a flag. A value in the next argument must not look like a flag: a
// version of the program in which the flag has no value would read it as one.
func (m *commandMatch) take(name string, f commandFlag, val string, joined bool, rest []string) ([]string, error) {
	m.given[name] = true
	if f.kind == "" || f.optional && !joined {
		return rest, nil
	}
	if !joined {
		if len(rest) == 0 {
			return nil, value.Errorf(value.Invalid, "%s: the flag %s needs a value", m.name, name)
		}
		val, rest = rest[0], rest[1:]
		if strings.HasPrefix(val, "-") && (f.kind != "int" && f.kind != "number" || strings.Trim(val[1:], "0123456789") != "") {
			return nil, value.Errorf(value.Denied, "%s: the value %q of %s is not allowed: it begins with -", m.name, val, name)
		}
	}
	if err := m.check(f.kind, val); err != nil {
		return nil, m.about(err)
	}
	return rest, nil
}

// positionals checks the arguments that are not flags.
func (m *commandMatch) positionals() error {
	kinds := strings.Fields(m.schema.args)
	if m.has(m.schema.instead) {
		kinds = kinds[1:]
	}
	if m.schema.lists != "" && len(m.others) > 0 && !m.has(m.schema.lists) {
		return value.Errorf(value.Denied, "%s: without --list, %q is created", m.name, m.others[0])
	}
	for _, text := range m.others {
		if len(kinds) == 0 {
			return value.Errorf(value.Denied, "%s: unexpected argument %q", m.name, text)
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
		return value.Errorf(value.Denied, "%s: only %s %s is allowed", m.name, m.name, kinds[0][1:])
	}
	if len(kinds) > 0 && !strings.HasSuffix(kinds[0], "*") && !strings.HasSuffix(kinds[0], "?") {
		return value.Errorf(value.Invalid, "%s: missing argument: %s", m.name, kinds[0]).WithHint("usage: %s", m.usage())
	}
	return nil
}

// usage returns the command with its arguments, as in git cat-file REF [REF].
func (m *commandMatch) usage() string {
	words := []string{m.name}
	for kind := range strings.FieldsSeq(m.schema.args) {
		name := strings.ToUpper(strings.TrimRight(kind, "*?"))
		switch kind[len(kind)-1] {
		case '*':
			name = "[" + name + "…]"
		case '?':
			name = "[" + name + "]"
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
}

// about names the command in an error of one of its arguments.
func (m *commandMatch) about(err error) error {
	e := *value.ErrorOf(err, value.Denied)
	e.Err = value.Errorf(e.Kind, "%s: %w", m.name, e.Err)
	return &e
}

func (m *commandMatch) refuse(flag string) error {
	return value.Errorf(value.Denied, "%s: the flag %s is not allowed", m.name, flag)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
