// Package chat has the command that talks with a model, which may use tools.
package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// chatTimeout is the default idle timeout of the model: a person waits.
const chatTimeout = 120 * time.Second

// messageHint is the hint for a missing message.
const messageHint = `send a message: cassidy chat "MESSAGE"; or open a session on a terminal: cassidy chat`

// A command is one run of cassidy chat.
type command struct {
	*app.App
	console *ui.Terminal // of a session, which asks questions there, too; else nil
	changes changes
	made    *calls.Lines // the calls of all turns
}

// Command returns cassidy chat.
func Command(a *app.App) *cli.Command {
	c := &command{App: a, made: calls.NewLines(a)}
	return &cli.Command{
		Name: "chat", Usage: "talk with a model: one message, or a session on the terminal", ArgsUsage: `["MESSAGE"|-]`,
		Description: "To send one message, pass it as MESSAGE. If MESSAGE is -, or if it is omitted and standard input is not a terminal,\n" +
			"all of standard input is one message.\n" +
			"With --lines, each line of standard input is a message. It is sent after the answer to the previous line.\n" +
			"The answer goes to standard output.\n" +
			"@FILE in a message attaches a file: an image, a PDF or text. To begin a word with @, write @@. A message from standard input cannot attach files.\n" +
			"On a terminal without MESSAGE, a session begins. Type /help in the session to list its commands.\n" +
			"By default, the model gets no tools. To give the model tools: --tools LIST.\n" +
			"A tool that can run commands or send data asks for approval before it runs. A tool that can only write files asks before its changes are written. To answer yes to all: --yes. To answer no to all: --deny.\n" +
			"Without a terminal, calls that need approval are refused, unless you pass --yes.",
		Flags: append(agents.Flags("none", "chat", "none; with tools: minimal", chatTimeout),
			&cli.BoolFlag{Name: "lines", Usage: "send each line of standard input as a message of one session"},
			&cli.BoolFlag{Name: "continue", Usage: "continue the last session of this project"},
			&cli.StringFlag{Name: "session", Usage: "continue the session `ID`, or begin a new session with this ID"}),
		Action: c.Recording(c.watching(c.Asking(c.runChat))),
	}
}

func (c *command) runChat(ctx *cli.Context, h *host.Host) error {
	message, err := c.chatMessage(ctx)
	if err != nil {
		return err
	}
	var files []string
	if !c.Person.InputRead { // only what the user typed can name files, and not a text from elsewhere
		if message, files, err = agents.Mentions(message); err != nil {
			return err
		}
	}
	byLine := ctx.Bool("lines")
	if message == "" && c.console == nil && !byLine {
		return value.Errorf(value.Invalid, "the message is empty").WithHint("%s", messageHint)
	}
	id, err := c.chatID(ctx, h)
	if err != nil {
		return err
	}
	setup, err := c.chatSetup(ctx, h)
	if err != nil {
		return err
	}
	setup.Options.NoParking = true // a question is answered immediately, or refused
	a, err := agents.New(c.App, h, setup)
	if err != nil {
		return err
	}
	var s *agent.Session
	if id == "" {
		s, err = agents.NewSession(ctx.Context, a, setup.RunID)
	} else {
		s, err = a.Session(ctx.Context, id)
	}
	if err != nil {
		return err
	}
	if err := agents.ContinueThread(ctx, s); err != nil {
		return err
	}
	agents.MarkContext(c.App, s, setup)
	t := &chatSession{command: c, host: h, session: s, setup: setup, offers: setup.Options.Tools}
	switch {
	case byLine:
		return t.lines(ctx.Context)
	case c.console == nil:
		return c.chatOnce(ctx.Context, h, s, setup.Skills, message, files)
	}
	return t.run(ctx.Context)
}

