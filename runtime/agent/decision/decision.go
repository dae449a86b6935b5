// Package decision reads what a language model asks for in its reply: tool calls in any
// of the formats that models write, or an answer. It makes no calls.
//
// It works in three steps. scan.go scans the reply once. The files candidate*.go read the
// candidates for calls, by a table of forms. The files judge*.go decide which candidates are
// meant as calls, by a table of rules and the table of words in package phrases: group.go puts the
// candidates of one tag together, introduction.go finds the words above them. testdata/earns.txt
// lists the cases that need each row of these tables.
package decision

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Decision is what a reply asks for: to call a tool, or to end the task.
type Decision struct {
	Kind      Kind
	Action    string      // the name of the tool; as offered if it is one of Options.Tools
	Input     *value.Dict // the arguments; not nil for a ToolCall
	Texts     bool        // the values in Input are text, to be converted to the declared types
	Reasoning string      // the model's explanation, or ""
	Status    Status      // what follows the call
	Format    Format      // of the call, or "" if there is none
	Answer    string      // the text of a Final or a None
	Error     string      // of an Invalid, the error for the model, with the position; of a None, what looks like a call, or ""
	Inferred  bool        // the reply describes the call but does not write it
	Repaired  []string    // what was repaired to read the call, as phrases
	ID        string      // of a native call
}

// A Kind is the kind of a decision.
type Kind string

const (
	ToolCall Kind = "call"
	Final    Kind = "final" // the answer
	None     Kind = "none"  // the reply asks for nothing
	Invalid  Kind = "error" // a call was meant, but cannot be read
)

// A Status is what the model announces to follow its call.
type Status string

const (
	Continue Status = "continue"
	LastCall Status = "final" // the answer follows the result of the call
)

// A Format is a way to write decisions.
type Format string

const (
	PureJSON Format = "pure_json" // {"tool_decision": {...}}
	XMLJSON  Format = "xml_json"  // <TOOL_DECISION> with INPUT: as JSON
	Markdown Format = "markdown"  // <TOOL_DECISION> with a list of parameters
	Native   Format = "native"    // the API's own calls
	Code     Format = "code"      // a program in a block of code, which calls the tools
	// Other is any other format, such as the tags of a vendor or JSON without tags. A model
	// cannot be asked to use it.
	Other Format = "other"
)

// MarshalJSON returns an object with all of the fields kind, action, input, reasoning, status,
// format, answer, error, inferred and repaired. The input is null if there is no call.
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

// ProgramTool is the name of the tool that runs a program of the model.
const ProgramTool = "execute_code"

// Event returns the decision as an event.
func (d *Decision) Event() tool.Decided {
	return tool.Decided{
		Kind: string(d.Kind), Action: d.Action, Input: d.Input, Reasoning: d.Reasoning, Status: string(d.Status), Format: string(d.Format),
		Answer: d.Answer, Error: d.Error, Inferred: d.Inferred, Repaired: d.Repaired, ID: d.ID, Texts: d.Texts,
	}
}

// Dict returns the decision for a policy: the fields of MarshalJSON, id and texts.
func (d Decision) Dict() *value.Dict {
	fields := d.fields()
	fields.Put("id", d.ID)
	fields.Put("texts", d.Texts)
	return fields
}

// Options configure [Read]. Without Tools only the formats PureJSON, XMLJSON and Markdown are
// read.
type Options struct {
	Tools []tool.Tool // the tools that the model may call
	// Format is the format that the model was asked to use. All formats are read; this one
	// is preferred if a reply has the same call in two formats. "" prefers the first.
	Format Format
	// Chat means that a reply without a call is an answer. Then the Error of a None reports only
	// what fills the reply: other replies can be answers that show a call.
	Chat bool
	// IsAnswer reports whether a text without a call is an answer although nothing announces it, such
	// as a value of the schema that the user wants. Nil means that no text is.
	IsAnswer func(text string) bool
	// NoInference ignores calls that a reply describes but does not write, see
	// Decision.Inferred.
	NoInference bool
	// Heard are the outputs of tools that the model has read, the latest last. A call that
	// one of them contains is a quotation; white space is ignored. Calls shorter than 20
	// bytes are not compared, and only the last MiB of all outputs is searched.
	Heard []string
}

// Read returns the decisions of a reply: its calls in the order in which they are written, or
// one decision of another kind. It returns at least one.
//
// The first of these that the reply contains is returned: in the format [Code] a block of code;
// calls in PureJSON, XMLJSON or Markdown; calls in the tags of vendors; calls as JSON without
// tags, or written as in a program; the answer after "TASK COMPLETE:"; an answer by
// Options.IsAnswer; a call that the text only describes. A call is ignored if its position or the words around it show that it is an
// example, a quotation or not done, and after "TASK COMPLETE:" unless it is a separate block.
// If a call cannot be read, none is returned, but one Invalid. The calls inside one tag are read or
// ignored together, see group.go. A reply that was cut off is read by [ReadNative].
//
// Read takes time linear in the length of any reply. It is safe for concurrent use.
func Read(reply string, o Options) []Decision {
	s := newReader(reply, o)
	s.scan()
	return s.choose()
}
