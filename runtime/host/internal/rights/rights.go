// Package rights decides what a call may do: by what its tool and the tools that called it
// declare and were granted, and by the rules of the user.
package rights

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Policy holds for all calls of a run.
type Policy struct {
	Rules []tool.Rule
	Tools Tools
	Names tool.FileNames // or nil
	// Granted returns the rules that allow something now, also those that were added after the
	// run began; or it is nil. They decide only where Rules do not.
	Granted func() []tool.Rule
}

// NewPolicy returns a policy. names returns its Names; it is nil for none. granted is its Granted.
func NewPolicy(rules []tool.Rule, tools Tools, names func() tool.FileNames, granted func() []tool.Rule) Policy {
	p := Policy{Rules: rules, Tools: tools, Granted: granted}
	if names != nil && len(rules) > 0 {
		p.Names = names()
	}
	return p
}

// With returns a policy that also has rules that narrow a part of a run. names is that of
// [NewPolicy].
func (p *Policy) With(narrow []tool.Rule, names func() tool.FileNames) *Policy {
	more := NewPolicy(slices.Concat(p.Rules, narrow), p.Tools, names, p.Granted)
	if p.Names != nil {
		more.Names = p.Names
	}
	return &more
}

// judge is [tool.Judge] by the rules of the policy. A rule that asks or denies covers a file by
// each of its names.
func (p *Policy) judge(t *tool.Tool, c tool.Capability) (tool.Verdict, *tool.Rule) {
	verdict, decides := p.decide(t, c)
	if p.Names == nil || !strings.HasPrefix(c.Name, "fs.") {
		return verdict, decides
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Verdict > verdict && r.CoversFile(t, c, p.Names) {
			verdict, decides = r.Verdict, r
		}
	}
	return verdict, decides
}

// decide is [tool.Judge] by the rules of the policy, and by those that were granted.
func (p *Policy) decide(t *tool.Tool, c tool.Capability) (tool.Verdict, *tool.Rule) {
	verdict, decides := tool.Judge(p.Rules, t, c)
	if verdict != tool.Unruled || p.Granted == nil || c.Name != "tool" && !c.Acts() {
		return verdict, decides
	}
	if v, rule := tool.Judge(p.Granted(), t, c); v == tool.Allow {
		return v, rule
	}
	return tool.Unruled, nil
}

// unruled reports whether no rule can decide anything now.
func (p *Policy) unruled() bool {
	return len(p.Rules) == 0 && (p.Granted == nil || len(p.Granted()) == 0)
}

// allowing returns the rules that may allow something.
func (p *Policy) allowing() []tool.Rule {
	if p.Granted == nil {
		return p.Rules
	}
	return slices.Concat(p.Rules, p.Granted())
}

// Tools are the tools of a run.
type Tools interface {
	// Group returns the group of a tool, by its name in either spelling. ok is false for
	// an unknown tool.
	Group(name string) (group string, ok bool)
}

// Rights are what a call may do. A call may do nothing that one of its callers may not do.
type Rights struct {
	Policy   *Policy
	Of       *tool.Tool // the tool that is called
	Location tool.Location
	Granted  []tool.Capability // what the user has granted the tool
	Program  bool              // the call is a program, which Of describes
	Most     []tool.Capability // of a program: all that its calls may use; nil does not restrict them
	Above    *Rights           // of the call that made this one, or nil
}

// caller returns the rights of the nearest tool that made the call, or nil. It skips
// programs: they are not called by name, and have no rights to pass on.
func (r *Rights) caller() *Rights {
	for r = r.Above; r != nil && r.Program; {
		r = r.Above
	}
	return r
}

// Judge returns the verdict of the rules on a capability that a call requests, and the rule
// that decides. The strictest verdict of the call and its callers wins.
func (r *Rights) Judge(c tool.Capability) (tool.Verdict, *tool.Rule) {
	if r.Policy.unruled() {
		return tool.Unruled, nil
	}
	verdict, decides := r.Policy.judge(r.Of, c)
	for up := r.caller(); up != nil; up = up.caller() {
		if v, rule := r.Policy.judge(up.Of, c); v >= tool.Ask && v > verdict {
			verdict, decides = v, rule
		}
	}
	return verdict, decides
}

// Narrowed returns the text of a rule that denies or asks for a part of what a capability
// covers, for the call or one of its callers, or "".
func (r *Rights) Narrowed(name string) string {
	for i := range r.Policy.Rules {
		rule := &r.Policy.Rules[i]
		if rule.Verdict < tool.Ask || rule.Capability.Name != name {
			continue
		}
		for by := r; by != nil; by = by.caller() {
			if rule.About(by.Of) {
				return RuleText(rule)
			}
		}
	}
	return ""
}

