package functions

import (
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// decisionOf reads a decision from a policy, which may have written it itself. It fails with kind
// Invalid if v has no action.
func decisionOf(v value.Value) (decision.Decision, error) {
	d, ok := v.(*value.Dict)
	if !ok || d.Text("action") == "" && d.Text("kind") != string(decision.Invalid) {
		return decision.Decision{}, value.Errorf(value.Invalid, `agent.call: expected a decision {"action": …, "input": {…}}`)
	}
	input, _ := d.Get("input")
	args, ok := input.(*value.Dict)
	if !ok {
		args = &value.Dict{}
	}
	return decision.Decision{
		Kind: decision.Kind(d.Text("kind")), Action: d.Text("action"), Input: args, Reasoning: d.Text("reasoning"),
		Error: d.Text("error"), Inferred: d.Bool("inferred"), ID: d.Text("id"), Texts: d.Bool("texts"),
	}, nil
}

// Decisions returns the decisions in the arguments of a function of a policy: decision, with at least
// one, or decisions. It fails with kind Invalid as [decisionOf] does.
func Decisions(args *value.Dict) ([]decision.Decision, error) {
	given := args.Elements("decisions")
	if !args.Has("decisions") {
		one, _ := args.Get("decision")
		given = value.List{one}
	}
	list := make([]decision.Decision, 0, len(given))
	for _, v := range given {
		d, err := decisionOf(v)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}
