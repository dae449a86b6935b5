package tool

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Agent is what an agent file defines. A zero field leaves a setting as it is for the
// caller of the agent. It is recorded with each run that can use the agent.
type Agent struct {
	Name        string `json:"name"`
	Description string `json:"description"` // what it is for and when to use it
	Path        string `json:"path,omitempty"`
	// Prompt has the instructions for the model, which it gets before the task.
	Prompt string `json:"prompt,omitempty"`
	// Model is PROVIDER:NAME, or an alias that the program resolves. "" is the caller's model.
	Model       string   `json:"model,omitempty"`
	Effort      string   `json:"effort,omitempty"` // of reasoning, as the model names it
	Temperature *float64 `json:"temperature,omitempty"`
	Policy      string   `json:"policy,omitempty"` // the name of the script that controls it
	// Script is the policy as it was when a run began, or nil.
	Script *Script `json:"script,omitempty"`
	// Tools select some of the caller's tools: names, @GROUP and names with the wildcards * and
	// ?. Nil selects all of them. Without removes some of these.
	Tools   []string `json:"tools,omitzero"`
	Without []string `json:"without,omitempty"`
	// Rules deny or ask, for the agent and everything that it calls.
	Rules      []Rule      `json:"rules,omitempty"`
	Iterations int         `json:"iterations,omitempty"` // how often a model may be asked in a turn
	Schema     *value.Dict `json:"schema,omitempty"`     // of the result; nil means a text
	Limits     AgentLimits `json:"limits,omitzero"`
	// Mode is whether other agents may call it, or only users: "all", "subagent" or "primary".
	// "" is "all".
	Mode     string `json:"mode,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`   // models do not see it in the list
	Disabled bool   `json:"disabled,omitempty"` // nobody may use it
}

// AgentLimits bound what one call of an agent uses. A zero field sets no bound.
type AgentLimits struct {
	Tokens    int     `json:"tokens,omitempty"`   // read and written
	CostUSD   float64 `json:"cost_usd,omitempty"` // US dollars
	Requests  int     `json:"requests,omitempty"` // to models
	ToolCalls int     `json:"tool_calls,omitempty"`
	// Time is how long the call may take in one process, without the time in which it is parked.
	Time time.Duration `json:"time,omitempty"`
}

// The values of [Agent].Mode.
const (
	AgentModeAll      = "all"      // agents and users may call it
	AgentModePrimary  = "primary"  // only users may
	AgentModeSubagent = "subagent" // only other agents may
)

// ForModels reports whether a model may call the agent by its name.
func (d *Agent) ForModels() bool { return !d.Disabled && d.Mode != AgentModePrimary }

// Instructions returns the prompt; nil has none.
func (d *Agent) Instructions() string {
	if d == nil {
		return ""
	}
	return d.Prompt
}

// Narrow returns the rules; nil has none.
func (d *Agent) Narrow() []Rule {
	if d == nil {
		return nil
	}
	return d.Rules
}

// CheckCalls returns an error of kind Limit if the agent has made as many calls as it may; nil has
// no limit.
func (d *Agent) CheckCalls(made int) *value.Error {
	if d == nil || d.Limits.ToolCalls == 0 || made < d.Limits.ToolCalls {
		return nil
	}
	return value.Errorf(value.Limit, "the agent '%s' has reached its limit of %d calls of tools", d.Name, d.Limits.ToolCalls).
		WithHint("answer with the results so far")
}

// ExplainCost returns the error that a cost cannot be limited, or nil. If the limit is that of the
// agent, the hint names its field.
func (d *Agent) ExplainCost(err error) error {
	if err == nil || d == nil || d.Limits.CostUSD == 0 {
		return err
	}
	e := *value.ErrorOf(err, value.Invalid)
	return e.WithHint("in the file of the agent '%s', remove limits.cost, and write limits.requests or limits.tokens instead", d.Name)
}

// Within returns a context that ends when the time of the agent is over, with an error of kind
// Timeout; nil has no limit. The caller must call the second result.
func (d *Agent) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if d == nil || d.Limits.Time == 0 {
		return ctx, func() {}
	}
	over := value.Errorf(value.Timeout, "the agent '%s' did not end within %s", d.Name, d.Limits.Time).WithHint("to allow more time, change the field 'limits.time' of its file")
	return context.WithTimeoutCause(ctx, d.Limits.Time, over)
}

// Offers reports whether the agent may have a tool that its caller has.
func (d *Agent) Offers(t *Tool) bool {
	return (d.Tools == nil || matchesAny(d.Tools, t)) && !matchesAny(d.Without, t)
}

func matchesAny(words []string, t *Tool) bool {
	return slices.ContainsFunc(words, func(word string) bool { return MatchesWord(word, t) })
}

// MatchesWord reports whether a word of a list of tools selects a tool.
func MatchesWord(word string, t *Tool) bool {
	if group, ok := strings.CutPrefix(word, "@"); ok {
		return group == t.DisplayGroup()
	}
	if Key(word) == Key(t.Name) {
		return true
	}
	ok, err := path.Match(Key(word), Key(t.Name))
	return err == nil && ok
}
