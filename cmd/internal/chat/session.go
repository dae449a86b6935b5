package chat

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A chatSession is a session of cassidy chat on a terminal.
type chatSession struct {
	*command
	host    *host.Host
	session *agent.Session
	setup   *agents.Setup
	editor  ui.Editor
	offers  []string    // the words for the tools of the model
	known   []tool.Tool // those that the words selected last
	skills  []string    // texts before the next message
	runs    []string    // the turns that can be undone
	used    agent.Usage // of the turns of this session
	warned  bool        // the user knows that the conversation is long
	thread  string      // the ID that was shown of the conversation at the provider
	failed  string      // the error of the last refresh, or ""
	leaving bool        // the last key was Ctrl-C at an empty prompt
	over    bool
}

// The prompts of a message and of its later lines.
const (
	prompt     = "> "
	promptMore = "… "
)

// run reads and answers messages until the user ends the session.
func (t *chatSession) run(ctx context.Context) error {
	defer t.Interrupts.InSession()()
	ctx, stop := ui.UntilEnded(ctx)
	defer stop()
	past := ""
	if state := t.State(); state != "" {
		past = filepath.Join(state, "chat_history")
	}
	t.editor = ui.Editor{Term: t.console, Past: ui.OpenHistory(past), Plain: t.Dumb()}
	for _, name := range t.setup.Skills {
		if err := t.useSkill(name); err != nil {
			return err
		}
	}
	t.Note("model %s, %s; /help lists the commands, Ctrl-D ends the session", t.setup.Options.Model.Name(), toolCount(len(t.session.Agent().Tools())))
	agents.WarnOverhead(t.App, t.session)
	t.known = t.selected()
	t.continued(ctx)
	for !t.over {
		typed, err := t.typed(ctx)
		switch {
		case ctx.Err() != nil:
			return value.Errorf(value.Canceled, "interrupted")
		case errors.Is(err, ui.ErrCleared):
			t.leaving = false
		case errors.Is(err, ui.ErrInterrupted):
			t.interrupted()
		case err != nil: // Ctrl-D, or the terminal hung up
			t.over = true
		default:
			t.leaving = false
			t.answer(ctx, typed)
		}
	}
	if host.Operate(t.host).HasStore() && len(t.session.Messages()) > 0 {
		t.Note("to continue this session: cassidy chat --session %s", t.session.ID())
	}
	return nil
}

// continued reports the length of a reopened session and the time of its last turn, and resumes a
// turn that has not ended.
func (t *chatSession) continued(ctx context.Context) {
	if n := len(t.session.Messages()); n > 0 {
		at := ""
		if last := lastTurn(ctx, t.host, t.session.ID()); !last.IsZero() {
			at = ", last used at " + last.Local().Format("2006-01-02 15:04")
		}
		t.Note("continuing session %s after %s%s", t.session.ID(), ui.Count(n, "message"), at)
	}
	if list := lastTodo(ctx, t.host, t.session.ID()); list != "" {
		t.Note("the todo list:")
		t.made.Recall(list)
		t.made.Todo()
	}
	run := t.session.Waiting()
	if run == "" {
		return
	}
	if host.Operate(t.host).Running(run) {
		t.Report(value.ErrorOf(inUse(t.session.ID()), value.Conflict))
		return
	}
	t.Note("resuming the last turn: it has not ended")
	turn, done := t.Interrupts.During(ctx)
	defer done()
	view, stop := t.showChat(t.host, t.session)
	r, err := t.session.Resume(turn)
	stop()
	if err != nil {
		t.used.Add(r.Usage)
		t.Report(value.ErrorOf(err, value.Failed))
		return
	}
	view.ended(&r)
	t.status(r.Usage)
}

// interrupted handles Ctrl-C at an empty prompt: the second one ends the session.
func (t *chatSession) interrupted() {
	if t.over = t.leaving; !t.over {
		t.leaving = true
		t.Note("press Ctrl-C again to end the session")
	}
}

// typed reads a message. A line that ends with a backslash continues on the next.
func (t *chatSession) typed(ctx context.Context) (string, error) {
	message, ask := "", prompt
	for {
		turn, done := t.Interrupts.During(ctx)
		line, err := t.editor.Read(turn, ask)
		done()
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			err = ui.ErrInterrupted
		}
		if errors.Is(err, ui.ErrInterrupted) && ask == promptMore {
			err = ui.ErrCleared
		}
		more, continued := strings.CutSuffix(line, `\`)
		message += more
		if err != nil || !continued {
			return message, err
		}
		message, ask = message+"\n", promptMore
	}
}

// answer runs what was typed: a command, or a turn of the model.
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

// turn sends a message to the model. Ctrl-C ends only the turn.
func (t *chatSession) turn(ctx context.Context, message string) error {
	turn, done := t.Interrupts.During(ctx)
	defer done()
	message, files, err := agents.Mentions(message)
	if err != nil {
		return err
	}
	if err := t.update(turn); err != nil {
		return err
	}
	if message, err = agents.Attach(turn, t.App, t.session, files, message); err != nil {
		return err
	}
	before := len(t.session.Messages())
	t.runs = append(t.runs, t.session.NextRun())
	view, stop := t.showChat(t.host, t.session)
	r, err := t.session.Send(turn, strings.Join(append(t.skills, message), "\n\n"))
	stop()
	kept := len(t.session.Messages()) > before
	if kept {
		t.skills = nil
	}
	if err != nil || turn.Err() != nil {
		t.used.Add(r.Usage)
	}
	switch {
	case turn.Err() != nil && kept:
		t.Log("stopped the answer; the message stays in the conversation")
	case turn.Err() != nil:
		t.Log("stopped the answer; the message was removed from the conversation")
	case value.KindOf(err) == value.Conflict && r.Reason == "" && host.Operate(t.host).Running(t.session.Waiting()):
		return inUse(t.session.ID())
	case err != nil:
		return err
	default:
		view.ended(&r)
		t.status(r.Usage)
		if r.Thread != t.thread {
			t.thread = r.Thread
			agents.ShowThread(t.App, r.Thread)
		}
		if !t.ScreenOf(t.Err).Plain {
			t.Draw([]string{""})
		}
		if t.session.Nearly() && !t.warned {
			t.warned = true
			t.Warn("the conversation is long: %s; to shorten it: /compact; to begin a new one: /clear", t.usage())
		}
	}
	return nil
}

// status reports what a turn used, and what all turns of the session did. It says nothing if the
// provider does not report tokens.
func (t *chatSession) status(u agent.Usage) {
	if u.Requests == u.Unmeasured {
		t.used.Add(u)
		return
	}
	before := t.used
	t.used.Add(u)
	switch {
	case u.Requests > 0 && before.Requests > 0:
		t.Note("used %s; in this session %s", calls.Known(u.String()), calls.Known(t.used.String()))
	case u.Requests > 0:
		t.Note("used %s", calls.Known(u.String()))
	}
}

// usage describes the length of the conversation.
func (t *chatSession) usage() string {
	used, limit := t.session.Usage()
	return commas(used) + " of " + commas(limit) + " tokens"
}