// ReadsOnly reports whether the call can only read files, by the needs of its tool.
func (r *Rights) ReadsOnly() bool {
	return !r.Program && !slices.ContainsFunc(r.Of.Needs, func(c tool.Capability) bool { return c.Name != "fs.read" })
}

// nobody is the caller of a root call, which a model or a person makes. No rule can name its
// group.
var nobody = &tool.Tool{Group: " "}

// JudgeCall returns the verdict of the rules on the call itself, and the rule that decides.
// A rule that allows calls by a tool is about those that this tool makes itself.
func (r *Rights) JudgeCall() (tool.Verdict, *tool.Rule) {
	if r.Policy.unruled() {
		return tool.Unruled, nil
	}
	verdict, decides := tool.Unruled, (*tool.Rule)(nil)
	judge := func(caller *tool.Tool, least tool.Verdict) {
		for _, target := range []string{tool.Key(r.Of.Name), "@" + r.Of.DisplayGroup()} {
			if v, rule := r.Policy.decide(caller, tool.Capability{Name: "tool", Target: target}); v >= least && v > verdict {
				verdict, decides = v, rule
			}
		}
	}
	least := tool.Allow
	for up := r.caller(); up != nil; up = up.caller() {
		judge(up.Of, least)
		least = tool.Ask
	}
	if least == tool.Allow {
		judge(nobody, least)
	}
	return verdict, decides
}

// Within returns nil if the call and each of its callers has declared a concrete capability
// and was granted it, or why not. own says that the capability is for an effect that only
// its program has, and that the program need not declare.
func (r *Rights) Within(c tool.Capability, own bool) error {
	if own {
		return r.CallersHave(c)
	}
	if err := r.has(r, c); err != nil {
		return err
	}
	return r.CallersHave(c)
}

// Refusal returns why concrete capabilities are refused without a question: one is not
// declared or granted, or a rule denies it. It is nil if none is refused. own is that of
// Within.
func (r *Rights) Refusal(takes []tool.Capability, own bool) error {
	for _, c := range takes {
		if err := r.Within(c, own); err != nil {
			return err
		}
		if c.Name == "tool" { // the call itself is judged by the rules about calls
			continue
		}
		if verdict, rule := r.Judge(c); verdict == tool.Deny {
			return Denied(c.String(), rule)
		}
	}
	return nil
}

