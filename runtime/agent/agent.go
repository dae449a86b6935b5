package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prompt"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Skill is what a model is told of a skill before it loads it: its Name, its
// Description, and the names of the skills that it Requires.
type Skill = prompt.Skill

// DefaultResultText is how much of one result a model is given, in characters.
const DefaultResultText = prompt.DefaultResultText

// Options are what a program may choose of an agent. Only Model is required. Its
// functions and its Model are called concurrently, for different sessions.
type Options struct {
	// Model is who decides.
	Model model.Model
	// Tools are words for [host.Host.Select]: what the model is offered. Nil
	// means all that can be used; an empty list none.
	Tools []string
	// Policy is the script that leads the agent, by its name. "" means "task".
	Policy string
	// Policies finds a policy by its name. Nil means those that come with
	// cassidy, see [Builtin].
	Policies func(name string) (Policy, error)
	// Format is how the model is to write its decisions. "" means Native
	// where the model has it, else PureJSON. Whatever is asked for, each is read;
	// a program, only with Code, which needs the tool of [RegisterCode].
	Format decision.Format
	// Iterations is how often the model is asked at most; 0 means what the
	// policy takes, 10 and 5 in a chat, and never more than 50.
	Iterations int
	// Context describes the project to the model, before the task.
	Context string
	// WorkDir is named to the model.
	WorkDir string
	// Skills are those that the model may use of its own accord; LoadSkill
	// returns the text of any, with notes for the user.
	Skills    []Skill
	LoadSkill func(name string) (text string, notes []string, err error)
	// Budget bounds the conversation; its zero fields mean defaults.
	Budget Budget
	// RepeatInstructions sends the model with each message how to write its
	// decisions, not only with the first.
	RepeatInstructions bool
	// NoInference keeps a reply that only names a tool from being taken for a
	// call.
	NoInference bool
	// MaxResult is how much of a tool's result the model gets, in characters; 0
	// means [DefaultResultText]. Keep is given the whole of a longer one, under a name, and
	// says where it has put it; nil keeps nothing.
	MaxResult int
	Keep      func(name, text string) (where string, err error)
	// BeforeAsk is called with each request before the model gets it, and may
	// change or refuse it.
	BeforeAsk func(ctx context.Context, r *model.Request) error
	// NoParking refuses what nobody answers. By default a turn that is recorded
	// waits for it, see [Session.Send].
	NoParking bool
	// Name distinguishes the agent from others on the host that have the same
	// model but other functions, such as BeforeAsk: a run is resumed only with those
	// of an agent of the same Name. "" is a name like any other.
	Name string
	// ModelName is recorded with each run, to find the model when it is resumed. ""
	// means Model.Name().
	ModelName string
	// Idle is how long the model may send nothing before it is given up. 0 means
	// any time.
	Idle time.Duration
	// Depth is how deep sub-agents may be; 0 means 1: an agent's own agents
	// have none.
	Depth int
}

// maxIterations is how often a model is asked where nobody says: a policy could
// else ask it as often as a run may ask for anything.
const maxIterations = 50

// An Agent lets a model reach goals with the tools of a host. It is safe for
// concurrent use.
type Agent struct {
	host     *host.Host
	opts     Options
	recorded Settings
	settings *value.Dict // recorded, as a value
	given    *Options    // to New
	local    *localSessions
	policy   Policy
	tools    []tool.Tool
	format   decision.Format
	program  host.Program // the policy, as far as all turns share it
}

// New returns an agent that acts through a host, which must have [Modules]. It
// fails with kind Invalid if the options name something that does not exist.
//
// [host.Host.Resume] then continues the runs of agents on that host: each with the
// settings that were recorded when it began, and with the model and the
// functions of the agent of the same Name and ModelName that was made last. A
// run whose model no agent has is an error of kind Invalid.
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
		return nil, value.Errorf(value.Invalid, "an agent needs a host, and it is nil").WithHint("pass the host that cassidy.Open or Runtime.Open returned")
	}
	a := &Agent{host: h, given: &Options{}, local: &localSessions{}}
	if o != nil {
		*a.given = *o
	}
	a.opts = *a.given
	if a.opts.Model == nil {
		return nil, value.Errorf(value.Invalid, "an agent needs a model").WithHint("set Options.Model, for instance to what model.NewOpenAI returns")
	}
	if a.opts.Iterations < 0 {
		return nil, value.Errorf(value.Invalid, "the number of iterations must be positive, not %d", a.opts.Iterations)
	}
	settings := a.opts.settings()
	if a.opts.Idle > 0 {
		a.opts.Model = model.WithIdleTimeout(a.opts.Model, a.opts.Idle)
	}
	a.opts.Policy = cmp.Or(a.opts.Policy, "task")
	settings.Policy = a.opts.Policy
	a.recorded = settings
	a.opts.Budget = a.opts.Budget.withDefaults()
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
	a.record()
	return a, nil
}

