// Package operate is how cassidy's own packages use a host beyond its public methods: the command, agents, hooks, and the
// server and the client of MCP. host.Operate returns it.
package operate

import (
	"context"
	"iter"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Host is a host, as cassidy's own packages see it. All methods can be called concurrently.
type Host interface {
	// Valid fails with kind Invalid for a host that is nil, or that New has not made. Other methods do not check it.
	Valid() error

	// HasStore reports whether the host can record runs. Without a store, sessions are kept in
	// memory and no run can be resumed.
	HasStore() bool
	// Elsewhere reports whether others execute a recorded run, or one that is to begin for "": the store of the host is a
	// [journal.Remote].
	Elsewhere(runID string) bool
	// Project returns the project of the host's runs, or "".
	Project() string
	// Memory returns the memory that calls of the host share, for what is held for a call before and after it,
	// such as the answer for a client.
	Memory() *membudget.Host
	// Shared returns the value that a package keeps on the host under a key. The first call makes it.
	Shared(key string, make func() any) any

	// Declared returns the tools in the order of Host.Tools, for programs that must not run scripts:
	// no function is called that reports whether a tool can be used here, so a tool that cannot be used
	// may be Ready. A tool whose declaration cannot be read is left out.
	Declared() []toolset.Info
	// Remaining is Host.Select without those of the words that select nothing now: a tool may have been
	// removed, or edited and not reviewed yet, while others are in use.
	Remaining(words ...string) []toolset.Info
	// ToolIn returns a tool by its name as a call with a context finds it. In a middleware or a handler,
	// this is the tool of the run, which later changes of files do not affect. It fails with kind
	// NotFound for an unknown name.
	ToolIn(ctx context.Context, name string) (tool.Tool, error)
	// Exchange removes tools as Host.RemoveTool does, and adds others as Host.Register does, in one
	// step: a call uses all of the change, or nothing of it. Names of other tools, and unknown names, are
	// ignored. The errors have the indices of the tools: a tool with an error is not added, and all others
	// are. On a closed host each error is of kind Closed.
	Exchange(remove []string, add []toolset.InGo) []error
	// Compute calls the function c.Entry of a script that can only compute: each effect fails with
	// kind Denied. It is not a part of any run. c.Limits are as in a call; [tool.DefaultLimits] apply
	// to those that are zero. Compute fails with kind Invalid without a sandbox.
	Compute(ctx context.Context, s tool.Script, c tool.Call) (value.Value, error)

	// StepOf returns the step of the call whose handler in Go has a context, or nil. run is the ID of its
	// recorded run, or "" if the run is not recorded. A resumed run makes the call again at the same step.
	StepOf(ctx context.Context) (run string, at tool.StepPath)
	// Journal returns the journal of the runs of the host, to read it. It fails with kind Invalid without a store, and
	// with Closed when the host is closed.
	Journal() (*history.Journal, error)
	// ReplayOf returns the ID of the run whose replay a context belongs to, or "".
	ReplayOf(ctx context.Context) string
	// AskingLive returns a context for calls, and for runs that are resumed, with somebody who can be asked
	// only while they are made, such as the client of a server. It is asked for the forms that cannot wait,
	// if the host has no Asker or that does not answer: those of an attached server that waits for the answer
	// during a request, and all forms of a call that is not recorded.
	AskingLive(ctx context.Context, ask func(ctx context.Context, q tool.Question) (tool.Answer, error)) context.Context

	// LastTurn returns the newest run of a session, in any state. It fails with kind NotFound if
	// the tenant of the host has no run of the session, and with Invalid for the session "".
	LastTurn(ctx context.Context, session string) (history.Run, error)
	// Steps yields the recorded steps of a run, see [history.Journal.Entries].
	Steps(ctx context.Context, runID string) iter.Seq2[history.Entry, error]
	// Called returns the tools that a run has called, as they were then. Those written in Go are
	// not recorded.
	Called(ctx context.Context, runID string) ([]toolset.Info, error)
	// Running reports whether this or another process executes a run now.
	Running(runID string) bool
	// Executing returns the IDs of the recorded runs that the host executes now, in any order.
	Executing() []string
	// NoteRead adds to the conversation of ctx the untrusted texts that a recorded run has read: the model of the
	// conversation gets the result of the run, which a call outside the conversation has continued. It fails
	// with kind NotFound for an unknown ID, and with Failed if the record is damaged.
	NoteRead(ctx context.Context, runID string) error
	// Start records a call as Host.BeginCall does, and returns a function that makes it, which must be called soon: until
	// then, no other process takes the run. It fails as BeginCall does, and with Conflict if there is a run of the ID. If the
	// ID is not known to anybody else, the call of a script need not be durable before it does something that must be, or ends.
	Start(ctx context.Context, runID string, known bool, c tool.Call) (call func(context.Context) (tool.Result, error), err error)
	// Stick marks a run that has not ended as [history.Stuck] if why, the error with which what is recorded of it cannot
	// be read, is of kind Failed. It is for what programs have recorded in the Options of a run. With the context of an
	// effect or of a handler in Go, it does nothing.
	Stick(ctx context.Context, runID string, why error)
	// EndFork ends a run of Host.Fork whose Host.Resume failed with err, if that run is stuck: the
	// scripts do something else in the steps that were reused. It returns the error with which the
	// run ended, or nil if it did not.
	EndFork(ctx context.Context, runID string, err error) error
	// PlanUndo returns what UndoRun would do now, without doing any of it: Left are the steps that would be undone, and
	// Lasting those that cannot be. It fails as UndoRun does before it begins.
	PlanUndo(ctx context.Context, runID string) (*Undone, error)
	// UndoRun undoes a run, or a part of it, the last step first. It restores the files that the run changed, unless
	// they were changed since, and calls the undo of the tools that declare one; of nested calls
	// only the outermost one is undone. The undo passes the gate, and is recorded as a run of the
	// kind "undo". It stops at the first step that cannot be undone, as earlier steps may depend
	// on that. The error is why the undo was not begun, or why it stopped.
	UndoRun(ctx context.Context, u Undo) (*Undone, error)
}
