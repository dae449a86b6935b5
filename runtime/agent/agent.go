package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/question"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/sizes"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Skill describes a skill to a model that has not loaded it: its Name, its Description,
// and the names of the skills that it Requires.
type Skill = prompt.Skill

// An OverheadReport lists how many tokens of a conversation the tools use, as estimated.
type OverheadReport = prompt.OverheadReport

// A Budget bounds the length of a conversation. A zero field has its default. The Limit is the
// context window of the model, as far as that is known, or 200,000 tokens.
type Budget = account.Budget

// Ceilings bound what the requests of a turn to models use, with those of its sub-agents, of
// compactions, and of scripts that ask a model. A zero field sets no bound. A ceiling is checked
// before each request: a recorded turn that has reached it is parked, and continues with a higher
// one.
type Ceilings = meter.Ceilings

// DefaultResultText is the default of Options.MaxResult, in characters.
const DefaultResultText = prompt.DefaultResultText

// Options configure an agent. Only Model is required. The functions and the Model are
// called concurrently, for different sessions.
type Options struct {
	// Model answers the conversation and chooses the calls.
	Model model.Model
	// Tools are words for [host.Host.Select]: the tools that the model may call. Nil
	// means all that are ready; an empty list means none.
	Tools []string
	// Policy is the name of the script that controls the agent. Default: "task".
	Policy string
	// Policies finds a policy by its name. Default: [Builtin].
	Policies func(name string) (Policy, error)
	// Format is the format in which the model is asked to write its decisions. Default:
	// Native if the model supports it, else PureJSON. Replies in other formats are also
	// read, except programs: these need the format Code and the tool of [RegisterCode].
	Format decision.Format
	// Iterations is the limit of requests to the model in a turn. 0 means the limit of
	// the policy, which is 10, and 5 in a chat, but at most 50.
	Iterations int
	// Context describes the project to the model, before the task.
	Context string
	// WorkDir is the working directory. The prompt names it, or has Place instead: a path
	// may have names in it that an untrusted author chose.
	WorkDir, Place string
	// Skills are the skills that the model may load by itself. LoadSkill returns the text
	// of any skill, with notes for the user. Nil means that there are no skills.
	Skills    []Skill
	LoadSkill func(name string) (text string, notes []string, err error)
	// Budget bounds the conversation. Its zero fields have defaults, see [Budget].
	Budget Budget
	// MaxTokens, Effort, Temperature and ToolChoice are those of each [model.Request].
	MaxTokens   int
	Effort      string
	Temperature *float64
	ToolChoice  string
	// Schema is a JSON Schema: the answer of a turn is a value that matches it, see
	// [Reply].Value. The model is asked again if its answer does not match. Nil means a text.
	Schema *value.Dict
	// Ceilings bound what a turn uses. A turn that is resumed has the recorded ones, except
	// where these are set. A sub-agent is bound by those of the run that it is a part of.
	Ceilings Ceilings
	// RepeatInstructions repeats the instructions for decisions in each message. By
	// default only the first message has them.
	RepeatInstructions bool
	// NoInference ignores calls that a reply describes but does not write, see
	// [decision.Decision].Inferred.
	NoInference bool
	// MaxResult is the limit of a tool's result in a message, in characters. Default:
	// [DefaultResultText]. A longer result is cut; Keep stores all of it under a name and
	// returns where the model can read it. Nil stores nothing.
	MaxResult int
	Keep      func(name, text string) (where string, err error)
	// BeforeAsk is called with each request before the model. It may change the request,
	// or return an error, which ends the turn.
	BeforeAsk func(ctx context.Context, r *model.Request) error
	// NoParking denies what needs an answer that nobody gives. By default a recorded turn
	// waits for the answer, see [Session.Send].
	NoParking bool
	// Name distinguishes agents on one host that have the same model but other functions,
	// such as BeforeAsk. A run is resumed with the functions of the agent of the same
	// Name. "" is a valid name.
	Name string
	// ModelName is recorded with each run, to find the model when the run is resumed.
	// Default: Model.Name().
	ModelName string
	// Idle is the idle timeout of the model: how long it may send nothing. 0 means no
	// timeout.
	Idle time.Duration
	// Depth is how deep agents may start agents with the tool of [Register]. Default: 1,
	// so that the agents of an agent start none.
	Depth int
}

