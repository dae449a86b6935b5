package tool

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool/internal/target"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Capability is the right to do one thing: its name, and the target that it is limited
// to. It is written NAME or NAME:TARGET; without a target it means every target.
//
//	fs.read:docs/**        files, as a glob relative to the project
//	http.get:*.example.com hosts; "*." stands for any subdomain, :PORT for a port
//	shell:git              a command, or sh for any command line
//	env:HOME               an environment variable
//	secret:TOKEN@api.example.com
//	tool:read_file         another tool, or tool:@files for a group
//	use:stock/**           a function that the program adds, by the target that it names
type Capability struct {
	Name   string
	Target string
}

// A capabilityRule describes how the targets of one capability name are matched.
type capabilityRule struct {
	name  string
	acts  bool // writes, runs or sends: a tool that needs it is risky
	match func(pattern, target string) bool
	check func(target string) error
}

// capabilityRules is every capability there is. http:HOST covers http.get:HOST.
var capabilityRules = []capabilityRule{
	{"fs.read", false, target.Read, target.CheckGlob},
	{"fs.write", true, target.Path, target.CheckGlob},
	{"http", true, target.Host, target.CheckHost},
	{"http.get", true, target.Host, target.CheckHost},
	{"http.head", true, target.Host, target.CheckHost},
	{"http.post", true, target.Host, target.CheckHost},
	{"http.put", true, target.Host, target.CheckHost},
	{"http.patch", true, target.Host, target.CheckHost},
	{"http.delete", true, target.Host, target.CheckHost},
	{"shell", true, target.Word, target.CheckWord},
	{"env", false, target.Word, target.CheckWord},
	{"secret", true, target.Secret, target.CheckSecret},
	{"tool", false, target.Tool, target.CheckWord},
	{"model", false, nil, nil},
	{"human", false, nil, nil},
	{"skill.create", true, nil, nil},
	{"memory.add", true, nil, nil},
	{"context.read", false, nil, nil},
	{"use", true, target.Path, target.CheckGlob},
}

func ruleFor(name string) (r capabilityRule, ok bool) {
	if i := slices.IndexFunc(capabilityRules, func(r capabilityRule) bool { return r.name == name }); i >= 0 {
		return capabilityRules[i], true
	}
	return r, false
}

// CapabilityNames lists the names that a capability may have.
func CapabilityNames() []string {
	return value.Map(capabilityRules, func(r capabilityRule) string { return r.name })
}

// ParseCapability reads a capability as an author writes it in needs.
func ParseCapability(text string) (Capability, error) {
	name, target, targeted := strings.Cut(text, ":")
	rule, ok := ruleFor(name)
	if !ok {
		return Capability{}, value.Errorf(value.Invalid, "unknown capability %q%s", text, value.DidYouMean(name, CapabilityNames())).
			WithHint("use one of the capabilities: %s", strings.Join(CapabilityNames(), ", "))
	}
	if !targeted {
		return Capability{Name: name}, nil
	}
	if rule.check == nil {
		return Capability{}, value.Errorf(value.Invalid, "capability %q takes no target", name).WithHint("write %q", name)
	}
	if target == "" {
		return Capability{}, value.Errorf(value.Invalid, "capability %q has an empty target", text).WithHint("to allow every target, write %q", name)
	}
	if !utf8.ValidString(target) || strings.ContainsFunc(target, value.IsInvisible) {
		return Capability{}, value.Errorf(value.Invalid, "capability %q has an invisible character or invalid UTF-8", text)
	}
	if len(target) > maxTarget {
		return Capability{}, value.Errorf(value.Invalid, "capability %q: the target is longer than %d bytes", value.Cut(text, 40), maxTarget)
	}
	if err := rule.check(target); err != nil {
		return Capability{}, err
	}
	return Capability{Name: name, Target: target}, nil
}