// record makes what is recorded of the agent with each of its runs.
func (a *Agent) record() {
	a.settings = a.recorded.dict()
	a.settings.Put(offeredOption, toolNames(a.tools))
}

// offer selects the tools that the model may call. One that is named and cannot
// be used here is an error; of those that a group or "auto" stands for it is
// left out.
func (a *Agent) offer(words []string) error {
	a.tools = nil
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
		if t.State == tool.Ready {
			a.tools = append(a.tools, t)
			continue
		}
		if slices.Contains(words, t.Name) {
			return value.Errorf(value.Unavailable, "the tool '%s' is %s: %s", t.Name, t.State, t.Reason)
		}
	}
	return nil
}

// withCode adds to the tools that were selected the one that runs programs, where
// the model decides by them. In other formats it is offered where it is named.
func (a *Agent) withCode(tools []tool.Tool, words []string) ([]tool.Tool, error) {
	named := slices.ContainsFunc(words, func(w string) bool { return tool.Key(w) == decision.ProgramTool })
	if a.format != decision.Code && named {
		return tools, nil
	}
	tools = slices.DeleteFunc(tools, func(t tool.Tool) bool { return decision.IsProgramTool(&t) })
	if a.format != decision.Code {
		return tools, nil
	}
	t, err := a.host.Tool(decision.ProgramTool)
	if err != nil || !decision.IsProgramTool(&t) {
		return nil, value.Errorf(value.Invalid, "the format %s needs the tool %s, and the host has none or another of that name", decision.Code, decision.ProgramTool).
			WithHint("a program registers it with agent.RegisterCode")
	}
	return append(tools, t), nil
}

// chooseFormat says how the model is to write its decisions.
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
		return "", value.Errorf(value.Invalid, "the model %s has no calls of its own", m.Name()).
			WithHint("take the format %s, %s or %s", decision.PureJSON, decision.XMLJSON, decision.Markdown)
	}
	known := []string{string(decision.PureJSON), string(decision.XMLJSON), string(decision.Markdown), string(decision.Native), string(decision.Code)}
	return "", value.Errorf(value.Invalid, "there is no format %q%s", wanted, value.DidYouMean(string(wanted), known)).
		WithHint("the formats are %s", strings.Join(known, ", "))
}

// Tools returns what the model is offered.
func (a *Agent) Tools() []tool.Tool { return slices.Clone(a.tools) }

// Format returns how the model is to write its decisions.
func (a *Agent) Format() decision.Format { return a.format }

// Check says whether the policy's script can be run, as far as that is known
// without running it.
func (a *Agent) Check(ctx context.Context) error {
	return a.host.Check(ctx, &host.Program{Name: a.policy.name(), Script: a.policy.Script, Builtin: a.policy.Location == tool.Builtin})
}

// Policy returns the policy that leads the agent.
func (a *Agent) Policy() Policy { return a.policy }

// Budget returns what the tools cost of the context, in tokens, and how many are
// left for the conversation.
func (a *Agent) Budget() (overhead, limit int) {
	account := a.account()
	return account.Overhead(), account.EffectiveLimit()
}

// OverheadReport says what the tools cost of the context, one by one.
func (a *Agent) OverheadReport() OverheadReport {
	account := a.account()
	return Overhead(a.tools, account.Budget().Limit)
}

// account returns the account of a conversation that has not begun.
func (a *Agent) account() account { return newAccount(&a.opts.Budget, a.tools, a.format) }

// role is how the model is spoken to: as the policy's name says, where there
// are words for it.
func (a *Agent) role() string {
	if slices.Contains(prompt.Roles(), a.policy.Name) {
		return a.policy.Name
	}
	return "task"
}

// Run has the model work on a task: it is the first [Session.Send] of a new
// session.
func (a *Agent) Run(ctx context.Context, task string) (Reply, error) {
	if strings.TrimSpace(task) == "" {
		return Reply{}, value.Errorf(value.Invalid, "Task cannot be empty").WithHint(`say what to do: cassidy task "…"`)
	}
	return a.newSession("").Send(ctx, task)
}

// NewID returns a name for a run that no other has: the time, so that a list
// of them is in order, and some chance.
func NewID() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return time.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}
