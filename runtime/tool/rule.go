package tool

import "strings"

// A Verdict is what a rule says of what a tool wants to do.
type Verdict uint8

const (
	Unruled Verdict = iota // no rule names it
	Allow                  // it is done without a question
	Ask                    // a person is asked each time
	Deny                   // it is refused
)

// String returns the verdict as it is written in a config.
func (v Verdict) String() string {
	return [...]string{"no rule", "allow", "ask", "deny"}[min(v, Deny)]
}

// A Rule says what becomes of a capability that a tool wants to use. A rule on
// the capability tool:NAME is about calling that tool. Nobody is asked about what
// a rule denies. What a tool in Go does passes no check, so its calls are refused
// where a rule denies all of one of its Needs.
type Rule struct {
	Verdict    Verdict
	Tool       string // the tool that wants it, or "@GROUP"; "" means any
	Capability Capability
	Source     string // whose rule it is, as people are told: the config's file
}

// Covers reports whether the rule is about a tool and a concrete capability,
// as [Capability.Allows] takes it. There what may be read of docs/*.md lets a
// tool look into docs; what may not be read does not close the folder.
func (r *Rule) Covers(t *Tool, concrete Capability) bool {
	if !r.About(t) || !r.Capability.Allows(concrete) {
		return false
	}
	if r.Verdict == Allow || r.Capability.Target == "" {
		return true
	}
	switch concrete.Name {
	case "fs.read":
		return matchPath(r.Capability.Target, concrete.Target)
	case "secret":
		return !strings.HasSuffix(concrete.Target, "@") // to whom it goes is judged when it does
	}
	return true
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

// Judge says what rules make of a tool's use of a concrete capability, and
// which rule decides: deny goes before ask, and ask before allow. The rule is
// nil where the verdict is Unruled.
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
