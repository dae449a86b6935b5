package rights

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// CheckNarrow checks and normalizes the rules that narrow a call.
func CheckNarrow(rules []tool.Rule) ([]tool.Rule, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	for _, r := range rules {
		if r.Verdict == tool.Allow {
			return nil, value.Errorf(value.Invalid, "Narrow: invalid rule with the Verdict Allow: %s", r.Capability).WithHint("set the Verdict to cassidy.Deny or cassidy.Ask")
		}
	}
	return CheckRules("Narrow", rules)
}

// optionApproved is the option of a run in which everything is approved.
const optionApproved = "approved"

// Approved returns the options of a run in which everything is approved.
func Approved(options *value.Dict) *value.Dict {
	all := value.NewDict(optionApproved, true)
	for k, v := range options.All() {
		_ = all.Set(k, v) // its keys were hashable before
	}
	return all
}

// IsApproved reports whether everything is approved in a run with these options.
func IsApproved(options *value.Dict) bool { return options.Bool(optionApproved) }

// The names under which the rules of a call are recorded in the options of its run.
const (
	optionNarrow  = "narrow"
	narrowVerb    = "verdict"
	narrowTool    = "tool"
	narrowTakes   = "capability"
	narrowSource  = "source"
	narrowSetting = "setting" // missing for a rule that is written as one
)

// Narrowed returns the recorded form of the rules of a call; nil without rules.
func Narrowed(rules []tool.Rule) *value.Dict {
	if len(rules) == 0 {
		return nil
	}
	list := value.Map(rules, func(r tool.Rule) value.Value {
		d := value.NewDict(narrowVerb, int64(r.Verdict), narrowTool, r.Tool, narrowTakes, r.Capability.String(), narrowSource, r.Source)
		if r.Setting != "" {
			d.Put(narrowSetting, r.Setting)
		}
		return d
	})
	return value.NewDict(optionNarrow, value.List(list))
}

// SameNarrow reports whether the options of two runs have the same rules.
func SameNarrow(a, b *value.Dict) bool {
	x, _ := a.Get(optionNarrow)
	y, _ := b.Get(optionNarrow)
	return value.Equal(x, y)
}

// ReadNarrow returns the rules in the options of a run.
func ReadNarrow(options *value.Dict) ([]tool.Rule, error) {
	var rules []tool.Rule
	for _, v := range options.Elements(optionNarrow) {
		d, _ := v.(*value.Dict)
		takes, err := tool.ParseCapability(d.Text(narrowTakes))
		verdict := tool.Verdict(d.Int(narrowVerb))
		if err != nil || verdict != tool.Ask && verdict != tool.Deny {
			return nil, value.Errorf(value.Failed, "the record of the run is damaged: invalid rule").WithHint("begin a new run")
		}
		rules = append(rules, tool.Rule{Verdict: verdict, Tool: d.Text(narrowTool), Capability: takes, Source: d.Text(narrowSource), Setting: d.Text(narrowSetting)})
	}
	return rules, nil
}

// The names of the capabilities of a workflow in the options of its run.
const (
	optionNeeds = "needs" // of the workflow itself
	optionMost  = "most"  // of its calls; earlier records do not have it
)

// RecordNeeds adds the capabilities of a workflow to the options of its run. needs are those that the workflow
// declares, if it does.
func RecordNeeds(options *value.Dict, declared bool, needs []tool.Capability) {
	own := value.List{"model", "human", "tool"}
	if declared {
		most := value.List{}
		own = value.List{}
		for _, n := range needs {
			most = append(most, n.String())
			if n.Name == "model" || n.Name == "human" || n.Name == "tool" {
				own = append(own, n.String())
			}
		}
		options.Put(optionMost, most)
	}
	options.Put(optionNeeds, own)
}

// ReadNeeds returns the capabilities of a workflow, and those to which its calls are limited, from the options
// of its run. most is nil if nothing limits the calls.
func ReadNeeds(options *value.Dict) (own, most []tool.Capability, err error) {
	own, err = ReadCapabilities(options.Elements(optionNeeds))
	if err == nil && options.Has(optionMost) {
		most, err = ReadCapabilities(options.Elements(optionMost))
		most = append([]tool.Capability{}, most...) // an empty list is not nil
	}
	return own, most, err
}

// ReadCapabilities reads recorded capabilities.
func ReadCapabilities(list []value.Value) (takes []tool.Capability, err error) {
	for _, v := range list {
		text, _ := v.(string)
		c, err := tool.ParseCapability(text)
		if err != nil {
			return nil, err
		}
		takes = append(takes, c)
	}
	return takes, nil
}

// Written returns the capabilities that recorded changes of files took.
func Written(change *value.Dict) (takes []tool.Capability) {
	for path := range change.All() {
		name, _ := path.(string)
		takes = append(takes, tool.Capability{Name: "fs.write", Target: name})
	}
	return takes
}
