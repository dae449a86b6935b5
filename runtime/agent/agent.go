package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/account"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/conversation"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Skill describes a skill to a model that has not loaded it.
//
//	Name        string   // under which it is loaded
//	Description string   // what it is for, and when to use it
//	Requires    []string // the names of other skills
type Skill = prompt.Skill

// A LoadedSkill is the text of a skill, or of one of its files.
type LoadedSkill struct {
	Text  string
	Notes []string // for the user
	// Files are those that the model may load by NAME/FILE. Nil means none.
	Files []string
	// Reviewed are the files of the project with the text. A run that has got the text is not resumed after the trust of one
	// of them was revoked.
	Reviewed []string
}

// An OverheadReport lists how many tokens of a conversation the tools use, as estimated.
//
//	Base  int                   // the instructions around the tools
//	Tools []prompt.ToolOverhead // Name and Tokens of each
//	Total int
//	Limit int // of the conversation
//
//	Percent() float64 // of the Limit
//	Warning() string  // for the user, or ""
//	String() string
type OverheadReport = prompt.OverheadReport

// A Budget bounds the length of a conversation. A zero field has its default. For a model with
// a large context window, the defaults of the limits in characters are higher.
//
//	Limit     int     // tokens of the conversation; default the context window, or 200,000
//	Reserve   int     // tokens that are kept free for the answer; default 10,000, at most a quarter of Limit
//	WarnAt    float64 // the share of the Limit at which Session.Nearly is true; default 0.80
//	CompactAt float64 // the share at which the conversation is compacted; default 0.85
//
//	MessageWarn int // characters of a message above which the user is warned; default 100,000
//	MessageMax  int // characters above which a message is refused; default 250,000
//	ThreadMax   int // characters of the conversation; default 585,000
//
//	WithDefaults() Budget
//	Sized(context int) Budget // with the defaults for a context window, in tokens
type Budget = account.Budget

// Ceilings bound what the requests of a turn to models use, with those of its sub-agents, of
// compactions, and of scripts that ask a model. A zero field sets no bound. A ceiling is checked
// before each request: a recorded turn that has reached it is parked, and continues with a higher
// one.
//
//	Tokens   int     // read and written, also those from a cache
//	CostUSD  float64 // US dollars
//	Requests int
//
//	Or(other Ceilings) Ceilings // those of other for the zero fields
//	Check() error               // kind Invalid for a negative one
//	CheckPrice(name string, p *model.Price) error
type Ceilings = meter.Ceilings