// CallersHave is Within for the callers alone. A tool in Go does not restrict the calls that
// it makes, as its own effects do not pass the gate either. A program only restricts them by Most.
func (r *Rights) CallersHave(c tool.Capability) error {
	for up := r.Above; up != nil; up = up.Above {
		switch {
		case up.Program && up.Most != nil:
			if !r.Policy.includes(up.Most, c) {
				return r.undeclared(up, up.Most, c)
			}
		case up.Program, up.Location == tool.Embedded:
		default:
			if err := r.has(up, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// has returns nil if of, which are r or the rights of a caller, include a concrete
// capability, or why not.
func (r *Rights) has(of *Rights, c tool.Capability) error {
	if !r.Policy.includes(of.Of.Needs, c) {
		return r.undeclared(of, of.Of.Needs, c)
	}
	if !r.Policy.includes(of.Granted, c) {
		return r.ungranted(of, c)
	}
	return nil
}

// includes reports whether a set covers a concrete capability. A tool is covered by its name
// in either spelling, and by its group.
func (p *Policy) includes(set []tool.Capability, one tool.Capability) bool {
	if one.Name != "tool" {
		return tool.AllowsAny(set, one)
	}
	group := ""
	if name, ok := p.Tools.Group(one.Target); ok {
		group = "@" + name
	}
	return slices.ContainsFunc(set, func(has tool.Capability) bool {
		return has.Name == "tool" &&
			(has.Target == "" || has.Target == group || tool.Key(has.Target) == tool.Key(one.Target))
	})
}

// undeclared returns the error of a capability that of, which are r or the rights of a caller, do not
// include. declared are those that they include.
func (r *Rights) undeclared(of *Rights, declared []tool.Capability, c tool.Capability) error {
	if of == r && r.Program && (r.Most == nil || tool.AllowsAny(r.Most, c)) {
		err := value.Errorf(value.Denied, "%s may not use %s itself", r.who(of), c)
		if name, ok := strings.CutPrefix(of.Of.Name, "workflow "); ok {
			return err.WithHint("call a tool that has this capability; or run the workflow as a tool, which has all needs that its file declares with workflow(main, needs = [%q, …]): cassidy tool run %s", c.String(), name)
		}
		return err.WithHint("call a tool that has this capability")
	}
	// The server of a secret is known only when the secret is sent.
	err := value.Errorf(value.Denied, "%s does not declare that it needs %s", r.who(of), strings.TrimSuffix(c.String(), "@"))
	what := "tool"
	if of.Program {
		what = "workflow"
	}
	add := fmt.Sprintf("add %q to the needs of the %s", c.String(), what)
	if c.Name == "secret" && strings.HasSuffix(c.Target, "@") {
		add = fmt.Sprintf("add \"%sHOST\" to the needs of the %s: HOST is the server to which the secret is sent, such as api.example.com", c, what)
	}
	same := slices.DeleteFunc(slices.Clone(declared), func(declared tool.Capability) bool { return declared.Name != c.Name })
	if len(same) > 0 {
		return err.WithHint("use only the declared capabilities: %s; or %s", List(same), add)
	}
	return err.WithHint("%s", add)
}

func (r *Rights) ungranted(of *Rights, c tool.Capability) error {
	err := value.Errorf(value.Denied, "%s was not granted %s", r.who(of), c)
	if of.Location == tool.Project {
		return err.WithHint(ReviewHint)
	}
	return err.WithHint("review the tool again to grant the capability: cassidy trust")
}

// who names r or a caller in an error. If it is a caller, it also names the tool of the call.
func (r *Rights) who(of *Rights) string {
	name := "the tool '" + of.Of.Name + "'"
	if of.Program {
		name = "the " + of.Of.Name
	}
	if of == r {
		return name
	}
	return name + " (which called '" + r.Of.Name + "')"
}

// Needs returns the capabilities that the tool of a call needs, without those that a rule
// refuses completely, and without secrets if it could only send them with requests that rules refuse. open are those of them that act and that no rule allows. by is a rule
// that allows one of the others, or nil.
func (r *Rights) Needs() (may, open []tool.Capability, by *tool.Rule) {
	sends, refused := false, false
	for _, need := range r.Of.Needs {
		switch {
		case r.Refusing(need) == nil:
			may = append(may, need)
			sends = sends || sendsSecrets(need)
		case sendsSecrets(need):
			refused = true
		}
	}
	if refused && !sends {
		may = slices.DeleteFunc(may, func(need tool.Capability) bool { return need.Name == "secret" })
	}
	for _, need := range may {
		if !need.Acts() {
			continue
		}
		if rule := r.ruling(tool.Allow, r.Of, need); rule != nil {
			by = rule
		} else {
			open = append(open, need)
		}
	}
	return may, open, by
}

// sendsSecrets reports whether a need is for requests, the only effects that use a secret.
func sendsSecrets(need tool.Capability) bool {
	return need.Name == "http" || strings.HasPrefix(need.Name, "http.")
}

// Risky reports whether a call asks because the author marked its tool as risky. It does not if
// rules allow the call, or refuse everything that the tool could do besides computing and
// reading: its actions are then refused, and an approval would change nothing. verdict is that
// of JudgeCall, and may that of Needs.
func (r *Rights) Risky(verdict tool.Verdict, may []tool.Capability) bool {
	acts := func(c tool.Capability) bool { return c.Acts() || c.Name == "tool" } // another tool may act
	return r.Of.Risky && verdict != tool.Allow && (slices.ContainsFunc(may, acts) || !slices.ContainsFunc(r.Of.Needs, acts))
}

// Refusing returns a rule that refuses a need completely, for the call or one of its callers,
// or nil.
func (r *Rights) Refusing(need tool.Capability) *tool.Rule {
	if len(r.Policy.Rules) == 0 {
		return nil
	}
	for by := r; by != nil; by = by.caller() {
		if rule := r.ruling(tool.Deny, by.Of, need); rule != nil {
			return rule
		}
	}
	return nil
}

// ruling returns a rule with the verdict v on everything that a need covers, or nil. Two
// different patterns are never compared: for a need that is a pattern, the rule must have
// the same pattern or no target.
func (r *Rights) ruling(v tool.Verdict, t *tool.Tool, need tool.Capability) *tool.Rule {
	rules := r.Policy.Rules
	if v == tool.Allow {
		rules = r.Policy.allowing()
	}
	for i := range rules {
		rule := &rules[i]
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

// literal reports whether the target of a need is not a pattern.
func literal(target string) bool {
	return target != "" && !strings.ContainsAny(target, `*?[]{}\`)
}
