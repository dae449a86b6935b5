package tool

import (
	"reflect"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Event reports that something happened in a call or a run. Terminals, web
// pages and traces read events; nothing else depends on them.
//
// Data is a value, not a pointer, of one of the types below: of a call
// [ToolCallStart], [ArgsRead], [ToolOutput], [Progress], [Log], [EffectDone],
// [Audit], [ErrorEvent] and [ToolCallEnd]; of an agent or a workflow [RunStart],
// [ModelAsk], [Text], [ModelReply], [Decided], [SkillLoaded], [Compacted] and
// [RunEnd]; of a subscription [Lost]; and [OtherEvent] for what a newer version
// wrote. Receivers share Data and must not change the values in it.
type Event struct {
	// Seq counts the recorded events of a Run, from 1. It is 0 for what is not
	// recorded: pieces of text, output, progress and log lines, and all events of a
	// run that is not recorded. It grows with each event; where a process died, some
	// numbers are skipped.
	Seq     uint64
	Time    time.Time // in UTC
	Run     string    // the ID of the run: of the root call or program
	Call    string    // the ID of the call it belongs to; those of the calls below it begin with it and a slash
	Tool    string    // or "" where it belongs to no tool
	Session string    // the ID of the agent's session, or ""
	Data    any
}

// Type returns the name of the event's type in JSON, as in "tool_call_start", or
// "" where Data is of no type of events.
func (e Event) Type() string {
	p := payloadOf(e.Data)
	if p == nil {
		return ""
	}
	return p.eventType()
}

// A ToolCallStart says that a call begins. Exactly one [ToolCallEnd] of the same
// Call follows it, however the call ends.
type ToolCallStart struct {
	Args      *value.Dict // as the caller gave them; may be nil where there were none
	Reasoning string
	Recorded  bool // it was made before; a resumed run answers it from its record
}

// A ToolCallEnd says how a call ended.
type ToolCallEnd struct {
	Success  bool
	Result   value.Value
	Preview  string        // the first lines of the result, or of the error
	Duration time.Duration // wall time, with the time in which somebody was asked; 0 where Recorded
	Usage    Usage
	Err      *value.Error // nil exactly where Success
	Waits    bool         // the run is parked, and the call continues when it is resumed
	Recorded bool         // as in ToolCallStart
}

// An ArgsRead says how arguments were read that were not taken as they came.
type ArgsRead struct{ Notes []string }

// A ToolOutput is a piece of the output of a call, as it comes.
type ToolOutput struct{ Chunk string }

// A Progress says how far a call has come.
type Progress struct {
	Message     string
	Done, Total float64 // Done of Total; 0 and 0 where that is not known
}

// A Log is a line for whoever looks into what a call did.
type Log struct{ Message string }

// An EffectDone says that an effect of the call was carried out.
type EffectDone struct {
	Func         string // as in "fs.write"
	Step         string // its step in the run, as in "3.1"
	Capabilities []Capability
	Success      bool
	Duration     time.Duration // 0 where a resumed run answers it from its record
	Error        string        // "" where Success
}

// An Audit says what somebody allowed, or what was refused. It holds no
// arguments, which could be secrets, except what the capabilities name.
type Audit struct {
	Decision     string // "allowed" or "denied"
	Func         string // the effect, or "call" for the call itself
	Capabilities []Capability
	Step         string
	Caller       string // who made the call: "person", "script" or "model"
	Why          string
}

// An ErrorEvent says that a call failed. The ToolCallEnd follows it.
type ErrorEvent struct {
	Error     string
	ErrorType string // see [value.Kind.Type]
	Recorded  bool   // as in ToolCallStart
}

// A RunStart says that a run of an agent or a workflow begins, or is resumed.
// Exactly one [RunEnd] of the same Call follows it. The fields from Model on are
// those of an agent.
type RunStart struct {
	Kind           string // as it is recorded: task, chat, run, undo; or ""
	Task           string // what the agent is to do, or the title of the run
	Model          string
	Policy         string
	Format         string
	Tools          []string
	ToolOverhead   int // tokens that offering the tools takes
	EffectiveLimit int // tokens that a conversation may take
	Resumed        bool
}

// A RunEnd says how a run ended, or why it is parked.
type RunEnd struct {
	Reason     string
	Answer     string
	Success    bool
	Iterations int // how often the model was asked
	Error      string
	Duration   time.Duration // since its RunStart
}

// A ModelAsk says that a model is asked.
type ModelAsk struct {
	Iteration int // from 1
	Messages  int // how many are sent
	Tokens    int // that the conversation takes, estimated
}

// A Text is a piece of a model's reply, as it comes.
type Text struct{ Text string }

// A ModelReply is the complete reply of a model.
type ModelReply struct {
	Iteration    int
	Text         string
	Calls        value.List // those of its own that the model wants, as agent.ask returns them
	InputTokens  int
	OutputTokens int
}

// A Decided is one thing that a reply asks for, as it was read.
type Decided struct {
	Kind      string      // "call", "final", "skill", "none" or "error"
	Action    string      // the tool or the skill
	Input     *value.Dict // nil where there is none
	Reasoning string
	Status    string
	Format    string // in which it was written
	Answer    string
	Error     string
	Inferred  bool
	Repaired  []string // what was repaired in it
	ID        string   // of a call that the model named
	Texts     bool     // its arguments have no types
}

// A SkillLoaded says that a model was given the text of a skill.
type SkillLoaded struct {
	Name  string
	Notes []string
}

// A Compacted says that a conversation was replaced by a summary, or why not.
type Compacted struct {
	Success      bool
	Summary      string
	TokensBefore int
	TokensAfter  int
	InputTokens  int // that the summary took
	OutputTokens int
	CachedTokens int
	Error        string
}

// A Lost stands where a subscription missed N events, because nobody read it.
type Lost struct{ N uint64 }

// An OtherEvent is what was read from the JSON of an event of an unknown type.
type OtherEvent struct {
	Type   string
	Fields *value.Dict
}

// A Report is what a call can report about itself while it runs: [ToolOutput],
// [Progress], [Log], [ModelAsk], [Text], [ModelReply], [Decided], [SkillLoaded] or
// [Compacted]. The host alone reports anything else.
type Report interface{ report() }

func (ToolOutput) report()  {}
func (Progress) report()    {}
func (Log) report()         {}
func (ModelAsk) report()    {}
func (Text) report()        {}
func (ModelReply) report()  {}
func (Decided) report()     {}
func (SkillLoaded) report() {}
func (Compacted) report()   {}

// A payload is a pointer to the Data of an event.
type payload interface {
	eventType() string
	wire(w *wire)
}

// payloadOf returns a pointer to a copy of data, or nil if that is no type of
// events.
func payloadOf(data any) payload {
	if data == nil {
		return nil
	}
	p := reflect.New(reflect.TypeOf(data))
	payload, ok := p.Interface().(payload)
	if ok {
		p.Elem().Set(reflect.ValueOf(data))
	}
	return payload
}

// newPayload returns where the data of an event of a type is read to.
func newPayload(name string) payload {
	for _, p := range []payload{
		&ToolCallStart{}, &ToolCallEnd{}, &ArgsRead{}, &ToolOutput{}, &Progress{}, &Log{}, &EffectDone{}, &Audit{}, &ErrorEvent{}, &RunStart{},
		&RunEnd{}, &ModelAsk{}, &Text{}, &ModelReply{}, &Decided{}, &SkillLoaded{}, &Compacted{}, &Lost{},
	} {
		if p.eventType() == name {
			return p
		}
	}
	return &OtherEvent{Type: name}
}

func (*ToolCallStart) eventType() string { return "tool_call_start" }
func (*ToolCallEnd) eventType() string   { return "tool_call_end" }
func (*ArgsRead) eventType() string      { return "arguments_read" }
func (*ToolOutput) eventType() string    { return "tool_output_chunk" }
func (*Progress) eventType() string      { return "progress" }
func (*Log) eventType() string           { return "log" }
func (*EffectDone) eventType() string    { return "effect" }
func (*Audit) eventType() string         { return "audit" }
func (*ErrorEvent) eventType() string    { return "error" }
func (*RunStart) eventType() string      { return "run_start" }
func (*RunEnd) eventType() string        { return "run_end" }
func (*ModelAsk) eventType() string      { return "model_ask" }
func (*Text) eventType() string          { return "model_text" }
func (*ModelReply) eventType() string    { return "model_reply" }
func (*Decided) eventType() string       { return "decision" }
func (*SkillLoaded) eventType() string   { return "skill_loaded" }
func (*Compacted) eventType() string     { return "compacted" }
func (*Lost) eventType() string          { return "lost" }
func (e *OtherEvent) eventType() string  { return e.Type }
