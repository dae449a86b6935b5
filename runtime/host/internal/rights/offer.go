package rights

import (
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An Offer is how a question about an approval can be answered by a rule.
type Offer struct {
	Rules []tool.Rule // the rules that allow exactly what is asked about; or nil
	// Not says why no rule answers the question; "" if there are rules, or if Each is set.
	Not string
	// Each says that it is known only during the call what the call uses: the call can begin, and
	// each of its effects be asked about.
	Each bool
}

// OfferCalls returns the offer of a question about the call itself. Go says that the tool has a
// handler in Go, whose effects cannot be asked about.
func (r *Rights) OfferCalls(inGo bool) Offer {
	if verdict, rule := r.JudgeCall(); verdict == tool.Ask {
		return Offer{Not: AsksEachTime(rule)}
	}
	if r.Program {
		return Offer{Not: notProgram}
	}
	_, open, _ := r.Needs()
	for _, need := range open {
		if verdict, rule := r.Judge(need); verdict == tool.Ask && literal(need.Target) {
			return Offer{Not: AsksEachTime(rule)}
		}
		if !inGo && !single(need) {
			return Offer{Each: true}
		}
	}
	return Offer{Rules: r.AllowCalls()}
}

const notProgram = "a rule names a tool, and this is a program"

// AsksEachTime returns the Not of a question that a rule asks.
func AsksEachTime(r *tool.Rule) string { return "a rule asks each time: " + RuleText(r) }

// single reports whether a need covers one target alone. Any command line can do what all others can.
func single(need tool.Capability) bool { return literal(need.Target) && !anyCommand(need) }

// anyCommand reports whether a capability allows every command line.
func anyCommand(c tool.Capability) bool {
	return c.Name == "shell" && (c.Target == "" || c.Target == "sh")
}

// OfferUse returns the offer of a question about concrete capabilities. line is the capability for
// exactly one command line, which takes some of them; or it is zero. first says that the tool of a
// call that was not approved must be allowed to be called, too.
func OfferUse(r *Rights, takes []tool.Capability, line tool.Capability, first bool) Offer {
	if r.Program {
		return Offer{Not: notProgram}
	}
	var rules []tool.Rule
	if verdict, _ := r.JudgeCall(); first && r.Of.Risky && verdict != tool.Allow {
		rules = append(rules, allowCall(r))
	}
	if line.Name != "" && slices.ContainsFunc(takes, anyCommand) {
		takes = append(slices.DeleteFunc(slices.Clone(takes), func(c tool.Capability) bool {
			verdict, _ := r.Judge(c)
			return verdict == tool.Unruled && c.Name == line.Name
		}), line)
	}
	for _, c := range takes {
		verdict, rule := r.Judge(c)
		can, ok := exactly(c)
		switch {
		case verdict == tool.Allow:
			continue
		case verdict != tool.Unruled:
			return Offer{Not: AsksEachTime(rule)}
		case c.Name == "memory.add":
			return Offer{Not: "a rule for memory.add would allow every note"}
		case anyCommand(c):
			return Offer{Not: "a rule for shell:sh would allow every command line"}
		case !ok:
			return Offer{Not: "no rule can name exactly " + c.String()}
		}
		rules = append(rules, tool.Rule{Verdict: tool.Allow, Tool: r.Of.Name, Capability: can})
	}
	return Offer{Rules: rules}
}

// allowCall returns the rule that allows calls of the tool by the tool that called it, or by
// anybody.
func allowCall(r *Rights) tool.Rule {
	rule := tool.Rule{Verdict: tool.Allow, Capability: tool.Capability{Name: "tool", Target: r.Of.Name}}
	if caller := r.caller(); caller != nil {
		rule.Tool = caller.Of.Name
	}
	return rule
}

// Partly reports whether rules that name the tool allow a part of each of its open needs. Then its calls
// begin, and their effects are judged. Changed files are judged when they are written.
func Partly(r *Rights, open []tool.Capability) bool {
	rules := r.Policy.allowing()
	some := func(need tool.Capability) bool {
		return slices.ContainsFunc(rules, func(rule tool.Rule) bool {
			return rule.Verdict == tool.Allow && tool.Key(rule.Tool) == tool.Key(r.Of.Name) && isPart(need, rule.Capability)
		})
	}
	judged := slices.DeleteFunc(slices.Clone(open), func(need tool.Capability) bool { return need.Name == "fs.write" })
	return len(judged) > 0 && !r.Program && !slices.ContainsFunc(judged, func(need tool.Capability) bool { return !some(need) })
}

// AskLater reports whether rules ask about everything that the open needs of a call cover. A question about
// the call would be followed by one about each effect.
func (r *Rights) AskLater(open []tool.Capability) bool {
	return len(open) > 0 && !slices.ContainsFunc(open, func(need tool.Capability) bool {
		for by := r; by != nil; by = by.caller() {
			if r.ruling(tool.Ask, by.Of, need) != nil {
				return false
			}
		}
		return true
	})
}

// isPart reports whether a capability is a part of a need. A command line is a part of what a need for its
// program or for every command line allows.
func isPart(need, c tool.Capability) bool {
	if c.Name == "shell" && need.Name == "shell" && strings.HasPrefix(c.Target, "$ ") {
		return anyCommand(need) || strings.HasPrefix(c.Target+" ", "$ "+need.Target+" ")
	}
	return c.Target != "" && need.Allows(c)
}

// Answered are the rules that answers to questions have added. The zero value has none. It is safe
// for concurrent use.
type Answered struct {
	mu    sync.Mutex
	rules []tool.Rule
}

// Add adds the rules of an answer.
func (a *Answered) Add(rules []tool.Rule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range rules {
		if r.Source = "the answer to a question"; r.Verdict == tool.Allow && !slices.Contains(a.rules, r) {
			a.rules = append(a.rules, r)
		}
	}
}

// With returns rules, and those that were added. The caller must not change the result.
func (a *Answered) With(rules []tool.Rule) []tool.Rule {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rules) == 0 {
		return rules
	}
	return slices.Concat(rules, a.rules)
}
