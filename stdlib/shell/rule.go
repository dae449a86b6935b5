package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Rule allows a command to run in ways that do more than read, or otherwise than the
// table of commands has it. It comes from the user's own config. The zero value adds
// nothing to what the command may do without it.
type Rule struct {
	// Path is the program's file, absolute; "" means the one in the system's folders.
	Path string
	// Any lets it take any arguments ("exec: any").
	Any bool
	// Args are the arguments that it may take, one command line each: words
	// as they are, * for one word that does not begin with -, and ** at the
	// end for anything. Unless Any is set, arguments that match no line are refused.
	Args []string
	// Network lets it open connections.
	Network bool
	// Env is its environment beside PATH, HOME, LANG and TERM, by the names of
	// variables.
	Env map[string]string
	// Read and Write are the absolute paths of folders and files outside the project
	// that it may read, and that it may change.
	Read, Write []string
}

// valid returns an error of kind Invalid if the rule cannot be that of the command
// of a name.
func (r Rule) valid(name string) error {
	if !programName().MatchString(name) {
		return value.Errorf(value.Invalid, "commands: invalid name %q: expected the name of a command without a path", name).
			WithHint("set the path of the program in the rule, as in %s: {path: /opt/bin/mytool, exec: any}", "mytool")
	}
	fail := func(format string, args ...any) error {
		return value.Errorf(value.Invalid, "commands: %s: "+format, append([]any{name}, args...)...).
			WithHint("for example: %s: {exec: any}, or %s: {path: /opt/bin/%s, args: [\"check *\"]}", name, name, name)
	}
	if r.Path != "" && !filepath.IsAbs(r.Path) {
		return fail("path should be an absolute path but got %q", r.Path)
	}
	for field, paths := range map[string][]string{"read": r.Read, "write": r.Write} {
		for _, p := range paths {
			if !filepath.IsAbs(p) {
				return fail("%s: %q is not an absolute path", field, p)
			}
		}
	}
	for name, value := range r.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fail("env: invalid name of a variable: %q", name)
		}
		if strings.ContainsRune(value, 0) {
			return fail("env: the value of the variable %s contains a NUL character", name)
		}
	}
	if _, known := commandTable()[name]; !known && name != "git" && name != commandLine && !r.Any && len(r.Args) == 0 {
		return fail("the rule has neither exec nor args")
	}
	return nil
}

// fits reports whether arguments match a line of the rule.
func (r Rule) fits(args []string) bool {
	return slices.ContainsFunc(r.Args, func(line string) bool { return fitsLine(strings.Fields(line), args) })
}

func fitsLine(line, args []string) bool {
	for i, word := range line {
		switch {
		case word == "**" && i == len(line)-1:
			return true
		case i >= len(args):
			return false
		case word == "*" && strings.HasPrefix(args[i], "-"):
			return false
		case word != "*" && word != args[i]:
			return false
		}
	}
	return len(line) == len(args)
}

// ParseRules reads the rules for commands in a user's config, by the names of commands:
//
//	commands:
//	  make: {exec: any}
//	  mytool: {path: /opt/bin/mytool, exec: any}
//	  go: {args: ["vet ./...", "test **"], env: {GOCACHE: /home/me/.cache/go-build}, write: [/home/me/.cache/go-build]}
//	  curl: {exec: any, network: true}
//
// Of nil it returns nil. Its error is of kind Invalid.
func ParseRules(v value.Value) (map[string]Rule, error) {
	if v == nil {
		return nil, nil
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "'commands' should be an object with a rule for each command but got %s", value.TypeOf(v)).
			WithHint("for example: commands: {make: {exec: any}}")
	}
	rules := map[string]Rule{}
	for k, v := range d.All() {
		name, _ := k.(string)
		rule, err := parseRule(name, v)
		if err != nil {
			return nil, err
		}
		rules[name] = rule
	}
	return rules, nil
}

func parseRule(name string, v value.Value) (Rule, error) {
	fail := func(format string, args ...any) (Rule, error) {
		return Rule{}, value.Errorf(value.Invalid, "commands: %s: "+format, append([]any{name}, args...)...).
			WithHint("for example: %s: {exec: any}, or %s: {path: /opt/bin/%s, args: [\"check *\"]}", name, name, name)
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return fail("expected an object with exec or args but got %s", value.TypeOf(v))
	}
	var rule Rule
	for k, v := range d.All() {
		var err error
		switch field, _ := k.(string); field {
		case "path":
			if rule.Path, ok = v.(string); !ok || rule.Path == "" {
				return fail("path should be an absolute path but got %s", value.FormatJSON(v, ""))
			}
		case "exec":
			if v != "any" {
				return fail("exec should be \"any\" but got %s", value.FormatJSON(v, ""))
			}
			rule.Any = true
		case "network":
			if rule.Network, ok = v.(bool); !ok {
				return fail("network should be true or false but got %s", value.FormatJSON(v, ""))
			}
		case "args":
			rule.Args, err = readTexts(v)
		case "read":
			rule.Read, err = readTexts(v)
		case "write":
			rule.Write, err = readTexts(v)
		case "env":
			rule.Env, err = readEnv(v)
		default:
			return fail("unknown field %q%s", field, value.DidYouMean(field, []string{"path", "exec", "args", "network", "read", "write", "env"}))
		}
		if err != nil {
			return fail("%v: %w", k, err)
		}
	}
	return rule, rule.valid(name)
}

func readTexts(v value.Value) ([]string, error) {
	list, ok := v.(value.List)
	if !ok {
		return nil, value.Errorf(value.Invalid, "expected a list but got %s", value.TypeOf(v))
	}
	var texts []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "expected a list of strings, but an item is %s", value.FormatJSON(item, ""))
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func readEnv(v value.Value) (map[string]string, error) {
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, `expected an object with environment variables, as in {GOFLAGS: "-race"}, but got %s`, value.TypeOf(v))
	}
	env := map[string]string{}
	for k, v := range d.All() {
		name, ok := k.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "the name of a variable should be a string but got %s", value.FormatJSON(k, ""))
		}
		val, ok := v.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "the variable %q should be a string in quotes but got %s", name, value.FormatJSON(v, ""))
		}
		env[name] = val
	}
	return env, nil
}
