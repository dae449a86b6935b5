package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A chatSession is a session of cassidy chat on a terminal.
type chatSession struct {
	*command
	host    *host.Host
	session *agent.Session
	setup   *agentSetup
	editor  ui.Editor
	skills  []string // texts that go before the next message
	runs    []string // of the turns that can be taken back
	warned  bool     // that the conversation is long
	leaving bool     // Ctrl-C was pressed at an empty prompt
	over    bool
}

// What stands before what is typed, and before its later lines.
const (
	prompt     = "> "
	promptMore = "… "
)

// reads reports whether standard input is a terminal.
func (c *command) reads() bool {
	f, ok := c.in.(*os.File)
	return ok && ui.Columns(f) > 0
}

// run talks until the person ends it.
func (t *chatSession) run(ctx context.Context) error {
	defer t.interrupts.inSession()()
	ctx, stop := ui.UntilEnded(ctx)
	defer stop()
	past := ""
	if state := t.state(); state != "" {
		past = filepath.Join(state, "chat_history")
	}
	t.editor = ui.Editor{Term: t.console, Past: ui.OpenHistory(past), Plain: t.Dumb()}
	for _, name := range t.setup.skills {
		if err := t.useSkill(name); err != nil {
			return err
		}
	}
	t.Note("%s, %s; /help lists the commands, Ctrl-D ends", t.setup.options.Model.Name(), toolCount(len(t.session.Agent().Tools())))
	t.warnOverhead(t.session)
	t.continued(ctx)
	for !t.over {
		typed, err := t.typed(ctx)
		switch {
		case ctx.Err() != nil:
			return value.Errorf(value.Canceled, "interrupted")
		case errors.Is(err, ui.ErrInterrupted):
			t.interrupted(typed)
		case err != nil: // Ctrl-D, or the terminal has gone
			return nil
		default:
			t.leaving = false
			t.answer(ctx, typed)
		}
	}
	return nil
}

// continued reports how far a reopened session has come, and resumes the turn that
// had not ended.
func (t *chatSession) continued(ctx context.Context) {
	if n := len(t.session.Messages()); n > 0 {
		t.Note("the session %s continues after %s", ui.VisibleLine(t.session.ID()), ui.Count(n, "message"))
	}
	if t.session.Waiting() == "" {
		return
	}
	t.Note("its last turn had not ended, and is resumed")
	turn, done := t.interrupts.during(ctx)
	defer done()
	view, stop := t.showChat(t.host, t.session)
	r, err := t.session.Resume(turn)
	stop()
	if err != nil {
		t.Report(value.ErrorOf(err, value.Failed))
		return
	}
	view.ended(&r)
}

// interrupted is Ctrl-C at the prompt: it throws away what was typed, and ends
// the session where nothing was, the second time.
func (t *chatSession) interrupted(typed string) {
	if typed != "" {
		t.leaving = false
		return
	}
	if t.over = t.leaving; !t.over {
		t.leaving = true
		t.Note("Ctrl-C again ends the session")
	}
}

// typed reads a message: a line, and the next where it ends with a backslash.
func (t *chatSession) typed(ctx context.Context) (string, error) {
	var lines []string
	ask := prompt
	for {
		turn, done := t.interrupts.during(ctx)
		line, err := t.editor.Read(turn, ask)
		done()
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			err = ui.ErrInterrupted
		}
		more, goesOn := strings.CutSuffix(line, `\`)
		lines = append(lines, more)
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		if !goesOn {
			return strings.Join(lines, "\n"), nil
		}
		ask = promptMore
	}
}

// answer does what was typed: a command, or a turn.
func (t *chatSession) answer(ctx context.Context, typed string) {
	message := strings.TrimSpace(typed)
	if message == "" {
		return
	}
	t.editor.Past.Add(strings.TrimRight(typed, " \n"))
	var err error
	switch {
	case strings.HasPrefix(message, "//"):
		err = t.turn(ctx, message[1:])
	case message[0] == '/':
		err = t.do(ctx, message)
	default:
		err = t.turn(ctx, message)
	}
	if err != nil {
		t.Report(value.ErrorOf(err, value.Failed))
	}
}

// turn has the model answer a message. Ctrl-C ends it, and nothing else.
func (t *chatSession) turn(ctx context.Context, message string) error {
	turn, done := t.interrupts.during(ctx)
	defer done()
	before := len(t.session.Messages())
	t.runs = append(t.runs, t.session.NextRun())
	view, stop := t.showChat(t.host, t.session)
	r, err := t.session.Send(turn, strings.Join(append(t.skills, message), "\n\n"))
	stop()
	heard := len(t.session.Messages()) > before
	if heard {
		t.skills = nil
	}
	switch {
	case turn.Err() != nil && heard:
		t.Log("stopped; the model knows the conversation up to here")
	case turn.Err() != nil:
		t.Log("stopped; the message is not part of the conversation")
	case err != nil:
		return err
	default:
		view.ended(&r)
		t.warnLength()
	}
	return nil
}

// warnLength says so once where the conversation has become long.
func (t *chatSession) warnLength() {
	if t.session.Nearly() && !t.warned {
		t.warned = true
		t.Note("the conversation is long: %s; /compact shortens it, /clear begins a new one", t.usage())
	}
}

// usage says how long the conversation is.
func (t *chatSession) usage() string {
	used, limit := t.session.Usage()
	return commas(used) + " of " + commas(limit) + " tokens"
}