// ParseCapability reads the capability of a rule with this verdict. It is one that the function
// ParseCapability reads. A rule that allows can also name one command line, as in "shell:$ npm test": the words in
// the form of [Func.Exact]. No tool can declare that.
func (v Verdict) ParseCapability(text string) (Capability, error) {
	line, isLine := strings.CutPrefix(text, "shell:"+commandLine)
	switch {
	case !isLine || v != Allow:
		return ParseCapability(text)
	case line == "" || strings.TrimSpace(line) != line || !utf8.ValidString(line) || strings.ContainsFunc(line, value.IsInvisible):
		return Capability{}, value.Errorf(value.Invalid, "capability %q has an invalid command line", text).WithHint(`write one line, as in "shell:$ npm test"`)
	case len(line) > maxTarget:
		return Capability{}, value.Errorf(value.Invalid, "capability %q: the target is longer than %d bytes", value.Cut(text, 40), maxTarget)
	}
	return Capability{Name: "shell", Target: commandLine + line}, nil
}

// commandLine begins the target of a capability for one command line.
const commandLine = "$ "

// maxTarget is how long a target may be: a person reviews each of them.
const maxTarget = 256

// String returns the capability as it is written.
func (c Capability) String() string {
	if c.Target == "" {
		return c.Name
	}
	return c.Name + ":" + c.Target
}

// TakesTarget reports whether a capability with this name can be limited to a target.
func (c Capability) TakesTarget() bool {
	r, ok := ruleFor(c.Name)
	return ok && r.check != nil
}

// Set sets the capability to what String returned. It checks nothing: see [ParseCapability].
func (c *Capability) Set(text string) { c.Name, c.Target, _ = strings.Cut(text, ":") }

// Acts reports whether the capability lets a tool write, run or send.
func (c Capability) Acts() bool {
	r, ok := ruleFor(c.Name)
	return !ok || r.acts || c.Name == "env" && (c.Target == "" || namesSecret(c.Target)) // every variable, and so every secret among them
}

// changes reports whether the capability lets a tool change something. To ask a server, or to use a secret,
// acts but changes nothing.
func (c Capability) changes() bool {
	switch c.Name {
	case "http.get", "http.head", "secret", "env":
		return false
	}
	return c.Acts()
}

// isHTTP reports whether the capability lets a tool make HTTP requests.
func (c Capability) isHTTP() bool { return c.Name == "http" || strings.HasPrefix(c.Name, "http.") }

// namesSecret reports whether a variable is expected to hold a secret by the words of its
// name, as OPENAI_API_KEY, dbPassword2 and DATABASE_URL are.
func namesSecret(name string) bool {
	var words strings.Builder
	last := rune(0)
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) || !unicode.IsLetter(r) {
			words.WriteByte(' ')
		}
		if unicode.IsLetter(r) {
			words.WriteRune(unicode.ToUpper(r))
		}
		last = r
	}
	for word := range strings.FieldsSeq(words.String()) {
		if name == "PWD" || name == "OLDPWD" { // folders
			return false
		}
		word = strings.TrimSuffix(word, "S")
		switch word {
		case "KEY", "TOKEN", "PAS", "PWD", "PAT", "AUTH", "CREDENTIAL", "COOKIE", "DSN", "WEBHOOK", "DATABASE":
			return true
		}
		for _, end := range []string{"APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE"} {
			if strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return false
}

// Allows reports whether c, as it was declared or granted, covers a concrete
// capability, whose target is a path, a host or a name and not a pattern.
//
// The caller passes the target in its canonical form: a clean path relative to the
// project, or the host that the name resolves to, in lower case and without a standard
// port. A path outside of the project is never allowed. Allows does not resolve links.
func (c Capability) Allows(concrete Capability) bool {
	if c.Name != concrete.Name && !(c.Name == "http" && strings.HasPrefix(concrete.Name, "http.")) {
		return false
	}
	if strings.HasPrefix(c.Name, "fs.") && target.Leaves(concrete.Target) {
		return false
	}
	if c.Target == "" {
		return true
	}
	r, ok := ruleFor(c.Name)
	return ok && r.match != nil && r.match(c.Target, concrete.Target)
}

// AllowsAny reports whether any capability of a set allows a concrete one.
func AllowsAny(set []Capability, concrete Capability) bool {
	return slices.ContainsFunc(set, func(c Capability) bool { return c.Allows(concrete) })
}