// maxIterations bounds the requests of a turn if Options.Iterations is 0, whatever the
// policy does.
const maxIterations = 50

// An Agent lets a model work on tasks with the tools of a host. It is safe for concurrent
// use.
type Agent struct {
	host     *host.Host
	opts     Options
	recorded Settings
	settings *value.Dict // recorded, as a value
	given    *Options    // to New
	local    *localSessions
	policy   Policy
	tools    []tool.Tool
	ends     bool // the tools include the built-in tool that ends a task
	starts   bool // the tools include that of [Register]
	format   decision.Format
	program  host.Program // the policy; each turn runs a copy
	sizes    *sizes.Sizes
	rules    *meter.Rules // of its turns
	made     time.Time
	schema   *structured.Schema // of Options.Schema, or nil
}

// New returns an agent that calls the tools of a host. The host's sandbox must know
// [Modules]. New fails with kind Invalid if an option is invalid or names something that
// does not exist, and Unavailable if a tool in Options.Tools is not ready.
//
// Afterwards [host.Host.Resume] continues runs of agents on that host. A run is resumed
// with its recorded [Settings], and with the model and the functions of the last agent of
// the same Name and ModelName. It fails with kind Invalid if there is no such agent.
func New(h *host.Host, o *Options) (*Agent, error) {
	a, err := newAgent(h, o)
	if err == nil {
		kindsOf(h).add(a)
	}
	return a, err
}

// newAgent is New without the registration.
func newAgent(h *host.Host, o *Options) (*Agent, error) {
	if h == nil {
		return nil, value.Errorf(value.Invalid, "create an agent: the host is nil").WithHint("pass the host that cassidy.Open or Runtime.Open returned")
	}
	a := &Agent{host: h, given: &Options{}, local: &localSessions{}, made: time.Now()}
	if o != nil {
		*a.given = *o
	}
	a.opts = *a.given
	if a.opts.Model == nil {
		return nil, value.Errorf(value.Invalid, "create an agent: Options.Model is missing").WithHint("set Options.Model, for example to the result of openai.New")
	}
	if a.opts.Iterations < 0 {
		return nil, value.Errorf(value.Invalid, "create an agent: Options.Iterations must be 0 or more, but is %d", a.opts.Iterations)
	}
	c := a.opts.Ceilings
	a.rules = newRules(c, c, meter.Asks{MaxTokens: a.opts.MaxTokens, Effort: a.opts.Effort, Temperature: a.opts.Temperature})
	if err := a.rules.Check(); err != nil {
		return nil, err
	}
	settings := a.opts.settings()
	if a.opts.Idle > 0 {
		a.opts.Model = model.WithIdleTimeout(a.opts.Model, a.opts.Idle)
	}
	a.opts.Policy = cmp.Or(a.opts.Policy, "task")
	settings.Policy = a.opts.Policy
	a.recorded = settings
	a.sizes = sizes.Of(a.opts.Model, a.opts.Budget, a.opts.MaxTokens)
	a.opts.Depth = cmp.Or(a.opts.Depth, 1)
	a.opts.MaxResult = cmp.Or(a.opts.MaxResult, DefaultResultText)
	find := a.opts.Policies
	if find == nil {
		find = Builtin
	}
	var err error
	if a.policy, err = find(a.opts.Policy); err != nil {
		return nil, err
	}
	if err := a.policy.check(); err != nil {
		return nil, err
	}
	a.policy.Script.Hash = a.policy.Script.Sum()
	a.program = a.policy.program()
	a.program.Parks = !a.opts.NoParking
	if a.format, err = chooseFormat(a.opts.Format, a.opts.Model); err != nil {
		return nil, err
	}
	if err := a.offer(a.opts.Tools); err != nil {
		return nil, err
	}
	if err := question.CheckChoice(a.opts.ToolChoice, a.format, toolNames(a.tools)); err != nil {
		return nil, err
	}
	if a.opts.Schema != nil {
		if a.schema, err = structured.New(a.opts.Schema); err != nil {
			return nil, err
		}
	}
	return a, a.record()
}

