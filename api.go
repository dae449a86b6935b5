package cassidy

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The types of the lower packages that most programs need. As go doc shows only the comment
// of an alias, that lists the exported fields and methods: TestAliasLists checks them.
type (
	// Host has tools and calls them. [Open] and [Runtime.Open] return one; close it when
	// done. It is safe for concurrent use. After Close its methods fail with kind Closed;
	// those of a nil or zero Host fail with kind Invalid. See [host.Host] for each method.
	//
	//	// call tools and workflows
	//	Call(ctx context.Context, c Call, opts ...CallOption) (Result, error)
	//	Run(ctx context.Context, workflow string, args *Dict, opts ...CallOption) (Result, error)
	//	Conversation(ctx context.Context) context.Context // for the calls of one conversation with a model
	//
	//	// list tools
	//	Tools() []ToolInfo // also those that cannot be called, see State
	//	Tool(name string) (ToolInfo, error)
	//	Select(words ...string) ([]ToolInfo, error) // by names, @GROUP, preset:NAME, or auto for all
	//	List() []toolset.Head                       // faster than Tools, without parameters
	//	Broken() []*Error                           // one for each file that has no usable tool
	//	Agents() []AgentDefinition
	//	Workflows(ctx context.Context) ([]host.Workflow, error)
	//
	//	// change tools, also while others call them; see also AddTool
	//	Register(t Tool, do func(ctx context.Context, args *Dict) (Value, error), opts ...ToolOption) error
	//	Replace(t Tool, do func(ctx context.Context, args *Dict) (Value, error), opts ...ToolOption) error
	//	RemoveTool(name string) error
	//	Refresh(ctx context.Context) error          // reads the source again
	//	Swap(ctx context.Context, src Source) error // replaces the source, or changes nothing
	//
	//	// recorded runs, if the host has a store
	//	Begin(ctx context.Context, workflow string, args *Dict, opts ...CallOption) (runID string, err error) // for Resume
	//	BeginCall(ctx context.Context, c Call, opts ...CallOption) (runID string, err error)
	//	BeginProgram(ctx context.Context, p *host.Program) (runID string, err error)
	//	BeginUndo(ctx context.Context, runID string) (undoID string, err error)
	//	Runs(ctx context.Context, f RunFilter) iter.Seq2[Run, error] // the newest first
	//	CountRuns(ctx context.Context, f RunFilter) (map[RunState]int, error)
	//	Recorded(ctx context.Context, runID string) (host.Recorded, error)
	//	Resume(ctx context.Context, runID string) (Result, error)
	//	Due(ctx context.Context) iter.Seq2[Run, error]               // that Resume can continue now
	//	ResumeDue(ctx context.Context, interval time.Duration) error // until ctx ends
	//	Cancel(ctx context.Context, runID string) error
	//	Undo(ctx context.Context, runID string) (Result, error)
	//	Fork(ctx context.Context, r retry.Request) (runID string, err error)
	//	Retry(ctx context.Context, r retry.Request) (Result, error)
	//	VerifyRun(ctx context.Context, runID, kept string) (VerifiedRun, error)
	//
	//	// open questions of parked runs
	//	Waiting(ctx context.Context) iter.Seq2[Question, error]
	//	Answer(ctx context.Context, questionID string, a Answer) error
	//
	//	// events
	//	Subscribe(ctx context.Context, f EventFilter) <-chan Event // live ones, until ctx ends
	//	Events(ctx context.Context, runID string, after uint64) iter.Seq2[Event, error]
	//	Follow(ctx context.Context, runID string, after uint64) iter.Seq2[Event, error] // recorded, then live
	//
	//	// end
	//	Shutdown(ctx context.Context) error // waits for calls until ctx ends
	//	Close() error                       // cancels calls
	//
	//	// scripts and kinds of runs that a program brings itself
	//	Describe(ctx context.Context, s tool.Script) (tool.Described, error)
	//	RegisterScript(t ToolInfo, load func() (tool.Script, error)) error
	//	Check(ctx context.Context, p *host.Program) error
	//	RunProgram(ctx context.Context, p *host.Program) (Outcome, error)
	//	RegisterKind(k host.Kind) error
	//	Replay(ctx context.Context, o host.Replay) (*host.Replayed, error)
	Host = host.Host
	// Tool is the definition of a tool, for [AddTool] and Host.Register. Name and
	// Description are required; AddTool derives Params and Returns. See [tool.Tool].
	//
	//	// for models and people
	//	Name, Description     string
	//	Title, Group, Version string
	//	Tags                  []string
	//	Examples              []tool.Example
	//	Deprecated            *tool.Deprecation
	//	Hints                 tool.Hints // ReadOnly, Idempotent, OpenWorld, UntrustedOutput, Other
	//	Overhead              int        // tokens of the definition; 0 means estimated
	//
	//	// arguments and result
	//	Params     []Param
	//	Schema     []byte // a JSON Schema of the arguments, instead of Params
	//	AllowExtra bool   // drop unknown arguments instead of refusing them
	//	Returns    *Type  // nil means anything
	//	ReturnsDoc string
	//
	//	// rights and limits
	//	Needs   []Capability  // what it does, for approvals and rules
	//	Risky   bool          // calls need approval, whatever the Needs are
	//	Timeout time.Duration // of one call; 0 means that of the host
	//	Limits  Limits        // zero fields mean those of the host
	//
	//	// in Go: how it can be done again after a crash, see host.Do
	//	OnlyCalls bool
	//	Steps     []Func
	//	// in scripts: the names of functions; in Go see AvailableFunc, UndoFunc and PreviewFunc
	//	Available, Undo, Preview string
	//
	//	// what it declares
	//	ModelName() string
	//	Summary() string
	//	DisplayTitle() string
	//	DisplayGroup() string
	//	NeedsApproval() bool
	//	Repeats() bool
	//	Param(name string) (*Param, bool)
	//	CallerParams() ([]Param, error)
	//	Step(name string) *Func
	//	Head() tool.Head
	//	EstimateOverhead() int
	//	ArgsSchema() (*Dict, error)
	//	Definition(f tool.Format) (*Dict, error) // for tool.OpenAI, Anthropic, MCP or JSONSchema
	//
	//	// checks and texts of a call
	//	Validate() error
	//	Normalize() error
	//	ReadArgs(c *Call) (*Dict, []string, error)
	//	Check(args *Dict) (*Dict, error)
	//	CheckResult(v Value) (Value, error)
	//	Coerce(args *Dict) (*Dict, []string)
	//	Renamed(args *Dict) []string
	//	ExampleArgs() *Dict
	//	CallText(args *Dict) string
	//	FailedCall(args *Dict) string
	Tool = tool.Tool
	// ToolOption adds a function to a tool written in Go; see [UndoFunc],
	// [AvailableFunc] and [PreviewFunc].
	ToolOption = host.ToolOption
	// Call is a request to run a tool, for Host.Call and [Middleware]. Only Tool is
	// required.
	//
	//	Tool      string        // its name; my-tool and my_tool are the same
	//	Args      *Dict         // by parameter name, see NewDict; nil means none
	//	Texts     bool          // the arguments are texts, to be read as the types of the parameters
	//	Caller    Caller        // who asks; the zero value is ByModel
	//	Reasoning string        // why, in the caller's words
	//	Limits    Limits        // zero fields mean those of the tool, then of the host
	//	ID        string        // of the call in events; "" makes one up
	//	Entry     string        // the function of the script; "" is the one that the tool declares
	//	Trace     trace.Mode    // what is reported of the lines of scripts; 0 means nothing
	//	StepPath  tool.StepPath // set by the host: its position in a recorded run
	Call = tool.Call
	// Caller says who asks for a call: [ByModel], which is the zero value, [ByScript] or
	// [ByPerson]. A call by a person needs no approval, unless a rule asks for it.
	Caller = tool.Caller
	// State says whether a tool can be called: [Ready], [NotHere] or [Untrusted].
	State = toolset.State
	// Result is the answer to a call. Its JSON has success, error, error_type,
	// suggestion, result, preview and usage, and notes if there are any.
	//
	//	Value      Value // the result; nil after an error, and for a tool without a result
	//	Success    bool
	//	Error      string     // "" exactly if Success
	//	ErrorType  string     // as models see it, such as "validation_error"
	//	Suggestion string     // what to do about the error, or ""
	//	Notes      string     // lines that a reader of the Value must know, or ""
	//	Usage      tool.Usage // Steps and Effects of the script, and Wall, the time from start to end
	//	Shown      string     // the tool's own preview, for people, or ""
	//	Display    Value      // what a terminal shows instead of the text; nil for most tools
	//
	//	Text() string    // the Value: a string as it is, "" for nil, anything else as JSON
	//	Preview() string // its first lines, or those of the error
	//	MarshalJSON() ([]byte, error)
	//	UnmarshalJSON(data []byte) error
	Result = tool.Result

	// CallOption changes how one call is made; see [Durable] and [Narrow].
	CallOption = host.CallOption
	// CallFunc makes a call; see [Middleware]. If it fails, the result has the error too.
	//
	//	func(ctx context.Context, c *Call) (Result, error)
	CallFunc = host.CallFunc
	// Middleware wraps the calls of a host, nested ones too. It is called once, when the
	// host is opened; the function that it returns is called concurrently. That may
	// change the Tool, Args and Reasoning of a call, answer without next, or call next
	// again. See [host.Middleware].
	//
	//	func(next CallFunc) CallFunc
	Middleware = host.Middleware
	// Executor carries out an effect that was admitted and recorded; see [Execute]. It is
	// called concurrently. An error without a kind is of kind Failed.
	//
	//	func(ctx context.Context, f *Func, e Effect, g Grant) (Outcome, error)
	Executor = host.Executor
	// ToolInfo is a [Tool] as a host lists it: with its State, the Reason if it is not
	// [Ready], its Location, Path and Hash, what was Granted, and Warnings about the
	// declaration; see [toolset.Info].
	ToolInfo = toolset.Info
	// Run is what is recorded of a run, in UTC. Its JSON has id, kind, title, state,
	// reason, started, ended, result, project and more; see [history.Run].
	//
	//	ID, Title  string
	//	Kind       string // task, chat, run, tool or undo
	//	State      RunState
	//	Reason     string     // why it is parked or has ended
	//	Result     Value      // of a run that is done
	//	Err        *Error     // of a run that failed or was cancelled
	//	Usage      tool.Usage // of a run that has ended
	//	Started    time.Time
	//	Ended      time.Time // zero: not yet
	//	Wake       time.Time // when a parked run continues by itself; zero: never
	//	Args       *Dict
	//	Project    string // its folder, or ""
	//	Session    string // the ID of the session of which it is a turn, or ""
	//	Parent     string // the ID of the run that started it, or ""
	//	ForkedFrom string // the ID of the run whose record it continues, or ""
	//	Stuck      string // why nobody can continue it, or ""
	//	Damage     error  // why a part of it could not be read, or nil
	//
	//	// for the code that resumes it
	//	Options                *Dict
	//	Version, Script, Nonce string // of the program; a hash; random
	//
	//	By() string      // the person who began it, if that was recorded
	//	Unstick() string // what to do about a run that is stuck, or ""
	//	ForkedAt() tool.StepPath
	//	StuckBy(notes []*Dict) bool
	//	Dict() *Dict
	//	MarshalJSON() ([]byte, error)
	Run = history.Run
	// RunFilter selects runs. The zero value selects all.
	//
	//	States  []RunState // one of these
	//	Kind    string     // task, chat, run, tool or undo
	//	Project string
	//	Session string // turns of this session
	//	Prefix  string // with which the ID begins
	//	Before  string // the ID of a run that began later
	//	Limit   int    // the newest so many; 0 means all
	RunFilter = history.Filter
	// Store keeps the records of runs. journal.Memory and sqlite.Open return one; see
	// [journal.Store].
	Store = journal.Store
	// VerifiedRun is a record that Host.VerifyRun has checked; see [history.Verified].
	VerifiedRun = history.Verified
	// RunState is the state of a run, such as [RunParked].
	RunState = history.State

	// Value is an argument or a result: a nil, bool, int64, *big.Int, float64, string,
	// []byte, [List], [Tuple], [Set], *[Dict] or [Media]. [Encode] and [Decode] convert
	// other Go types; see [value.Value].
	Value = value.Value
	// Dict maps keys to values, and keeps the order in which keys were added. [NewDict]
	// makes one. The zero value is empty and can be used; a nil *Dict can be read. It may
	// be read concurrently, if nobody changes it.
	//
	//	// read; without such a key, or with a value of another type: the zero value
	//	Text(name string) string
	//	Int(name string) int64
	//	IntOr(name string, otherwise int64) int64
	//	Bool(name string) bool
	//	Dict(name string) *Dict
	//	Elements(name string) []Value // of a List, Tuple or Set
	//
	//	Get(name string) (Value, bool)
	//	Has(name string) bool
	//	Len() int
	//	All() iter.Seq2[Value, Value] // keys and values, in order
	//	OrEmpty() *Dict               // an empty one for nil
	//	Clone(more int) *Dict         // a shallow copy, with space for more entries
	//
	//	// change
	//	Put(name string, v Value)
	//	Set(key, v Value) error // for keys that are not strings; kind Invalid for a list, set or dict
	//
	//	// entries, which save allocations when they are copied
	//	Lookup(name string) (value.Entry, bool)
	//	PutEntry(e value.Entry)
	//
	//	// JSON: an object in the same order
	//	String() string
	//	MarshalJSON() ([]byte, error)
	//	UnmarshalJSON(data []byte) error
	Dict = value.Dict
	// List is an ordered sequence. In JSON it is an array.
	//
	//	[]Value
	//
	//	MarshalJSON() ([]byte, error)
	//	UnmarshalJSON(data []byte) error
	List = value.List
	// Tuple is an ordered sequence that scripts cannot change. It has the methods of [List].
	Tuple = value.Tuple
	// Set is a collection of distinct values, in order. It has the methods of [List].
	Set = value.Set
	// Media is an image or a document, which people and some models can read.
	// [value.NewMedia] makes one from its data. In JSON it is a data URL.
	//
	//	Type string // such as "image/png"
	//	Data []byte // at most value.MaxMedia; must not be changed
	//
	//	Check() error   // kind Invalid or Limit
	//	String() string // such as "[image/png, 12 KB]"
	//	MarshalText() ([]byte, error)
	//	UnmarshalText(text []byte) error
	Media = value.Media

	// Module is a group of functions that scripts can use, for Options.Modules. The
	// functions appear as NAME.FUNC.
	//
	//	Name, Doc string
	//	Funcs     []Func
	//	Consts    []tool.Const       // values, such as math.pi
	//	Objects   []*tool.ObjectType // types of objects that the functions return
	//
	//	CheckKinds() error // kind Invalid for a function without a valid Kind or Risk
	Module = tool.Module
	// AgentDefinition is an agent that a file of the source defines, as Host.Agents
	// returns it: with Name, Description, Prompt, Model, Tools, Rules, Limits and more;
	// see [tool.Agent].
	AgentDefinition = tool.Agent
	// Capability is the right to do one thing, written NAME or NAME:TARGET, such as
	// fs.read:docs/** or http.get:*.example.com. [tool.Capability] explains the targets,
	// and [tool.ParseCapability] reads a text.
	//
	//	Name   string // such as "fs.read"
	//	Target string // "" means every target
	//
	//	String() string
	//	Set(text string) // to what String returned, unchecked
	//	Allows(concrete Capability) bool
	//	Acts() bool     // it lets a tool write, run or send
	//	Sends() bool    // it lets what a model has read leave the project
	//	Receives() bool // it brings texts that others have written
	//	TakesTarget() bool
	//	InWords() string // what it allows, for people
	Capability = tool.Capability
	// Rule decides about a capability that a tool wants to use: [Allow], [Ask] or [Deny].
	// A rule for the capability tool:NAME is about calls of that tool.
	//
	//	Verdict    Verdict
	//	Capability Capability
	//	Tool       string // the tool that wants it, or "@GROUP"; "" means any
	//	Source     string // for people: where the rule is from
	//	Setting    string // for people: the setting in Source, or ""
	//
	//	String() string
	//	About(t *Tool) bool
	//	Covers(t *Tool, concrete Capability) bool
	//	CoversFile(t *Tool, concrete Capability, of tool.FileNames) bool
	Rule = tool.Rule
	// Limits bound one call. A zero field means the default; in maxima it means none.
	//
	//	Steps    int64         // of the script's interpreter; default 5,000,000
	//	CPU      time.Duration // of the script; default 2 seconds
	//	Memory   int64         // of the script, in bytes; default 128 MB
	//	Result   int           // of the result, in bytes; default 1 MB
	//	Requests int           // HTTP requests, each redirect counted; default 20
	//
	//	Or(others Limits) Limits   // others for the fields that are not set
	//	AtMost(most Limits) Limits // no field above that of most
	//	Negative() bool
	//	CheckResult(v Value) error
	Limits = tool.Limits

	// Error is the type of all errors of this module: get it with errors.As, and compare
	// its kind by errors.Is with [ErrDenied] and the others.
	//
	//	Kind     value.Kind      // such as value.Denied
	//	Op       string          // the tool or the effect, such as "fs.read"
	//	Err      error           // the cause
	//	Hint     string          // what to do next, or ""
	//	Limit    value.LimitName // the limit that was reached, or what a parked run waits for
	//	Pos      value.Position  // the File, Line and Col of a script, if known
	//	Trace    []string        // the script's calls, outermost first
	//	Excerpts []value.Excerpt // lines of the script, for people
	//	After    time.Duration   // how long a server asks to wait; 0 means unknown
	//
	//	Error() string   // POS: OP: CAUSE, for logs
	//	Message() string // without the position, for users and models
	//	Is(target error) bool
	//	Unwrap() error
	//	Catchable() bool                            // a script may catch it
	//	WithHint(format string, args ...any) *Error // a copy
	//	WithOp(op string) *Error
	//	WithLimit(limit value.LimitName) *Error
	//	Value() Value // for records and other processes
	Error = value.Error
)

