package host

import (
	"iter"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkRules returns rules ready to be asked: with the names of tools in their
// one form. A rule that could match nothing is an error, since who wrote it
// relies on it. where names the rules in errors.
func checkRules(where string, rules []tool.Rule) ([]tool.Rule, error) {
	list := slices.Clone(rules)
	for i := range list {
		r := &list[i]
		if r.Verdict < tool.Allow || r.Verdict > tool.Deny {
			return nil, value.Errorf(value.Invalid, "%s: rule %d, on %q, has no valid Verdict", where, i+1, r.Capability).
				WithHint("set its Verdict to cassidy.Allow, cassidy.Ask or cassidy.Deny")
		}
		if r.Capability == (tool.Capability{}) {
			return nil, value.Errorf(value.Invalid, "%s: rule %d has no Capability", where, i+1).
				WithHint(`name one, as in cassidy.Capability{Name: "fs.write", Target: "out/**"}`)
		}
		if _, err := tool.ParseCapability(r.Capability.String()); err != nil {
			return nil, value.Errorf(value.Invalid, "%s: %w", where, err)
		}
		if c := &r.Capability; c.Name == "tool" && !strings.HasPrefix(c.Target, "@") {
			c.Target = tool.Key(c.Target)
		}
	}
	return list, nil
}

// Rights are what a call may do: what it and those that called it declare and
// were granted, and what the rules say.
type rights struct {
	of  *pass
	own bool // of an effect that its program is provided with, which needs no declaration
}

// rights returns what the call may do.
func (p *pass) rights() rights { return rights{of: p} }

// rights returns what the effect may do.
func (s *step) rights() rights { return rights{s.of, s.own} }

// judge says what the rules make of a capability that a call wants. Those that
// called it are judged as well: what a tool may not, it may not have done.
func (r rights) judge(c tool.Capability) (tool.Verdict, *tool.Rule) {
	if len(r.of.run.rules) == 0 {
		return tool.Unruled, nil
	}
	verdict, decides := tool.Judge(r.of.run.rules, r.of.tool, c)
	for up := range r.callers() {
		if v, rule := tool.Judge(r.of.run.rules, up.tool, c); v >= tool.Ask && v > verdict {
			verdict, decides = v, rule
		}
	}
	return verdict, decides
}

// narrowed names a rule that denies or asks for a part of what a capability
// covers, to the call or to one that made it.
func (r rights) narrowed(name string) string {
	for i := range r.of.run.rules {
		rule := &r.of.run.rules[i]
		if rule.Verdict < tool.Ask || rule.Capability.Name != name {
			continue
		}
		if rule.About(r.of.tool) {
			return ruleText(rule)
		}
		for up := range r.callers() {
			if rule.About(up.tool) {
				return ruleText(rule)
			}
		}
	}
	return ""
}

// readsOnly reports whether the call can do nothing but read files: its tool needs
// nothing else.
func (r rights) readsOnly() bool {
	return r.of.program == nil && !slices.ContainsFunc(r.of.tool.Needs, func(c tool.Capability) bool { return c.Name != "fs.read" })
}

// nobody stands for a model or a person in a rule about who calls a tool. No
// rule can name its group.
var nobody = &tool.Tool{Group: " "}

// judgeCall says what the rules make of the call itself.
func (r rights) judgeCall() (tool.Verdict, *tool.Rule) {
	if len(r.of.run.rules) == 0 {
		return tool.Unruled, nil
	}
	verdict, decides := tool.Unruled, (*tool.Rule)(nil)
	judge := func(caller *tool.Tool) {
		for _, target := range []string{tool.Key(r.of.tool.Name), "@" + r.of.tool.DisplayGroup()} {
			if v, rule := tool.Judge(r.of.run.rules, caller, tool.Capability{Name: "tool", Target: target}); v > verdict {
				verdict, decides = v, rule
			}
		}
	}
	called := false
	for up := range r.callers() {
		called = true
		judge(up.tool)
	}
	if !called {
		judge(nobody)
	}
	return verdict, decides
}

// within says whether a call, and each that made it, has declared a concrete
// capability and was granted it.
func (r rights) within(c tool.Capability) error {
	if r.own {
		return r.callersHave(c)
	}
	if err := r.has(r.of.tool, c); err != nil {
		return err
	}
	return r.callersHave(c)
}

// refusal is why concrete capabilities may not be taken, whatever anybody answers: one
// is not declared or granted, or a rule denies it.
func (r rights) refusal(takes []tool.Capability) error {
	for _, c := range takes {
		if err := r.within(c); err != nil {
			return err
		}
		if c.Name == "tool" { // the rules about calls are for the call itself
			continue
		}
		if verdict, rule := r.judge(c); verdict == tool.Deny {
			return denied(c.String(), rule)
		}
	}
	return nil
}

// callersHave says the same of those that called the tool. A tool in Go bounds
// no call that it makes: what it does itself passes no gate either.
func (r rights) callersHave(c tool.Capability) error {
	for up := range r.callers() {
		if up.tool.Location == tool.Embedded {
			continue
		}
		if err := r.has(up.tool, c); err != nil {
			return err
		}
	}
	return nil
}

func (r rights) has(t *tool.Tool, c tool.Capability) error {
	if !r.of.run.tools.catalog().includes(t.Needs, c) {
		return r.undeclared(t, c)
	}
	if !r.of.run.tools.catalog().includes(t.Granted, c) {
		return r.ungranted(t, c)
	}
	return nil
}

// callers are the passes of the tools that made the call, the nearest first. A
// program is none: it is not called by its own name, and has no rights to lend.
func (r rights) callers() iter.Seq[*pass] {
	return func(yield func(*pass) bool) {
		for up := r.of.above; up != nil; up = up.above {
			if up.program == nil && !yield(up) {
				return
			}
		}
	}
}

// includes reports whether a set covers a concrete capability. A tool is
// covered also by its group, and in either spelling of its name.
func (c *catalog) includes(set []tool.Capability, one tool.Capability) bool {
	if one.Name != "tool" {
		return tool.AllowsAny(set, one)
	}
	group := ""
	if o, err := c.lookup(one.Target); err == nil {
		group = "@" + o.tool.DisplayGroup()
	}
	return slices.ContainsFunc(set, func(has tool.Capability) bool {
		return has.Name == "tool" &&
			(has.Target == "" || has.Target == group || tool.Key(has.Target) == tool.Key(one.Target))
	})
}

func (r rights) undeclared(t *tool.Tool, c tool.Capability) error {
	if r.of.program != nil && t == r.of.tool {
		return value.Errorf(value.Denied, "%s may not use %s itself", r.who(t), c).WithHint("it acts through the tools that it calls")
	}
	err := value.Errorf(value.Denied, "%s does not declare that it needs %s", r.who(t), c)
	var same []tool.Capability
	for _, declared := range t.Needs {
		if declared.Name == c.Name {
			same = append(same, declared)
		}
	}
	if len(same) > 0 {
		return err.WithHint("it declares %s only", capabilityList(same))
	}
	return err.WithHint("its author can add %q to its needs", c.String())
}

func (r rights) ungranted(t *tool.Tool, c tool.Capability) error {
	err := value.Errorf(value.Denied, "%s was not granted %s", r.who(t), c)
	if t.Location == tool.Project {
		return err.WithHint("review it with: cassidy trust; a program sets Options.TrustSource for what is its own")
	}
	return err.WithHint("it may do only what its user has granted it")
}

// who names a tool in an error, and if it is not the one of the call, why it
// matters.
func (r rights) who(t *tool.Tool) string {
	if r.of.program != nil && t == r.of.tool {
		return "the " + t.Name
	}
	if t == r.of.tool {
		return "the tool '" + t.Name + "'"
	}
	return "the tool '" + t.Name + "', for which '" + r.of.tool.Name + "' works,"
}

// denied is the error of what a rule refuses.
func denied(what string, r *tool.Rule) error {
	return value.Errorf(value.Denied, "%s is refused by a rule: %s", what, ruleText(r)).
		WithHint("the rule is in %s", ruleSource(r))
}

// ruleText shows a rule as people know it.
func ruleText(r *tool.Rule) string {
	text := r.Verdict.String() + " " + r.Capability.String()
	if r.Tool != "" {
		text += " for " + r.Tool
	}
	return text + " (" + ruleSource(r) + ")"
}

func ruleSource(r *tool.Rule) string {
	if r.Source == "" {
		return "the program's own rules"
	}
	return r.Source
}

// needs returns what the tool of a call needs and a rule does not refuse completely:
// what is refused whenever it is used is not asked about. open is what of it acts and
// no rule allows, and by a rule that allows something else of it.
func (r rights) needs() (may, open []tool.Capability, by *tool.Rule) {
	for _, need := range r.of.tool.Needs {
		if r.refusing(need) != nil {
			continue
		}
		may = append(may, need)
		if !need.Acts() {
			continue
		}
		if rule := r.ruling(tool.Allow, r.of.tool, need); rule != nil {
			by = rule
		} else {
			open = append(open, need)
		}
	}
	return may, open, by
}

// refusing returns a rule that refuses all of what a tool needs, to the call or to one
// that made it.
func (r rights) refusing(need tool.Capability) *tool.Rule {
	if len(r.of.run.rules) == 0 {
		return nil
	}
	if rule := r.ruling(tool.Deny, r.of.tool, need); rule != nil {
		return rule
	}
	for up := range r.callers() {
		if rule := r.ruling(tool.Deny, up.tool, need); rule != nil {
			return rule
		}
	}
	return nil
}

// ruling returns a rule with a verdict on all of what a tool needs. A need that is
// a pattern is never compared with another pattern: the rule has the same one,
// or none.
func (r rights) ruling(v tool.Verdict, t *tool.Tool, need tool.Capability) *tool.Rule {
	for i := range r.of.run.rules {
		rule := &r.of.run.rules[i]
		if rule.Verdict != v {
			continue
		}
		full := *rule
		if rule.Capability == need {
			full.Capability.Target = ""
		}
		if (full.Capability.Target == "" || literal(need.Target)) && full.Covers(t, need) {
			return rule
		}
	}
	return nil
}

// literal reports whether the target of a need stands for one thing only.
func literal(target string) bool {
	return target != "" && !strings.ContainsAny(target, `*?[]{}\`)
}
