// Package agentfile reads agent files: Markdown files that define an agent, with the fields of
// Claude Code and opencode, and some of cassidy's own.
//
// An agent file comes from an author who may be untrusted, so it can only narrow what an agent
// may do: it selects some of the tools, adds rules that deny or ask, and sets limits. What would
// grant something is ignored with a warning.
package agentfile

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxSize is the limit of an agent file, in bytes: a model reads all of it.
const MaxSize = 256 << 10

// A Definition is what an agent file defines. A zero field leaves a setting as it is for the
// caller of the agent. It is recorded with each run that can use the agent.
type Definition struct {
	Name        string `json:"name"`
	Description string `json:"description"` // what it is for and when to use it
	Path        string `json:"path,omitempty"`
	// Prompt has the instructions for the model, which it gets before the task.
	Prompt string `json:"prompt,omitempty"`
	// Model is PROVIDER:NAME, or an alias that the program resolves. "" is the caller's model.
	Model       string   `json:"model,omitempty"`
	Effort      string   `json:"effort,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	Policy      string   `json:"policy,omitempty"`
	// Script is the policy as it was when a run began, or nil.
	Script *tool.Script `json:"script,omitempty"`
	// Tools select some of the caller's tools: names, @GROUP and names with the wildcards * and
	// ?. Nil selects all of them. Without removes some of these.
	Tools   []string `json:"tools,omitzero"`
	Without []string `json:"without,omitempty"`
	// Rules deny or ask, for the agent and everything that it calls.
	Rules      []tool.Rule `json:"rules,omitempty"`
	Iterations int         `json:"iterations,omitempty"`
	Schema     *value.Dict `json:"schema,omitempty"` // of the result; nil means a text
	Limits     Limits      `json:"limits,omitzero"`
	// Mode is whether other agents may call it, or only users: "all", "subagent" or "primary".
	// "" is "all".
	Mode     string `json:"mode,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`   // models do not see it in the list
	Disabled bool   `json:"disabled,omitempty"` // nobody may use it
}

// Limits bound what one call of an agent uses. A zero field sets no bound.
type Limits struct {
	Tokens    int     `json:"tokens,omitempty"`   // read and written
	CostUSD   float64 `json:"cost_usd,omitempty"` // US dollars
	Requests  int     `json:"requests,omitempty"` // to models
	ToolCalls int     `json:"tool_calls,omitempty"`
	// Time is how long the call may take in one process, without the time in which it is parked.
	Time time.Duration `json:"time,omitempty"`
}

// The values of Definition.Mode.
const (
	ModeAll      = "all"
	ModePrimary  = "primary"
	ModeSubagent = "subagent"
)

// ForModels reports whether a model may call the agent by its name.
func (d *Definition) ForModels() bool { return !d.Disabled && d.Mode != ModePrimary }

// Instructions returns the prompt; nil has none.
func (d *Definition) Instructions() string {
	if d == nil {
		return ""
	}
	return d.Prompt
}

// Narrow returns the rules; nil has none.
func (d *Definition) Narrow() []tool.Rule {
	if d == nil {
		return nil
	}
	return d.Rules
}

// CheckCalls returns an error of kind Limit if the agent has made as many calls as it may; nil has
// no limit.
func (d *Definition) CheckCalls(made int) *value.Error {
	if d == nil || d.Limits.ToolCalls == 0 || made < d.Limits.ToolCalls {
		return nil
	}
	return value.Errorf(value.Limit, "the agent '%s' has reached its limit of %d calls of tools", d.Name, d.Limits.ToolCalls).
		WithHint("answer with the results so far")
}

// ExplainCost returns the error that a cost cannot be limited, or nil. If the limit is that of the
// agent, the hint names its field.
func (d *Definition) ExplainCost(err error) error {
	if err == nil || d == nil || d.Limits.CostUSD == 0 {
		return err
	}
	e := *value.ErrorOf(err, value.Invalid)
	return e.WithHint("in the file of the agent '%s', remove limits.cost, and write limits.requests or limits.tokens instead", d.Name)
}

// Within returns a context that ends when the time of the agent is over, with an error of kind
// Timeout; nil has no limit. The caller must call the second result.
func (d *Definition) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if d == nil || d.Limits.Time == 0 {
		return ctx, func() {}
	}
	over := value.Errorf(value.Timeout, "the agent '%s' did not end within %s", d.Name, d.Limits.Time).WithHint("to allow more time, change the field 'limits.time' of its file")
	return context.WithTimeoutCause(ctx, d.Limits.Time, over)
}

// Offers reports whether the agent may have a tool that its caller has.
func (d *Definition) Offers(t *tool.Tool) bool {
	return (d.Tools == nil || matchesAny(d.Tools, t)) && !matchesAny(d.Without, t)
}

func matchesAny(words []string, t *tool.Tool) bool {
	return slices.ContainsFunc(words, func(word string) bool { return Matches(word, t) })
}

// Matches reports whether a word of a list of tools selects a tool.
func Matches(word string, t *tool.Tool) bool {
	if group, ok := strings.CutPrefix(word, "@"); ok {
		return group == t.DisplayGroup()
	}
	if tool.Key(word) == tool.Key(t.Name) {
		return true
	}
	ok, err := path.Match(tool.Key(word), tool.Key(t.Name))
	return err == nil && ok
}

// Parse reads an agent file. stem is the name of the file without .md, which is the name of the
// agent if the file sets none. shown is the file in messages. The warnings name what is ignored.
func Parse(stem, shown, text string) (d Definition, warnings []string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	meta, n := yaml.FrontMatter(lines)
	switch n {
	case 0:
		return d, nil, malformed("the file does not begin with front matter")
	case -1:
		return d, nil, malformed("the front matter has no end: a second line with --- is missing")
	}
	p := &parser{to: &d, meta: meta}
	d = Definition{Name: stem, Path: shown, Prompt: strings.TrimSpace(folder.Plain(strings.Join(lines[n:], "\n")))}
	fields, err := p.parse()
	if err == nil {
		err = p.read(fields)
	}
	return d, p.warnings, err
}

// Line returns the line of a field in the text of an agent file, or 0 if the text has no such field.
func Line(text, field string) int {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	meta, _ := yaml.FrontMatter(strings.Split(text, "\n"))
	if line := yaml.Line(meta, field); line > 0 {
		return line + 1 // the line --- above
	}
	return 0
}

func malformed(format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos.Line = 1
	return e.WithHint("begin the file with three lines: ---, description: what the agent is for, ---")
}

// parse parses the front matter.
func (p *parser) parse() (*value.Dict, error) {
	fields, warnings, err := yaml.Fields(p.meta)
	p.warnings = append(p.warnings, warnings...)
	if err == nil && fields == nil {
		err = malformed("the front matter has no fields")
	}
	return fields, err
}
