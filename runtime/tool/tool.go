package tool

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/tool/internal/target"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Tool is what its author declares of a tool: enough to list it, to explain it to
// a person or a model, and to check a call. Only Name and Description are required.
// What a host knows of a tool, such as whether it may be used, is not here.
type Tool struct {
	Name        string // as its author writes it; see [Key]
	Title       string // "" means the name in title case
	Description string // what it does and when to use it; the model reads this
	Group       string // "" is reported as "ungrouped"
	Risky       bool   // declared to need approval; see [Tool.NeedsApproval]
	Hints       Hints
	Params      []Param
	AllowExtra  bool   // unknown arguments are dropped instead of refused
	Schema      []byte // a raw JSON Schema for the arguments, in place of Params
	Returns     *Type  // nil: anything
	ReturnsDoc  string // what the result means, in words
	Needs       []Capability
	Examples    []Example
	Tags        []string // for searching
	Deprecated  *Deprecation
	Version     string        // of the tool, in any form
	Timeout     time.Duration // wall time of one call; 0 means the host's default
	Limits      Limits        // zero fields mean the host's defaults
	Overhead    int           // tokens its definition costs; 0 means estimated
	Available   string        // the script's function that reports whether it can be used here, or ""; for Go see host.AvailableFunc
	Undo        string        // the script's function that undoes a call, undo(args, result), or ""; for Go see host.UndoFunc
	Preview     string        // the script's function that shows a result to people, preview(result, args), or ""; for Go see host.PreviewFunc

	// OnlyCalls declares that the handler of a tool in Go acts only by calls that it
	// makes with its context, and by steps, so it can be run again after a crash. A step
	// is an effect that the handler requests with Do of package runtime/host.
	OnlyCalls bool
	// Steps are the steps of the handler of a tool in Go that are not effects of the host. Like
	// OnlyCalls, they declare that the handler acts by nothing else. Unlike a tool with OnlyCalls,
	// the tool itself acts: it may send what it is called with. So a tool has only one of the two.
	Steps []Func

	// compiled is Schema ready for use. [Tool.Validate] sets it; without it,
	// or where it is of another schema, each check reads Schema anew.
	compiled *jsonschema.Schema
}

// Repeats reports whether the handler of a tool in Go can be run again, since its steps and its calls
// are recorded.
func (t *Tool) Repeats() bool { return t.OnlyCalls || len(t.Steps) > 0 }

// Step returns one of the Steps by its name, or nil.
func (t *Tool) Step(name string) *Func {
	for i := range t.Steps {
		if t.Steps[i].Name == name {
			return &t.Steps[i]
		}
	}
	return nil
}

// A Location is where a tool comes from.
type Location string

const (
	Builtin  Location = "builtin"  // comes with cassidy
	Project  Location = "project"  // .cassidy/tools of the project
	Personal Location = "personal" // tools in the user's home
	Embedded Location = "host"     // registered by the Go program
)

// Hints describe to a model and an approval policy what a call does. They are claims of
// the author: nothing is granted because of them.
type Hints struct {
	ReadOnly   bool // changes nothing
	Idempotent bool // calling it again changes nothing more
	OpenWorld  bool // reaches beyond the project
	// UntrustedOutput says that the result has text that others wrote. A model that has read
	// it must ask before it sends or runs anything.
	UntrustedOutput bool
	Other           map[string]bool // further hints by name, such as "parallel" for agents
}

// Words returns the names of the hints that are true, with hyphens, those of Other last and sorted.
func (h Hints) Words() []string {
	is := map[string]bool{"read_only": h.ReadOnly, "idempotent": h.Idempotent, "open_world": h.OpenWorld, "untrusted_output": h.UntrustedOutput}
	words := append([]string{"read_only", "idempotent", "open_world", "untrusted_output"}, slices.Sorted(maps.Keys(h.Other))...)
	maps.Copy(is, h.Other)
	words = slices.DeleteFunc(words, func(name string) bool { return !is[name] })
	return value.Map(words, func(name string) string { return strings.ReplaceAll(name, "_", "-") })
}

// A Param is one parameter of a tool or of a function that scripts can use.
type Param struct {
	Name        string
	Type        Type
	Description string
	Required    bool
	Default     value.Value // the value of an absent argument, if HasDefault
	HasDefault  bool
	Aliases     []string // other names that are accepted
	FromHost    bool     // filled in by the host and hidden from the caller
}

// An Example is an example of a call, from the tool's author.
type Example struct {
	Description string
	Args        *value.Dict
	Expect      value.Value // the result that the call must give
	HasExpect   bool
}

// A Deprecation marks a tool as deprecated.
type Deprecation struct {
	Since       string // the version of the tool
	Replacement string // the name of another tool, or ""
	Message     string // for people and models, or ""
}

// Limits bound one call. A zero field means the host's default.
type Limits struct {
	Steps  int64         // of the script's interpreter
	CPU    time.Duration // of the script, without the time the host works for it
	Memory int64         // bytes
	Result int           // bytes of the result
	// Requests is how many HTTP requests the call may make, each redirect counted. A script declares at most
	// [MaxRequests].
	Requests int
}

// Negative reports whether a limit is negative.
func (l Limits) Negative() bool {
	return l.Steps < 0 || l.CPU < 0 || l.Memory < 0 || l.Result < 0 || l.Requests < 0
}

// The limits of a call whose tool sets none.
const (
	// DefaultTimeout is the wall time of one call.
	DefaultTimeout = 30 * time.Second
	// DefaultSteps is how many steps a script may take: a fifth of a second or so.
	DefaultSteps = 5_000_000
	// DefaultCPU is how long a script may compute, without what the host does
	// for it: ten times what its steps usually take.
	DefaultCPU = 2 * time.Second
	// DefaultMemory is how much memory a script may take, in bytes.
	DefaultMemory = 128 << 20
	// DefaultResult is how long a result may be, in bytes.
	DefaultResult = 1 << 20
	// DefaultRequests is how many HTTP requests a call may make.
	DefaultRequests = 20
)

