// Package decision reads what a language model asks for in its reply: tool calls in any
// of the formats that models write, or an answer. It calls nothing.
package decision

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Decision is what a model's reply asks for: to call a tool, or that the task
// is done.
type Decision struct {
	Kind      Kind
	Action    string      // the tool's name, as it is offered where it is one of those
	Input     *value.Dict // its arguments, never nil of a ToolCall
	Texts     bool        // Input was written without types: strings are to be read as the declared types
	Reasoning string
	Status    Status
	Format    Format   // how it was written, or "" where nothing was
	Answer    string   // the text of a Final, or of a None
	Error     string   // what is wrong, of an Invalid: for the model, with the position
	Inferred  bool     // no call was written, but the text names one
	Repaired  []string // what was mended to read it, in words
	ID        string   // of a native call
}

// A DecisionKind says what a decision is.
type Kind string

const (
	ToolCall Kind = "call"
	Final    Kind = "final" // the answer
	None     Kind = "none"  // the reply asks for nothing
	Invalid  Kind = "error" // a call was meant, but cannot be read
)

// A Status is what a model says about what follows its call.
type Status string

const (
	Continue Status = "continue"
	LastCall Status = "final" // the call is made, then comes the answer
)

// A Format is a way to write decisions.
type Format string

const (
	PureJSON Format = "pure_json" // {"tool_decision": {...}}
	XMLJSON  Format = "xml_json"  // <TOOL_DECISION> with INPUT: as JSON
	Markdown Format = "markdown"  // <TOOL_DECISION> with a list of parameters
	Native   Format = "native"    // the API's own calls
	Code     Format = "code"      // a program in a block of code, which calls the tools
	// Other is what a model wrote in a form that nobody asked it for, such as
	// another vendor's tags or a bare JSON call.
	Other Format = "other"
)

// MarshalJSON gives the object of a decision, always with all of its fields:
// kind, action, input, reasoning, status, format, answer, error, inferred and
// repaired. The input is null where nothing is called.
func (d Decision) MarshalJSON() ([]byte, error) { return value.AppendJSON(nil, d.fields()) }

func (d Decision) fields() *value.Dict {
	var input value.Value
	if d.Input != nil {
		input = d.Input
	}
	repaired := value.List{}
	for _, what := range d.Repaired {
		repaired = append(repaired, what)
	}
	return value.NewDict(
		"kind", string(d.Kind),
		"action", d.Action,
		"input", input,
		"reasoning", d.Reasoning,
		"status", string(d.Status),
		"format", string(d.Format),
		"answer", d.Answer,
		"error", d.Error,
		"inferred", d.Inferred,
		"repaired", repaired,
	)
}

// ProgramTool is the tool with which a model has a program of its own run.
const ProgramTool = "execute_code"

// IsProgramTool reports whether a tool is that of agent.RegisterCode, and not one that
// somebody wrote under its name.
func IsProgramTool(t *tool.Tool) bool {
	return t.Location == tool.Embedded && tool.Key(t.Name) == ProgramTool
}

// Event is the decision as it is reported.
func (d *Decision) Event() tool.Decided {
	return tool.Decided{
		Kind: string(d.Kind), Action: d.Action, Input: d.Input, Reasoning: d.Reasoning, Status: string(d.Status), Format: string(d.Format),
		Answer: d.Answer, Error: d.Error, Inferred: d.Inferred, Repaired: d.Repaired, ID: d.ID, Texts: d.Texts,
	}
}

// Dict is the decision as a policy gets it.
func (d Decision) Dict() *value.Dict {
	fields := d.fields()
	fields.Put("id", d.ID)
	fields.Put("texts", d.Texts)
	return fields
}

// FromValue takes a decision back from a policy, which may have made one
// itself.
func FromValue(v value.Value) (Decision, error) {
	d, ok := v.(*value.Dict)
	if !ok || d.Text("action") == "" && d.Text("kind") != string(Invalid) {
		return Decision{}, value.Errorf(value.Invalid, `agent.call takes a decision: {"action": …, "input": {…}}`)
	}
	input, _ := d.Get("input")
	args, ok := input.(*value.Dict)
	if !ok {
		args = &value.Dict{}
	}
	return Decision{
		Kind: Kind(d.Text("kind")), Action: d.Text("action"), Input: args, Reasoning: d.Text("reasoning"),
		Error: d.Text("error"), Inferred: d.Bool("inferred"), ID: d.Text("id"), Texts: d.Bool("texts"),
	}, nil
}