// The states of a run, for [RunFilter].States.
const (
	RunRunning   = history.Running   // a process executes it, or did when it ended
	RunParked    = history.Parked    // it waits for an answer or a time, in no process
	RunDone      = history.Done      // it returned a result
	RunFailed    = history.Failed    // it ended with an error
	RunCancelled = history.Cancelled // somebody cancelled it
	RunStuck     = history.Stuck     // nobody can continue it until the cause is gone; see Host.Retry
)

// Who asks for a call, see [Call].Caller. The zero value is a model, whose calls need
// approval most often.
const (
	ByModel  = tool.ByModel  // a model chose the call
	ByScript = tool.ByScript // another tool, a policy or a workflow makes it
	ByPerson = tool.ByPerson // a person named the tool and typed the arguments
)

// The states of a tool.
const (
	Ready     = toolset.Ready
	NotHere   = toolset.NotHere   // its own check found that it cannot be used here
	Untrusted = toolset.Untrusted // it was not reviewed
)

// The targets for [errors.Is], by the kind of an [Error]: errors.Is(err,
// cassidy.ErrDenied) reports whether err, or an error that it wraps, is of kind Denied.
// An error of kind Canceled is also context.Canceled, and one of kind Timeout
// context.DeadlineExceeded.
var (
	ErrFailed      error = value.ErrFailed      // the tool ran and failed; also of kind Command, Internal or System
	ErrInvalid     error = value.ErrInvalid     // wrong arguments, options or files
	ErrNotFound    error = value.ErrNotFound    // no such tool, run or question, or another tenant's
	ErrDenied      error = value.ErrDenied      // a rule, a missing grant or a person refused; also of kind Security
	ErrLimit       error = value.ErrLimit       // a limit of steps, memory, size or number was reached
	ErrCanceled    error = value.ErrCanceled    // the context was cancelled
	ErrUnavailable error = value.ErrUnavailable // a server, a model or a program cannot be reached
	ErrTimeout     error = value.ErrTimeout     // the call took too long, or the deadline of the context passed
	ErrConflict    error = value.ErrConflict    // something else was done meanwhile, or has this ID
	ErrParked      error = value.ErrParked      // no failure: the run waits, see ParkedError
	ErrBusy        error = value.ErrBusy        // no capacity now: try again later
	ErrClosed      error = value.ErrClosed      // the host, the runtime or the store is closed
	ErrUnanswered  error = value.ErrUnanswered  // nobody could answer the question
)

// Durable records a call as the run runID; "" makes an ID up. A question that nobody answers
// parks it, with a [ParkedError], and [host.Host.Resume] continues it, also in
// another process. A call of the same ID again continues the same call or returns
// its result; another call is ErrConflict, and a host without a store ErrInvalid.
// A call with invalid arguments is not recorded; see [host.Durable].
func Durable(runID string) CallOption { return host.Durable(runID) }

// Narrow adds rules for one call, with all that it calls: they deny or ask for what
// would be allowed otherwise; one that allows is ErrInvalid. They are recorded with a
// durable call, and hold again when it is resumed.
func Narrow(rules ...Rule) CallOption { return host.Narrow(rules...) }

// Execute is the default [Executor]: it calls f.Do.
func Execute(ctx context.Context, f *Func, e Effect, g Grant) (Outcome, error) {
	return host.Execute(ctx, f, e, g)
}
