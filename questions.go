package cassidy

import (
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// What a call asks a person, and what a parked run waits for. See
// [host.Host.Waiting] and [host.Host.Answer].
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

	// Approver decides on what needs approval; see [host.Approver].
	Approver = host.Approver
	// ApproverFunc is a function as an Approver.
	ApproverFunc = host.ApproverFunc
	// Asker answers what scripts and resumed runs ask; see [host.Asker].
	Asker = host.Asker
	// AskerFunc is a function as an Asker.
	AskerFunc = host.AskerFunc

	// ParkedError is why a run waits in no process. Its fields are the Run, the Reason,
	// the open Questions and Until; see [history.ParkedError].
	ParkedError = history.ParkedError
)

// The kinds of questions.
const (
	QuestionApproval = tool.QuestionApproval
	QuestionConfirm  = tool.QuestionConfirm
	QuestionAsk      = tool.QuestionAsk
	QuestionUnknown  = tool.QuestionUnknown
)

// Serial returns an Approver that asks a one question at a time, for terminals;
// see [host.Serial].
func Serial(a Approver) Approver { return host.Serial(a) }

// ApproveAll returns an Approver that approves everything: for programs whose
// tools are all their own.
func ApproveAll() Approver { return host.ApproveAll() }
