package agents

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/urfave/cli/v2"
)

// Opener returns the [agent.Opener] of the command. It sets the options that the settings
// of a recorded run do not have. Limits that are set in raised replace the recorded ones, and so does
// the idle timeout of --timeout.
func Opener(a *app.App, h *host.Host, parks bool, raised agent.Options) agent.Opener {
	idle := a.Patience
	return func(ctx context.Context, s agent.Settings) (*agent.Options, error) {
		o := &agent.Options{NoParking: !parks, Ceilings: raised.Ceilings, Iterations: raised.Iterations, Idle: idle}
		var err error
		if o.Model, err = a.Models().Open(ctx, h, s.Model, s.Format == decision.Native); err != nil {
			return nil, err
		}
		state := app.RunStateOf(ctx)
		if state == nil {
			a.Model, a.Patience = s.Model, cmp.Or(idle, s.Idle)
		} else {
			state.Model, state.Patience = s.Model, cmp.Or(idle, s.Idle)
		}
		if _, err := fillProject(ctx, a, h, o, "none"); err != nil {
			return nil, err
		}
		if len(s.Tools) == 0 && s.Tools != nil && s.Policy == "chat" { // a chat without tools
			o.Skills = nil
		}
		s.Apply(o)
		if state != nil {
			state.Agent = func(context.Context) (*agent.Options, error) { own := *o; return &own, nil }
			return o, nil
		}
		registerTools(a, h, o)
		calls.ReportUntrusted(a, h.List())
		return o, nil
	}
}

// Register registers the tool with which a workflow calls agents. They use the model of the workflow.
// options are recorded with its run: they get the agents that it can start by their names, or have
// them as they were when the run began, and its hooks, see [PutHooks].
func Register(ctx context.Context, a *app.App, h *host.Host, parks bool, options *value.Dict) error {
	open, err := ofWorkflow(ctx, a, h, parks, options)
	if err != nil {
		return err
	}
	if err = agent.Register(h, func() (*agent.Options, error) { return open(ctx) }); err != nil {
		a.Warn("the built-in tool agent is unavailable: %v", err) // a tool of the project or the user has the name
	}
	return nil
}

// RegisterWithin registers the tools that agents and workflows call on a host that executes several runs, each with
// the [app.RunState] of its context.
func RegisterWithin(a *app.App, h *host.Host) {
	err := agent.RegisterWithin(h, func(ctx context.Context) (*agent.Options, error) {
		state := app.RunStateOf(ctx)
		if state == nil || state.Agent == nil {
			return nil, value.Errorf(value.Invalid, "only agents and workflows can call this tool")
		}
		return state.Agent(ctx)
	})
	if err != nil {
		a.Warn("the built-in tool agent is unavailable: %v", err) // a tool of the project or the user has the name
	}
	if err := registerTodo(h); err != nil {
		a.Warn("the built-in tool %s is unavailable: %v", TodoTool, err)
	}
	if err := agent.RegisterCode(h); err != nil {
		a.Warn("the built-in tool execute_code is unavailable: %v", err)
	}
}

// OfWorkflow sets the state of a run of a workflow with these recorded options.
func OfWorkflow(ctx context.Context, a *app.App, h *host.Host, options *value.Dict) (err error) {
	state := app.RunStateOf(ctx)
	state.Model = options.Text("model")
	state.Agent, err = ofWorkflow(ctx, a, h, true, options)
	return err
}

