package eval

import (
	"math"
	"slices"
)

// A Change is how a case differs between two reports. Repetitions of a case are summed up.
type Change struct {
	Name     string `json:"name"`     // see [Case.Name]
	Old      *Tally `json:"old"`      // nil if only the new report has the case
	New      *Tally `json:"new"`      // nil if only the old report has it
	Worse    bool   `json:"worse"`    // it passes less often
	Better   bool   `json:"better"`   // it passes more often
	Prompt   bool   `json:"prompt"`   // the prompt has changed
	Tools    bool   `json:"tools"`    // the tools have changed
	Policy   bool   `json:"policy"`   // the policy has changed
	Measured bool   `json:"measured"` // iterations, tokens or cost have changed
}

// Changed reports whether anything differs. Times always differ, and do not count.
func (c *Change) Changed() bool {
	return c.Old == nil || c.New == nil || c.Worse || c.Better || c.Prompt || c.Tools || c.Policy || c.Measured
}

// Diff compares the cases of two reports, in the order of the new one. Cases that only the old
// report has are last; if the new one is not complete or has a filter, they are left out.
func Diff(old, new *Report) []Change {
	before, after := groups(old), groups(new)
	var changes []Change
	for _, g := range after {
		i := slices.IndexFunc(before, func(b group) bool { return b.name == g.name })
		if i < 0 {
			changes = append(changes, Change{Name: g.name, New: &g.Tally})
			continue
		}
		changes = append(changes, compare(&before[i], &g))
	}
	for _, b := range before {
		if new.Complete && len(new.Filter) == 0 && !slices.ContainsFunc(after, func(g group) bool { return g.name == b.name }) {
			changes = append(changes, Change{Name: b.name, Old: &b.Tally})
		}
	}
	return changes
}

func compare(old, new *group) Change {
	was, is := old.rate(), new.rate()
	return Change{
		Name: new.name, Old: &old.Tally, New: &new.Tally, Worse: is < was, Better: is > was,
		Prompt: differ(old.prompts, new.prompts), Tools: differ(old.tools, new.tools), Policy: differ(old.policies, new.policies),
		Measured: !equal(old.Iterations, new.Iterations) || !equal(old.Tokens, new.Tokens) || !equalCost(old.CostUSD, new.CostUSD, old.Cases, new.Cases),
	}
}

// differ reports whether two lists of hashes have different ones. An unknown hash, of a case that
// asked nothing, is no difference.
func differ(old, new []string) bool {
	return len(old) > 0 && len(new) > 0 && !slices.Equal(old, new)
}

func equal(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

// equalCost compares the mean costs of cases.
func equalCost(a, b *float64, of, and int) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return equal(*a/float64(max(of, 1)), *b/float64(max(and, 1)))
}

// A group has the repetitions of a case.
type group struct {
	name                     string
	prompts, tools, policies []string // the hashes, sorted, each of them once
	Tally
}

func (g *group) rate() float64 { return float64(g.Passed) / float64(max(g.Cases, 1)) }

// groups returns the results of a report by the name of their case.
func groups(r *Report) []group {
	var all []group
	for i := range r.Results {
		result := &r.Results[i]
		at := slices.IndexFunc(all, func(g group) bool { return g.name == result.Name() })
		if at < 0 {
			at = len(all)
			all = append(all, group{name: result.Name()})
		}
		g := &all[at]
		g.add(result)
		g.prompts, g.tools, g.policies = with(g.prompts, result.PromptHash), with(g.tools, result.ToolsHash), with(g.policies, result.PolicyHash)
	}
	return all
}

func with(hashes []string, hash string) []string {
	at, found := slices.BinarySearch(hashes, hash)
	if hash == "" || found {
		return hashes
	}
	return slices.Insert(hashes, at, hash)
}
