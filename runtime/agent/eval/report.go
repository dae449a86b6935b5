package eval

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// reportVersion is the version of the form of reports.
const reportVersion = 1

// A Report is what came of a suite. Its JSON is what the command writes.
type Report struct {
	Version  int      `json:"version"`
	Suite    string   `json:"suite"`
	Complete bool     `json:"complete"` // all cases have ended
	Cases    int      `json:"cases"`    // those that were selected
	Passed   int      `json:"passed"`
	Skipped  []string `json:"skipped,omitempty"` // combinations that are not possible, and why
	Filter   []string `json:"filter,omitempty"`
	Summary  []Row    `json:"summary"`
	Results  []Result `json:"results"`
}

// Success reports whether all cases have ended and passed.
func (r *Report) Success() bool { return r.Complete && r.Passed == r.Cases }

// A Result is what came of one case.
type Result struct {
	Task    string          `json:"task"`
	Model   string          `json:"model"`
	Format  decision.Format `json:"format"`
	Policy  string          `json:"policy"`
	Agent   string          `json:"agent,omitempty"`
	Repeat  int             `json:"repeat"`
	Success bool            `json:"success"` // the run ended with an answer, and all checks passed
	Why     string          `json:"why"`     // what was missing, if it did not succeed
	// ErrorType is the type of the error that ended the case, as in "UnavailableError", or "".
	ErrorType string `json:"error_type,omitempty"`
	// Unreachable is why the model is unreachable, or nil. It is not in the JSON.
	Unreachable error         `json:"-"`
	Reason      agent.Reason  `json:"reason"`
	Checks      []CheckResult `json:"checks"`
	Iterations  int           `json:"iterations"` // how often the model was asked
	// InputTokens and OutputTokens are those of all requests. If Estimated is set, the provider
	// did not report all of them.
	InputTokens  int      `json:"input_tokens"`
	OutputTokens int      `json:"output_tokens"`
	Estimated    bool     `json:"tokens_estimated"`
	PromptTokens int      `json:"prompt_tokens"` // of the first request, with the tools; always estimated
	CostUSD      *float64 `json:"cost_usd"`      // nil if it is not known
	Seconds      float64  `json:"seconds"`
	// PromptHash is a hash of the messages of the first request, ToolsHash of the tools that the
	// model may call, and PolicyHash of the policy's script.
	PromptHash string `json:"prompt_hash"`
	ToolsHash  string `json:"tools_hash"`
	PolicyHash string `json:"policy_hash"`

	CallsRead  int         `json:"calls_read"` // how many calls were read in its replies
	AsAsked    int         `json:"as_asked"`   // and how many of them were in this format
	Answer     string      `json:"answer"`
	Calls      []Call      `json:"calls"`
	JudgeUsage *value.Dict `json:"judge_usage,omitempty"`
}

// Name is that of the case, see [Case.Name].
func (r *Result) Name() string { return caseName(r.Task, r.Model, r.Format, r.Policy, r.Agent) }

// Tokens returns the tokens of all requests and replies.
func (r *Result) Tokens() int { return r.InputTokens + r.OutputTokens }

// A CheckResult is what came of a check.
type CheckResult struct {
	Check   string `json:"check"`
	Success bool   `json:"success"`
	NotRun  bool   `json:"not_run,omitempty"` // the case had failed before
	Why     string `json:"why,omitempty"`
}

// A Call is a call that a model made.
type Call struct {
	Tool    string      `json:"tool"`
	Input   *value.Dict `json:"input"`
	Success bool        `json:"success"`
	Error   string      `json:"error,omitempty"`
}

// use sets what a result has of the reply of an agent.
func (r *Result) use(reply *agent.Reply) {
	r.Reason, r.Iterations, r.Answer = reply.Reason, reply.Iterations, reply.Text
	for _, c := range reply.Calls {
		r.Calls = append(r.Calls, Call{c.Action, c.Input, c.Success, c.Error})
	}
	u := reply.Usage
	if u.Requests > 0 && u.Unmeasured == 0 {
		r.InputTokens, r.OutputTokens, r.Estimated = u.InputTokens, u.OutputTokens, false
	}
	if u.Requests > 0 && u.Unpriced == 0 {
		r.CostUSD = &u.CostUSD
	}
}

