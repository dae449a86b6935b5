package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// agentFlags are the flags of the commands that ask a model.
func agentFlags(tools, policy string, patience time.Duration) []cli.Flag {
	return append(approvalFlags(),
		&cli.StringFlag{Name: "model", Usage: "who decides: `MODEL` is cassidy, openai:NAME, anthropic:NAME, ollama:NAME or script:FILE.star"},
		&cli.StringSliceFlag{Name: "tools", Usage: "what the model may call: auto, none, names, @group, preset:NAME; `LIST` may have several, with commas", DefaultText: tools},
		&cli.StringFlag{Name: "policy", Usage: "the script that leads the agent: `NAME` is task, chat, plan, review or a file of .cassidy/policies", DefaultText: policy},
		&cli.StringFlag{Name: "format", Usage: "how the model writes its decisions: `FORMAT` is pure_json, xml_json, markdown, native or code", DefaultText: "native where the model has it, else pure_json"},
		&cli.StringFlag{Name: "max-iterations", Usage: "ask the model at most `N` times, or \"unlimited\""},
		&cli.StringFlag{Name: "context", Usage: "what the model is told of the project: `LEVEL` is none, minimal, standard or comprehensive", DefaultText: "minimal"},
		&cli.StringSliceFlag{Name: "skill", Usage: "begin with the skill `NAME`"},
		&cli.BoolFlag{Name: "repeat-instructions", Usage: "tell the model with every message how to write decisions"},
		&cli.BoolFlag{Name: "no-inference", Usage: "take only what is written as a call for one"},
		&cli.StringFlag{Name: "run-id", Usage: "name the run `ID`"},
		&cli.DurationFlag{Name: "timeout", Value: patience, Usage: "give a model up that has said nothing for a `TIME` as 90s or 5m"},
	)
}

// An agentSetup is what the flags of such a command say.
type agentSetup struct {
	options agent.Options
	runID   string
	skills  []string // to begin with
}

// unlimited is how often a model is asked where its user sets no bound: as often
// as a run may ask for anything.
const unlimited = host.MaxTreeEffects

// agentSetup reads the flags.
func (c *command) agentSetup(ctx *cli.Context, h *host.Host, defaultTools []string, policy string) (*agentSetup, error) {
	s := &agentSetup{runID: ctx.String("run-id"), skills: names(ctx.StringSlice("skill"))}
	if s.runID != "" {
		if err := checkRunName(s.runID); err != nil {
			return nil, err
		}
	}
	o := &s.options
	o.Format = decision.Format(ctx.String("format"))
	o.RepeatInstructions, o.NoInference = ctx.Bool("repeat-instructions"), ctx.Bool("no-inference")
	var err error
	if o.Model, err = c.openModel(ctx.Context, h, ctx.String("model"), o.Format == decision.Native); err != nil {
		return nil, err
	}
	if o.ModelName, err = c.modelName(ctx.String("model")); err != nil {
		return nil, err
	}
	o.ModelName = c.lasting(o.ModelName)
	if o.Idle = ctx.Duration("timeout"); o.Idle <= 0 {
		return nil, value.Errorf(value.Invalid, "--timeout must be a positive time, not %s", o.Idle).WithHint("as 90s or 5m")
	}
	o.Tools = defaultTools
	if words := names(ctx.StringSlice("tools")); len(words) > 0 {
		o.Tools = words
	} else if ctx.IsSet("tools") {
		return nil, value.Errorf(value.Invalid, "--tools names no tools").WithHint("--tools none offers none, --tools auto all")
	}
	if len(o.Tools) == 1 && o.Tools[0] == "none" {
		o.Tools = []string{}
	}
	if o.Policy = ctx.String("policy"); o.Policy == "" {
		o.Policy = policy
	}
	if o.Iterations, err = c.iterations(ctx.String("max-iterations")); err != nil {
		return nil, err
	}
	return s, c.fillProject(ctx.Context, o, ctx.String("context"))
}

// openAgent is the [agent.Opener] of the command: it gives an agent of a recorded
// run what its settings do not hold.
func (c *command) openAgent(h *host.Host, parks bool) agent.Opener {
	return func(ctx context.Context, s agent.Settings) (*agent.Options, error) {
		o := &agent.Options{NoParking: !parks}
		var err error
		if o.Model, err = c.openModel(ctx, h, s.Model, s.Format == decision.Native); err != nil {
			return nil, err
		}
		c.model, c.patience = s.Model, s.Idle
		if err := c.fillProject(ctx, o, "none"); err != nil {
			return nil, err
		}
		if len(s.Tools) == 0 && s.Tools != nil && s.Policy == "chat" { // a plain chat
			o.Skills = nil
		}
		s.Apply(o)
		c.registerTools(h, o)
		c.tellUntrusted(h.List())
		return o, nil
	}
}

// registerAgents gives the host the tool with which a workflow has agents work,
// with the model that it asks itself.
func (c *command) registerAgents(ctx context.Context, h *host.Host, parks bool) {
	err := agent.Register(h, func() (*agent.Options, error) {
		o := &agent.Options{NoParking: !parks, Idle: taskTimeout}
		var err error
		if o.Model, err = c.openModel(ctx, h, c.model, false); err != nil {
			return nil, err
		}
		return o, c.fillProject(ctx, o, "none")
	})
	if err != nil {
		c.Note("no agents here: %v", err) // a tool of the project or of the user's has the name
	}
}

