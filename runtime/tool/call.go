package tool

import (
	"strconv"
	"strings"
)

// A Call asks for a tool.
type Call struct {
	ID        string // names the call in events; the host makes one up if it is empty
	Tool      string // by name
	Args      *Dict  // by parameter name
	Texts     bool   // the source has no types: strings are read as the declared types
	Caller    Caller // who asks; the zero value is a model
	Reasoning string // why, in the caller's words
	Entry     string // the script's function to run; "" is the tool's handler
	Limits    Limits // zero fields mean the tool's, then the host's
	Place     Place  // of the call in its run; nil for a call on its own
}

// A Caller says who asks for a call. What each may do without being asked is
// the host's to say; a model, the zero value, may do least.
type Caller uint8

const (
	ByModel  Caller = iota // a model chose it
	ByScript               // another tool, a policy or a workflow
	ByPerson               // a person named this tool and typed these arguments
)

// A Script is the source of one tool and of what it loads: all that another
// process needs to run it.
type Script struct {
	Name   string // the tool's key, or "" where it is not known yet
	Path   string // as errors show it; its suffix names the language
	Source string
	Libs   map[string]string // the shared files by the name they are loaded under
}

// A Result is the answer to a call: what a model, a person and a program get.
type Result struct {
	Success    bool
	Error      string // "" exactly when Success is true
	ErrorType  string // see [Kind.Type]
	Suggestion string // what to do about the error, or ""
	Value      Value  // the tool's result
	Preview    string // the first lines of the result
	Usage      Usage
}

// Succeed returns the result of a call that came to an outcome.
func Succeed(o Outcome) Result {
	r := Result{Success: true, Value: o.Value, Usage: o.Usage}
	r.Preview = Preview(r.Text(), PreviewLines)
	return r
}

// Fail returns the result of a call that failed.
func Fail(err *Error, u Usage) Result {
	r := Result{Error: err.Message(), ErrorType: err.Kind.Type(), Suggestion: err.Hint, Usage: u}
	r.Preview = Preview(r.Error, PreviewLines)
	return r
}

// Text returns the result as text: a string as it is, nothing for null, and
// anything else as indented JSON.
func (r Result) Text() string {
	switch v := r.Value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return FormatJSON(r.Value, "  ")
}

// MarshalJSON gives the object of a result: success, error, error_type and
// suggestion where there was an error, result, preview and usage.
func (r Result) MarshalJSON() ([]byte, error) {
	d := NewDict("success", r.Success, "error", r.Error)
	if !r.Success {
		d.Put("error_type", r.ErrorType)
		d.Put("suggestion", r.Suggestion)
	}
	d.Put("result", r.Value)
	d.Put("preview", r.Preview)
	d.Put("usage", NewDict(
		"steps", r.Usage.Steps,
		"effects", int64(r.Usage.Effects),
		"wall_ms", float64(r.Usage.Wall.Microseconds())/1000,
	))
	return AppendJSON(nil, d)
}

// PreviewLines is how many lines of a result a preview shows.
const PreviewLines = 3

// previewWidth is how much of a line a preview shows: what fits on a terminal.
const previewWidth = 120

// Preview returns the first lines of a text, with a note of how many more
// there are.
func Preview(text string, lines int) string {
	text = strings.TrimRight(text, "\n")
	all := strings.SplitN(text, "\n", lines+1)
	more := 0
	if len(all) > lines {
		more = 1 + strings.Count(all[lines], "\n")
		all = all[:lines]
	}
	for i, line := range all {
		if runes := []rune(line[:min(len(line), 4*previewWidth)]); len(runes) > previewWidth {
			all[i] = string(runes[:previewWidth]) + "…"
		}
	}
	if more > 0 {
		all = append(all, "… "+strconv.Itoa(more)+" more lines")
	}
	return strings.Join(all, "\n")
}