// record prepares the options that are recorded with each run of the agent.
func (a *Agent) record() error {
	v, err := value.FromGo(struct {
		Settings
		Offered []string `json:"offered"` // the tools; read if there is no conversation
	}{a.recorded, toolNames(a.tools)})
	if err != nil {
		return err
	}
	a.settings = v.(*value.Dict)
	return nil
}

func toolNames(tools []tool.Tool) []string {
	return value.Map(tools, func(t tool.Tool) string { return t.Name })
}

// offer selects the tools that the model may call. It fails if a tool that is named is not
// ready; tools of a group or of "auto" that are not ready are skipped.
func (a *Agent) offer(words []string) error {
	a.tools, a.ends, a.starts = nil, false, false
	if words != nil && len(words) == 0 {
		return nil
	}
	tools, err := a.host.Select(words...)
	if err != nil {
		return err
	}
	if tools, err = a.withCode(tools, words); err != nil {
		return err
	}
	for _, t := range tools {
		if t.State == toolset.Ready {
			a.add(&t)
			continue
		}
		if slices.Contains(words, t.Name) {
			return value.Errorf(value.Unavailable, "offer the tool '%s': the tool is %s: %s", t.Name, t.State, t.Reason)
		}
	}
	return nil
}

// add adds a tool to those that the model may call.
func (a *Agent) add(t *toolset.Info) {
	a.tools = append(a.tools, t.Tool)
	a.ends = a.ends || tool.Key(t.Name) == stub.CompleteTool && t.Location == tool.Builtin
	a.starts = a.starts || tool.Key(t.Name) == stub.AgentTool && t.Location == tool.Embedded
}

// offerRecorded offers the tools of a recorded turn for its replay, as the run has called them. A
// tool that it has not called is the present one, or has only a name.
func (a *Agent) offerRecorded(ctx context.Context, r *host.Recorded) error {
	turn, err := value.ToGo[recordedTurn](r.Options)
	if err != nil {
		return unreadable("run '"+r.ID+"'", err)
	}
	tools, err := calledTools(ctx, a.host, r.ID)
	if err != nil {
		return err
	}
	for _, name := range turn.offered() {
		if i := slices.IndexFunc(tools, func(t toolset.Info) bool { return tool.Key(t.Name) == tool.Key(name) }); i >= 0 {
			a.add(&tools[i])
		} else {
			a.tools = append(a.tools, tool.Tool{Name: name})
		}
	}
	return nil
}

// offerCalled offers all tools for the replay of a run.
func (a *Agent) offerCalled(ctx context.Context, runID string) error {
	tools, err := calledTools(ctx, a.host, runID)
	for i := range tools {
		a.add(&tools[i])
	}
	return err
}

// calledTools returns the tools for the replay of a run: those that it has called, as they were
// then, and the others of the host.
func calledTools(ctx context.Context, h *host.Host, runID string) ([]toolset.Info, error) {
	tools, err := h.Called(ctx, runID)
	for _, t := range h.Tools() {
		if !slices.ContainsFunc(tools, func(c toolset.Info) bool { return tool.Key(c.Name) == tool.Key(t.Name) }) {
			tools = append(tools, t)
		}
	}
	return tools, err
}

