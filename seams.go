package cassidy

import (
	"cmp"
	"maps"
	"time"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/shell"
)

// The types with which a program describes functions, rules and limits.
type (
	// Func is a function of a [Module]. Name, Kind and Do are required. One of kind [Pure]
	// runs in the worker of its script, so [sandbox.Main] must be given it too. See
	// [tool.Func].
	//
	//	Name, Doc string
	//	Params    []Param
	//	Returns   string // a description of the result
	//	Result    *Type  // nil means unknown
	//	Kind      EffectKind
	//	Risk      Risk                                                          // whether it asks for approval
	//	Target    func(args *Dict) ([]Capability, error)                        // what a call needs; nil means nothing
	//	Do        func(ctx context.Context, e Effect, g Grant) (Outcome, error) // called concurrently
	//
	//	// what a call with these arguments does; nil means no, or what Kind and Target say
	//	Exact     func(args *Dict) (c Capability, ok bool)
	//	ReadsOnly func(args *Dict) bool
	//	Untrusted func(args *Dict) bool
	//	Requests  []string
	//
	//	// how it is called
	//	Mode      tool.Mode
	//	Rest      string // the argument with all named arguments that are no parameters
	//	Callbacks bool   // arguments may be functions of the script
	//
	//	// recorded runs
	//	Prepare  func(ctx context.Context, e Effect) error
	//	Reported func(result Value) (Value, error)
	//	Again    func(ctx context.Context, e Effect, out Outcome, failure error) error
	//	Resumes  bool
	//
	//	Asks() bool
	//	MakesCalls() bool
	//	Bind(positional []Value, named *Dict) (*Dict, error)
	Func = tool.Func
	// EffectKind is what may happen when a function is called: [Pure], [Read], [Write] and
	// so on.
	EffectKind = tool.EffectKind
	// Risk says whether a function asks for approval: [RiskDefault], [RiskSafe] or [RiskAsk].
	Risk = tool.Risk
	// Effect is one request of a script to a function.
	//
	//	Func     string // such as "fs.read"
	//	Args     *Dict  // complete, by parameter name
	//	StepPath tool.StepPath
	//	Self     tool.Object    // of a method, or nil
	//	Pos      value.Position // in the script, if Call.Trace asks for it
	Effect = tool.Effect
	// Grant is what a function gets for one effect: the Call that asks, and functions to
	// check a capability, to ask a person, to report and to wait; see [tool.Grant].
	Grant = tool.Grant
	// Outcome is the result of an effect or of a program.
	//
	//	Value Value
	//	Undo  *Effect         // the effect that undoes it, or nil
	//	Names func() []string // paths that the Value tells as names of files; nil means none
	//	Usage tool.Usage
	//	Lines []trace.Line // if Call.Trace asks for them
	Outcome = tool.Outcome
	// Param is a parameter of a function or a tool.
	//
	//	Name        string
	//	Type        Type
	//	Description string
	//	Required    bool
	//	Default     Value // if HasDefault
	//	HasDefault  bool
	//	Aliases     []string // other names that are accepted
	//	FromHost    bool     // filled in by the host, and hidden from the caller
	Param = tool.Param
	// Type is the type of a parameter or a result. The zero value is any.
	//
	//	Name                 string  // TypeString, TypeInteger, …; "" is TypeAny
	//	Nullable             bool    // nil is a value too
	//	Items                *Type   // of an array
	//	Values               *Type   // of an object: of each value
	//	Fields               []Param // of an object: its known properties
	//	Min, Max             Value   // int64 or float64, inclusive; nil means none
	//	MinLength, MaxLength *int    // characters of a string, items of an array
	//	Pattern              string
	//	Enum                 []Value
	//
	//	Problems(v Value) []string // why a value does not have the type
	//	JSONSchema() *Dict
	//	String() string
	//	Known() bool // its name is one of the types
	Type = tool.Type
	// Verdict is what a [Rule] decides: [Allow], [Ask] or [Deny].
	Verdict = tool.Verdict
	// CommandRule says how a command may run.
	//
	//	Path        string            // the file of the program; "" means the one in the system's folders
	//	Any         bool              // it may have any arguments
	//	Args        []string          // the command lines that it may have: *, for one word, and ** for the rest
	//	Network     bool              // it may open connections
	//	Env         map[string]string // beside PATH, HOME, LANG and TERM
	//	Read, Write []string          // paths outside of the project, absolute
	CommandRule = shell.Rule
)

// The kinds of functions; see [tool.EffectKind]. A [Func] must have one.
const (
	Pure       = tool.Pure       // computes, in the script's own process
	Recorded   = tool.Recorded   // is never the same, such as a time
	Read       = tool.Read       // reads; can be repeated
	Write      = tool.Write      // changes the project; staged, and can be undone
	External   = tool.External   // acts beyond the project; at most once
	Repeatable = tool.Repeatable // reaches beyond the project; can be repeated
	Notice     = tool.Notice     // reports something to the user
)

// Whether a function asks for approval before it is used. By default Write and
// External do, and the other kinds do not.
const (
	RiskDefault = tool.RiskDefault // as its kind
	RiskSafe    = tool.RiskSafe    // it does not ask
	RiskAsk     = tool.RiskAsk     // it asks
)

// The verdicts of rules. Of the rules about a capability Deny wins over Ask, and
// Ask over Allow.
const (
	Allow = tool.Allow // without a question
	Ask   = tool.Ask   // a person is asked each time
	Deny  = tool.Deny  // refused, and nobody is asked
)

// The names of types, for [Type].Name.
const (
	TypeAny     = tool.TypeAny
	TypeString  = tool.TypeString
	TypeNumber  = tool.TypeNumber
	TypeInteger = tool.TypeInteger
	TypeBoolean = tool.TypeBoolean
	TypeArray   = tool.TypeArray
	TypeObject  = tool.TypeObject
	TypeMedia   = tool.TypeMedia // an image or a document, see Media
)

// maxTimeout returns the smaller of the maxima of the program and of the user's
// config; 0 means that neither sets one.
func maxTimeout(o *Options, c *config.Config) time.Duration {
	return min(cmp.Or(o.MaxTimeout, c.Limits.Timeout), cmp.Or(c.Limits.Timeout, o.MaxTimeout))
}

// commandRules returns the rules for commands of the user's config and of the
// program. For the same name those of the program win.
func commandRules(o *Options, c *config.Config) (map[string]CommandRule, error) {
	all := map[string]CommandRule{}
	if c.Commands != nil {
		var err error
		if all, err = shell.ParseRules(c.Commands); err != nil {
			return nil, err
		}
	}
	maps.Copy(all, o.Commands)
	return all, nil
}
