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

// The types of the lower packages that most programs need. Those packages
// document them.
type (
	// Host runs tools; see [host.Host].
	Host = host.Host
	// Tool is the definition of a tool; see [tool.Tool].
	Tool = tool.Tool
	// ToolOption adds a function to a tool written in Go; see [UndoFunc] and
	// [AvailableFunc].
	ToolOption = host.ToolOption
	// Call is a request to run a tool; see [tool.Call].
	Call = tool.Call
	// Caller says who asks for a call; see [tool.Caller].
	Caller = tool.Caller
	// State says whether a tool can be called; see [toolset.State].
	State = toolset.State
	// Result is the answer to a call; see [tool.Result].
	Result = tool.Result

	// CallOption changes how one call is made; see [Durable].
	CallOption = host.CallOption
	// CallFunc makes a call; see [Middleware].
	CallFunc = host.CallFunc
	// Middleware wraps the calls of a host; see [host.Middleware].
	Middleware = host.Middleware
	// Executor carries out an effect; see [host.Executor].
	Executor = host.Executor
	// ToolInfo is a tool as a host lists it: with its State, and the Reason where it
	// is not ready; see [toolset.Info].
	ToolInfo = toolset.Info
	// Run is what is recorded of a run; see [history.Run].
	Run = history.Run
	// RunFilter selects runs; see [history.Filter].
	RunFilter = history.Filter
	// Store keeps the records of runs; see [journal.Store].
	Store = journal.Store
	// VerifiedRun is a record that was checked; see [history.Verified].
	VerifiedRun = history.Verified
	// RunState is the state of a run; see [history.State].
	RunState = history.State

	// Value is an argument or a result; see [value.Value] for the types that it
	// can have.
	Value = value.Value
	// Dict maps keys to values and keeps their order; see [value.Dict].
	Dict = value.Dict
	// List is an ordered sequence; see [value.List].
	List = value.List
	// Tuple is an ordered sequence that scripts cannot change; see [value.Tuple].
	Tuple = value.Tuple
	// Set is a collection of distinct values; see [value.Set].
	Set = value.Set
	// Media is an image or a document; see [value.Media].
	Media = value.Media

	// Module is a group of functions for scripts; see [tool.Module].
	Module = tool.Module
	// AgentDefinition is what an agent file defines; see [tool.Agent].
	AgentDefinition = tool.Agent
	// Capability is something that a tool may be granted; see [tool.Capability].
	Capability = tool.Capability
	// Rule allows, denies or asks for what tools want to do; see [tool.Rule].
	Rule = tool.Rule
	// Limits bound one call; see [tool.Limits].
	Limits = tool.Limits

	// Error is the type of the errors of this module: it has a Kind, a Hint and a
	// Limit; see [value.Error].
	Error = value.Error
)

// The states of a run, for [RunFilter].States.
const (
	RunRunning   = history.Running   // a process executes it, or did when it ended
	RunParked    = history.Parked    // it waits for an answer or a time, in no process
	RunDone      = history.Done      // it returned a result
	RunFailed    = history.Failed    // it ended with an error
	RunCancelled = history.Cancelled // somebody cancelled it
	RunStuck     = history.Stuck     // nobody can continue it until the cause is gone; see [Host.Retry]
)

// Who asks for a call. The zero value is a model, which may do least unasked.
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

// The targets for [errors.Is]: errors.Is(err, cassidy.ErrDenied) reports whether
// err, or an error that it wraps, is an [Error] of the kind Denied. ErrFailed also
// matches the kinds Command, Internal and System, and ErrDenied also matches Security.
var (
	ErrFailed      error = value.ErrFailed
	ErrInvalid     error = value.ErrInvalid
	ErrNotFound    error = value.ErrNotFound
	ErrDenied      error = value.ErrDenied
	ErrLimit       error = value.ErrLimit
	ErrCanceled    error = value.ErrCanceled
	ErrUnavailable error = value.ErrUnavailable
	ErrTimeout     error = value.ErrTimeout
	ErrConflict    error = value.ErrConflict
	ErrParked      error = value.ErrParked
	ErrBusy        error = value.ErrBusy
	ErrClosed      error = value.ErrClosed
	ErrUnanswered  error = value.ErrUnanswered
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