// withCode adds the tool that runs programs in the format Code. In other formats the tool
// is kept only if it is named.
func (a *Agent) withCode(tools []toolset.Info, words []string) ([]toolset.Info, error) {
	named := slices.ContainsFunc(words, func(w string) bool { return tool.Key(w) == decision.ProgramTool })
	if a.format != decision.Code && named {
		return tools, nil
	}
	tools = slices.DeleteFunc(tools, func(t toolset.Info) bool { return runsPrograms(&t) })
	if a.format != decision.Code {
		return tools, nil
	}
	t, err := a.host.Tool(decision.ProgramTool)
	if err != nil || !runsPrograms(&t) {
		return nil, value.Errorf(value.Invalid, "use the format %s: the tool %s is not registered", decision.Code, decision.ProgramTool).
			WithHint("call agent.RegisterCode, or use another format")
	}
	return append(tools, t), nil
}

// runsPrograms reports whether a tool is that of [RegisterCode], and not another one of its
// name.
func runsPrograms(t *toolset.Info) bool {
	return t.Location == tool.Embedded && tool.Key(t.Name) == decision.ProgramTool
}

// chooseFormat returns the format for a model. "" means its default.
func chooseFormat(wanted decision.Format, m model.Model) (decision.Format, error) {
	switch wanted {
	case "":
		if m.Native() {
			return decision.Native, nil
		}
		return decision.PureJSON, nil
	case decision.PureJSON, decision.XMLJSON, decision.Markdown, decision.Code:
		return wanted, nil
	case decision.Native:
		if m.Native() {
			return decision.Native, nil
		}
		return "", value.Errorf(value.Invalid, "the model %s does not support native tool calls", m.Name()).
			WithHint("use the format %s, %s or %s", decision.PureJSON, decision.XMLJSON, decision.Markdown)
	}
	known := []string{string(decision.PureJSON), string(decision.XMLJSON), string(decision.Markdown), string(decision.Native), string(decision.Code)}
	return "", value.Errorf(value.Invalid, "unknown format %q%s", wanted, value.DidYouMean(string(wanted), known)).
		WithHint("use one of %s", strings.Join(known, ", "))
}

// Tools returns the tools that the model may call.
func (a *Agent) Tools() []tool.Tool { return slices.Clone(a.tools) }

// Format returns the format in which the model is asked to write its decisions.
func (a *Agent) Format() decision.Format { return a.format }

// Check returns an error if the policy's script cannot be compiled. It does not run it.
func (a *Agent) Check(ctx context.Context) error {
	return a.host.Check(ctx, &host.Program{Name: a.policy.name(), Script: a.policy.Script, Builtin: a.policy.Location == tool.Builtin})
}

// Policy returns the policy that controls the agent.
func (a *Agent) Policy() Policy { return a.policy }

// Budget returns how many tokens of the context the tools use, as estimated, and how many
// are left for the conversation.
func (a *Agent) Budget() (overhead, limit int) {
	c := a.account()
	return c.Overhead(), c.EffectiveLimit()
}

// OverheadReport returns how many tokens of the context each tool uses.
func (a *Agent) OverheadReport() OverheadReport {
	c := a.account()
	return prompt.Overhead(a.tools, c.Budget().Limit)
}

// account returns the account of an empty conversation.
func (a *Agent) account() account.Account { return account.New(a.sizes.Budget(), a.tools, a.format) }

// role returns the role of the prompt: the policy's name if the prompt has an opening for
// it, else "task".
func (a *Agent) role() string {
	if slices.Contains(prompt.Roles(), a.policy.Name) {
		return a.policy.Name
	}
	return "task"
}

// Run lets the model work on a task in a new session. It fails with kind Invalid if the
// task is empty, and otherwise as [Session.Send] does.
func (a *Agent) Run(ctx context.Context, task string) (Reply, error) {
	if strings.TrimSpace(task) == "" {
		return Reply{}, value.Errorf(value.Invalid, "Task cannot be empty").WithHint(`pass the task as text`)
	}
	return a.newSession("").Send(ctx, task)
}

// NewID returns a new ID for a run: the time in UTC, so that IDs sort in order, and a
// random suffix.
func NewID() string { return ids.New() }
