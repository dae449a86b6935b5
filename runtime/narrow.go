package runtime

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// checkNarrow returns the rules of a call ready to be asked.
func checkNarrow(rules []tool.Rule) ([]tool.Rule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	for _, r := range rules {
		if r.Verdict == tool.Allow {
			return nil, tool.Errorf(tool.Invalid, "Narrow: a rule allows %s", r.Capability).WithHint("a call can be narrowed by Deny and Ask only")
		}
	}
	return checkRules("Narrow", rules)
}

// The names under which the rules of a call are recorded.
const (
	optionNarrow = "narrow"
	narrowVerb   = "verdict"
	narrowTool   = "tool"
	narrowTakes  = "capability"
	narrowSource = "source"
)

// narrowed is what is recorded of the rules of a call; nil of none.
func narrowed(rules []tool.Rule) *tool.Dict {
	if len(rules) == 0 {
		return nil
	}
	list := tool.List{}
	for _, r := range rules {
		list = append(list, tool.NewDict(narrowVerb, int64(r.Verdict), narrowTool, r.Tool, narrowTakes, r.Capability.String(), narrowSource, r.Source))
	}
	return tool.NewDict(optionNarrow, list)
}

// sameNarrow reports whether two options hold the same rules.
func sameNarrow(a, b *tool.Dict) bool {
	x, _ := a.Get(optionNarrow)
	y, _ := b.Get(optionNarrow)
	return tool.Equal(x, y)
}

// narrowedTo returns the rules that were recorded with a call.
func narrowedTo(options *tool.Dict) ([]tool.Rule, error) {
	v, _ := options.Get(optionNarrow)
	list, _ := tool.Elements(v)
	var rules []tool.Rule
	for _, v := range list {
		d, _ := v.(*tool.Dict)
		takes, err := tool.ParseCapability(d.Text(narrowTakes))
		verdict := tool.Verdict(d.Int(narrowVerb))
		if err != nil || verdict != tool.Ask && verdict != tool.Deny {
			return nil, unrecorded(tool.Errorf(tool.Failed, "a rule of the run cannot be read"))
		}
		rules = append(rules, tool.Rule{Verdict: verdict, Tool: d.Text(narrowTool), Capability: takes, Source: d.Text(narrowSource)})
	}
	return rules, nil
}
