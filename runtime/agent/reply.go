package agent

import (
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Reply is the outcome of one turn of a session. Where [Session.Send] fails,
// the Reply has what is known of the turn all the same.
type Reply struct {
	Text           string // the answer, as far as the model gave one
	Run            string // the ID of the run of the turn, for Host.Resume and Host.Cancel
	Session        string // the ID of the session
	Task           string // what was sent
	Reason         Reason
	Value          value.Value // what else the policy returned, or nil
	Iterations     int         // how often the model was asked
	Calls          []CallRecord
	References     []string // the sources that the model names with its last reply
	Thread         string   // of the model's API, or ""
	Usage          Usage
	Overhead       int // what the tools cost of the context, in tokens
	EffectiveLimit int // the tokens that are left for the conversation beside them
}

// Success reports whether the model gave its answer.
func (r Reply) Success() bool { return r.Reason == ReasonFinal }

// Incomplete reports whether the turn was ended by the number of its iterations.
func (r Reply) Incomplete() bool { return r.Reason == ReasonMaxIterations }

// A CallRecord is one call that a model made, or tried to make.
type CallRecord struct {
	Iteration int
	Action    string
	Input     *value.Dict
	Reasoning string
	Success   bool
	Result    value.Value // of a call that succeeded
	Error     string      // of one that did not
	Inferred  bool
}

// Usage is what a run cost.
type Usage struct {
	InputTokens  int // as the provider reports them; 0 where it does not
	OutputTokens int
	CachedTokens int
	Estimated    int // tokens of the conversation, as estimated here
	Wall         time.Duration
}

// add counts in what a reply, or an agent, has cost.
func (u *Usage) add(more Usage) {
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	u.CachedTokens += more.CachedTokens
}

// A Reason says why a run ended.
type Reason string

const (
	ReasonFinal         Reason = "final"          // the model gave its answer
	ReasonNoDecision    Reason = "no_decision"    // it neither called a tool nor finished, though reminded
	ReasonMaxIterations Reason = "max_iterations" // it was asked as often as it may be
	ReasonLoop          Reason = "loop"           // it went on calling the same
	ReasonDenied        Reason = "denied"         // what it wanted was refused again and again
	ReasonLimit         Reason = "limit"          // a limit of the run or of the model was reached
	ReasonError         Reason = "error"          // the policy or the model failed
	ReasonCancelled     Reason = "cancelled"
	ReasonInterrupted   Reason = "interrupted" // it was stopped, and can be resumed
	ReasonTimeout       Reason = "timeout"
	ReasonParked        Reason = "parked"          // it waits for an answer or a time, and can be resumed
	ReasonUnknown       Reason = "unknown_outcome" // it waits to be told whether an effect was done during which it broke off
	ReasonDiverged      Reason = "diverged"        // resumed, it asked for something else than its record has
)

// reasons are those that a policy may give.
var reasons = []string{string(ReasonFinal), string(ReasonNoDecision), string(ReasonMaxIterations), string(ReasonLoop),
	string(ReasonDenied), string(ReasonLimit), string(ReasonError)}

// reasonOf says why a run ended that an error broke off.
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

// isFinal reports whether an error ends a run, however deep in it it came up:
// the run waits, its record cannot be followed, or a worker was killed and it can
// be resumed. It is passed on as it is.
func isFinal(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && (e.Kind == value.Parked || e.Limit == value.LimitRecord || e.Limit == value.LimitWorker)
}

// MarshalJSON gives the line with which a run ends in the output of the
// command: run, reason, answer, result, success, iterations, calls, usage and
// so on, under the type run_end.
func (r Reply) MarshalJSON() ([]byte, error) {
	calls := value.List{}
	for i := range r.Calls {
		calls = append(calls, r.Calls[i].dict())
	}
	references := value.List{}
	for _, ref := range r.References {
		references = append(references, ref)
	}
	return value.AppendJSON(nil, value.NewDict(
		"type", "run_end",
		"run", r.Run,
		"reason", string(r.Reason),
		"answer", r.Text,
		"result", r.Value,
		"success", r.Success(),
		"incomplete", r.Incomplete(),
		"iterations", int64(r.Iterations),
		"calls", calls,
		"references", references,
		"thread", r.Thread,
		"tool_overhead", int64(r.Overhead),
		"effective_limit", int64(r.EffectiveLimit),
		"usage", value.NewDict(
			"input_tokens", int64(r.Usage.InputTokens),
			"output_tokens", int64(r.Usage.OutputTokens),
			"cached_tokens", int64(r.Usage.CachedTokens),
			"estimated_tokens", int64(r.Usage.Estimated),
			"wall_ms", float64(r.Usage.Wall.Microseconds())/1000,
		)))
}

func (c *CallRecord) dict() *value.Dict {
	d := value.NewDict("iteration", int64(c.Iteration), "action", c.Action, "input", c.Input, "reasoning", c.Reasoning,
		"inferred", c.Inferred, "success", c.Success)
	if c.Success {
		d.Put("result", c.Result)
	} else {
		d.Put("error", c.Error)
	}
	return d
}
