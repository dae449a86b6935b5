package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
		for r, err := range j.Due(ctx.Context, time.Now()) {
			if err != nil {
				return err
			}
			due = append(due, r)
		}
		begun, err := allRuns(ctx.Context, j, history.Filter{States: []history.State{history.Running}})
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
		c.Note("no run is due")
	}
	var failed error
	dir := c.dir
	for i := range due {
		c.dir = dir // each works in its own folder
		if c.isTaken(ctx, due[i].ID) {
			continue
		}
		err := c.resumeRun(ctx, due[i].ID)
		if value.KindOf(err) == value.Conflict {
			continue // another process was faster
		}
		if err != nil && value.KindOf(err) != value.Parked && failed == nil {
			failed = err
		}
	}
	return failed
}

// isTaken reports whether another process executes a run, or has ended it meanwhile.
func (c *command) isTaken(ctx *cli.Context, id string) (taken bool) {
	_ = c.withRuns(func(ctx *cli.Context, j *history.Journal) error {
		r, err := j.Run(ctx.Context, id)
		taken = err == nil && (r.State.Ended() || j.Held(id))
		return err
	})(ctx)
	return taken
}

// recordedRun finds a run, and has the command work in the folder in which it
// began.
func (c *command) recordedRun(ctx *cli.Context, id string) (*host.Recorded, error) {
	r := &host.Recorded{}
	err := c.withRuns(func(ctx *cli.Context, j *history.Journal) error {
		found, err := findRun(ctx.Context, j, id)
		if err != nil {
			return err
		}
		log, err := j.Read(ctx.Context, found.ID)
		if err != nil {
			return err
		}
		r.Run, r.Script = log.Run(), log.Script()
		return nil
	})(ctx)
	if err != nil || c.dir != "" {
		return r, err
	}
	if c.dir = r.Options.Text(dirOption); c.dir == "" {
		c.dir = r.Project
	}
	return r, nil
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
	return c.parking(func(ctx *cli.Context, h *host.Host) error {
		parks := !ctx.Bool("deny")
		switch r.Kind {
		case host.WorkflowKind:
			p, err := host.ResumedWorkflow(&r.Run)
			if err != nil {
				return err
			}
			c.model, p.Parks = r.Options.Text("model"), parks
			if err := c.mayAsk(ctx.Context, h); err != nil {
				return err
			}
			c.registerAgents(ctx.Context, h, parks)
			stop := c.showWorkflow(h, p.ID)
			out, err := h.RunProgram(ctx.Context, p)
			stop()
			return c.workflowEnded(ctx.Context, p, out, err)
		case toolKind:
			_, err := c.call(ctx, h, func(ctx context.Context) (tool.Result, error) { return h.Resume(ctx, r.ID) })
			return err
		case undoKind:
			return c.takeBack(ctx, h, host.Undo{Run: r.Options.Text("run"), ID: r.ID, Parks: parks, Resume: true}, r.Options.Text("to"))
		}
		if err := agent.RegisterKinds(h, c.openAgent(h, parks)); err != nil {
			return err
		}
		stop := c.showRun(h, r.ID)
		reply, err := agent.Resume(ctx.Context, h, r.ID)
		stop() // all events are shown before the end
		return c.ended(ctx.Context, &reply, err)
	})(ctx)
}

// stillTrusted refuses to resume a script of a project if its trust, or that of a file
// that it loads, was revoked. One that was only changed is resumed as it was.
func (c *command) stillTrusted(r *host.Recorded) error {
	root, err := c.projectRoot()
	if err != nil || !c.scope().RevokedScript(root, &r.Script) {
		return err
	}
	return value.Errorf(value.Denied, "%s is untrusted, so the run '%s' is not resumed", r.Script.Path, r.ID).WithHint("review it with: cassidy trust")
}

// dirOption is the name under which the folder to work in is recorded with a run.
const dirOption = "dir"

// lasting is the name of a model as it names the same in any folder: the file of
// a scripted model is named from the root.
func (c *command) lasting(value string) string {
	file, isScript := strings.CutPrefix(value, "script:")
	if !isScript {
		return value
	}
	if abs, err := filepath.Abs(c.scriptFile(file)); err == nil {
		return "script:" + abs
	}
	return value
}
