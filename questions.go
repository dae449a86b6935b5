package cassidy

import (
	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// What a call asks a person, and what a parked run waits for. See
// [runtime.Host.Waiting] and [runtime.Host.Answer].
type (
	// Question is the same for an Approver, an Asker, a ParkedError and
	// Host.Waiting; see [tool.Question].
	Question = tool.Question
	// QuestionKind is what kind of answer a question expects.
	QuestionKind = tool.QuestionKind
	// Answer answers a question; the zero value is no. See [tool.Answer].
	Answer = tool.Answer
	// Change is what becomes of a file, with the diff; see [tool.Change].
	Change = tool.Change

	// Approver decides on what needs approval; see [runtime.Approver].
	Approver = runtime.Approver
	// ApproverFunc is a function as an Approver.
	ApproverFunc = runtime.ApproverFunc
	// Asker answers what scripts and resumed runs ask; see [runtime.Asker].
	Asker = runtime.Asker
	// AskerFunc is a function as an Asker.
	AskerFunc = runtime.AskerFunc

	// ParkedError is why a run waits in no process; see [runtime.ParkedError].
	ParkedError = runtime.ParkedError
)

// The kinds of questions.
const (
	QuestionApproval = tool.QuestionApproval
	QuestionConfirm  = tool.QuestionConfirm
	QuestionAsk      = tool.QuestionAsk
	QuestionUnknown  = tool.QuestionUnknown
)

// Serial returns an Approver that asks a one question at a time, for terminals;
// see [runtime.Serial].
func Serial(a Approver) Approver { return runtime.Serial(a) }

// ApproveAll returns an Approver that approves everything: for programs whose
// tools are all their own.
func ApproveAll() Approver { return runtime.ApproveAll() }
