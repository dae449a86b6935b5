package stdlib

import (
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A CommandRule says how a command may run that is not among those which only
// read, or runs differently: what the user's own config says about it. The zero
// value adds nothing to what the command may do without it.
type CommandRule struct {
	// Path is the program; "" means the one in the system's folders.
	Path string
	// Any lets it take any arguments ("exec: any").
	Any bool
	// Args are the arguments that it may take, one command line each: words
	// as they are, * for one word that does not begin with -, and ** at the
	// end for anything. Without Any, whatever fits none is refused.
	Args []string
	// Network lets it open connections.
	Network bool
	// Env is what it is told beside PATH, HOME, LANG and TERM.
	Env map[string]string
	// Read and Write are folders and files outside the project that it may
	// read, and that it may change, absolute.
	Read, Write []string
}

// valid returns an error of kind Invalid if the rule cannot be that of the command
// of a name.
func (r CommandRule) valid(name string) error {
	if !shellName.MatchString(name) {
		return value.Errorf(value.Invalid, "commands: %q is not the plain name of a command", name).
			WithHint("the program's file goes into path, as in %s: {path: /opt/bin/mytool, exec: any}", "mytool")
	}
	fail := func(format string, args ...any) error {
		return value.Errorf(value.Invalid, "commands: %s: "+format, append([]any{name}, args...)...).
			WithHint("as in %s: {exec: any}, or %s: {path: /opt/bin/%s, args: [\"check *\"]}", name, name, name)
	}
	if r.Path != "" && !filepath.IsAbs(r.Path) {
		return fail("path should be an absolute path, got %q", r.Path)
	}
	for field, paths := range map[string][]string{"read": r.Read, "write": r.Write} {
		for _, p := range paths {
			if !filepath.IsAbs(p) {
				return fail("%s: %q is not an absolute path", field, p)
			}
		}
	}
	for name, value := range r.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fail("env: %q should be a variable's name, with a string", name)
		}
	}
	if _, known := commandTable[name]; !known && name != "git" && name != shellAnyLine && !r.Any && len(r.Args) == 0 {
		return fail("says nothing of its arguments")
	}
	return nil
}

// check says whether arguments fit one of a rule's lines.
func (r CommandRule) check(name string, args []string) error {
	for _, line := range r.Args {
		if fitsLine(strings.Fields(line), args) {
			return nil
		}
	}
	return value.Errorf(value.Denied, "%s may not take these arguments", name).
		WithHint("the user's config allows it: %s", strings.Join(r.Args, "; "))
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

// ParseCommands reads what a user's config says of commands, by their names:
//
//	commands:
//	  make: {exec: any}
//	  mytool: {path: /opt/bin/mytool, exec: any}
//	  go: {args: ["vet ./...", "test **"], env: {GOCACHE: /home/me/.cache/go-build}, write: [/home/me/.cache/go-build]}
//	  curl: {exec: any, network: true}
//
// Null is no rules.
func ParseCommands(v value.Value) (map[string]CommandRule, error) {
	if v == nil {
		return nil, nil
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "commands should name each command with its rule, got %s", value.TypeOf(v)).
			WithHint("as in commands: {make: {exec: any}}")
	}
	rules := map[string]CommandRule{}
	for k, v := range d.All() {
		name, _ := k.(string)
		rule, err := parseCommand(name, v)
		if err != nil {
			return nil, err
		}
		rules[name] = rule
	}
	return rules, nil
}

func parseCommand(name string, v value.Value) (CommandRule, error) {
	fail := func(format string, args ...any) (CommandRule, error) {
		return CommandRule{}, value.Errorf(value.Invalid, "commands: %s: "+format, append([]any{name}, args...)...).
			WithHint("as in %s: {exec: any}, or %s: {path: /opt/bin/%s, args: [\"check *\"]}", name, name, name)
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return fail("should be a rule, got %s", value.TypeOf(v))
	}
	var rule CommandRule
	for k, v := range d.All() {
		var err error
		switch field, _ := k.(string); field {
		case "path":
			if rule.Path, ok = v.(string); !ok || rule.Path == "" {
				return fail("path should be an absolute path, got %s", value.FormatJSON(v, ""))
			}
		case "exec":
			if v != "any" {
				return fail("exec can only be any, got %s", value.FormatJSON(v, ""))
			}
			rule.Any = true
		case "network":
			if rule.Network, ok = v.(bool); !ok {
				return fail("network should be true or false, got %s", value.FormatJSON(v, ""))
			}
		case "args":
			rule.Args, err = configTexts(v)
		case "read":
			rule.Read, err = configTexts(v)
		case "write":
			rule.Write, err = configTexts(v)
		case "env":
			rule.Env, err = configEnv(v)
		default:
			return fail("there is no field %q%s", field, value.DidYouMean(field, []string{"path", "exec", "args", "network", "read", "write", "env"}))
		}
		if err != nil {
			return fail("%v: %w", k, err)
		}
	}
	return rule, rule.valid(name)
}

func configTexts(v value.Value) ([]string, error) {
	list, ok := v.(value.List)
	if !ok {
		return nil, value.Errorf(value.Invalid, "should be a list, got %s", value.TypeOf(v))
	}
	var texts []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "should hold strings, got %s", value.FormatJSON(item, ""))
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func configEnv(v value.Value) (map[string]string, error) {
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "should name variables with their values, got %s", value.TypeOf(v))
	}
	env := map[string]string{}
	for k, v := range d.All() {
		name, _ := k.(string)
		val, ok := v.(string)
		if !ok {
			return nil, value.Errorf(value.Invalid, "%q should be a variable's name, with a string", name)
		}
		env[name] = val
	}
	return env, nil
}