// ofWorkflow returns a function that returns the options of the agents that a workflow calls: see [Register].
func ofWorkflow(ctx context.Context, a *app.App, h *host.Host, parks bool, options *value.Dict) (func(context.Context) (*agent.Options, error), error) {
	recorded, err := recordAgents(a, h, options)
	if err != nil {
		return nil, err
	}
	name, patience := a.Model, a.Patience
	if state := app.RunStateOf(ctx); state != nil {
		name, patience = state.Model, state.Patience
	}
	return func(ctx context.Context) (*agent.Options, error) {
		o := &agent.Options{NoParking: !parks, Idle: cmp.Or(patience, app.ModelTimeout)}
		m, failure := a.Models().Open(ctx, h, name, false)
		if failure != nil && name != "" {
			return nil, failure
		}
		var err error
		if o.Hooks, err = recordedHooks(a, options); err != nil {
			return nil, err
		}
		_, err = fillProject(ctx, a, h, o, "none")
		o.Agents = recorded
		if o.Model = m; failure != nil {
			o.Model, o.Models = nil, failsWithoutName(o.Models, failure)
		}
		return o, err
	}, nil
}

// failsWithoutName returns a function that opens models by their names, as open does. It fails for
// an agent that has no model of its own.
func failsWithoutName(open func(context.Context, string) (model.Model, error), failure error) func(context.Context, string) (model.Model, error) {
	return func(ctx context.Context, name string) (model.Model, error) {
		if name == "" {
			return nil, failure
		}
		return open(ctx, name)
	}
}

// SetModel sets the model of options by its name, as --model does.
func SetModel(ctx context.Context, a *app.App, h *host.Host, o *agent.Options, name string) (err error) {
	if o.Model, err = a.Models().Open(ctx, h, name, o.Format == decision.Native); err != nil {
		return err
	}
	if o.ModelName, err = a.Models().Name(name); err == nil {
		o.ModelName = a.Models().Lasting(o.ModelName)
	}
	return err
}

// New returns the agent of a setup. It may be called again after the options have changed: then the
// agents that the tool agent starts have the new options, too.
func New(a *app.App, h *host.Host, s *Setup) (*agent.Agent, error) {
	o := s.Options
	if s.current == nil {
		s.current = &o
		if !s.shared {
			registerTools(a, h, s.current)
			reportUnused(a, h)
		}
	}
	g, err := agent.New(h, &o)
	if err == nil && len(o.Hooks) > 0 {
		err = g.Check(context.Background())
	}
	if err == nil {
		*s.current = o
	}
	return g, err
}

// registerTools registers the tools with which an agent calls others and runs programs.
func registerTools(a *app.App, h *host.Host, o *agent.Options) {
	if err := agent.Register(h, func() (*agent.Options, error) { own := *o; return &own, nil }); err != nil {
		a.Warn("the built-in tool agent is unavailable: %v", err) // a tool of the project or the user has the name
	}
	if o.Policy == "chat" {
		if err := registerTodo(h); err != nil {
			a.Warn("the built-in tool %s is unavailable: %v", TodoTool, err)
		}
	}
	if err := agent.RegisterCode(h); err != nil {
		a.Warn("the built-in tool execute_code is unavailable: %v", err)
	}
}

// ContinueThread lets a new session continue the thread that the flags name, if they name one.
func ContinueThread(ctx *cli.Context, s *agent.Session) error {
	if !ctx.IsSet("thread") {
		return nil
	}
	return s.Continue(ctx.Context, ctx.String("thread"))
}

// ShowThread tells the user the ID of a conversation that the provider keeps.
func ShowThread(a *app.App, thread string) {
	if thread != "" && !a.Quiet {
		a.Note("thread %s; to continue it: --thread %s", value.Clean(thread, 100), value.Clean(thread, 100))
	}
}

// NewSession begins a session. Its first turn is recorded as run runID, or as a new ID if
// that is "".
func NewSession(ctx context.Context, a *agent.Agent, runID string) (*agent.Session, error) {
	s, err := a.Session(ctx, runID)
	if err == nil && runID != "" && s.NextRun() != runID && len(s.Messages()) == 0 && s.Waiting() == "" {
		return nil, value.Errorf(value.Invalid, "invalid session ID %q", runID).WithHint("use at most 52 letters, digits, - and _, without --, as in review-1")
	}
	if err == nil && runID != "" && (s.NextRun() != runID || s.Waiting() != "") {
		exists := value.Errorf(value.Conflict, "run '%s' already exists", runID)
		if run := s.Waiting(); run != "" {
			return nil, exists.WithHint("choose another ID, or continue the run: cassidy runs resume %s", run)
		}
		return nil, exists.WithHint(`choose another ID, or continue the session: cassidy chat --session %s "MESSAGE"`, runID)
	}
	return s, err
}

