package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// answerCommand makes the command that answers what a run has asked. With
// --resume it hands the run on to resume, once the record is closed; where that
// is nil there is no such flag.
func (c *command) answerCommand(resume func(ctx *cli.Context, id string) error) *cli.Command {
	flags := []cli.Flag{&cli.StringFlag{Name: "text", Usage: "answer with a `TEXT`; - reads it from standard input"}}
	if resume != nil {
		flags = append(append(flags, &cli.BoolFlag{Name: "resume", Usage: "go on with the run"}), approvalFlags()...)
	}
	return &cli.Command{
		Name: "answer", Usage: "answer what a run has asked", ArgsUsage: `ID [PLACE] yes|no, or ID [PLACE] --text "…"`,
		Description: "PLACE is the step that asks, as 3.1. Without it, that is the one for which the run waits.",
		Flags:       flags,
		Action: func(ctx *cli.Context) error {
			var id string
			goesOn := resume != nil && ctx.Bool("resume")
			err := c.withRuns(func(ctx *cli.Context, j *history.Journal) (err error) {
				id, err = c.answerRun(ctx, j, goesOn)
				return err
			})(ctx)
			if err != nil || !goesOn {
				return err
			}
			return resume(ctx, id)
		},
	}
}

// answerRun answers a question of a run, and returns the run's ID. If the run
// goes on at once, standard output is left to what it says.
func (c *command) answerRun(ctx *cli.Context, j *history.Journal, goesOn bool) (string, error) {
	said, rest, err := c.readAnswer(ctx)
	if err != nil {
		return "", err
	}
	r, err := findRun(ctx.Context, j, rest[0])
	if err != nil {
		return "", err
	}
	w, err := asked(ctx.Context, j, r, rest[1:])
	if err != nil {
		return "", err
	}
	if err := j.Answer(ctx.Context, r.ID, w.place, said); err != nil {
		return "", err
	}
	switch {
	case goesOn:
		c.note("answered %s: %s", answerText(said), oneLine(w.question))
		return r.ID, nil
	case c.json:
		return r.ID, c.printJSON(tool.NewDict("id", r.ID, "place", w.place.String(), "question", w.question, "answer", said))
	}
	c.print("answered " + visibleLine(answerText(said)) + ": " + visibleLine(oneLine(w.question)) + "\n")
	if r.State == history.Running {
		c.note("it goes on where it waits; if its process has ended, cassidy runs resume %s goes on", r.ID)
	} else {
		c.note("cassidy runs resume %s goes on", r.ID)
	}
	return r.ID, nil
}

// readAnswer reads what is answered, and returns the words besides: ID [PLACE].
func (c *command) readAnswer(ctx *cli.Context) (said tool.Value, rest []string, err error) {
	rest = ctx.Args().Slice()
	const usage = `cassidy runs answer ID yes|no, or cassidy runs answer ID --text "…"`
	switch {
	case len(rest) == 0:
		return nil, nil, tool.Errorf(tool.Invalid, "ID is missing").WithHint("%s", usage)
	case ctx.IsSet("text"):
		said = ctx.String("text")
	case len(rest) == 1:
		return nil, nil, tool.Errorf(tool.Invalid, "the answer is missing").WithHint("%s", usage)
	default:
		word := rest[len(rest)-1]
		if word != "yes" && word != "no" {
			return nil, nil, tool.Errorf(tool.Invalid, "%q is neither yes nor no", word).WithHint("%s", usage)
		}
		said, rest = word == "yes", rest[:len(rest)-1]
	}
	if len(rest) > 2 {
		return nil, nil, tool.Errorf(tool.Invalid, "there is one argument too many: %q", rest[2]).WithHint("%s", usage)
	}
	if said == "-" {
		text, err := readAll(c.in)
		if err != nil {
			return nil, nil, tool.Errorf(tool.Invalid, "cannot read the answer: %w", err)
		}
		said = strings.TrimRight(string(text), "\r\n")
	}
	if text, ok := said.(string); ok && !validText(text) {
		return nil, nil, tool.Errorf(tool.Invalid, "the answer is not UTF-8 text")
	}
	return said, rest, nil
}

