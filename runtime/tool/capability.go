package tool

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

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
	{"fs.read", false, matchRead, checkGlob},
	{"fs.write", true, matchPath, checkGlob},
	{"http", true, matchHost, checkHost},
	{"http.get", true, matchHost, checkHost},
	{"http.head", true, matchHost, checkHost},
	{"http.post", true, matchHost, checkHost},
	{"http.put", true, matchHost, checkHost},
	{"http.patch", true, matchHost, checkHost},
	{"http.delete", true, matchHost, checkHost},
	{"shell", true, matchWord, checkWord},
	{"env", false, matchWord, checkWord},
	{"secret", true, matchSecret, checkSecret},
	{"tool", false, matchWord, checkWord},
	{"model", false, nil, nil},
	{"human", false, nil, nil},
	{"skill.create", true, nil, nil},
	{"context.read", false, nil, nil},
	{"use", true, matchPath, checkGlob},
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
			WithHint("use one of the capabilities %s", strings.Join(CapabilityNames(), ", "))
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
		return Capability{}, value.Errorf(value.Invalid, "capability %q has an invisible character", text)
	}
	if len(target) > maxTarget {
		return Capability{}, value.Errorf(value.Invalid, "capability %q is longer than %d bytes", value.Cut(text, 40), maxTarget)
	}
	if err := rule.check(target); err != nil {
		return Capability{}, err
	}
	return Capability{Name: name, Target: target}, nil
}

// maxTarget is how long a target may be: a person reviews each of them.
const maxTarget = 256

// String returns the capability as it is written.
func (c Capability) String() string {
	if c.Target == "" {
		return c.Name
	}
	return c.Name + ":" + c.Target
}

// Acts reports whether the capability lets a tool write, run or send.
func (c Capability) Acts() bool {
	r, ok := ruleFor(c.Name)
	return !ok || r.acts || c.Name == "env" && (c.Target == "" || namesSecret(c.Target)) // every variable, and so every secret among them
}

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
	if strings.HasPrefix(c.Name, "fs.") && leavesProject(concrete.Target) {
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

// matchRead is matchPath, and lets a tool that may read docs/*.txt look into the
// folder docs: what it may not read there is left out of what it sees.
func matchRead(pattern, path string) bool {
	if matchPath(pattern, path) {
		return true
	}
	base, _ := doublestar.SplitPattern(pattern)
	return base == path && base != pattern
}

func matchPath(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}

func matchWord(pattern, word string) bool { return pattern == word }

// matchHost compares hosts that are lower-case ASCII already, with an optional
// port; a pattern without a port means the standard ports, which the concrete
// form does not spell out.
func matchHost(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return pattern == host
}

// matchSecret compares a secret for a host; one for no host yet, NAME@, is
// covered where any is.
func matchSecret(pattern, secret string) bool {
	name, host, _ := strings.Cut(pattern, "@")
	otherName, otherHost, ok := strings.Cut(secret, "@")
	return ok && name == otherName && (otherHost == "" || matchHost(host, otherHost))
}

// What one glob may hold. Its alternatives multiply, {a,b}{a,b}… is twice the
// work with each pair, and the host matches globs of untrusted authors.
const (
	maxBraces = 4
	maxCommas = 16
)

func checkGlob(target string) error {
	if !doublestar.ValidatePattern(target) {
		return value.Errorf(value.Invalid, "%q is not a valid glob", target).WithHint("write a glob such as docs/** or *.csv")
	}
	if leavesProject(target) || strings.Contains(target, `\`) {
		return value.Errorf(value.Invalid, "the glob %q points outside the project", target).
			WithHint("write a relative path with slashes, as in docs/**")
	}
	for part := range strings.SplitSeq(target, "/") {
		if part == "" || part == "." && target != "." {
			return value.Errorf(value.Invalid, "the glob %q cannot match a file", target).
				WithHint("write the glob without // and /./, and without a slash at the end, as in docs/**")
		}
	}
	if strings.Count(target, "{") > maxBraces || strings.Count(target, ",") > maxCommas {
		return value.Errorf(value.Invalid, "the glob %q has too many alternatives", target).WithHint("write several capabilities, as in fs.read:docs/** and fs.read:src/**")
	}
	return nil
}

// leavesProject reports whether a path is not one inside the project by its
// words alone.
func leavesProject(path string) bool {
	if strings.HasPrefix(path, "/") {
		return true
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func checkHost(target string) error {
	host, port, hasPort := target, "", false
	if i := strings.LastIndexByte(target, ':'); i > strings.LastIndexByte(target, ']') {
		host, port, hasPort = target[:i], target[i+1:], true
	}
	if !validHost(strings.TrimPrefix(host, "*.")) || hasPort && !validPort(port) {
		return value.Errorf(value.Invalid, "%q is not a valid host", target).
			WithHint("write the host in lower case, as in api.example.com, *.example.com or localhost:8080")
	}
	return nil
}

// validHost accepts names, IPv4 addresses, and IPv6 addresses in brackets.
func validHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && inner != "" && strings.Trim(inner, "0123456789abcdef:.") == ""
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && port == strconv.FormatUint(n, 10)
}

func checkWord(target string) error {
	if strings.ContainsFunc(target, func(r rune) bool { return r == '*' || unicode.IsSpace(r) }) {
		return value.Errorf(value.Invalid, "%q is not a valid name", target).WithHint("write the name without spaces and without *")
	}
	return nil
}

func checkSecret(target string) error {
	name, host, ok := strings.Cut(target, "@")
	if !ok || name == "" {
		return value.Errorf(value.Invalid, "secret %q has no host", target).WithHint("write secret:NAME@HOST")
	}
	if err := checkWord(name); err != nil {
		return err
	}
	return checkHost(host)
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
