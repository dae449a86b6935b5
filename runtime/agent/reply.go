package agent

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Reply is the outcome of one turn of a session. If [Session.Send] fails, the Reply has what
// is known of the turn.
type Reply struct {
	Text           string // the answer of the model, or ""
	Run            string // the ID of the run of the turn, for Host.Resume and Host.Cancel
	Session        string // the ID of the session
	Task           string // the message that was sent
	Reason         Reason
	Value          value.Value // "result" in the object that the policy returned, or nil
	Iterations     int         // number of requests to the model
	Calls          []CallRecord
	References     []string // the sources of the last reply, as lines of text
	Thread         string   // ID of the conversation at the model's API, or ""
	Usage          Usage
	Overhead       int // tokens of the context that the tools use, as estimated
	EffectiveLimit int // tokens of the context that are left for the conversation
}

// Success reports whether the model answered.
func (r Reply) Success() bool { return r.Reason == ReasonFinal }

// Incomplete reports whether a limit ended the turn, such as that of iterations, or parked it.
func (r Reply) Incomplete() bool { return r.Reason == ReasonMaxIterations || r.Reason == ReasonLimit }

// A CallRecord is a call that a model made, or tried to make.
type CallRecord struct {
	Iteration int    // of the reply, from 1
	Action    string // the name of the tool
	Input     *value.Dict
	Reasoning string
	Success   bool
	Result    value.Value // if the call succeeded
	Error     string      // if it failed
	Inferred  bool        // see decision.Decision
}

// A Reason is why a turn ended.
type Reason string

const (
	ReasonFinal         Reason = "final"          // the model answered
	ReasonNoDecision    Reason = "no_decision"    // it neither called a tool nor answered, after reminders
	ReasonMaxIterations Reason = "max_iterations" // the limit of iterations was reached
	ReasonLoop          Reason = "loop"           // it repeated the same call
	ReasonDenied        Reason = "denied"         // its calls were denied repeatedly
	ReasonLimit         Reason = "limit"          // a limit of the run or of the model was reached
	ReasonError         Reason = "error"          // the policy or the model failed
	ReasonCancelled     Reason = "cancelled"
	ReasonInterrupted   Reason = "interrupted" // it can be resumed
	ReasonTimeout       Reason = "timeout"
	ReasonParked        Reason = "parked"          // it waits for an answer or a time, and can be resumed
	ReasonUnknown       Reason = "unknown_outcome" // it waits for an answer to whether an interrupted effect was done
	ReasonDiverged      Reason = "diverged"        // the resumed run differs from its record
)

// reasons are the reasons that a policy can give.
var reasons = []string{string(ReasonFinal), string(ReasonNoDecision), string(ReasonMaxIterations), string(ReasonLoop),
	string(ReasonDenied), string(ReasonLimit), string(ReasonError)}

// reasonOf returns the reason of a turn that ended with an error.
func reasonOf(err error) Reason {
	e := value.ErrorOf(err, value.Failed)
	switch {
	case e.Limit == value.LimitInterrupted:
		return ReasonInterrupted
	case e.Limit == value.LimitIterations:
		return ReasonMaxIterations
	case e.Kind == value.Parked && e.Limit == value.LimitName(ReasonUnknown):
		return ReasonUnknown
	case e.Kind == value.Conflict && e.Limit == value.LimitRecord:
		return ReasonDiverged
	}
	switch e.Kind {
	case value.Parked:
		return ReasonParked
	case value.Canceled:
		return ReasonCancelled
	case value.Timeout:
		return ReasonTimeout
	case value.Limit, value.Busy:
		return ReasonLimit
	}
	return ReasonError
}

// MarshalJSON returns the object of type run_end that the command prints at the end of a run,
// with run, reason, answer, result, success, iterations, calls and usage.
func (r Reply) MarshalJSON() ([]byte, error) {
	return value.AppendJSON(nil, value.NewDict(
		"type", "run_end",
		"run", r.Run,
		"reason", string(r.Reason),
		"answer", r.Text,
		"result", r.Value,
		"success", r.Success(),
		"incomplete", r.Incomplete(),
		"iterations", int64(r.Iterations),
		"calls", value.List(value.Map(r.Calls, CallRecord.dict)),
		"references", value.List(value.Map(r.References, func(text string) value.Value { return text })),
		"thread", r.Thread,
		"tool_overhead", int64(r.Overhead),
		"effective_limit", int64(r.EffectiveLimit),
		"context_used", int64(r.Usage.Estimated),
		"usage", r.usage(),
	))
}

func (r *Reply) usage() *value.Dict {
	d := r.Usage.Dict()
	d.Put("estimated_tokens", int64(r.Usage.Estimated))
	d.Put("wall_ms", float64(r.Usage.Wall.Microseconds())/1000)
	return d
}

func (c CallRecord) dict() value.Value {
	d := value.NewDict("iteration", int64(c.Iteration), "action", c.Action, "input", c.Input, "reasoning", c.Reasoning,
		"inferred", c.Inferred, "success", c.Success)
	if c.Success {
		d.Put("result", c.Result)
	} else {
		d.Put("error", c.Error)
	}
	return d
}
