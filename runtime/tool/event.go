package tool

import (
	"reflect"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Event reports that something happened in a call or a run. Terminals, web
// pages and traces read events; nothing else depends on them.
//
// Data is a value, not a pointer, of one of the types below: of a call
// [ToolCallStart], [ArgsRead], [ToolOutput], [Progress], [Log], [EffectDone],
// [Audit], [trace.Profile], [ErrorEvent] and [ToolCallEnd]; of an agent or a workflow [RunStart],
// [ModelAsk], [Text], [ModelRetry], [ModelReply], [Decided], [SkillLoaded], [Compacted], [Hooked] and
// [RunEnd]; of a subscription [Lost]; and [OtherEvent] for events of a newer version.
// Receivers share Data and must not change the values in it.
type Event struct {
	// Seq counts the recorded events of a Run, from 1. It is 0 for what is not
	// recorded: pieces of text, output, progress and log lines, and all events of a
	// run that is not recorded. It grows with each event; numbers are skipped if a
	// process died.
	Seq     uint64
	Time    time.Time // in UTC
	Run     string    // the ID of the run: of the root call or program
	Call    string    // the ID of the call it belongs to; those of the calls below it begin with it and a slash
	Tool    string    // "" if it does not belong to a tool
	Session string    // the ID of the agent's session, or ""
	Data    any
}

// Type returns the name of the event's type in JSON, as in "tool_call_start", or "" if
// Data is not of a type of events.
func (e Event) Type() string {
	if other, ok := e.Data.(OtherEvent); ok {
		return other.Type
	}
	for _, t := range eventTypes {
		if reflect.TypeOf(t.zero) == reflect.TypeOf(e.Data) {
			return t.name
		}
	}
	return ""
}

// A ToolCallStart reports that a call begins. Exactly one [ToolCallEnd] of the same
// Call follows it, however the call ends.
type ToolCallStart struct {
	Args      *value.Dict `dict:"arguments"` // as the caller gave them; nil if there were none
	Reasoning string      `dict:"reasoning"`
	Recorded  bool        `dict:"recorded,omitempty"` // it was made before; a resumed run answers it from its record
}

// A ToolCallEnd reports how a call ended.
type ToolCallEnd struct {
	Success  bool          `dict:"success"`
	Result   value.Value   `dict:"result"`
	Preview  string        `dict:"preview"`             // the first lines of the result, or of the error
	Waits    bool          `dict:"waits,omitempty"`     // the run is parked, and the call continues when it is resumed
	Recorded bool          `dict:"recorded,omitempty"`  // as in ToolCallStart
	Duration time.Duration `dict:"duration_ms"`         // without Waited; 0 if Recorded
	Waited   time.Duration `dict:"waited_ms,omitempty"` // for answers of people
	Usage    Usage         `dict:"usage"`
	// Shown says that Preview is the tool's own, and Unshown is why the tool's own preview failed.
	Shown   bool         `dict:"shown,omitempty"`
	Unshown string       `dict:"preview_error,omitempty"`
	Err     *value.Error // nil exactly if Success; in JSON: error, error_type, error_kind, suggestion and limit
}

// An ArgsRead reports how arguments were converted, a note for each.
type ArgsRead struct {
	Notes []string `dict:"notes"`
}

// A ToolOutput is a piece of the output of a call, while it runs.
type ToolOutput struct {
	Chunk string `dict:"chunk"`
}

// A Progress reports how much of its work a call has done.
type Progress struct {
	Message string  `dict:"message"`
	Done    float64 `dict:"done"` // of Total; both are 0, in JSON null, if unknown
	Total   float64 `dict:"total"`
}

// A Log is a log line of a call.
type Log struct {
	Message string `dict:"message"`
	At      string `dict:"at,omitempty"`   // as in EffectDone
	Note    bool   `dict:"note,omitempty"` // it is also one of Result.Notes
}

// An EffectDone reports that an effect of the call was executed.
type EffectDone struct {
	Func         string        `dict:"func"`  // as in "fs.write"
	Step         string        `dict:"place"` // its step in the run, as in "3.1"
	Capabilities []Capability  `dict:"capabilities"`
	Success      bool          `dict:"success"`
	Duration     time.Duration `dict:"wall_ms"`             // without Waited; 0 if a resumed run answers it from its record
	Waited       time.Duration `dict:"waited_ms,omitempty"` // for answers of people
	Error        string        `dict:"error,omitempty"`     // "" if Success
	At           string        `dict:"at,omitempty"`        // the position of the call in the script, if the call is traced
}

// An Audit reports an approval or a refusal. It has no arguments, which could be secrets,
// except the targets of the capabilities.
type Audit struct {
	Decision     string       `dict:"decision"` // "allowed" or "denied"
	Func         string       `dict:"func"`     // the effect, or "call" for the call itself
	Capabilities []Capability `dict:"capabilities"`
	Step         string       `dict:"place"`
	Caller       string       `dict:"caller"` // who made the call: "person", "script" or "model"
	Why          string       `dict:"why"`
	By           string       `dict:"by,omitempty"` // who answered a question about it, as the answer says
	At           string       `dict:"at,omitempty"` // as in EffectDone
}

// An ErrorEvent reports that a call failed, just before its [ToolCallEnd].
type ErrorEvent struct {
	Error     string `dict:"error"`
	ErrorType string `dict:"error_type"`         // see [value.Kind.Type]
	Recorded  bool   `dict:"recorded,omitempty"` // as in ToolCallStart
}

// A RunStart reports that a run of an agent or a workflow begins, or is resumed.
// Exactly one [RunEnd] of the same Call follows it. Only runs of agents have the fields
// from Model to EffectiveLimit.
type RunStart struct {
	Kind           string   `dict:"kind,omitempty"` // as it is recorded: task, chat, run, undo; or ""
	Task           string   `dict:"task"`           // what the agent is to do, or the title of the run
	Model          string   `dict:"model,agent"`
	Policy         string   `dict:"policy,agent"`
	Format         string   `dict:"format,agent"`
	Tools          []string `dict:"tools,agent"`
	ToolOverhead   int      `dict:"tool_overhead,agent"`   // tokens of the definitions of the tools
	EffectiveLimit int      `dict:"effective_limit,agent"` // the limit of the conversation, in tokens
	Resumed        bool     `dict:"resumed,omitempty"`
}

// A RunEnd reports how a run ended, or why it is parked.
type RunEnd struct {
	Reason     string        `dict:"reason"`
	Answer     string        `dict:"answer"`
	Success    bool          `dict:"success"`
	Iterations int           `dict:"iterations"`          // how often the model was asked
	Duration   time.Duration `dict:"duration_ms"`         // since its RunStart, without Waited
	Waited     time.Duration `dict:"waited_ms,omitempty"` // for answers of people
	Error      string        `dict:"error,omitempty"`
	// Usage is what the requests of an agent to models used: requests, input_tokens,
	// cached_input_tokens, output_tokens and cost_usd, each nil if it is known of no request.
	// If it is known of some, without_tokens and without_cost count the others.
	Usage *value.Dict `dict:"usage,omitempty"`
}

// A ModelAsk reports a request to a model.
type ModelAsk struct {
	Iteration int `dict:"iteration"` // from 1
	Messages  int `dict:"messages"`  // how many are sent
	Tokens    int `dict:"tokens"`    // that the conversation takes, estimated
}

// A Text is a piece of a model's reply, while it is received.
type Text struct {
	Text string `dict:"text"`
}

// A ModelRetry reports that a request to a model failed and is sent again. The reply begins again.
type ModelRetry struct {
	Error    string        `dict:"error"`
	Wait     time.Duration `dict:"wait_ms"`  // until the request is sent again
	Discards bool          `dict:"discards"` // a part of the reply was received as Text; it is not a part of the reply
}

// A ModelReply is the complete reply of a model.
type ModelReply struct {
	Iteration    int        `dict:"iteration"`
	Text         string     `dict:"text"`
	Calls        value.List `dict:"calls"` // those of its own that the model wants, as agent.ask returns them
	InputTokens  int        `dict:"input_tokens"`
	OutputTokens int        `dict:"output_tokens"`
}

// A Decided is one decision that was read from a reply of a model: what to do next. The
// Decision of package runtime/agent/decision explains the fields.
type Decided struct {
	Kind      string      `dict:"kind"`   // "call", "final", "skill", "none" or "error"
	Action    string      `dict:"action"` // the tool or the skill
	Input     *value.Dict `dict:"input"`  // or nil
	Reasoning string      `dict:"reasoning"`
	Status    string      `dict:"status"`
	Format    string      `dict:"format"` // in which it was written
	Answer    string      `dict:"answer"`
	Error     string      `dict:"error"`
	Inferred  bool        `dict:"inferred"`
	Repaired  []string    `dict:"repaired"` // what was repaired in it
	ID        string      `dict:"id"`       // of a call that the model named
	Texts     bool        `dict:"texts"`    // its arguments have no types
}

// A SkillLoaded reports that the text of a skill was sent to a model.
type SkillLoaded struct {
	Name  string   `dict:"name"`
	Notes []string `dict:"notes"`
}

// A Compacted reports that a conversation was replaced by a summary, or why not.
type Compacted struct {
	Success      bool   `dict:"success"`
	Summary      string `dict:"summary"`
	TokensBefore int    `dict:"tokens_before"`
	TokensAfter  int    `dict:"tokens_after"`
	InputTokens  int    `dict:"input_tokens"` // that the summary took
	OutputTokens int    `dict:"output_tokens"`
	CachedTokens int    `dict:"cached_tokens"`
	Error        string `dict:"error,omitempty"`
}

// A Hooked reports what a hook did: a function of the user that is called before and after the
// calls of a model, and before requests to it.
type Hooked struct {
	Hook   string      `dict:"hook"`   // as in "before_tool"
	Action string      `dict:"action"` // "denied", "edited", "noted" or "failed"
	Path   string      `dict:"path"`   // the file of the hook
	Target string      `dict:"target"` // the tool, or ""
	Text   string      `dict:"text"`   // the reason, the note or the error
	Before *value.Dict `dict:"before"` // the edited arguments; nil if nothing was edited
	After  *value.Dict `dict:"after"`  // what they became
}

// A Lost is in place of N events that a subscription missed because it was read too slowly.
type Lost struct {
	N uint64 `dict:"n"`
}

// An OtherEvent is an event of an unknown type, as read from JSON.
type OtherEvent struct {
	Type   string
	Fields *value.Dict
}

// A Report is what a call can report about itself while it runs: [ToolOutput],
// [Progress], [Log], [ModelAsk], [Text], [ModelRetry], [ModelReply], [Decided], [SkillLoaded],
// [Compacted] or [Hooked]. The host alone reports anything else.
type Report interface{ report() }

// A Display is a part of what a terminal shows of the result in place of its text: see Result.Display. It is a [Report], but
// no event.
type Display struct{ Part value.Value }

func (Display) report()     {}
func (ToolOutput) report()  {}
func (Progress) report()    {}
func (Log) report()         {}
func (ModelAsk) report()    {}
func (Text) report()        {}
func (ModelRetry) report()  {}
func (ModelReply) report()  {}
func (Decided) report()     {}
func (SkillLoaded) report() {}
func (Compacted) report()   {}
func (Hooked) report()      {}

// An eventType is a type of events, with its name in JSON.
type eventType struct {
	name string
	zero any
}

var eventTypes = []eventType{
	{"tool_call_start", ToolCallStart{}},
	{"tool_call_end", ToolCallEnd{}},
	{"arguments_read", ArgsRead{}},
	{"tool_output_chunk", ToolOutput{}},
	{"progress", Progress{}},
	{"log", Log{}},
	{"effect", EffectDone{}},
	{"audit", Audit{}},
	{"error", ErrorEvent{}},
	{"run_start", RunStart{}},
	{"run_end", RunEnd{}},
	{"model_ask", ModelAsk{}},
	{"model_text", Text{}},
	{"model_retry", ModelRetry{}},
	{"model_reply", ModelReply{}},
	{"decision", Decided{}},
	{"skill_loaded", SkillLoaded{}},
	{"compacted", Compacted{}},
	{"hook", Hooked{}},
	{"lost", Lost{}},
	{"profile", trace.Profile{}},
}
