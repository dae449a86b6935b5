package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/tool"
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
	return flags
}

func (c *command) runChat(ctx *cli.Context, h *runtime.Host) error {
	message, err := c.chatMessage(ctx)
	if err != nil {
		return err
	}
	if message == "" && c.console == nil {
		return tool.Errorf(tool.Invalid, "the message is empty").WithHint("%s", sayWhat)
	}
	setup, err := c.chatSetup(ctx, h)
	if err != nil {
		return err
	}
	a, err := c.newAgent(h, setup)
	if err != nil {
		return err
	}
	s := a.NewSession(setup.runID)
	if c.console == nil {
		return c.chatOnce(ctx.Context, h, s, setup.skills, message)
	}
	t := &chatSession{command: c, host: h, session: s, setup: setup}
	return t.run(ctx.Context)
}

// chatMessage returns the message that was given. There is none where a session
// is to begin, for which it opens the terminal.
func (c *command) chatMessage(ctx *cli.Context) (string, error) {
	args := ctx.Args().Slice()
	if len(args) > 1 {
		return "", tool.Errorf(tool.Invalid, "there is one argument too many: %q", args[1]).WithHint(`put the message in quotes: cassidy chat "…"`)
	}
	if len(args) == 1 && args[0] != "-" {
		return strings.TrimSpace(args[0]), nil
	}
	if len(args) == 0 && c.reads() {
		if c.json {
			return "", tool.Errorf(tool.Invalid, "a session has no JSON").WithHint(`cassidy --json chat "what to say"`)
		}
		if c.console = openTerminal(c, false); c.console == nil {
			return "", tool.Errorf(tool.Invalid, "there is no terminal for a session: standard error is none").WithHint("%s", sayWhat)
		}
		return "", nil
	}
	c.inputRead = true
	text, err := readAll(c.in)
	if err != nil {
		return "", tool.Errorf(tool.Invalid, "cannot read the message: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// chatSetup reads the flags. Without tools the model is told nothing but what
// the user says, unless he asks for more.
func (c *command) chatSetup(ctx *cli.Context, h *runtime.Host) (*agentSetup, error) {
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
func (c *command) chatOnce(ctx context.Context, h *runtime.Host, s *agent.Session, skills []string, message string) error {
	text, err := c.withSkills(s, skills, message)
	if err != nil {
		return err
	}
	c.warnOverhead(s)
	view, stop := c.showChat(h, s)
	r, err := s.Turn(ctx, text)
	stop()
	if err != nil || c.json {
		return c.ended(ctx, r, err)
	}
	view.ended(r)
	return c.exitOf(r)
}

// warnOverhead says so where the tools take much of the conversation.
func (c *command) warnOverhead(s *agent.Session) {
	if a := s.Agent(); len(a.Tools()) > 0 {
		if warning := a.OverheadReport().Warning(); warning != "" {
			c.note("%s", warning)
		}
	}
}
