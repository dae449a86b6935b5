package main

import (
	"context"
	"flag"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/project"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

func (c *command) resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "go on with a run that waits or was broken off", ArgsUsage: "ID",
		Description: "What the run has done is answered from its record; it goes on at the first step that has no outcome, in the\n" +
			"folder in which it began. It ends as the command would have that began it.",
		Flags: append(approvalFlags(),
			&cli.BoolFlag{Name: "due", Usage: "go on with every run whose time has come, whose question was answered, or whose process died"}),
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("due") {
				return c.resumeDue(ctx)
			}
			words, err := exactly(ctx, "ID")
			if err != nil {
				return err
			}
			return c.resumeRun(ctx, words[0])
		},
	}
}

// resumeDue goes on with the runs that can, one after the other. It fails as the
// first of them that failed.
func (c *command) resumeDue(ctx *cli.Context) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	var due []history.Run
	err := c.withRuns(func(ctx *cli.Context, j *history.Journal) (err error) {
		if due, err = j.Due(ctx.Context, time.Now()); err != nil {
			return err
		}
		begun, err := j.Runs(ctx.Context, history.Filter{States: []history.State{history.Running}})
		for i := range begun {
			if begun[i].Kind != "chat" { // somebody sits there, or has given it up
				due = append(due, begun[i])
			}
		}
		return err
	})(ctx)
	if err != nil {
		return err
	}
	if len(due) == 0 {
		c.note("no run is due")
	}
	var failed error
	dir := c.dir
	for i := range due {
		c.dir = dir // each works in its own folder
		err := c.resumeRun(ctx, due[i].ID)
		if due[i].State == history.Running && tool.KindOf(err) == tool.Conflict {
			continue // another process has it in hand
		}
		if err != nil && tool.KindOf(err) != tool.Parked && failed == nil {
			failed = err
		}
	}
	return failed
}

// A recordedRun is a run with what it executes.
type recordedRun struct {
	history.Run
	script tool.Script
}

// recordedRun finds a run, and has the command work in the folder in which it
// began.
func (c *command) recordedRun(ctx *cli.Context, id string) (*recordedRun, error) {
	r := &recordedRun{}
	err := c.withRuns(func(ctx *cli.Context, j *history.Journal) error {
		found, err := findRun(ctx.Context, j, id)
		if err != nil {
			return err
		}
		log, err := j.Read(ctx.Context, found.ID)
		if err != nil {
			return err
		}
		r.Run, r.script = log.Run(), log.Script()
		return nil
	})(ctx)
	if dir := r.Options.Text(dirOption); err == nil && c.dir == "" && dir != "" {
		c.dir = dir
	}
	return r, err
}

// toolKind is what a call of a tool on its own is recorded as.
const toolKind = "tool"

// resumeRun goes on with a run.
func (c *command) resumeRun(ctx *cli.Context, id string) error {
	r, err := c.recordedRun(ctx, id)
	if err != nil {
		return err
	}
	if err := c.stillTrusted(r); err != nil {
		return err
	}
	return c.parking(func(ctx *cli.Context, h *runtime.Host) error {
		parks := !ctx.Bool("deny")
		switch r.Kind {
		case workflowKind:
			p, err := workflowProgramFromRun(&r.Run)
			if err != nil {
				return err
			}
			c.model, p.Parks = r.Options.Text("model"), parks
			stop := c.showWorkflow(h, p.ID)
			out, err := h.Run(ctx.Context, p)
			stop()
			return c.workflowEnded(ctx.Context, p, out, err)
		case toolKind:
			_, err := c.call(ctx, h, func(ctx context.Context) (tool.Result, error) { return h.Resume(ctx, r.ID) })
			return err
		case undoKind:
			return c.takeBack(ctx, h, runtime.Undo{Run: r.Options.Text("run"), ID: r.ID, Parks: parks, Resume: true}, r.Options.Text("to"))
		}
		s, err := c.recordedSession(ctx, h, r, parks)
		if err != nil {
			return err
		}
		defer c.showRun(h, s)()
		result, err := s.Resume(ctx.Context, r.Options)
		return c.ended(ctx.Context, result, err)
	})(ctx)
}

