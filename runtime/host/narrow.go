package host

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkNarrow returns the rules of a call ready to be asked.
func checkNarrow(rules []tool.Rule) ([]tool.Rule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	for _, r := range rules {
		if r.Verdict == tool.Allow {
			return nil, value.Errorf(value.Invalid, "Narrow: a rule allows %s", r.Capability).WithHint("a call can be narrowed by Deny and Ask only")
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
func narrowed(rules []tool.Rule) *value.Dict {
	if len(rules) == 0 {
		return nil
	}
	list := value.List{}
	for _, r := range rules {
		list = append(list, value.NewDict(narrowVerb, int64(r.Verdict), narrowTool, r.Tool, narrowTakes, r.Capability.String(), narrowSource, r.Source))
	}
	return value.NewDict(optionNarrow, list)
}

// sameNarrow reports whether two options hold the same rules.
func sameNarrow(a, b *value.Dict) bool {
	x, _ := a.Get(optionNarrow)
	y, _ := b.Get(optionNarrow)
	return value.Equal(x, y)
}

// narrowedTo returns the rules that were recorded with a call.
func narrowedTo(options *value.Dict) ([]tool.Rule, error) {
	v, _ := options.Get(optionNarrow)
	list, _ := value.Elements(v)
	var rules []tool.Rule
	for _, v := range list {
		d, _ := v.(*value.Dict)
		takes, err := tool.ParseCapability(d.Text(narrowTakes))
		verdict := tool.Verdict(d.Int(narrowVerb))
		if err != nil || verdict != tool.Ask && verdict != tool.Deny {
			return nil, unrecorded(value.Errorf(value.Failed, "a rule of the run cannot be read"))
		}
		rules = append(rules, tool.Rule{Verdict: verdict, Tool: d.Text(narrowTool), Capability: takes, Source: d.Text(narrowSource)})
	}
	return rules, nil
}
