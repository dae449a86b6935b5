package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Call is a request to run a tool. Only Tool is required.
type Call struct {
	ID        string      // of the call in events; the host generates one if it is empty
	Tool      string      // by name
	Args      *value.Dict // by parameter name
	Texts     bool        // arguments are text, to be read as the declared types
	Caller    Caller      // who asks; the zero value is a model
	Trace     trace.Mode  // what is reported about the lines of the script; the calls that it makes inherit it
	Reasoning string      // why, in the caller's words
	Entry     string      // the script's function to run; "" is the tool's handler
	Limits    Limits      // zero fields mean the tool's, then the host's
	StepPath  StepPath    // of the call in its run; nil for a call on its own
}

// A Caller is who asks for a call. The host decides what needs approval for each; a model,
// the zero value, needs it most.
type Caller uint8

const (
	ByModel  Caller = iota // a model chose it
	ByScript               // another tool, a policy or a workflow
	ByPerson               // a person named this tool and typed these arguments
)

// String returns "model", "script" or "person".
func (c Caller) String() string {
	switch c {
	case ByPerson:
		return "person"
	case ByScript:
		return "script"
	}
	return "model"
}

// A Script is the source of one tool and of what it loads: all that another
// process needs to run it.
type Script struct {
	Name   string // the tool's key, or "" if it is not known yet
	Path   string // as errors show it; its suffix names the language
	Source string
	Libs   map[string]string // the shared files by the name they are loaded under
	Hash   string            // see [Script.Sum]; "" if it was not computed
}

// ScriptSuffixes lists the suffixes of the files that can be tools: Starlark,
// Lua, and Markdown with either inside.
func ScriptSuffixes() []string { return []string{".star", ".lua", ".md"} }

// Value returns the script as a value, for records: [ReadScript] reads it.
func (s Script) Value() value.Value {
	libs := &value.Dict{}
	for _, name := range slices.Sorted(maps.Keys(s.Libs)) {
		libs.Put(name, s.Libs[name])
	}
	return value.Tuple{s.Name, s.Path, s.Source, libs}
}

// ReadScript reads the result of [Script.Value], and sets the hash to its sum. It reports
// false if the value is not a script.
func ReadScript(v value.Value) (Script, bool) {
	parts, _ := v.(value.Tuple)
	if len(parts) != 4 {
		return Script{}, false
	}
	var s Script
	var isName, isPath, isSource bool
	s.Name, isName = parts[0].(string)
	s.Path, isPath = parts[1].(string)
	s.Source, isSource = parts[2].(string)
	libs, ok := parts[3].(*value.Dict)
	ok = ok && isName && isPath && isSource
	for k, v := range libs.All() {
		name, isName := k.(string)
		text, isText := v.(string)
		if ok = ok && isName && isText; !ok {
			break
		}
		if s.Libs == nil {
			s.Libs = map[string]string{}
		}
		s.Libs[name] = text
	}
	s.Hash = s.Sum()
	return s, ok
}