// stillTrusted refuses to go on with a script of a project whose trust was taken
// back. One that was only changed goes on as it was.
func (c *command) stillTrusted(r *recordedRun) error {
	root, err := c.projectRoot()
	if err != nil || !strings.HasPrefix(r.script.Path, project.Folder+"/") || !c.findOptions().Revoked(root, r.script.Path) {
		return err
	}
	return tool.Errorf(tool.Denied, "%s is untrusted, so the run '%s' does not go on", r.script.Path, r.ID).WithHint("review it with: cassidy trust")
}

// The names of what is recorded with a run, to resume it.
const (
	dirOption   = "dir"   // the folder to work in
	flagsOption = "flags" // those of an agent: "--model=NAME"
)

// recordFlags returns what is recorded with the runs of an agent: its flags, and
// the folder.
func (c *command) recordFlags(ctx *cli.Context, tools []string, policy string) (*tool.Dict, error) {
	dir, err := c.workDir()
	if err != nil {
		return nil, err
	}
	words := strings.Join(tools, ",")
	if words == "" {
		words = "none"
	}
	flags := tool.List{"--tools=" + words, "--policy=" + policy}
	for _, f := range recordedFlags() {
		name := f.Names()[0]
		if !ctx.IsSet(name) || name == "tools" || name == "policy" {
			continue
		}
		switch v := ctx.Value(name).(type) {
		case bool:
			if v {
				flags = append(flags, "--"+name)
			}
		case time.Duration:
			flags = append(flags, "--"+name+"="+v.String())
		case string:
			flags = append(flags, "--"+name+"="+c.lasting(name, v))
		}
	}
	return tool.NewDict(dirOption, dir, flagsOption, flags, "model", ctx.String("model"), "policy", policy), nil
}

// lasting is the value of a flag as it means the same in any folder: the file of
// a scripted model is named from here.
func (c *command) lasting(name, value string) string {
	file, isScript := strings.CutPrefix(value, "script:")
	if name != "model" || !isScript {
		return value
	}
	if abs, err := filepath.Abs(file); err == nil {
		return "script:" + abs
	}
	return value
}

// recordedFlags are the flags of an agent that say what it is, and not who
// approves what it does.
func recordedFlags() []cli.Flag {
	return slices.DeleteFunc(agentFlags("auto", "task", taskTimeout), func(f cli.Flag) bool {
		isApproval := slices.ContainsFunc(approvalFlags(), func(a cli.Flag) bool { return a.Names()[0] == f.Names()[0] })
		return isApproval || f.Names()[0] == "run-id" || f.Names()[0] == "skill"
	})
}

// recordedSession makes the session of an agent's run as it was made when the
// run began.
func (c *command) recordedSession(ctx *cli.Context, h *runtime.Host, r *recordedRun, parks bool) (*agent.Session, error) {
	set := flag.NewFlagSet(r.ID, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range recordedFlags() {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	list, _ := r.Options.Get(flagsOption)
	given, _ := tool.Elements(list)
	var words []string
	for _, v := range given {
		word, _ := v.(string)
		words = append(words, word)
	}
	if err := set.Parse(words); err != nil || set.NArg() > 0 {
		return nil, tool.Errorf(tool.Failed, "the record of the run '%s' does not say how it began", r.ID).WithHint("cassidy runs show %s", r.ID)
	}
	flags := cli.NewContext(ctx.App, set, nil)
	flags.Context = ctx.Context
	c.model, c.patience = flags.String("model"), flags.Duration("timeout")
	setup, err := c.agentSetup(flags, h, nil, "")
	if err != nil {
		return nil, err
	}
	setup.options.Parks, setup.options.Policies = parks, r.policy
	a, err := c.newAgent(h, setup)
	if err != nil {
		return nil, err
	}
	return a.NewSession(r.ID), nil
}

// policy is the one that led the run, as it was then.
func (r *recordedRun) policy(name string) (agent.Policy, error) {
	p := agent.Policy{Name: name, Script: r.script, Location: tool.Project}
	if _, err := agent.Builtin(name); err == nil {
		p.Location = tool.Builtin
	}
	return p, nil
}
