package cassidy

import (
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// What a call asks a person, and what a parked run waits for. See Host.Waiting and
// Host.Answer.
type (
	// Question is what a call asks a person. An [Approver], an [Asker], a [ParkedError]
	// and Host.Waiting have the same one. It must not be changed. See [tool.Question].
	//
	//	ID           string       // for Host.Answer; "" if the run is not recorded
	//	Run, Step    string       // the ID of the run, and the step that asks, such as "3.1"
	//	Kind         QuestionKind // which answers it takes
	//	Tool         string       // the tool or the program that asks
	//	Func         string       // the effect; "" for a call that has not run, and for its writes
	//	Text         string       // the question, for people
	//	Why          string       // the reason for asking
	//	Reasoning    string       // why the call is made, in its caller's words
	//	Args         *Dict        // of the effect or of the call
	//	Capabilities []Capability // what a yes allows
	//	Changes      []Change     // the files that a yes writes; nil if none is known yet
	//	Asked        time.Time    // zero: not yet
	//	Expires      time.Time    // zero: never
	//	Rules        []Rule       // the narrowest rules with which nobody would be asked
	//	NoRule       string       // why there are no Rules, or ""
	//	Sources      []string     // Options.TrustedSources with which nobody would be asked
	//	Each         bool         // Answer.Each is possible
	//	Form         *Dict        // a JSON Schema of the answer, or nil
	//
	//	Accepts(a Answer) (Answer, error) // in its recorded form; kind Invalid if it does not fit
	//	TakesDone() bool                  // Answer.Done is possible
	//	Dict() *Dict
	//	MarshalJSON() ([]byte, error)
	//	UnmarshalJSON(data []byte) error
	Question = tool.Question
	// QuestionKind is what a question expects, such as [QuestionApproval].
	QuestionKind = tool.QuestionKind
	// Answer answers a question. The zero value is no.
	//
	//	Yes    bool
	//	Value  any    // the text, for QuestionAsk; with Done, the result
	//	Always bool   // also for the same things that this tool asks later
	//	Rules  []Rule // some of Question.Rules, which the host has until it is closed
	//	Each   bool   // let the call begin, and ask about each effect; if Question.Each
	//	Args   *Dict  // run the call with these arguments; nil: its own
	//	Done   bool   // for QuestionUnknown: the effect was carried out, with Value as its result
	//	Why    string // the reason, for who asked and for the record
	//	By     string // who answered, for the record
	//
	//	PutRules(d *Dict)
	//	ReadRules(d *Dict)
	//	MarshalJSON() ([]byte, error)
	//	UnmarshalJSON(data []byte) error
	Answer = tool.Answer
	// Change is what becomes of a file.
	//
	//	Path          string         // relative to the project, with slashes
	//	Before, After tool.FileState // Exists, Dir, Mode, Hash, Data
	//	Diff          string         // the unified diff of a text, or ""
	Change = tool.Change

	// Approver decides on questions of the kind [QuestionApproval], while the call waits.
	// It is called concurrently, see [Serial], and should return when ctx ends. An error
	// refuses; with one that is [ErrUnanswered], a durable call is parked.
	//
	//	Approve(ctx context.Context, q Question) (Answer, error)
	Approver = host.Approver
	// ApproverFunc is a function as an Approver.
	//
	//	func(ctx context.Context, q Question) (Answer, error)
	//
	//	Approve(ctx context.Context, q Question) (Answer, error)
	ApproverFunc = host.ApproverFunc
	// Asker answers the other questions: those of scripts, and whether to repeat an effect
	// that was interrupted. It is called like an [Approver].
	//
	//	Ask(ctx context.Context, q Question) (Answer, error)
	Asker = host.Asker
	// AskerFunc is a function as an Asker.
	//
	//	func(ctx context.Context, q Question) (Answer, error)
	//
	//	Ask(ctx context.Context, q Question) (Answer, error)
	AskerFunc = host.AskerFunc

	// ParkedError is why a recorded run waits, in no process. Get it with errors.As; the
	// error around it is of kind Parked, or of kind Unavailable or Limit.
	//
	//	Run       string     // the ID of the run, for Host.Resume
	//	Reason    string     // what it waits for: approval, question, unknown_outcome, sleep, …
	//	Questions []Question // the open ones, for Host.Answer
	//	Until     time.Time  // when it continues by itself; zero: never
	//	Err       error      // what failed outside, or nil
	//
	//	Error() string
	//	Unwrap() error
	//	MarshalJSON() ([]byte, error)
	ParkedError = history.ParkedError
)

// The kinds of questions.
const (
	QuestionApproval = tool.QuestionApproval // yes or no, to a call, an effect or changes of files
	QuestionConfirm  = tool.QuestionConfirm  // yes or no, to a script
	QuestionAsk      = tool.QuestionAsk      // a text, to a script
	QuestionUnknown  = tool.QuestionUnknown  // yes, no or done: repeat an effect that may have been carried out
)

// Serial returns an Approver that asks a one question at a time, for terminals;
// see [host.Serial].
func Serial(a Approver) Approver { return host.Serial(a) }

// ApproveAll returns an Approver that approves everything, for programs whose tools are all
// their own. It does not approve notes for later conversations (memory.add): these need a
// rule or another Approver.
func ApproveAll() Approver { return host.ApproveAll() }