// maxRunName is how long the ID of a run may be.
const maxRunName = 64

// checkRunName says whether an ID can name a run: it is made of what file names can
// hold, and not the word for the last run.
func checkRunName(id string) error {
	switch {
	case id == lastRun:
		return value.Errorf(value.Invalid, "%q cannot name a run: it stands for the last one", id).WithHint("choose another ID")
	case len(id) > maxRunName:
		return value.Errorf(value.Invalid, "the ID of a run can have %d characters, not %d", maxRunName, len(id)).WithHint("choose a shorter ID")
	case !isRunName(id):
		return value.Errorf(value.Invalid, "%q cannot name a run", id).WithHint("use letters, digits, - and _")
	}
	return nil
}

func isRunName(id string) bool {
	return strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// iterations reads how often the model may be asked; 0 is the policy's own
// number.
func (c *command) iterations(text string) (int, error) {
	switch strings.ToLower(text) {
	case "":
		return 0, nil
	case "unlimited", "inf":
		c.Note("the model is asked without a bound: Ctrl-C ends the run")
		return unlimited, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, value.Errorf(value.Invalid, "--max-iterations must be a positive number, not %q", text).WithHint("or unlimited")
	}
	return min(n, unlimited), nil
}

// fillProject gives an agent what the folder has for it: notes, skills and
// policies.
func (c *command) fillProject(ctx context.Context, o *agent.Options, level string) error {
	dir, err := c.workDir()
	if err != nil {
		return err
	}
	root, inProject := project.Find(dir, c.home(), c.ceiling())
	if !inProject {
		root = ""
	}
	find := c.scope()
	if level == "" {
		level = "minimal"
	}
	if level != "none" {
		if o.Context, err = project.Context(ctx, root, find, level); err != nil {
			e := value.ErrorOf(err, value.Failed)
			if e.Hint != "" {
				e = e.WithHint("%s; none tells nothing", e.Hint)
			}
			return e
		}
	}
	skills, _ := skill.List(root, find) // doctor and skill list tell of broken ones
	for _, s := range skills {
		if s.Auto && s.State == tool.Ready {
			o.Skills = append(o.Skills, agent.Skill{Name: s.Key, Description: s.Description, Requires: s.Requires})
		}
	}
	o.LoadSkill = func(name string) (string, []string, error) {
		loaded, err := skill.Load(root, find, name)
		return loaded.Text, loaded.Notes, err
	}
	o.Policies = func(name string) (agent.Policy, error) { return findPolicy(root, find, name) }
	o.WorkDir = dir
	o.Keep = c.keeper(root, dir)
	return nil
}

// scope returns which files belong to a project and its user, and what is trusted.
func (c *command) scope() *trust.Scope {
	return &trust.Scope{Home: c.home(), Trust: trust.New(c.state()), TrustOnce: c.trustOnce}
}

// findPolicy finds a policy by its name. One of the user's or the project's
// never takes the place of one that comes with cassidy.
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
	return agent.Policy{}, e.WithHint("%s, and here %s", e.Hint, strings.Join(known, ", "))
}

// keeper returns what keeps the whole of a result that is too long for a model:
// in the project, where tools can read it, and out of its version control; or,
// where there is no project, in the user's state, for him alone.
func (c *command) keeper(root, dir string) func(name, text string) (string, error) {
	base, folder := root, path.Join(folder.Name, "results")
	if base == "" {
		base, folder = c.state(), "results"
	}
	return func(name, text string) (string, error) {
		if base == "" {
			return "", value.Errorf(value.Unavailable, "there is no folder to keep it in")
		}
		file := path.Join(folder, name)
		if err := keep(base, map[string]string{file: text, path.Join(folder, ".gitignore"): "*\n"}); err != nil {
			return "", ui.FileError(err)
		}
		if root == "" {
			c.Note("the whole of a long result is in %s", filepath.Join(base, filepath.FromSlash(file)))
			return "", nil
		}
		shown, err := filepath.Rel(dir, filepath.Join(base, filepath.FromSlash(file)))
		return filepath.ToSlash(shown), err
	}
}

// keep writes files below a folder. Links in it lead nowhere else.
func keep(base string, files map[string]string) error {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	r, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer r.Close()
	for name, text := range files {
		if err := keepNew(r, name, text); err != nil && (path.Base(name) != ".gitignore" || !errors.Is(err, fs.ErrExist)) {
			return err
		}
	}
	return nil
}

// keepNew writes a file that is not there yet, in folders that are none but
// folders: a project may bring links that lead to its other files.
func keepNew(r *os.Root, name, text string) error {
	at := ""
	for _, part := range strings.Split(path.Dir(name), "/") {
		at = path.Join(at, part)
		if err := r.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := r.Lstat(at); err != nil || !info.IsDir() {
			return errors.Join(err, errors.New(at+" is no folder"))
		}
	}
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// exitOf ends a run with the code that its reason has.
func (c *command) exitOf(r *agent.Reply) error {
	kind, ok := map[agent.Reason]value.Kind{
		agent.ReasonNoDecision: value.Failed, agent.ReasonMaxIterations: value.Limit, agent.ReasonLoop: value.Failed,
		agent.ReasonDenied: value.Denied, agent.ReasonLimit: value.Limit, agent.ReasonError: value.Failed,
	}[r.Reason]
	if !ok {
		return nil
	}
	return ui.Reported(value.Errorf(kind, "%s", r.Reason))
}