// asked returns what a run asks at a place that somebody names, or else where
// it waits.
func asked(ctx context.Context, j *history.Journal, r *history.Run, place []string) (*wait, error) {
	at := r.Waits
	if len(place) > 0 {
		var err error
		if at, err = history.ParsePlace(place[0]); err != nil {
			return nil, err
		}
	}
	switch {
	case r.State.Ended():
		return nil, tool.Errorf(tool.Conflict, "the run '%s' has ended: %s", r.ID, r.State).WithHint("cassidy runs show %s", r.ID)
	case len(at) == 0:
		return nil, tool.Errorf(tool.NotFound, "the run '%s' asks nothing", r.ID).WithHint("cassidy runs show %s", r.ID)
	}
	w := readWait(ctx, j, r.ID, at)
	switch {
	case w.err != nil:
		return nil, w.err
	case !w.until.IsZero():
		return nil, tool.Errorf(tool.NotFound, "the run '%s' asks nothing: it %s", r.ID, w.text()).WithHint("%s", w.todo())
	}
	return w, nil
}

// A wait is what a run waits for: an answer, or a time.
type wait struct {
	run      string
	place    tool.Place
	question string
	confirm  bool
	changes  []tool.Change // what a yes would do to files
	until    time.Time     // of a sleep; else zero
	answer   tool.Value    // nil if there is none yet
	err      error         // of reading it
}

// waitOf returns what a run waits for, or nil.
func waitOf(ctx context.Context, j *history.Journal, r *history.Run) *wait {
	if r.State.Ended() || len(r.Waits) == 0 {
		return nil
	}
	return readWait(ctx, j, r.ID, r.Waits)
}

func readWait(ctx context.Context, j *history.Journal, run string, at tool.Place) *wait {
	w := &wait{run: run, place: at}
	log, err := j.Read(ctx, run)
	if err != nil {
		w.err = err
		return w
	}
	e, _, err := log.Recorded(at)
	if w.err = err; err == nil {
		w.read(&e)
	}
	return w
}

// read takes over what a step asks.
func (w *wait) read(e *history.Entry) {
	w.answer = e.Answer
	if q := e.Question; q != nil {
		w.question, w.confirm, w.until, w.changes = q.Text, q.Confirm, q.Until, waitingChanges(q.Data)
	}
}

// text says it on a line, in a stranger's words where it is a question.
func (w *wait) text() string {
	question := ""
	if w.question != "" {
		question = ": " + oneLine(w.question)
	}
	at := " at step " + w.place.String()
	switch {
	case w.err != nil:
		return "waits" + at + ", of which the record is damaged"
	case w.answer != nil:
		return "was answered " + answerText(w.answer) + at + question
	case !w.until.IsZero():
		return "sleeps until " + w.until.Local().Format(timeLayout) + question
	case w.confirm:
		return "waits for yes or no" + at + question
	}
	return "waits for an answer" + at + question
}

// todo says what to type.
func (w *wait) todo() string {
	switch {
	case w.err != nil:
		return "cassidy runs show " + w.run
	case w.answer != nil:
		return "cassidy runs resume " + w.run
	case !w.until.IsZero():
		return "cassidy runs resume " + w.run + " goes on then"
	case w.confirm:
		return "cassidy runs answer " + w.run + " yes|no"
	}
	return "cassidy runs answer " + w.run + ` --text "…"`
}

func (w *wait) dict() *tool.Dict {
	d := tool.NewDict("place", w.place.String(), "question", w.question, "confirm", w.confirm, "until", stamp(w.until), "answer", w.answer)
	if w.err != nil {
		d.Put("error", tool.ErrorOf(w.err, tool.Failed).Message())
	}
	return d
}

// answerText is an answer as it was typed.
func answerText(v tool.Value) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return tool.FormatJSON(v, "")
}

// timeLayout is how a moment is written for people.
const timeLayout = "2006-01-02 15:04:05"

// inside reports whether a place lies in another, however deep.
func inside(p, other tool.Place) bool {
	return len(p) > len(other) && slices.Equal(p[:len(other)], other)
}
