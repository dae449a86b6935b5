package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// chatTimeout is how long a model may keep silent in a chat: somebody waits.
const chatTimeout = 120 * time.Second

// sayWhat is the hint of who gave no message.
const sayWhat = `cassidy chat "what to say", or a message on standard input; on a terminal, cassidy chat alone opens a session`

func chatCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "chat",
		Usage:     "talk with a model: one message, or a session on the terminal",
		ArgsUsage: `["MESSAGE"|-]`,
		Description: "With a message, or one on standard input, the answer is printed on standard output. Without one, on a\n" +
			"terminal, a session begins, in which /help lists what can be typed.\n" +
			"The model gets the message as it is, and may call tools only where --tools names some. What can write, run\n" +
			"or send is asked about first: --yes approves it, --deny refuses it.",
		Flags:  chatFlags(),
		Action: c.recording(c.asking(c.runChat)),
	}
}

func chatFlags() []cli.Flag {
	flags := agentFlags("none", "chat", chatTimeout)
	for _, f := range flags {
		if level, ok := f.(*cli.StringFlag); ok && level.Name == "context" {
			level.DefaultText = "none, and minimal with tools"
		}
	}
	return append(flags,
		&cli.BoolFlag{Name: "continue", Usage: "continue the last session of this project"},
		&cli.StringFlag{Name: "session", Usage: "continue the session `ID`, or begin one of that ID"},
	)
}

func (c *command) runChat(ctx *cli.Context, h *host.Host) error {
	message, err := c.chatMessage(ctx)
	if err != nil {
		return err
	}
	if message == "" && c.console == nil {
		return value.Errorf(value.Invalid, "the message is empty").WithHint("%s", sayWhat)
	}
	id, err := c.chatID(ctx, h)
	if err != nil {
		return err
	}
	setup, err := c.chatSetup(ctx, h)
	if err != nil {
		return err
	}
	setup.options.NoParking = true // somebody sits there, or nobody will answer
	a, err := c.newAgent(h, setup)
	if err != nil {
		return err
	}
	s, err := openChat(ctx.Context, a, id, setup.runID)
	if err != nil {
		return err
	}
	if c.console == nil {
		return c.chatOnce(ctx.Context, h, s, setup.skills, message)
	}
	t := &chatSession{command: c, host: h, session: s, setup: setup}
	return t.run(ctx.Context)
}

// chatID returns the ID of the session that the flags name, or "" for a new one.
// Of one that exists it takes over the flags that are not set.
func (c *command) chatID(ctx *cli.Context, h *host.Host) (string, error) {
	id, last := ctx.String("session"), ctx.Bool("continue")
	switch {
	case id != "" && last, (id != "" || last) && ctx.IsSet("run-id"):
		return "", value.Errorf(value.Invalid, "--continue, --session and --run-id are mutually exclusive")
	case id == "" && !last:
		return "", nil
	case !h.HasStore():
		return "", value.Errorf(value.Invalid, "continue a session: no runs are recorded").WithHint("set CASSIDY_HOME")
	case last:
		run, err := c.lastChat(ctx.Context, h)
		if err != nil {
			return "", err
		}
		return run.Session, recordedFlags(ctx, &run)
	}
	run, err := h.LastTurn(ctx.Context, id)
	if value.KindOf(err) == value.NotFound {
		return id, nil
	}
	if err != nil {
		return "", err
	}
	return id, recordedFlags(ctx, &run)
}

// lastChat returns the newest turn of a chat in this project.
func (c *command) lastChat(ctx context.Context, h *host.Host) (history.Run, error) {
	dir, err := c.workDir()
	if err != nil {
		return history.Run{}, err
	}
	root, inProject := project.Find(dir, c.home(), c.ceiling())
	if !inProject {
		root = dir
	}
	for r, err := range h.Runs(ctx, history.Filter{Kind: "chat", Project: root, Limit: 1}) {
		return r, err
	}
	return history.Run{}, value.Errorf(value.NotFound, "no session was recorded in %s", root).WithHint(`begin one: cassidy chat "what to say"`)
}

