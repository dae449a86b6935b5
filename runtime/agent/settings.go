package agent

import (
	"cmp"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Settings are the part of [Options] that is data. They are recorded with each run of an
// agent, so that another process can make the same agent again.
type Settings struct {
	Model              string          `json:"model"` // Options.ModelName, or the name of the model
	Policy             string          `json:"policy"`
	WorkDir            string          `json:"dir"`
	Place              string          `json:"place,omitempty"`
	Tools              []string        `json:"tools,omitzero"` // nil: every tool
	Name               string          `json:"agent,omitempty"`
	Idle               time.Duration   `json:"idle,omitzero"`
	Format             decision.Format `json:"format,omitempty"`
	Iterations         int             `json:"iterations,omitempty"`
	Context            string          `json:"context,omitempty"`
	RepeatInstructions bool            `json:"repeat_instructions,omitempty"`
	NoInference        bool            `json:"no_inference,omitempty"`
	Docs               string          `json:"docs,omitempty"`
	MaxResult          int             `json:"max_result,omitempty"`
	Depth              int             `json:"depth,omitempty"`
	Budget             Budget          `json:"budget,omitzero"`
	MaxTokens          int             `json:"max_tokens,omitempty"`
	Effort             string          `json:"effort,omitempty"`
	Temperature        *float64        `json:"temperature,omitempty"`
	ToolChoice         string          `json:"tool_choice,omitempty"`
	Ceilings           Ceilings        `json:"ceilings,omitzero"`
	Schema             *value.Dict     `json:"schema,omitempty"`
	Hooks              []hooks.File    `json:"hooks,omitempty"`

	As     *tool.Agent  `json:"as,omitempty"`
	Agents []tool.Agent `json:"agents,omitzero"` // as they were when the run began
}

// settings returns the settings of the options.
func (o *Options) settings() Settings {
	return Settings{
		Name: o.Name, Model: cmp.Or(o.ModelName, o.Model.Name()), Idle: o.Idle, Policy: o.Policy, Format: o.Format, Tools: o.Tools, Iterations: o.Iterations,
		Context: strings.ToValidUTF8(o.Context, "\ufffd"), WorkDir: strings.ToValidUTF8(o.WorkDir, "\ufffd"), Place: strings.ToValidUTF8(o.Place, "\ufffd"), Budget: o.Budget,
		RepeatInstructions: o.RepeatInstructions, NoInference: o.NoInference, Docs: o.Docs, MaxResult: o.MaxResult, Depth: o.Depth,
		MaxTokens: o.MaxTokens, Effort: o.Effort, Temperature: o.Temperature, ToolChoice: o.ToolChoice, Ceilings: o.Ceilings, Schema: o.Schema,
		Hooks: o.Hooks, As: o.As, Agents: o.Agents,
	}
}

// Apply sets the options to the settings. It leaves Options.Model as it is, and also Options.Idle,
// Options.Iterations and the fields of Options.Ceilings if they are set.
func (s *Settings) Apply(o *Options) {
	o.Name, o.ModelName, o.Idle, o.Policy, o.Format, o.Tools, o.Iterations = s.Name, s.Model, cmp.Or(o.Idle, s.Idle), s.Policy, s.Format, s.Tools, cmp.Or(o.Iterations, s.Iterations)
	o.Context, o.WorkDir, o.Place, o.Budget, o.RepeatInstructions, o.NoInference = s.Context, s.WorkDir, s.Place, s.Budget, s.RepeatInstructions, s.NoInference
	o.MaxResult, o.Depth, o.Docs = s.MaxResult, s.Depth, s.Docs
	o.MaxTokens, o.Effort, o.Temperature, o.ToolChoice = s.MaxTokens, s.Effort, s.Temperature, s.ToolChoice
	o.Schema, o.Hooks, o.As, o.Agents = s.Schema, s.Hooks, s.As, s.Agents
	o.Ceilings = o.Ceilings.Or(s.Ceilings)
}

// ReadSettings reads the settings of an agent from the Options of a recorded run. Missing
// fields are zero. It fails with kind Invalid if a field has another type.
func ReadSettings(d *value.Dict) (Settings, error) { return value.ToGo[Settings](d) }
