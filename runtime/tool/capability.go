package tool

import (
	"fmt"
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

// A capabilityRule is everything that is known of one capability name. To add a capability, add a row.
type capabilityRule struct {
	name  string
	power power
	match func(pattern, target string) bool
	check func(target string) error
	// every and some say what it allows a tool to do, for the people who review that: without a target, and with the
	// target as %s.
	every, some string
	doc         string // for authors of tools, in Markdown
}

// A power is what an effect with a capability can do.
type power uint8

const (
	acts     power = 1 << iota // it writes, runs or sends something: a tool that needs it is risky
	changes                    // it changes something; to ask a server, or to use a secret, does not
	sends                      // what a model has read can leave the project, or reach later conversations
	receives                   // it brings what others have written
)

// capabilityRules is every capability there is. http:HOST covers http.get:HOST.
var capabilityRules = []capabilityRule{
	{"fs.read", 0, target.Read, target.CheckGlob,
		"read every file of the project", "read the files %s",
		"reads files. The target is a glob, as in `fs.read:docs/**`."},
	{"fs.write", acts | changes, target.Path, target.CheckGlob,
		"write, change and remove every file of the project", "write, change and remove the files %s",
		"writes, moves and removes files. The target is a glob, as in `fs.write:out/*.csv`. Asks for approval."},
	{"http", acts | changes | sends | receives, target.Host, target.CheckHost,
		"send anything to any host", "send anything to %s",
		"sends requests with any method. The target is a host, as in `http:api.example.com`. Asks for approval."},
	{"http.get", acts | sends | receives, target.Host, target.CheckHost,
		"request any host and send data in the URL", "request %s and send data in the URL",
		"sends GET requests. The target is a host, as in `http.get:api.example.com`. Asks for approval."},
	{"http.head", acts | sends | receives, target.Host, target.CheckHost,
		"request headers from any host and send data in the URL", "request headers from %s and send data in the URL",
		"sends HEAD requests. The target is a host. Asks for approval."},
	{"http.post", acts | changes | sends | receives, target.Host, target.CheckHost,
		"send data (POST) to any host", "send data (POST) to %s",
		"sends POST requests. The target is a host. Asks for approval."},
	{"http.put", acts | changes | sends | receives, target.Host, target.CheckHost,
		"send data (PUT) to any host", "send data (PUT) to %s",
		"sends PUT requests. The target is a host. Asks for approval."},
	{"http.patch", acts | changes | sends | receives, target.Host, target.CheckHost,
		"send data (PATCH) to any host", "send data (PATCH) to %s",
		"sends PATCH requests. The target is a host. Asks for approval."},
	{"http.delete", acts | changes | sends | receives, target.Host, target.CheckHost,
		"delete data (DELETE) at any host", "delete data (DELETE) at %s",
		"sends DELETE requests. The target is a host. Asks for approval."},
	{"shell", acts | changes | sends, target.Word, target.CheckWord,
		"run every command", "run the command %s",
		"runs commands. The target is a command, as in `shell:git`. Asks for approval."},
	{"env", 0, target.Word, target.CheckWord,
		"read every environment variable, including secrets", "read the environment variable %s",
		"reads environment variables. The target is a name, as in `env:LANG`."},
	{"secret", acts, target.Secret, target.CheckSecret,
		"use every secret", "use the secret %s",
		"sends a secret to a host. The target is `NAME@HOST`, as in `secret:API_TOKEN@api.example.com`. Asks for approval."},
	{"tool", 0, target.Tool, target.CheckWord,
		"call every other tool", "call the tool %s",
		"calls other tools. The target is a tool or a group, as in `tool:slug` or `tool:@files`."},
	{"model", 0, nil, nil,
		"ask a model", "",
		"asks the model of the user, with `model.ask`."},
	{"human", 0, nil, nil,
		"ask you questions", "",
		"asks a person, with `human.ask` and `human.confirm`."},
	{"skill.create", acts | changes | sends, nil, nil,
		"write skills, which models follow", "",
		"creates skills, with `skill.create`. Asks for approval."},
	{"memory.add", acts | changes | sends, nil, nil,
		"write notes, which models read in later conversations", "",
		"adds notes, with `memory.add`. Each note asks for approval."},
	{"context.read", 0, nil, nil,
		"read the project's notes, skills and overview", "",
		"describes the project, with `context.read`."},
	{"use", acts | changes | sends, target.Path, target.CheckGlob,
		"use everything that the program provides", "use %s, which the program provides",
		"calls functions that a Go program adds. The target is a glob, as in `use:stock/**`."},
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

// ParseCapability reads a capability as an author writes it in needs, such as
// "fs.read:docs/**". An error is of kind Invalid.
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
	return !ok || r.power&acts != 0 || c.Name == "env" && (c.Target == "" || namesSecret(c.Target)) // every variable, and so every secret among them
}

// onlyReads reports whether the capability is to run a program that only reads: without shell:sh, that is true of
// git, too.
func (c Capability) onlyReads() bool {
	return c.Name == "shell" && (c.Target == "git" || c.Target == "ps")
}

// changes reports whether the capability lets a tool change something.
func (c Capability) changes() bool {
	r, ok := ruleFor(c.Name)
	return !ok || r.power&changes != 0
}

// Sends reports whether an effect with the capability can send what a model has read out of the project, or pass it on to
// later conversations.
func (c Capability) Sends() bool {
	r, _ := ruleFor(c.Name)
	return r.power&sends != 0
}

// Receives reports whether an effect with the capability brings what others have written.
func (c Capability) Receives() bool {
	r, _ := ruleFor(c.Name)
	return r.power&receives != 0
}

// InWords says what the capability allows a tool to do, for people.
func (c Capability) InWords() string {
	r, known := ruleFor(c.Name)
	switch {
	case !known:
		return "use " + c.String()
	case c.Name == "shell" && c.Target == "sh":
		return "run every command line in a sandbox, which can read the project and write the files that the tool may write"
	case c.Name == "tool" && strings.HasPrefix(c.Target, "@"):
		return "call the tools of the group " + c.Target[1:]
	case c.Target == "" || r.some == "":
		return r.every
	}
	return fmt.Sprintf(r.some, c.Target)
}

// CapabilityDoc describes the capabilities with a name for the authors of tools, in Markdown. It returns "" for an unknown
// name.
func CapabilityDoc(name string) string {
	r, _ := ruleFor(name)
	return r.doc
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
