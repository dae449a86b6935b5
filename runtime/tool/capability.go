package tool

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A Capability is one thing that a tool may do: a name, and what it may do it
// to. It is written NAME or NAME:TARGET; without a target it means every one.
//
//	fs.read:docs/**        files, as a glob relative to the project
//	http.get:*.example.com hosts; "*." stands for any subdomain, :PORT for a port
//	shell:git              a command, or sh for any command line
//	env:HOME               an environment variable
//	secret:TOKEN@api.example.com
//	tool:read_file         another tool, or tool:@files for a group
type Capability struct {
	Name   string
	Target string
}

// capabilityRule says how the targets of one capability name are matched.
type capabilityRule struct {
	name  string
	acts  bool // writes, runs or sends: a tool that needs it is risky
	match func(pattern, target string) bool
	check func(target string) error
}

// capabilityRules is every capability there is. http:HOST covers http.get:HOST.
var capabilityRules = []capabilityRule{
	{"fs.read", false, matchPath, checkGlob},
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
	{"secret", true, matchWord, checkSecret},
	{"tool", false, matchWord, checkWord},
	{"model", false, nil, nil},
	{"human", false, nil, nil},
	{"skill.create", true, nil, nil},
	{"context.read", false, nil, nil},
}

func ruleFor(name string) (capabilityRule, bool) {
	for _, r := range capabilityRules {
		if r.name == name {
			return r, true
		}
	}
	return capabilityRule{}, false
}

// CapabilityNames lists the names that a capability may have.
func CapabilityNames() []string {
	names := make([]string, len(capabilityRules))
	for i, r := range capabilityRules {
		names[i] = r.name
	}
	return names
}

// ParseCapability reads a capability as an author writes it in needs.
func ParseCapability(text string) (Capability, error) {
	name, target, targeted := strings.Cut(text, ":")
	rule, ok := ruleFor(name)
	if !ok {
		return Capability{}, Errorf(Invalid, "unknown capability %q%s", text, didYouMean(name, CapabilityNames())).
			WithHint("capabilities are %s", strings.Join(CapabilityNames(), ", "))
	}
	if !targeted {
		return Capability{Name: name}, nil
	}
	if rule.check == nil {
		return Capability{}, Errorf(Invalid, "capability %q takes no target", name).WithHint("write just %q", name)
	}
	if target == "" {
		return Capability{}, Errorf(Invalid, "capability %q has an empty target", text).WithHint("write %q for every target", name)
	}
	if i := strings.IndexFunc(target, isControl); i >= 0 {
		return Capability{}, Errorf(Invalid, "capability %q holds a control character", text)
	}
	if err := rule.check(target); err != nil {
		return Capability{}, err
	}
	return Capability{Name: name, Target: target}, nil
}

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
	return !ok || r.acts
}

// Allows reports whether c, as it was declared or granted, covers a concrete
// capability: one whose target is a path, a host or a name and no pattern.
func (c Capability) Allows(concrete Capability) bool {
	if c.Name != concrete.Name && !(c.Name == "http" && strings.HasPrefix(concrete.Name, "http.")) {
		return false
	}
	if c.Target == "" {
		return true
	}
	r, ok := ruleFor(c.Name)
	return ok && r.match != nil && r.match(c.Target, concrete.Target)
}

// AllowsAny reports whether one of a set of capabilities covers a concrete one.
func AllowsAny(set []Capability, concrete Capability) bool {
	for _, c := range set {
		if c.Allows(concrete) {
			return true
		}
	}
	return false
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
	if suffix, ok := strings.CutPrefix(pattern, "*."); ok {
		return strings.HasSuffix(host, "."+suffix)
	}
	return pattern == host
}

func checkGlob(target string) error {
	if !doublestar.ValidatePattern(target) {
		return Errorf(Invalid, "%q is not a valid glob", target).WithHint("as in docs/** or *.csv")
	}
	if strings.HasPrefix(target, "/") || strings.Contains(target, `\`) || hasDotDot(target) {
		return Errorf(Invalid, "%q does not stay inside the project", target).
			WithHint("globs are relative to the project, with slashes, as in docs/**")
	}
	return nil
}

func hasDotDot(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func checkHost(target string) error {
	host := strings.TrimPrefix(target, "*.")
	if host == "" || host != strings.ToLower(host) || strings.ContainsAny(host, "*/@ ?#") {
		return Errorf(Invalid, "%q is not a host", target).
			WithHint("a host is lower-case, as in api.example.com, *.example.com or localhost:8080")
	}
	return nil
}

func checkWord(target string) error {
	if strings.ContainsAny(target, "* \t") {
		return Errorf(Invalid, "%q is not a plain name", target)
	}
	return nil
}

func checkSecret(target string) error {
	name, host, ok := strings.Cut(target, "@")
	if !ok || name == "" {
		return Errorf(Invalid, "%q names no host for the secret", target).WithHint("write secret:NAME@HOST")
	}
	return checkHost(host)
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }
