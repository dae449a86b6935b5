package main

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// taskTimeout is how long a model may think about a step of a task.
const taskTimeout = 10 * time.Minute

func taskCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "task",
		Usage:     "have a model work on a task with tools",
		ArgsUsage: `"TASK"`,
		Description: "The model calls tools until the task is done; the answer is printed on standard output, what happens on\n" +
			"standard error. What can write, run or send is asked about first: --yes approves it, --deny refuses it.\n" +
			"--dry-run checks everything and calls nothing. With --json each event is a line, and the last is the result.",
		Flags: append(agentFlags("auto", "task", taskTimeout),
			&cli.BoolFlag{Name: "dry-run", Usage: "check the task, the tools, the model and the policy, and call nothing"}),
		Action: c.recording(c.parking(c.runTask)),
	}
}

// recording is a command whose runs are recorded.
func (c *command) recording(do cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		c.records = !ctx.Bool("dry-run")
		c.forgetRuns(ctx.Context)
		return do(ctx)
	}
}

func (c *command) runTask(ctx *cli.Context, h *host.Host) error {
	words, err := exactly(ctx, `"TASK"`)
	if err != nil {
		return err
	}
	task := strings.TrimSpace(words[0])
	if task == "-" {
		text, err := ui.ReadAll(c.in)
		if err != nil {
			return value.Errorf(value.Invalid, "cannot read the task: %w", err)
		}
		task, c.inputRead = strings.TrimSpace(string(text)), true
	}
	if task == "" {
		return value.Errorf(value.Invalid, "Task cannot be empty").WithHint(`cassidy task "what to do"`)
	}
	if !ui.ValidText(task) {
		return value.Errorf(value.Invalid, "the task is not UTF-8 text").WithHint("put the data into a file, and name it in the task")
	}
	setup, err := c.agentSetup(ctx, h, []string{"auto"}, "task")
	if err != nil {
		return err
	}
	setup.options.NoParking = ctx.Bool("deny")
	a, err := c.newAgent(h, setup)
	if err != nil {
		return err
	}
	if ctx.Bool("dry-run") {
		if err := a.Check(ctx.Context); err != nil {
			return err
		}
		return c.printDryRun(a, setup, task)
	}
	s, err := newSession(ctx.Context, a, setup.runID)
	if err != nil {
		return err
	}
	text, err := c.withSkills(s, setup.skills, task)
	if err != nil {
		return err
	}
	if warning := a.OverheadReport().Warning(); warning != "" {
		c.Note("%s", warning)
	}
	stop := c.showRun(h, s.NextRun())
	r, err := s.Send(ctx.Context, text)
	stop() // all events are shown before the end
	return c.ended(ctx.Context, &r, err)
}

// newSession begins a session whose first turn is recorded as the run of an ID; ""
// makes one up.
func newSession(ctx context.Context, a *agent.Agent, runID string) (*agent.Session, error) {
	s, err := a.Session(ctx, runID)
	if err == nil && runID != "" && s.NextRun() != runID && len(s.Messages()) == 0 && s.Waiting() == "" {
		return nil, value.Errorf(value.Invalid, "%q cannot name a run with turns", runID).WithHint("use at most 52 letters, digits, - and _, and no --")
	}
	if err == nil && runID != "" && (s.NextRun() != runID || s.Waiting() != "") {
		return nil, value.Errorf(value.Conflict, "run '%s' already exists", runID).WithHint("choose another ID")
	}
	return s, err
}

// newAgent makes the agent that the flags ask for.
func (c *command) newAgent(h *host.Host, s *agentSetup) (*agent.Agent, error) {
	o := s.options
	c.registerTools(h, &o)
	c.tellUntrusted(h.List())
	return agent.New(h, &o)
}

// registerTools gives the host the tools with which an agent has others, and runs
// programs.
func (c *command) registerTools(h *host.Host, o *agent.Options) {
	if err := agent.Register(h, func() (*agent.Options, error) { own := *o; return &own, nil }); err != nil {
		c.Note("no agents of agents here: %v", err) // a tool of the project or of the user's has the name
	}
	if err := agent.RegisterCode(h); err != nil {
		c.Note("no programs of models here: %v", err)
	}
}

// withSkills puts the text of skills before a message.
func (c *command) withSkills(s *agent.Session, skills []string, message string) (string, error) {
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

// printDryRun tells what a run would work with.
func (c *command) printDryRun(a *agent.Agent, s *agentSetup, task string) error {
	names := value.List{}
	for _, t := range a.Tools() {
		names = append(names, t.Name)
	}
	overhead, limit := a.Budget()
	if c.JSON {
		return c.PrintJSON(value.NewDict("dry_run", true, "validated", true, "task", task, "tools", names, "working_dir", s.options.WorkDir,
			"model", s.options.Model.Name(), "policy", a.Policy().Name, "format", string(a.Format()),
			"tool_overhead", int64(overhead), "effective_limit", int64(limit)))
	}
	var b strings.Builder
	line := func(name, value string) { b.WriteString(ui.Pad(name+":", 12) + value + "\n") }
	line("task", ui.Printable(task))
	line("tools", joined(names))
	line("folder", s.options.WorkDir)
	line("model", s.options.Model.Name())
	line("policy", a.Policy().Name)
	line("format", string(a.Format()))
	line("overhead", a.OverheadReport().String())
	c.Print(b.String())
	c.Note("dry run: everything is in order, and nothing was called")
	return nil
}

func joined(list value.List) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i], _ = v.(string)
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
