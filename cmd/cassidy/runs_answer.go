package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// answerCommand makes the command that answers what a run has asked. With
// --resume it hands the run on to resume, once the record is closed; where that
// is nil there is no such flag.
func (c *command) answerCommand(resume func(ctx *cli.Context, id string) error) *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "text", Usage: "answer with a `TEXT`; - reads it from standard input"},
		&cli.StringFlag{Name: "why", Usage: "the reason, for the tool or model that asked and for the record: `TEXT`"},
		&cli.StringFlag{Name: "args", Usage: "approve the call with other arguments: a `JSON` object"},
		&cli.BoolFlag{Name: "always", Usage: "approve what the same tool asks alike in the rest of the run, too"},
		&cli.StringFlag{Name: "by", Usage: "who answers: `NAME`", DefaultText: "your user name"},
	}
	if resume != nil {
		flags = append(append(flags, &cli.BoolFlag{Name: "resume", Usage: "resume the run"}), approvalFlags()...)
	}
	return &cli.Command{
		Name: "answer", Usage: "answer what a run has asked", ArgsUsage: `ID [STEP] yes|no, or ID [STEP] --text "…"`,
		Description: "STEP is the step that asks, as 3.1; without it, the run must have one open question. ID may be that of a question.\n" +
			"An answer can be corrected by another until the run has used it.",
		Flags: flags,
		Action: func(ctx *cli.Context) error {
			var id string
			goesOn := resume != nil && ctx.Bool("resume")
			if err := checkApprovalFlags(ctx); err != nil { // before the answer is recorded
				return err
			}
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
// is resumed immediately, standard output is left to it.
func (c *command) answerRun(ctx *cli.Context, j *history.Journal, goesOn bool) (string, error) {
	answer, rest, err := c.readAnswer(ctx)
	if err != nil {
		return "", err
	}
	r, q, err := askedQuestion(ctx.Context, j, rest)
	if err != nil {
		return "", err
	}
	if err := j.Answer(ctx.Context, r.ID, q.Place, q.N, answer); err != nil {
		return "", hintForKind(err, r.ID, q)
	}
	q.Answer = &history.Answered{Answer: answer}
	said := ui.VisibleLine(answerText(q))
	switch {
	case goesOn:
		c.Note("answered %s: %s", said, ui.OneLine(q.Text))
		return r.ID, nil
	case c.JSON:
		return r.ID, c.PrintJSON(value.NewDict("id", r.ID, "question_id", q.ID, "place", q.Place.String(), "question", q.Text,
			"answer", answerValue(q), "why", answer.Why, "by", answer.By, "always", answer.Always, "args", orNothing(answer.Args)))
	}
	c.Print("answered " + said + ": " + ui.VisibleLine(ui.OneLine(q.Text)) + "\n")
	c.Note("to continue: cassidy runs resume %s", r.ID)
	return r.ID, nil
}

// hintForKind adds to the error of an answer of the wrong kind what to type.
func hintForKind(err error, run string, q *history.Asked) error {
	if e := value.ErrorOf(err, value.Failed); e.Kind == value.Invalid {
		return e.WithHint("%s", answerHint(run, q))
	}
	return err
}

// askedQuestion finds the question that words name: ID [STEP], where ID is that
// of a run or of a question.
func askedQuestion(ctx context.Context, j *history.Journal, words []string) (*history.Run, *history.Asked, error) {
	id, step, n := words[0], "", 0
	if strings.Contains(id, ":") {
		run, at, number, err := history.ParseQuestionID(id)
		if err != nil {
			return nil, nil, err
		}
		id, step, n = run, at.String(), number
	}
	if len(words) > 1 {
		at, err := history.ParsePlace(words[1])
		if err != nil {
			return nil, nil, err
		}
		step = at.String()
	}
	r, err := findRun(ctx, j, id)
	if err != nil {
		return nil, nil, err
	}
	if r.State.Ended() {
		return nil, nil, value.Errorf(value.Conflict, "the run '%s' has ended: %s", r.ID, r.State).WithHint("cassidy runs show %s", r.ID)
	}
	open, err := j.Questions(ctx, r.ID)
	if err != nil {
		return nil, nil, err
	}
	q, err := chooseQuestion(r, open, step, n)
	return r, q, err
}

// chooseQuestion returns the open question at a step; "" means the only one.
func chooseQuestion(r *history.Run, open []history.Asked, step string, n int) (*history.Asked, error) {
	for i := range open {
		if q := &open[i]; q.Place.String() == step && (n == 0 || n == q.N) {
			return q, nil
		}
	}
	switch {
	case step == "" && len(open) == 1:
		return &open[0], nil
	case step == "" && len(open) > 1:
		steps := make([]string, len(open))
		for i := range open {
			steps[i] = open[i].Place.String()
		}
		return nil, value.Errorf(value.Invalid, "the run '%s' has %d open questions, at the steps %s", r.ID, len(open), strings.Join(steps, ", ")).
			WithHint("cassidy runs show %s shows them; cassidy runs answer %s %s yes", r.ID, r.ID, steps[0])
	case len(open) == 0 && !r.Wake.IsZero():
		return nil, value.Errorf(value.NotFound, "the run '%s' asks nothing: it sleeps until %s", r.ID, r.Wake.Local().Format(timeLayout)).
			WithHint("to continue then: cassidy runs resume %s", r.ID)
	case step == "":
		return nil, value.Errorf(value.NotFound, "the run '%s' asks nothing", r.ID).WithHint("cassidy runs show %s", r.ID)
	}
	return nil, value.Errorf(value.NotFound, "the run '%s' has no open question at step %q", r.ID, step).WithHint("cassidy runs show %s", r.ID)
}

// readAnswer reads what is answered, and returns the words besides: ID [STEP].
func (c *command) readAnswer(ctx *cli.Context) (a tool.Answer, rest []string, err error) {
	said, rest, err := c.readSaid(ctx)
	if err != nil {
		return a, nil, err
	}
	a = tool.Answer{Why: ctx.String("why"), By: ctx.String("by"), Always: ctx.Bool("always")}
	if yes, ok := said.(bool); ok {
		a.Yes = yes
	} else {
		a.Value = said
	}
	if a.By == "" {
		a.By = c.userName()
	}
	if text := ctx.String("args"); text != "" {
		if a.Args, err = c.inputArgs(text); err != nil {
			return a, nil, err
		}
	}
	return a, rest, nil
}

// readSaid reads the answer itself: yes, no or a text.
func (c *command) readSaid(ctx *cli.Context) (said value.Value, rest []string, err error) {
	rest = ctx.Args().Slice()
	const usage = `cassidy runs answer ID yes|no, or cassidy runs answer ID --text "…"`
	switch {
	case len(rest) == 0:
		return nil, nil, value.Errorf(value.Invalid, "ID is missing").WithHint("%s", usage)
	case ctx.IsSet("text"):
		said = ctx.String("text")
	case len(rest) == 1:
		return nil, nil, value.Errorf(value.Invalid, "the answer is missing").WithHint("%s", usage)
	default:
		word := rest[len(rest)-1]
		if word != "yes" && word != "no" {
			return nil, nil, value.Errorf(value.Invalid, "%q is neither yes nor no", word).WithHint("%s", usage)
		}
		said, rest = word == "yes", rest[:len(rest)-1]
	}
	if len(rest) > 2 {
		return nil, nil, value.Errorf(value.Invalid, "there is one argument too many: %q", rest[2]).WithHint("%s", usage)
	}
	if said == "-" {
		text, err := ui.ReadAll(c.in)
		if err != nil {
			return nil, nil, value.Errorf(value.Invalid, "cannot read the answer: %w", err)
		}
		said = strings.TrimRight(string(text), "\r\n")
	}
	if text, ok := said.(string); ok && !ui.ValidText(text) {
		return nil, nil, value.Errorf(value.Invalid, "the answer is not UTF-8 text")
	}
	return said, rest, nil
}

// A wait is what a run waits for: answers, or a time.
type wait struct {
	run       string
	questions []history.Asked
	until     time.Time // of a sleep; else zero
	err       error     // of reading it
}

// waitOf returns what a run waits for, or nil.
func waitOf(ctx context.Context, j *history.Journal, r *history.Run) *wait {
	if r.State.Ended() || r.Damage != nil {
		return nil
	}
	w := &wait{run: r.ID, until: r.Wake}
	w.questions, w.err = j.Questions(ctx, r.ID)
	if len(w.questions) == 0 && w.until.IsZero() && w.err == nil {
		return nil
	}
	return w
}

// text says it on a line.
func (w *wait) text() string {
	switch {
	case w.err != nil:
		return "waits, and the record of what for is damaged"
	case len(w.questions) > 1 && w.unanswered() == 0:
		return "has all its answers"
	case len(w.questions) > 1:
		return "waits for " + ui.Count(w.unanswered(), "answer")
	case len(w.questions) == 1:
		return questionLine(&w.questions[0])
	}
	return "sleeps until " + w.until.Local().Format(timeLayout)
}

// unanswered is how many questions have no answer yet.
func (w *wait) unanswered() (n int) {
	for i := range w.questions {
		if w.questions[i].Answer == nil {
			n++
		}
	}
	return n
}

// sent says what was answered to the open question at a step, and is not used yet.
func (w *wait) sent(at tool.Place) (lines []string) {
	if w == nil {
		return nil
	}
	for i := range w.questions {
		if q := &w.questions[i]; q.Answer != nil && slices.Equal(q.Place, at) {
			lines = append(lines, "answered: "+firstLine(answerText(q)))
		}
	}
	return lines
}

// questionLine says on a line what a question waits for.
func questionLine(q *history.Asked) string {
	rest := " at step " + q.Place.String() + ": " + ui.OneLine(q.Text)
	switch {
	case q.Answer != nil:
		return "was answered " + answerText(q) + rest
	case q.Kind == tool.QuestionAsk:
		return "waits for an answer" + rest
	}
	return "waits for yes or no" + rest
}

// todo says what to type.
func (w *wait) todo() string {
	switch {
	case w.err != nil:
		return "cassidy runs show " + w.run
	case len(w.questions) == 0:
		return "to continue then: cassidy runs resume " + w.run
	}
	var open *history.Asked
	for i := range w.questions {
		if q := &w.questions[i]; q.Answer == nil && open == nil {
			open = q
		} else if q.Answer != nil {
			return "cassidy runs resume " + w.run
		}
	}
	if len(w.questions) > 1 {
		return answerHint(w.run+" "+open.Place.String(), open)
	}
	return answerHint(w.run, open)
}

// answerHint says how a question is answered.
func answerHint(run string, q *history.Asked) string {
	if q.Kind == tool.QuestionAsk {
		return "cassidy runs answer " + run + ` --text "…"`
	}
	return "cassidy runs answer " + run + " yes|no"
}

// dict is the wait as programs get it. What is known of its first question
// alone is there once more, as most runs have one.
func (w *wait) dict() *value.Dict {
	list := make(value.List, len(w.questions))
	d := value.NewDict("place", "", "question", "", "confirm", false, "until", stamp(w.until), "answer", nil)
	for i := range w.questions {
		q := questionDict(&w.questions[i])
		if list[i] = q; i == 0 {
			for _, name := range []string{"place", "confirm", "answer"} {
				v, _ := q.Get(name)
				d.Put(name, v)
			}
			d.Put("question", q.Text("text"))
		}
	}
	d.Put("questions", list)
	if w.err != nil {
		d.Put("error", value.ErrorOf(w.err, value.Failed).Message())
	}
	return d
}

// questionDict is a question as programs get it.
func questionDict(q *history.Asked) *value.Dict {
	d := value.NewDict("id", q.ID, "place", q.Place.String(), "kind", string(q.Kind), "text", q.Text, "confirm", q.Kind != tool.QuestionAsk,
		"asked", stamp(q.Asked), "data", questionData(q), "answer", nil)
	if a := q.Answer; a != nil {
		d.Put("answer", answerValue(q))
		d.Put("answered", stamp(a.At))
		d.Put("why", a.Why)
		d.Put("by", a.By)
		d.Put("always", a.Always)
		d.Put("args", orNothing(a.Args))
	}
	return d
}

// questionData is what is shown with a question, as programs get it. The changes
// are there in hashes, by path, and as files with their contents.
func questionData(q *history.Asked) value.Value {
	d := &value.Dict{}
	for name, v := range q.Data.All() {
		d.Put(name.(string), v)
	}
	for _, part := range []struct{ name, text string }{{"tool", q.Tool}, {"func", q.Func}, {"why", q.Why}, {"reasoning", q.Reasoning}} {
		if part.text != "" {
			d.Put(part.name, part.text)
		}
	}
	if q.Args != nil {
		d.Put("args", q.Args)
	}
	if len(q.Capabilities) > 0 {
		texts := make(value.List, len(q.Capabilities))
		for i, c := range q.Capabilities {
			texts[i] = c.String()
		}
		d.Put("capabilities", texts)
	}
	if len(q.Changes) > 0 {
		hashes, files := &value.Dict{}, value.List{}
		for _, c := range q.Changes {
			hashes.Put(c.Path, value.NewDict("before", stateWord(&c.Before), "after", stateWord(&c.After)))
			files = append(files, value.NewDict("path", c.Path, "before", stateData(&c.Before), "after", stateData(&c.After), "diff", c.Diff))
		}
		d.Put("changes", hashes)
		d.Put("files", files)
	}
	if d.Len() == 0 {
		return nil
	}
	return d
}

// stateWord names what is at a path: "", "dir", or the hash of a file.
func stateWord(s *tool.FileState) string {
	switch {
	case !s.Exists:
		return ""
	case s.Dir:
		return "dir"
	}
	return s.Hash
}

// stateData is the content of a file, or nil where it was not kept.
func stateData(s *tool.FileState) value.Value {
	if s.Data == nil && (!s.Exists || s.Dir || s.Hash != tool.HashBytes(nil)) {
		return nil
	}
	return s.Data
}

// answerValue is an answer as a bool or a text.
func answerValue(q *history.Asked) value.Value {
	if q.Kind == tool.QuestionAsk {
		return q.Answer.Value
	}
	return q.Answer.Yes
}

// answerText is an answer as it was typed.
func answerText(q *history.Asked) string {
	text := valueText(answerValue(q))
	if q.Answer != nil && q.Answer.Args != nil {
		text += ", with " + q.Answer.Args.String()
	}
	return text
}

// userName is who answers, unless they give another name.
func (c *command) userName() string {
	user, _ := c.Env("USER")
	name, _ := c.Env("LOGNAME")
	return cmp.Or(user, name)
}

func valueText(v value.Value) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	}
	return value.FormatJSON(v, "")
}

// timeLayout is how a moment is written for people.
const timeLayout = "2006-01-02 15:04:05"

// inside reports whether a place lies in another, however deep.
func inside(p, other tool.Place) bool {
	return len(p) > len(other) && slices.Equal(p[:len(other)], other)
}