// WithSkills returns a message with the text of skills before it.
func WithSkills(s *agent.Session, skills []string, message string) (string, error) {
	var parts []string
	for _, name := range skills {
		text, err := s.UseSkill(name)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	return strings.Join(append(parts, message), "\n\n"), nil
}

// WarnOverhead warns if the tools take much of the context.
func WarnOverhead(a *app.App, s *agent.Session) {
	if g := s.Agent(); len(g.Tools()) > 0 {
		if warning := g.OverheadReport().Warning(); warning != "" {
			a.Note("%s", warning)
		}
	}
}

// fillProject adds the notes, skills, policies and agents of the project and its user to the
// options of an agent. It returns the paths that the description of the project names.
func fillProject(ctx context.Context, a *app.App, h *host.Host, o *agent.Options, level string) (named []string, err error) {
	dir, root, err := a.WorkProject()
	if err != nil {
		return nil, err
	}
	find := a.Scope()
	if level = cmp.Or(level, "minimal"); level != "none" {
		if o.Context, named, err = project.Named(ctx, root, find, level); err != nil {
			e := value.ErrorOf(err, value.Failed)
			if e.Hint != "" {
				e = e.WithHint("%s; or send no context: --context none", e.Hint)
			}
			return nil, e
		}
		for _, e := range a.CutNotes(root) {
			a.Note("%s; %s", e.Error(), e.Hint)
		}
	}
	skills, _ := skill.List(root, find) // doctor and skill list report broken ones
	for _, s := range skills {
		if s.Auto && s.Trusted {
			o.Skills = append(o.Skills, agent.Skill{Name: s.Key, Description: s.Description, Requires: s.Requires})
		}
	}
	o.LoadSkill = func(name string) (agent.LoadedSkill, error) {
		loaded, err := skill.Load(root, find, name)
		return agent.LoadedSkill{Text: loaded.Text, Notes: loaded.Notes, Files: loaded.Files, Reviewed: loaded.Reviewed}, err
	}
	o.Policies = func(name string) (agent.Policy, error) { return findPolicy(root, find, name) }
	fillAgents(a, h, o, cmp.Or(root, dir))
	o.WorkDir, o.Place = dir, project.ShownDir(root, dir, find)
	o.Keep = keeper(a, root, dir)
	return named, nil
}

// Policies returns the function that finds the policies of the project and its user.
func Policies(a *app.App) func(name string) (agent.Policy, error) {
	return func(name string) (agent.Policy, error) {
		_, root, err := a.WorkProject()
		if err != nil {
			return agent.Policy{}, err
		}
		return findPolicy(root, a.Scope(), name)
	}
}

// findPolicy finds a policy by its name. The names of built-in policies are reserved.
func findPolicy(root string, o *trust.Scope, name string) (agent.Policy, error) {
	p, notBuiltin := agent.Builtin(name)
	if notBuiltin == nil {
		return p, nil
	}
	found, broken := project.Policies(root, o)
	var known []string
	for i := range found {
		known = append(known, found[i].Name)
		if tool.Key(found[i].Name) != tool.Key(name) {
			continue
		}
		s, err := found[i].Script(agent.PolicyLibs())
		return agent.Policy{Name: found[i].Name, Script: s, Location: found[i].Location}, err
	}
	for _, e := range broken {
		if strings.TrimSuffix(filepath.Base(e.Pos.File), ".star") == name {
			return agent.Policy{}, e
		}
	}
	if len(known) == 0 {
		return agent.Policy{}, notBuiltin
	}
	e := value.ErrorOf(notBuiltin, value.Invalid)
	return agent.Policy{}, e.WithHint("%s, %s", e.Hint, strings.Join(known, ", "))
}
