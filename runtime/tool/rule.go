package tool

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool/internal/target"
)

// A Verdict is the decision of a rule.
type Verdict uint8

const (
	Unruled Verdict = iota // no rule applies
	Allow                  // allowed without a question
	Ask                    // a person is asked each time
	Deny                   // refused
)

// String returns the verdict as it is written in a config.
func (v Verdict) String() string {
	return [...]string{"no rule", "allow", "ask", "deny"}[min(v, Deny)]
}

// A Rule decides about a capability that a tool wants to use. A rule for the capability
// tool:NAME is about calling that tool. Nobody is asked about what a rule denies. The
// actions of a tool in Go are not checked, so its calls are refused if a rule denies one
// of its Needs completely.
type Rule struct {
	Verdict    Verdict
	Tool       string     `dict:"tool,omitempty"` // the tool that wants it, or "@GROUP"; "" means any
	Capability Capability `dict:"capability"`
	Source     string     // for people: the file of the config
	// Setting is the setting of Source that makes the rule, such as "permissionMode: plan". It is
	// for people, and "" for a rule that is written as one.
	Setting string `json:",omitempty"`
}

// String returns the tool and the capability of a rule as they are written in a config, as in
// {tool: deploy, capability: "shell:git"}.
func (r *Rule) String() string {
	about := ""
	if r.Tool != "" {
		about = "tool: " + strconv.Quote(r.Tool) + ", "
		if CheckCallName(r.Tool) == nil {
			about = "tool: " + r.Tool + ", "
		}
	}
	return "{" + about + "capability: " + strconv.Quote(r.Capability.String()) + "}"
}

// Covers reports whether the rule is about a tool and a concrete capability,
// as [Capability.Allows] takes it. There what may be read of docs/*.md lets a
// tool look into docs; what may not be read does not close the folder.
//
// A rule that asks or denies and names a folder covers everything in it: docs is docs/**, and
// **/secrets is **/secrets/**. Only if the last part of the pattern is *, what is in
// the folders that it matches is not covered.
func (r *Rule) Covers(t *Tool, concrete Capability) bool {
	if !r.About(t) {
		return false
	}
	if r.Verdict >= Ask && r.onFiles() && r.Capability.Name == concrete.Name && !target.Leaves(concrete.Target) {
		return r.inFolder(concrete.Target)
	}
	if !r.Capability.Allows(concrete) {
		return false
	}
	if r.Verdict == Allow || r.Capability.Target == "" {
		return true
	}
	// To whom a secret goes is judged when it does.
	return concrete.Name != "secret" || !strings.HasSuffix(concrete.Target, "@")
}

// onFiles reports whether the rule has a pattern of files.
func (r *Rule) onFiles() bool {
	return r.Capability.Target != "" && strings.HasPrefix(r.Capability.Name, "fs.")
}

// inFolder reports whether the pattern of the rule matches a path, or a folder above it.
func (r *Rule) inFolder(at string) bool {
	pattern := r.Capability.Target
	if target.Path(pattern, at) {
		return true
	}
	if pattern == "*" || strings.HasSuffix(pattern, "/*") {
		return false
	}
	for i := strings.LastIndexByte(at, '/'); i > 0; i = strings.LastIndexByte(at[:i], '/') {
		if target.Path(pattern, at[:i]) {
			return true
		}
	}
	return pattern == "."
}

// FileNames returns the names of a path of the project, beside the path itself, by which
// the pattern of a rule may cover it. fold reports whether the case of its letters is ignored.
//
// The path has no links, unless opened is set: then it is one that was opened, and its names are
// those of what the links in it lead to, with the names of its hard links that the pattern
// matches. The first of them has no links. A path can be absolute: then the first of its names is
// relative to the project.
type FileNames func(pattern, path string, opened bool) (names []string, fold func() bool)

// CoversFile is Covers for rules that ask or deny, by the other names of a file or folder:
// links that lead to it, and names in other case where the file system ignores that.
func (r *Rule) CoversFile(t *Tool, concrete Capability, of FileNames) bool {
	if r.Verdict < Ask || !r.onFiles() || r.Capability.Name != concrete.Name || !r.About(t) || target.Leaves(concrete.Target) {
		return false
	}
	names, fold := of(r.Capability.Target, concrete.Target, false)
	names = append(names, concrete.Target)
	folded := Rule{Capability: Capability{Target: strings.ToLower(r.Capability.Target)}}
	for _, name := range names {
		if r.inFolder(name) || folded.inFolder(strings.ToLower(name)) && fold() {
			return true
		}
	}
	return false
}

// About reports whether the rule is about what this tool wants.
func (r *Rule) About(t *Tool) bool {
	switch {
	case r.Tool == "":
		return true
	case r.Tool[0] == '@':
		return r.Tool[1:] == t.DisplayGroup()
	}
	return Key(r.Tool) == Key(t.Name)
}

// Judge returns the verdict of rules on a tool's use of a concrete capability, and the rule
// that decides: deny takes precedence over ask, and ask over allow. The rule is nil if the
// verdict is Unruled.
func Judge(rules []Rule, t *Tool, concrete Capability) (Verdict, *Rule) {
	var decides *Rule
	for i := range rules {
		r := &rules[i]
		if r.Covers(t, concrete) && (decides == nil || r.Verdict > decides.Verdict) {
			decides = r
		}
	}
	if decides == nil {
		return Unruled, nil
	}
	return decides.Verdict, decides
}
