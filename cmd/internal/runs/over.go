package runs

import (
	"cmp"
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/remote"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The commands of this file are those that talk to a server.

func (c *command) listOver(ctx *cli.Context, s *remote.Client) error {
	if err := checkListed(ctx); err != nil {
		return err
	}
	query := map[string]string{}
	for name, text := range map[string]string{"kind": ctx.String("kind"), "state": ctx.String("state"), "project": ctx.Args().First()} {
		if text != "" {
			query[name] = text
		}
	}
	list, err := s.List(ctx.Context, query, ctx.Int("limit"))
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("runs", value.List(ui.Map(list, func(d *value.Dict) value.Value { return d }))))
	}
	var runs []history.Run
	undone, waits := map[string]bool{}, map[string]*describe.Wait{}
	for _, d := range list {
		r, isUndone, w := describe.ReadRun(d)
		runs = append(runs, r)
		undone[r.ID], waits[r.ID] = isUndone, w
	}
	c.printList(ctx, runs, undone, func(r *history.Run) *describe.Wait { return waits[r.ID] })
	return nil
}

func (c *command) showOver(ctx *cli.Context, s *remote.Client) error {
	r, err := s.Find(ctx.Context, ctx.Args().First())
	if err != nil {
		return err
	}
	read := func(ctx context.Context) (*describe.Record, error) {
		shown, err := s.Record(ctx, r.ID)
		if err == nil {
			shown.Undos = func() []string { return undosOver(ctx, s, r.ID) }
		}
		return shown, err
	}
	following, stop := context.WithCancel(ctx.Context)
	defer stop()
	f := &follower{command: c, read: read}
	if ctx.Bool("follow") {
		changes := s.Changes(following, r.ID, followEvery)
		f.changed = func(ctx context.Context, _ time.Duration) error { return changes(ctx) }
	}
	return c.showRecord(ctx, f, func() error {
		text, err := s.Text(ctx.Context, r.ID)
		if err != nil {
			return err
		}
		c.Print(ui.JSONText(text) + "\n")
		return reportDamage(c.App, r.Damage)
	})
}

// undosOver is undosOf over a server.
func undosOver(ctx context.Context, s *remote.Client, run string) (texts []string) {
	list, _ := s.List(ctx, map[string]string{"kind": host.UndoKind, "q": run}, 0) // the run itself can be shown
	for _, d := range list {
		if u, _, _ := describe.ReadRun(d); u.Title == undoTitle+run && u.State != history.Cancelled {
			texts = append(texts, "by "+u.ID+" ("+u.State.String()+")")
		}
	}
	return texts
}

// undoTitle begins the titles of undos, before the ID of the run.
const undoTitle = "undo "

func (c *command) answerOver(ctx *cli.Context, s *remote.Client) error {
	answer, rest, err := c.readAnswer(ctx)
	if err != nil {
		return err
	}
	name, err := readQuestion(rest)
	if err != nil {
		return err
	}
	r, err := s.Find(ctx.Context, name.run)
	if err == nil {
		err = checkOpen(r)
	}
	if err != nil {
		return err
	}
	open, shown, err := s.Questions(ctx.Context, r.ID)
	if err != nil {
		return err
	}
	q, err := chooseQuestion(r, open, name.step, name.n)
	if err != nil {
		return err
	}
	seen := false
	switch answer.Value.(type) {
	case missing:
		return value.Errorf(value.Invalid, "the answer is missing").WithHint("%s", describe.AnswerHint(questionWords(ctx.Args().Slice(), r.ID), q))
	case unasked:
		given, err := c.ask(ctx.Context, q)
		if err != nil {
			return err
		}
		given.Why = cmp.Or(answer.Why, given.Why)
		answer, seen = given, true
	}
	recorded, err := s.Answer(ctx.Context, q, &answer, shown[q.ID], seen)
	if err != nil {
		return err
	}
	q.Answer = &history.Answered{Answer: answer}
	resumes := ctx.Bool("resume")
	if err := c.didAnswer(q, resumes, func() *value.Dict { return recorded }); err != nil || !resumes {
		return err
	}
	return followRun(ctx.Context, s, r.ID)
}

func (c *command) cancelOver(ctx *cli.Context, s *remote.Client) error {
	r, err := s.Find(ctx.Context, ctx.Args().First())
	if err != nil {
		return err
	}
	d, err := s.Post(ctx.Context, remote.Path("runs", r.ID, "cancel"), nil, "")
	if err != nil {
		return err
	}
	return c.didCancel(d)
}

func (c *command) resumeOver(ctx *cli.Context, s *remote.Client) error {
	r, err := s.Find(ctx.Context, ctx.Args().First())
	if err != nil {
		return err
	}
	if r.Kind != host.CallKind { // that has a result to print
		if err := checkOpen(r); err != nil {
			return err
		}
	}
	if !r.State.Ended() {
		if _, err := s.Post(ctx.Context, remote.Path("runs", r.ID, "resume"), nil, ""); err != nil {
			return err
		}
	}
	return followRun(ctx.Context, s, r.ID)
}

func (c *command) retryOver(ctx *cli.Context, s *remote.Client) error {
	r, err := s.Find(ctx.Context, ctx.Args().First())
	if err != nil {
		return err
	}
	body := &value.Dict{}
	if from := ctx.String("from"); from != "" {
		body.Put("from", from)
	}
	d, err := s.Begin(ctx.Context, remote.Path("runs", r.ID, "retry"), body)
	if err != nil {
		return err
	}
	c.Note("retrying run %s as %s", r.ID, d.Text("id"))
	return followRun(ctx.Context, s, d.Text("id"))
}

// undoOver has a run undone. What cannot be undone is not known here, as the server reports only what it undid.
func (c *command) undoOver(ctx *cli.Context, s *remote.Client) error {
	r, err := s.Find(ctx.Context, ctx.Args().First())
	if err != nil {
		return err
	}
	d, err := s.Begin(ctx.Context, remote.Path("runs", r.ID, "undo"), nil)
	if err != nil {
		return err
	}
	return undone(ctx.Context, s, r.ID, d.Text("id"))
}

// followRun shows a run until it ends or waits, and prints its result as the command does that executes it. Ctrl-C leaves
// the run running.
func followRun(ctx context.Context, s *remote.Client, id string) error {
	shown, err := s.Find(ctx, id)
	if err != nil {
		return err
	}
	return followKind(ctx, s, shown)
}