// DefaultResultText is the default of Options.MaxResult: 30,000 characters.
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
	// the policy, which is 10, and 5 in a chat, but at most 50. A recorded task that has reached it
	// is parked, and a turn that is resumed has the recorded limit, except where this is set.
	Iterations int
	// Context describes the project to the model, before the task.
	Context string
	// WorkDir is the working directory. The prompt names it, or has Place instead: a path
	// may have names in it that an untrusted author chose.
	WorkDir, Place string
	// Skills are the skills that the model may load by itself. LoadSkill loads any skill by its NAME, or one of its files
	// by NAME/FILE. Nil means that there are no skills.
	Skills    []Skill
	LoadSkill func(name string) (LoadedSkill, error)
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
	// Docs is the length of the descriptions of the tools in the prompt: "detailed" has each
	// parameter with its description, "brief" has a line for each tool, with the types of its
	// parameters. Default: "auto", which is detailed for at most ten tools. The formats Native
	// and Code have their own descriptions.
	Docs string
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
	// Hooks are files with functions of the user that watch the agent and the agents that it
	// calls, see package runtime/hooks. They are recorded with each run.
	Hooks []hooks.File
	// OnStop is called with an answer before the agent stops, before the hooks. If it returns
	// a reason, the agent continues, and the model gets the reason. An error ends the turn. In
	// a resumed turn it must return the same again. See [hooks.Set.OnStop].
	OnStop func(ctx context.Context, s hooks.Stop) (reason string, err error)
	// OnCompact is called with the summary that replaces a conversation, before the hooks, and
	// returns the one that is used. After an error the conversation stays as it is.
	OnCompact func(ctx context.Context, summary string) (string, error)
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
	// As is what an agent file defines of this agent: instructions, tools that it may have of
	// Tools, rules and limits. Fields above that are not set are set to those of As, except the
	// Model.
	As *tool.Agent
	// Agents are the agents that the tool of [Register] can start by their names. Default:
	// [host.Host.Agents], as it is when the agent is made; an empty list means none.
	Agents []tool.Agent
	// Models opens a model by the name that an agent file or a policy has. Nil opens none. A model
	// that is an io.Closer is closed at the end of the turn, or of the agent, for which it was
	// opened. In a turn, a policy opens a model once.
	Models func(ctx context.Context, name string) (model.Model, error)
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
	sizes    *sizes
	rules    *meter.Rules // of its turns
	made     time.Time
	schema   *structured.Schema // of Options.Schema, or nil
	hooks    *hooks.Set         // of Options.Hooks, or nil
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
	if err := host.Operate(h).Valid(); err != nil {
		return nil, err
	}
	a := &Agent{host: h, given: &Options{}, local: &localSessions{byID: map[string]*Session{}}, made: time.Now()}
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
	a.opts.define()
	l := meter.Limits{Ceilings: a.opts.Ceilings, Iterations: a.opts.Iterations}
	a.rules = usageRules(l, l, meter.Asks{MaxTokens: a.opts.MaxTokens, Effort: a.opts.Effort, Temperature: a.opts.Temperature})
	if err := a.rules.Check(); err != nil {
		return nil, err
	}
	settings := a.opts.settings()
	a.opts.Model = model.WithIdleTimeout(a.opts.Model, max(0, a.opts.Idle))
	a.opts.Policy = cmp.Or(a.opts.Policy, "task")
	settings.Policy = a.opts.Policy
	a.recorded = settings
	a.sizes = sizesOf(a.opts.Model, a.opts.Budget, a.opts.MaxTokens)
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
	if a.hooks, err = hooks.New(h, a.opts.Hooks); err != nil {
		return nil, err
	}
	a.program.Middleware = a.hooks.Middleware()
	if a.format, err = decision.FormatFor(a.opts.Format, a.opts.Model); err != nil {
		return nil, err
	}
	if err := prompt.Docs(a.opts.Docs).Check(); err != nil {
		return nil, err
	}
	if err := a.offer(a.opts.Tools); err != nil {
		return nil, err
	}
	if err := checkChoice(a.opts.ToolChoice, a.format, toolNames(a.tools)); err != nil {
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
	tools, err := roster.Select(a.host, words, a.format, a.opts.As)
	if err != nil {
		return err
	}
	a.findAgents()
	for i := range tools {
		a.add(&tools[i])
	}
	return nil
}

// add adds a tool to those that the model may call.
func (a *Agent) add(t *toolset.Info) {
	offered := t.Tool
	offered.Name = t.ModelName()
	if tool.Key(t.Name) == stub.AgentTool && t.Location == tool.Embedded {
		a.tools = append(a.tools, roster.Introduce(offered, a.opts.Agents))
	} else {
		a.tools = append(a.tools, offered)
	}
	a.ends = a.ends || tool.Key(t.Name) == stub.CompleteTool && t.Location == tool.Builtin
	a.starts = a.starts || tool.Key(t.Name) == stub.AgentTool && t.Location == tool.Embedded
}

// offerRecorded offers the tools of a recorded turn for its replay, as the run has called them. A
// tool that it has not called is the present one, or has only a name.
func (a *Agent) offerRecorded(ctx context.Context, turn *conversation.Turn) error {
	tools, err := roster.Called(ctx, a.host, turn.ID)
	if err != nil {
		return err
	}
	for _, name := range turn.Tools {
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
	tools, err := roster.Called(ctx, a.host, runID)
	for i := range tools {
		a.add(&tools[i])
	}
	return err
}

// Tools returns the tools that the model may call.
func (a *Agent) Tools() []tool.Tool { return slices.Clone(a.tools) }

// Format returns the format in which the model is asked to write its decisions.
func (a *Agent) Format() decision.Format { return a.format }

// Check returns an error if the scripts of the policy and of the hooks cannot be compiled. It does
// not run them, except for the top level of the hooks.
func (a *Agent) Check(ctx context.Context) error {
	if err := a.hooks.Check(ctx); err != nil {
		return err
	}
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