// recordedFlags sets the flags that are not set to what a turn was led with.
func recordedFlags(ctx *cli.Context, run *history.Run) error {
	s, err := agent.ReadSettings(run.Options)
	if err != nil {
		return err
	}
	tools := "none"
	if s.Tools == nil {
		tools = "auto"
	} else if len(s.Tools) > 0 {
		tools = strings.Join(s.Tools, ",")
	}
	for name, val := range map[string]string{"model": s.Model, "format": string(s.Format), "policy": s.Policy, "tools": tools} {
		if ctx.IsSet(name) || val == "" {
			continue
		}
		if err := ctx.Set(name, val); err != nil {
			return value.Errorf(value.Invalid, "continue session '%s': --%s %s: %w", run.Session, name, val, err)
		}
	}
	return nil
}

// openChat opens the session of an ID, or begins one whose first turn has the run
// ID.
func openChat(ctx context.Context, a *agent.Agent, id, runID string) (*agent.Session, error) {
	if id == "" {
		return newSession(ctx, a, runID)
	}
	return a.Session(ctx, id)
}

// chatMessage returns the message that was given. There is none where a session
// is to begin, for which it opens the terminal.
func (c *command) chatMessage(ctx *cli.Context) (string, error) {
	args := ctx.Args().Slice()
	if len(args) > 1 {
		return "", value.Errorf(value.Invalid, "there is one argument too many: %q", args[1]).WithHint(`put the message in quotes: cassidy chat "…"`)
	}
	if len(args) == 1 && args[0] != "-" {
		return strings.TrimSpace(args[0]), nil
	}
	if len(args) == 0 && c.reads() {
		if c.JSON {
			return "", value.Errorf(value.Invalid, "a session has no JSON").WithHint(`cassidy --json chat "what to say"`)
		}
		if c.console = ui.OpenTerminal(c.in, c.Err, false); c.console == nil {
			return "", value.Errorf(value.Invalid, "there is no terminal for a session: standard error is none").WithHint("%s", sayWhat)
		}
		return "", nil
	}
	c.inputRead = true
	text, err := ui.ReadAll(c.in)
	if err != nil {
		return "", value.Errorf(value.Invalid, "cannot read the message: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// chatSetup reads the flags. Without tools the model is told nothing but what
// the user says, unless he asks for more.
func (c *command) chatSetup(ctx *cli.Context, h *host.Host) (*agentSetup, error) {
	words := names(ctx.StringSlice("tools"))
	plain := len(words) == 0 || slices.Equal(words, []string{"none"})
	if plain && !ctx.IsSet("context") {
		if err := ctx.Set("context", "none"); err != nil {
			return nil, err
		}
	}
	setup, err := c.agentSetup(ctx, h, []string{}, "chat")
	if err != nil {
		return nil, err
	}
	if plain {
		setup.options.Skills = nil
	}
	return setup, nil
}

// chatOnce has the model answer one message.
func (c *command) chatOnce(ctx context.Context, h *host.Host, s *agent.Session, skills []string, message string) error {
	if run := s.Waiting(); run != "" {
		return value.Errorf(value.Conflict, "the last turn of session '%s' has not ended: run %s", s.ID(), run).
			WithHint("continue it: cassidy runs resume %s; or end it: cassidy runs cancel %s", run, run)
	}
	text, err := c.withSkills(s, skills, message)
	if err != nil {
		return err
	}
	c.warnOverhead(s)
	view, stop := c.showChat(h, s)
	r, err := s.Send(ctx, text)
	stop()
	if err != nil || c.JSON {
		return c.ended(ctx, &r, err)
	}
	view.ended(&r)
	return c.exitOf(&r)
}

// warnOverhead says so where the tools take much of the conversation.
func (c *command) warnOverhead(s *agent.Session) {
	if a := s.Agent(); len(a.Tools()) > 0 {
		if warning := a.OverheadReport().Warning(); warning != "" {
			c.Note("%s", warning)
		}
	}
}
