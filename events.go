package cassidy

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Event is something that happened in a call or a run, as Host.Subscribe, Host.Events
// and Host.Follow report it. Data is one of the types below, as a value. Receivers must
// not change it.
//
//	Seq     uint64    // counts the recorded events of a run from 1; 0: not recorded
//	Time    time.Time // in UTC
//	Run     string    // the ID of the run
//	Call    string    // the ID of the call; those of the calls that it makes begin with it and "/"
//	Tool    string    // the name of the tool, or ""
//	Session string    // the ID of the session of an agent, or ""
//	Data    any       // such as ToolCallEnd
//
//	Type() string // of Data in JSON, such as "tool_call_end"
//	Fields() *Dict
//	SetFields(name string, fields *Dict) error
//	MarshalJSON() ([]byte, error)
//	UnmarshalJSON(data []byte) error
type Event = tool.Event

// EventFilter selects events for Host.Subscribe. The zero value selects all.
//
//	Run     string // events of this run
//	Call    string // events of this call, and of the calls that it makes
//	Session string // events of this session of an agent
//	Buffer  int    // how many events may wait for the subscriber; 0 means 256, at most 65,536
type EventFilter = host.EventFilter

// The types of the Data of an [Event].
type (
	// ToolCallStart reports that a call begins. One [ToolCallEnd] of the same Call follows.
	//
	//	Args      *Dict  // as the caller gave them; nil if there were none
	//	Reasoning string // why, in the caller's words
	//	Recorded  bool   // a resumed run takes the call from its record
	ToolCallStart = tool.ToolCallStart
	// ToolCallEnd reports how a call ended.
	//
	//	Success  bool
	//	Result   Value
	//	Err      *Error        // nil exactly if Success
	//	Waits    bool          // the run is parked; the call continues when it is resumed
	//	Recorded bool          // as in ToolCallStart
	//	Duration time.Duration // without Waited; 0 if Recorded
	//	Waited   time.Duration // for answers of people
	//	Usage    tool.Usage
	//	Preview  string // the first lines of the result or of the error
	//	Shown    bool   // Preview is the tool's own
	//	Unshown  string // why the tool's own preview failed, or ""
	ToolCallEnd = tool.ToolCallEnd
	// ArgsRead reports how the arguments of a call were converted.
	ArgsRead = tool.ArgsRead
	// ToolOutput is a piece of the output of a call, in Chunk. It is not recorded.
	ToolOutput = tool.ToolOutput
	// Progress reports how much of its work a call has done. It is not recorded.
	//
	//	Message     string
	//	Done, Total float64 // both 0 if unknown
	Progress = tool.Progress
	// Log is a log line of a call, in Message. It is not recorded.
	Log = tool.Log
	// EffectDone reports an effect of a script; see [tool.EffectDone].
	EffectDone = tool.EffectDone
	// Audit reports an approval or a refusal; see [tool.Audit].
	Audit = tool.Audit
	// ErrorEvent reports that a call failed, before its [ToolCallEnd].
	ErrorEvent = tool.ErrorEvent
	// RunStart reports that the run of an agent or a workflow begins or is resumed; see
	// [tool.RunStart]. One [RunEnd] of the same Call follows.
	RunStart = tool.RunStart
	// RunEnd reports how such a run ended, or why it is parked; see [tool.RunEnd].
	RunEnd = tool.RunEnd
	// ModelAsk reports a request to a model; see [tool.ModelAsk].
	ModelAsk = tool.ModelAsk
	// ModelRetry reports that a request failed and is sent again; see [tool.ModelRetry].
	ModelRetry = tool.ModelRetry
	// Text is a piece of a model's reply, in Text, while it is received. It is not recorded.
	Text = tool.Text
	// ModelReply is the complete reply of a model; see [tool.ModelReply].
	ModelReply = tool.ModelReply
	// Decided is a decision that was read from a reply: a call, an answer, or the loading
	// of a skill; see [tool.Decided].
	Decided = tool.Decided
	// SkillLoaded reports that a model got the text of a skill, with its Name.
	SkillLoaded = tool.SkillLoaded
	// Compacted reports that a conversation was replaced by a summary; see [tool.Compacted].
	Compacted = tool.Compacted
	// Hooked reports what a hook of the user did; see [tool.Hooked].
	Hooked = tool.Hooked
	// Lost replaces N events that a subscriber missed, since it read too slowly.
	Lost = tool.Lost
	// OtherEvent is an event of a newer version, as read from JSON.
	OtherEvent = tool.OtherEvent
)

// A Report is something that a tool written in Go can say about its call with [Emit]: a
// [Progress], [Log] or [ToolOutput]. Package agent reports others.
type Report = tool.Report

// Emit reports something about the call of ctx, which is the context that a tool in Go or
// the Do of a [Func] has got. With any other context it does nothing. It never blocks, and
// is safe for concurrent use.
func Emit(ctx context.Context, r Report) { host.Emit(ctx, r) }
