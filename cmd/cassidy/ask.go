package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askTries is how often somebody is asked for what is an answer.
const askTries = 3

// present reports whether a person may be there. Whether he is, shows when he is
// asked: a command may yet read standard input, see [openTerminal].
func (a *asker) present() bool {
	t := ui.OpenTerminal(a.in, a.Err, true)
	if t != nil && t.File != a.in {
		_ = t.File.Close() // opened only to see whether it can be
	}
	return t != nil
}

// Ask implements [host.Asker]. That nobody answers parks a run that can wait: no
// flag answers in place of a person.
func (a *asker) Ask(ctx context.Context, q host.Question) (host.Answer, error) {
	end, err := a.begin(ctx)
	if err != nil {
		return host.Answer{}, err
	}
	defer end()
	if a.term == nil {
		return host.Answer{}, unanswered("there is no terminal to ask on")
	}
	isText := q.Kind == tool.QuestionAsk
	a.page(isText, func(r *review) { r.asked(&q) })
	if isText {
		return a.text(ctx)
	}
	return a.yesOrNo(ctx, &q)
}

func unanswered(why string) error {
	return value.Errorf(value.Parked, "a question has no answer: %s", why)
}

// yesOrNo reads what the person says, until that is yes or no: an empty line is
// neither.
func (a *asker) yesOrNo(ctx context.Context, q *host.Question) (host.Answer, error) {
	for tries := 0; tries < askTries; {
		a.prompt("[y]es [n]o [v]iew ?")
		line, err := a.term.ReadLine(ctx)
		if err != nil {
			return host.Answer{}, a.left(ctx)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return host.Answer{Yes: true}, nil
		case "n", "no":
			return host.Answer{}, nil
		case "v", "view":
			a.page(true, func(r *review) { r.asked(q) })
		default:
			tries++
			a.term.Print("  y or n; v shows all of the question; Ctrl-C ends the whole run\n")
		}
	}
	return host.Answer{}, unanswered("nobody said yes or no")
}

// text reads a line, which may be empty.
func (a *asker) text(ctx context.Context) (host.Answer, error) {
	for range askTries {
		a.prompt("your answer, in a line ?")
		line, err := a.term.ReadLine(ctx)
		if err != nil {
			return host.Answer{}, a.left(ctx)
		}
		if ui.ValidText(line) {
			return host.Answer{Value: line}, nil
		}
		a.term.Print("  that is not UTF-8 text\n")
	}
	return host.Answer{}, unanswered("what was typed is not UTF-8 text")
}

// left is why there is no line: the run is over, or the person has gone.
func (a *asker) left(ctx context.Context) error {
	if err := a.ended(ctx); err != nil {
		return err
	}
	return unanswered("nobody is there")
}

// asked writes a question. Where it is whether to do a thing again, that comes
// first.
func (r *review) asked(q *host.Question) {
	head := "a question for you"
	unknown := q.Kind == tool.QuestionUnknown
	if unknown {
		head = "is this to be done again?"
	}
	r.WriteString("cassidy: " + r.paint(ui.Bold, head) + "\n")
	r.row("asked by", q.Tool)
	r.row("run", q.Run)
	if unknown {
		r.row("began", q.Func+" with")
		r.json(q.Args)
		r.row("but", "the run broke off meanwhile: it may have been done, or not")
		r.row("yes", "does it again")
	}
	var lines []reviewLine
	for line := range strings.SplitSeq(strings.TrimSpace(ui.Visible(q.Text)), "\n") {
		lines = append(lines, reviewLine{text: line})
	}
	r.block(lines, reviewParams)
}

// askedModel opens the model that scripts ask: that of the command's flag, or
// the one that an agent would have without it.
func (c *command) askedModel(ctx context.Context, h *host.Host) (model.Model, error) {
	m, err := c.openModel(ctx, h, c.model, false)
	if err != nil {
		return nil, err
	}
	return model.WithIdleTimeout(m, cmp.Or(c.patience, taskTimeout)), nil
}
