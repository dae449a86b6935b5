package cassidy

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Event is something that happened in a call or a run; see [host.Host.Subscribe] and
// [host.Host.Events].
type Event = tool.Event

// EventFilter selects events for [host.Host.Subscribe].
type EventFilter = host.EventFilter

// The types of the Data of an [Event].
type (
	ToolCallStart = tool.ToolCallStart
	ToolCallEnd   = tool.ToolCallEnd
	ArgsRead      = tool.ArgsRead
	ToolOutput    = tool.ToolOutput
	Progress      = tool.Progress
	Log           = tool.Log
	EffectDone    = tool.EffectDone
	Audit         = tool.Audit
	ErrorEvent    = tool.ErrorEvent
	RunStart      = tool.RunStart
	RunEnd        = tool.RunEnd
	ModelAsk      = tool.ModelAsk
	ModelRetry    = tool.ModelRetry
	Text          = tool.Text
	ModelReply    = tool.ModelReply
	Decided       = tool.Decided
	SkillLoaded   = tool.SkillLoaded
	Compacted     = tool.Compacted
	Hooked        = tool.Hooked
	Lost          = tool.Lost
	OtherEvent    = tool.OtherEvent
)

// A Report is what a tool written in Go can say about its call with [Emit].
type Report = tool.Report

// Emit reports something about the call that ctx belongs to, as a [Progress] of a
// tool that is written in Go. See [host.Emit].
func Emit(ctx context.Context, r Report) { host.Emit(ctx, r) }
