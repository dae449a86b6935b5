package rights

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// CheckRules returns a copy of rules with normalized names of tools. It fails with kind Invalid
// for a rule that could match nothing, as its author relies on it. where names the rules in
// errors.
func CheckRules(where string, rules []tool.Rule) ([]tool.Rule, error) {
	list := slices.Clone(rules)
	for i := range list {
		r := &list[i]
		if r.Verdict < tool.Allow || r.Verdict > tool.Deny {
			return nil, value.Errorf(value.Invalid, "%s: rule %d for %q has an invalid Verdict", where, i+1, r.Capability).
				WithHint("set its Verdict to cassidy.Allow, cassidy.Ask or cassidy.Deny")
		}
		if r.Capability == (tool.Capability{}) {
			return nil, value.Errorf(value.Invalid, "%s: rule %d has no Capability", where, i+1).
				WithHint(`set the Capability, as in cassidy.Capability{Name: "fs.write", Target: "out/**"}`)
		}
		if _, err := r.Verdict.ParseCapability(r.Capability.String()); err != nil {
			return nil, value.Errorf(value.Invalid, "%s: %w", where, err)
		}
		if c := &r.Capability; c.Name == "tool" && !strings.HasPrefix(c.Target, "@") {
			c.Target = tool.Key(c.Target)
		}
	}
	return list, nil
}

// Denied returns the error of something that a rule refuses.
func Denied(what string, r *tool.Rule) error {
	return value.Errorf(value.Denied, "%s is refused by a rule: %s", what, RuleText(r)).
		WithHint("change %s in %s", cmp.Or(r.Setting, "the rule"), ruleSource(r)).WithLimit(value.LimitRule)
}

// ReviewHint is the hint of an error about an untrusted tool, workflow or capability.
const ReviewHint = "review it with: cassidy trust; in Go, set Options.TrustSource for your own files"

// RuleText returns a rule as people write it, with its source.
func RuleText(r *tool.Rule) string {
	text := r.Verdict.String() + " " + r.Capability.String()
	if r.Tool != "" {
		text += " for " + r.Tool
	}
	if r.Setting != "" {
		text += " by " + r.Setting
	}
	return text + " (" + ruleSource(r) + ")"
}

func ruleSource(r *tool.Rule) string {
	if r.Source == "" {
		return "the program's own rules"
	}
	return r.Source
}

// List returns capabilities as one text, separated by commas.
func List(list []tool.Capability) string {
	return strings.Join(value.Map(list, tool.Capability.String), ", ")
}

// AllowUse returns the narrowest rules that would allow the tool to use concrete capabilities
// without a question, or nil if none would: a rule asks each time.
func (r *Rights) AllowUse(list []tool.Capability) []tool.Rule {
	var rules []tool.Rule
	for _, c := range list {
		verdict, _ := r.Judge(c)
		exact, ok := exactly(c)
		switch {
		case verdict == tool.Allow:
		case verdict != tool.Unruled || !ok || r.Program:
			return nil
		default:
			rules = append(rules, tool.Rule{Verdict: tool.Allow, Tool: r.Of.Name, Capability: exact})
		}
	}
	return rules
}

// AllowCalls returns the narrowest rules that would allow calls of the tool without a
// question, or nil if none would.
func (r *Rights) AllowCalls() []tool.Rule {
	verdict, _ := r.JudgeCall()
	if verdict == tool.Ask || r.Program {
		return nil
	}
	var rules []tool.Rule
	if r.Of.Risky && verdict != tool.Allow {
		rules = append(rules, allowCall(r))
	}
	_, open, _ := r.Needs()
	for _, c := range open {
		rules = append(rules, tool.Rule{Verdict: tool.Allow, Tool: r.Of.Name, Capability: c})
	}
	return rules
}

// exactly returns the capability of a rule that allows one concrete capability and no other.
// ok is false if no rule can name it.
func exactly(c tool.Capability) (rule tool.Capability, ok bool) {
	rule = c
	switch c.Name {
	case "fs.read", "fs.write", "use":
		rule.Target = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]").Replace(c.Target)
	}
	_, err := tool.Allow.ParseCapability(rule.String())
	return rule, err == nil && rule.Allows(c)
}

// Texts returns rules as they are written in a config.
func Texts(rules []tool.Rule) string {
	words := make([]string, len(rules))
	for i := range rules {
		words[i] = rules[i].String()
	}
	return strings.Join(words, ", ")
}