// Sum returns a hash of the source and of the shared files, in lower-case hexadecimal.
func (s Script) Sum() string {
	h := sha256.New()
	part := func(text string) {
		fmt.Fprintf(h, "%d:", len(text))
		io.WriteString(h, text)
	}
	part(s.Source)
	for _, name := range slices.Sorted(maps.Keys(s.Libs)) {
		part(name)
		part(s.Libs[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Result is the answer to a call: what a model, a person and a program get.
type Result struct {
	Success    bool
	Error      string      // "" exactly when Success is true
	ErrorType  string      // see [value.Kind.Type]
	Suggestion string      // what to do about the error, or ""
	Value      value.Value // the tool's result
	Usage      Usage
	Shown      string // what the tool's own preview shows, or ""; for people only
	// Notes are what a reader of a result that succeeded must know of it and the value cannot say, such as a
	// guess in a table of CSV: a line for each, or "". People have read them as [Log] events.
	Notes string
	// Display is what a terminal shows in place of the text of Value: texts, and data that it draws. Only a call that was just
	// made has it: a [value.List], or nil for most tools. It is not the Value, which models and pipes get
	// unchanged, and not recorded, because a replay must not depend on how somebody looks at it.
	Display value.Value
}

// Succeed returns the result of a call that succeeded.
func Succeed(o Outcome) Result {
	return Result{Success: true, Value: o.Value, Usage: o.Usage}
}

// Fail returns the result of a call that failed.
func Fail(err *value.Error, u Usage) Result {
	return Result{Error: err.Message(), ErrorType: err.Kind.Type(), Suggestion: err.Hint, Usage: u}
}

// Text returns the result as text: a string as it is, nothing for null, and
// anything else as indented JSON.
func (r Result) Text() string {
	switch v := r.Value.(type) {
	case nil:
		return ""
	case string:
		return v
	case value.Media:
		return v.String()
	}
	return value.FormatJSON(r.Value, "  ")
}

// Preview returns the first lines of the tool's own preview, of the result, or of the error.
func (r Result) Preview() string {
	if !r.Success {
		return Preview(r.Error, PreviewLines)
	}
	if r.Shown != "" {
		return Preview(r.Shown, PreviewLines)
	}
	return Preview(r.Text(), PreviewLines)
}

// MarshalJSON returns the object of a result, always with all of these fields:
// success, error, error_type, suggestion, result, preview and usage. It also has notes, if there are any.
func (r Result) MarshalJSON() ([]byte, error) {
	d := value.NewDict(
		"success", r.Success,
		"error", r.Error,
		"error_type", r.ErrorType,
		"suggestion", r.Suggestion,
		"result", r.Value,
		"preview", r.Preview(),
		"usage", value.NewDict(
			"steps", r.Usage.Steps,
			"effects", int64(r.Usage.Effects),
			"wall_ms", float64(r.Usage.Wall.Microseconds())/1000,
		))
	if r.Notes != "" {
		d.Put("notes", r.Notes)
	}
	return value.AppendJSON(nil, d)
}

// UnmarshalJSON reads the object that MarshalJSON writes. The value of the result is
// read as [value.Dict.UnmarshalJSON] does it, and the wall time is in whole microseconds.
// Unknown and missing fields are ignored, and so is the preview, which is for people.
// null leaves the result as it is. A field of another type is an error of kind
// Invalid that names it.
func (r *Result) UnmarshalJSON(data []byte) error {
	v, err := value.ParseJSON(data)
	if err != nil || v == nil {
		return err
	}
	read, err := value.ToGo[struct {
		Success    bool        `json:"success"`
		Error      string      `json:"error"`
		ErrorType  string      `json:"error_type"`
		Suggestion string      `json:"suggestion"`
		Result     value.Value `json:"result"`
		Notes      string      `json:"notes"`
		Usage      struct {
			Steps   int64   `json:"steps"`
			Effects int     `json:"effects"`
			WallMS  float64 `json:"wall_ms"`
		} `json:"usage"`
	}](v)
	if err != nil {
		return err
	}
	wall := math.Round(read.Usage.WallMS * 1000)
	if math.Abs(wall) > math.MaxInt64/1000 {
		return value.Errorf(value.Invalid, "usage.wall_ms: %v is out of range", read.Usage.WallMS)
	}
	*r = Result{
		Success: read.Success, Error: read.Error, ErrorType: read.ErrorType, Suggestion: read.Suggestion, Value: read.Result, Notes: read.Notes,
		Usage: Usage{
			Steps: read.Usage.Steps, Effects: read.Usage.Effects,
			Wall: time.Duration(wall) * time.Microsecond,
		},
	}
	return nil
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
		all[i] = value.Cut(line, previewWidth)
	}
	switch more {
	case 0:
	case 1:
		all = append(all, "… 1 more line")
	default:
		all = append(all, "… "+strconv.Itoa(more)+" more lines")
	}
	return strings.Join(all, "\n")
}