// MaxRequests is the highest limit of HTTP requests that a script can declare: as many as the effects of a call.
const MaxRequests = 1000

// DefaultLimits returns the limits of a call whose tool sets none.
func DefaultLimits() Limits {
	return Limits{Steps: DefaultSteps, CPU: DefaultCPU, Memory: DefaultMemory, Result: DefaultResult, Requests: DefaultRequests}
}

// Or returns the limits, with others for those that are not set.
func (l Limits) Or(others Limits) Limits {
	return Limits{
		Steps:    cmp.Or(l.Steps, others.Steps),
		CPU:      cmp.Or(l.CPU, others.CPU),
		Memory:   cmp.Or(l.Memory, others.Memory),
		Result:   cmp.Or(l.Result, others.Result),
		Requests: cmp.Or(l.Requests, others.Requests),
	}
}

// AtMost returns the limits, each field no more than that of most, where that is
// set; a field that is not set gets that of most.
func (l Limits) AtMost(most Limits) Limits {
	l, most = l.Or(most), most.Or(l)
	return Limits{
		Steps:    min(l.Steps, most.Steps),
		CPU:      min(l.CPU, most.CPU),
		Memory:   min(l.Memory, most.Memory),
		Result:   min(l.Result, most.Result),
		Requests: min(l.Requests, most.Requests),
	}
}

// Key returns the one form of a tool's name under which it is found:
// "my-tool" and "my_tool" are the same tool, and so are "server.tool" and "server__tool".
func Key(name string) string { return target.Key(name) }

// The name of a tool of an attached server is SERVER.TOOL. The APIs of the model vendors accept
// no dot, so a model gets SERVER__TOOL.
const serverDot, modelDot = ".", "__"

// ModelName returns the name by which models and other clients know the tool.
func (t *Tool) ModelName() string { return strings.ReplaceAll(t.Name, serverDot, modelDot) }

// CheckCallName returns an error of kind Invalid unless a name can be that of a registered tool:
// one that [CheckName] accepts, or two joined by "." or "__", those of an attached server and of
// its tool. A script cannot declare the latter.
func CheckCallName(name string) error {
	server, rest, ok := strings.Cut(strings.Replace(name, modelDot, serverDot, 1), serverDot)
	if ok && validName(server) && validName(rest) && len(server)+len(modelDot)+len(rest) <= MaxName {
		return nil
	}
	return CheckName(name)
}

// MaxName is how long a tool's name may be; the APIs of the model vendors
// accept 64.
const MaxName = 64

// CheckName returns an error of kind Invalid unless a name can be that of a tool:
// lower-case letters and digits in segments joined by "-" or "_", beginning with a letter,
// at most 64 long. Its hint suggests a valid name.
func CheckName(name string) error {
	if validName(name) {
		return nil
	}
	e := value.Errorf(value.Invalid, "Invalid tool name: %q", value.Clean(name, 2*MaxName))
	if s := suggestName(name); s != "" {
		return e.WithHint("begin with a letter, and use lower-case letters and digits, with single - or _ between them; try %q", s)
	}
	return e.WithHint("begin with a letter, and use lower-case letters and digits, with single - or _ between them; use at most %d characters", MaxName)
}

func validName(name string) bool {
	if name == "" || len(name) > MaxName || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case (c == '-' || c == '_') && i+1 < len(name) && name[i+1] != '-' && name[i+1] != '_':
		default:
			return false
		}
	}
	return true
}

// suggestName returns a valid name similar to an invalid one, or "".
func suggestName(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	if s := b.String(); validName(s) {
		return s
	}
	return ""
}

// DisplayTitle returns the title, or one made of the name.
func (t *Tool) DisplayTitle() string {
	if t.Title != "" {
		return t.Title
	}
	words := strings.Fields(strings.ReplaceAll(Key(t.Name), "_", " "))
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// DisplayGroup returns the group, or "ungrouped".
func (t *Tool) DisplayGroup() string { return cmp.Or(t.Group, "ungrouped") }

// Summary returns the first sentence or line of the description.
func (t *Tool) Summary() string { return firstLine(t.Description) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// NeedsApproval reports whether a call may ask for approval: the author says so, or
// what the tool needs can write, run or send. An author can raise this, never lower
// it. A tool that needs only functions of the program, as in use:stock/*, asks when
// it uses one that asks; see [Func.Asks].
func (t *Tool) NeedsApproval() bool { return needsApproval(t.Risky, t.Needs) }

func needsApproval(risky bool, needs []Capability) bool {
	return risky || slices.ContainsFunc(needs, Capability.Acts)
}

// Renamed returns a note for each argument that is given by an alias of its parameter.
func (t *Tool) Renamed(args *value.Dict) []string {
	var notes []string
	for k := range args.All() {
		name, _ := k.(string)
		if p, ok := t.Param(name); ok && p.Name != name {
			notes = append(notes, name+": read as "+p.Name)
		}
	}
	return notes
}

// Param returns a parameter by its name or one of its aliases.
func (t *Tool) Param(name string) (*Param, bool) { return findParam(t.Params, name) }

func findParam(params []Param, name string) (*Param, bool) {
	for i := range params {
		if params[i].Name == name {
			return &params[i], true
		}
	}
	for i := range params {
		if slices.Contains(params[i].Aliases, name) {
			return &params[i], true
		}
	}
	return nil, false
}