// A Row sums up the results of a model with a format, a policy and an agent.
type Row struct {
	Model  string          `json:"model"`
	Format decision.Format `json:"format"`
	Policy string          `json:"policy"`
	Agent  string          `json:"agent,omitempty"`
	Tally
}

// A Tally sums up results.
type Tally struct {
	Cases  int `json:"cases"`
	Passed int `json:"passed"`
	// Iterations, Tokens and Seconds are means of all cases.
	Iterations float64 `json:"mean_iterations"`
	Tokens     float64 `json:"mean_tokens"`
	Seconds    float64 `json:"mean_seconds"`
	Estimated  bool    `json:"tokens_estimated"`
	// CostUSD is the cost of all cases, or nil if that of one is not known.
	CostUSD *float64 `json:"cost_usd"`
}

func (t *Tally) add(r *Result) {
	const exact = 1e6 // a mean has six digits after the point
	mean := func(m, more float64) float64 {
		return math.Round((m*float64(t.Cases)+more)/float64(t.Cases+1)*exact) / exact
	}
	t.Iterations, t.Tokens, t.Seconds = mean(t.Iterations, float64(r.Iterations)), mean(t.Tokens, float64(r.Tokens())), mean(t.Seconds, r.Seconds)
	t.Estimated = t.Estimated || r.Estimated
	switch {
	case r.CostUSD == nil || t.Cases > 0 && t.CostUSD == nil:
		t.CostUSD = nil
	case t.CostUSD == nil:
		cost := *r.CostUSD
		t.CostUSD = &cost
	default:
		cost := *t.CostUSD + *r.CostUSD
		t.CostUSD = &cost
	}
	t.Cases++
	if r.Success {
		t.Passed++
	}
}

// sum sums up the results.
func (r *Report) sum() {
	r.Passed, r.Summary = 0, []Row{}
	for i := range r.Results {
		result := &r.Results[i]
		if result.Success {
			r.Passed++
		}
		at := slices.IndexFunc(r.Summary, func(row Row) bool {
			return row.Model == result.Model && row.Format == result.Format && row.Policy == result.Policy && row.Agent == result.Agent
		})
		if at < 0 {
			at = len(r.Summary)
			r.Summary = append(r.Summary, Row{Model: result.Model, Format: result.Format, Policy: result.Policy, Agent: result.Agent})
		}
		r.Summary[at].add(result)
	}
}

// ReadReport reads the JSON of a report. It fails with kind Invalid if the text is not one.
func ReadReport(data []byte) (*Report, error) {
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil || r.Version == 0 {
		return nil, value.Errorf(value.Invalid, "not a report of cassidy eval").WithHint("write a report with: cassidy eval FILE.yaml --out REPORT.json")
	}
	if r.Version != reportVersion {
		return nil, value.Errorf(value.Invalid, "the report has the version %d, but this cassidy reads version %d", r.Version, reportVersion).
			WithHint("write a new report with: cassidy eval FILE.yaml --out REPORT.json")
	}
	r.sum()
	return r, nil
}

// usage is what the requests to a judge used.
type usage struct {
	requests, input, output int
	cost                    float64
	unpriced                bool
}

func (u *usage) add(m model.Usage, p *model.Price) {
	u.requests++
	u.input, u.output = u.input+m.InputTokens, u.output+m.OutputTokens
	if p == nil {
		u.unpriced = true
		return
	}
	u.cost += p.Cost(m)
}

// dict returns the usage for the report, or nil if there was no request.
func (u *usage) dict() *value.Dict {
	if u.requests == 0 {
		return nil
	}
	d := value.NewDict("requests", int64(u.requests), "input_tokens", nil, "output_tokens", nil, "cost_usd", nil)
	if u.input+u.output > 0 {
		d.Put("input_tokens", int64(u.input))
		d.Put("output_tokens", int64(u.output))
	}
	if !u.unpriced {
		d.Put("cost_usd", u.cost)
	}
	return d
}