// chatID returns the ID of the session that the flags name, or "" for a new one. For an
// existing session, it sets the missing flags to those of its last turn.
func (c *command) chatID(ctx *cli.Context, h *host.Host) (string, error) {
	id, last := ctx.String("session"), ctx.Bool("continue")
	switch {
	case id != "" && last, (id != "" || last) && ctx.IsSet("run-id"):
		return "", value.Errorf(value.Invalid, "--continue, --session and --run-id are mutually exclusive").WithHint("use only one of them")
	case id == "" && !last:
		return "", nil
	case !host.Operate(h).HasStore():
		return "", value.Errorf(value.Invalid, "continue a session: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	case last:
		run, err := c.lastChat(ctx.Context, h)
		if err != nil {
			return "", err
		}
		return run.Session, recordedFlags(ctx, &run)
	}
	run, err := host.Operate(h).LastTurn(ctx.Context, id)
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
	root, err := c.Root()
	if err != nil {
		return history.Run{}, err
	}
	for r, err := range h.Runs(ctx, history.Filter{Kind: "chat", Project: root, Limit: 1}) {
		return r, err
	}
	return history.Run{}, value.Errorf(value.NotFound, "there is no recorded session in %s", root).WithHint(`begin one: cassidy chat "MESSAGE"`)
}

// recordedFlags sets the missing flags to those of a turn.
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
	flags := map[string]string{"model": s.Model, "format": string(s.Format), "policy": s.Policy, "docs": s.Docs, "tools": tools}
	if s.As != nil {
		flags["agent"] = s.As.Name
	}
	for name, val := range flags {
		if ctx.IsSet(name) || val == "" {
			continue
		}
		if err := ctx.Set(name, val); err != nil {
			return value.Errorf(value.Invalid, "continue session '%s': --%s %s: %w", run.Session, name, val, err)
		}
	}
	return nil
}

// chatMessage returns the message, or "" after it has opened the terminal of a session.
func (c *command) chatMessage(ctx *cli.Context) (string, error) {
	arg := ctx.Args().First()
	if ctx.Bool("lines") {
		c.Person.InputRead = true
		if arg != "" && arg != "-" {
			return "", value.Errorf(value.Invalid, "MESSAGE and --lines are mutually exclusive").WithHint("omit --lines; or write each message on a line of standard input")
		}
		return "", nil
	}
	if ctx.Args().Present() && arg != "-" {
		return strings.TrimSpace(arg), nil
	}
	if arg == "" && ui.IsTerminal(c.In) {
		if c.JSON {
			return "", value.Errorf(value.Invalid, "with --json, MESSAGE is required").WithHint(`cassidy --json chat "MESSAGE"`)
		}
		if c.console = c.OpenTerminal(c.In, false); c.console == nil {
			return "", value.Errorf(value.Invalid, "open a session: standard error is not a terminal").WithHint("%s", messageHint)
		}
		c.Person.Term = c.console
		return "", nil
	}
	c.Person.InputRead = true
	text, err := ui.ReadAll(c.In)
	if err != nil {
		return "", value.Errorf(value.Invalid, "read the message: %w", err)
	}
	message := strings.TrimSpace(string(text))
	if n := strings.Count(message, "\n") + 1; n > 1 && arg == "" {
		c.Note("standard input is one message with %d lines; to send each line as a message: --lines", n)
	}
	return message, nil
}

// chatSetup reads the flags. Without tools and an agent file, the default of --context is none.
func (c *command) chatSetup(ctx *cli.Context, h *host.Host) (*agents.Setup, error) {
	words := app.Words(ctx.StringSlice("tools"))
	plain := len(words) == 0 && !ctx.IsSet("agent") || slices.Equal(words, []string{"none"})
	if plain && !ctx.IsSet("context") {
		if err := ctx.Set("context", "none"); err != nil {
			return nil, err
		}
	}
	setup, err := agents.ReadFlags(c.App, ctx, h, []string{}, "chat")
	if err != nil {
		return nil, err
	}
	if plain {
		setup.Options.Skills = nil
	}
	return setup, nil
}

// inUse returns the error of a session that has a turn in progress on another terminal.
func inUse(id string) error {
	return value.Errorf(value.Conflict, "the session '%s' has a turn in progress in another process", id).
		WithHint("wait until that turn has ended, and then send the message again; or begin another session: cassidy chat")
}

// chatOnce has the model answer one message.
func (c *command) chatOnce(ctx context.Context, h *host.Host, s *agent.Session, skills []string, message string, files []string) error {
	if run := s.Waiting(); run != "" {
		if host.Operate(h).Running(run) {
			return inUse(s.ID())
		}
		return value.Errorf(value.Conflict, "the last turn of session '%s' has not ended (it is the run %s)", s.ID(), run).
			WithHint("continue the turn: cassidy runs resume %s; or end it: cassidy runs cancel %s", run, run)
	}
	text, err := agents.WithSkills(s, skills, message)
	if err == nil && len(files) > 0 {
		text, err = agents.Attach(ctx, c.App, s, files, text)
	}
	if err != nil {
		return err
	}
	agents.WarnOverhead(c.App, s)
	view, stop := c.showChat(h, s)
	r, err := s.Send(ctx, text)
	stop()
	agents.ShowThread(c.App, r.Thread)
	if err != nil || c.JSON {
		return agents.Ended(ctx, c.App, &r, err)
	}
	view.ended(&r)
	return agents.Exit(&r)
}
