package runs

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// answerCommand returns the command that answers a question of a run. With --resume it
// calls resume with the run, once the record is closed.
func answerCommand(c *command, resume func(ctx *cli.Context, id string) error) *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "text", Usage: "answer with `TEXT`; - reads standard input"},
		&cli.StringFlag{Name: "why", Usage: "give `TEXT` as the reason for the answer; the reason is recorded, and the tool or model gets it"},
		&cli.StringFlag{Name: "args", Usage: "approve the call with other arguments, a `JSON` object; @FILE reads the object from FILE; - reads it from standard input"},
		&cli.StringFlag{Name: "result", Usage: "with done: the result that the effect had, as `JSON`; @FILE reads it from FILE; - reads it from standard input", DefaultText: "null"},
		&cli.BoolFlag{Name: "always", Usage: "with yes: also approve all other requests of the same kind from the same tool in this run"},
		&cli.BoolFlag{Name: "rule", Usage: "answer yes, and add a rule to your config that allows exactly what the question names, in this project only"},
		&cli.StringFlag{Name: "by", Usage: "record `NAME` as the person who answers", DefaultText: "your user name"},
		&cli.BoolFlag{Name: "resume", Usage: "resume the run after the answer"},
		&cli.BoolFlag{Name: "yes", Usage: "with --resume: approve everything that asks for approval after this answer, except the notes that models write for later conversations"},
		&cli.BoolFlag{Name: "deny", Usage: "with --resume: refuse everything that asks for approval after this answer"},
	}
	return &cli.Command{
		Name: "answer", Usage: "answer a question of a run", ArgsUsage: `ID [STEP] [yes|no|done], or ID [STEP] --text "…"`,
		Description: "Without an answer, this command shows the question on the terminal and asks you for the answer.\n" +
			"To see the full question first: cassidy runs show ID.\n" +
			"STEP is the step that asks, such as 3.1. You can omit STEP if the run has only one open question. ID is\n" +
			"the ID of a run, or the ID of a question. You can change the answer until the run has used it.\n" +
			"To the question whether to repeat an effect that may have been done, done answers that it was: the effect is not\n" +
			"repeated, and the script gets the result in --result, or null.\n" +
			"The flags --yes and --deny do not answer the question. To answer it, write yes or no after ID or STEP.\n" +
			"With --rule, the command first shows the rule and the change of your config, and asks you to confirm.\n" +
			"Do not combine --rule with yes, no, --text, --always or --args.",
		Flags: flags,
		Action: func(ctx *cli.Context) error {
			var id string
			resumes := ctx.Bool("resume")
			if err := approve.CheckFlags(ctx); err != nil { // before the answer is recorded
				return err
			}
			err := c.WithRuns(func(ctx *cli.Context, j *history.Journal) (err error) {
				id, err = c.answer(ctx, j, resumes)
				return err
			})(ctx)
			if err != nil || !resumes {
				return err
			}
			return resume(ctx, id)
		},
	}
}

// answer answers a question of a run, and returns the run's ID. If the run
// is resumed immediately, standard output is left to it.
func (c *command) answer(ctx *cli.Context, j *history.Journal, resumes bool) (string, error) {
	answer, rest, err := c.readAnswer(ctx)
	if err != nil {
		return "", err
	}
	words, err := readQuestion(rest)
	if err != nil {
		return "", err
	}
	r, q, err := askedQuestion(ctx.Context, j, words)
	if err != nil {
		return "", err
	}
	if _, missing := answer.Value.(missing); missing {
		return "", value.Errorf(value.Invalid, "the answer is missing").WithHint("%s", describe.AnswerHint(questionWords(ctx.Args().Slice(), r.ID), q))
	}
	c.Person.AddRules = func(rules []tool.Rule) (*config.Change, error) {
		return config.AddRules(c.ConfigFile(), r.Project, rules)
	}
	if c.ConfigFile() == "" || r.Project == "" {
		c.Person.AddRules = nil
	}
	_, shown := answer.Value.(unasked)
	if shown {
		ask := c.ask
		if ctx.Bool("rule") {
			ask = c.byRule
		}
		given, err := ask(ctx.Context, q)
		if err != nil {
			return "", err
		}
		given.By, given.Why = answer.By, cmp.Or(answer.Why, given.Why)
		answer = given
	}
	if err := j.Answer(ctx.Context, r.ID, q.StepPath, q.N, answer); err != nil {
		if e := value.ErrorOf(err, value.Failed); e.Kind == value.Invalid {
			return "", e.WithHint("%s", describe.AnswerHint(questionWords(rest, r.ID), q))
		}
		return "", err
	}
	if recorded, err := q.Accepts(answer); err == nil {
		answer = recorded // as a form is recorded
	}
	if answer.Yes && !shown && !c.JSON && approve.IsNote(&q.Question) {
		c.showNote(q)
	}
	q.Answer = &history.Answered{Answer: answer}
	return r.ID, c.didAnswer(q, resumes, func() *value.Dict { return describe.Given(q) })
}

// didAnswer says what was answered, with --json as given returns it.
func (c *command) didAnswer(q *history.Asked, resumes bool, given func() *value.Dict) error {
	reply := cut(ui.VisibleLine(describe.AnswerText(q)), draw.MaxText)
	about := cut(ui.VisibleLine(q.Text), draw.MaxText) // runs show has all of it
	switch {
	case resumes:
		c.Did("answered %s: %s", ui.CutShown(describe.AnswerText(q), draw.MaxText), ui.CutShown(q.Text, draw.MaxText))
		return nil
	case c.JSON:
		return c.PrintJSON(given())
	}
	c.Say(draw.Done, "answered "+reply+": "+about)
	if c.Server == "" { // which continues it
		c.Note("to continue: cassidy runs resume %s", q.Run)
	}
	return nil
}

// showNote prints a note that was approved by an answer in the command line, on standard error. The
// answer can be changed until the run has used it.
func (c *command) showNote(q *history.Asked) {
	p := approve.Page{Screen: c.ScreenOf(c.Err), All: true}
	p.Review(approve.Question(&q.Question, nil, nil))
	_, _ = io.WriteString(c.Err, p.String())
}

// ask shows a question on the terminal, and returns the person's answer.
func (c *command) ask(ctx context.Context, q *history.Asked) (tool.Answer, error) {
	ask := c.Person.Ask
	if q.Kind == tool.QuestionApproval {
		ask = c.Person.Approve
	}
	answer, err := ask(ctx, q.Question)
	if value.KindOf(err) == value.Parked {
		return answer, value.Errorf(value.Canceled, "the question was not answered").WithHint("answer later: cassidy runs answer %s", q.Run)
	}
	return answer, err
}

// byRule answers a question by a rule that the person at the terminal agrees to.
func (c *command) byRule(ctx context.Context, q *history.Asked) (tool.Answer, error) {
	if q.Kind != tool.QuestionApproval {
		return tool.Answer{}, value.Errorf(value.Invalid, "--rule cannot answer the question %q: it does not ask for approval", q.Text).WithHint("%s", describe.AnswerHint(q.Run, q))
	}
	answer, ok, err := c.Person.ByRule(ctx, q.Question)
	if err == nil && !ok {
		err = value.Errorf(value.Canceled, "the question was not answered").WithHint("answer later: cassidy runs answer %s", q.Run)
	}
	return answer, err
}

// A questionName names a question of a run.
type questionName struct {
	run, step string // "" is the only one that is open
	n         int    // or 0
}

// readQuestion reads the words ID [STEP], where ID is the ID of a run or of a question.
func readQuestion(words []string) (q questionName, err error) {
	q.run = words[0]
	var at tool.StepPath
	if strings.Contains(q.run, ":") {
		if q.run, at, q.n, err = history.ParseQuestionID(q.run); err != nil {
			return q, err
		}
		q.step = at.String()
	}
	if len(words) > 1 {
		if at, err = history.ParseStepPath(words[1]); err != nil {
			return q, err
		}
		q.step = at.String()
	}
	return q, nil
}

// askedQuestion finds a question.
func askedQuestion(ctx context.Context, j *history.Journal, name questionName) (*history.Run, *history.Asked, error) {
	r, err := find(ctx, j, name.run)
	if err != nil {
		return nil, nil, err
	}
	if err := checkOpen(r); err != nil {
		return nil, nil, err
	}
	open, err := j.Questions(ctx, r.ID)
	if err != nil {
		return nil, nil, err
	}
	q, err := chooseQuestion(r, open, name.step, name.n)
	return r, q, err
}

// chooseQuestion returns the open question at a step, or the only one if step is "".
func chooseQuestion(r *history.Run, open []history.Asked, step string, n int) (*history.Asked, error) {
	for i := range open {
		if q := &open[i]; q.StepPath.String() == step && (n == 0 || n == q.N) {
			return q, nil
		}
	}
	switch {
	case step == "" && len(open) == 1:
		return &open[0], nil
	case step == "" && len(open) > 1:
		steps := ui.Map(open, func(q history.Asked) string { return q.StepPath.String() })
		return nil, value.Errorf(value.Invalid, "answer run '%s': STEP is missing: there are %d open questions, at the steps %s", r.ID, len(open), strings.Join(steps, ", ")).
			WithHint("show the questions: cassidy runs show %s; answer one: cassidy runs answer %s %s yes", r.ID, r.ID, steps[0])
	case len(open) == 0 && r.State == history.Parked && r.Reason == describe.Sleep:
		return nil, value.Errorf(value.NotFound, "the run '%s' has no open question: it sleeps until %s", r.ID, r.Wake.Local().Format(describe.TimeLayout)).
			WithHint("continue after this time: cassidy runs resume %s", r.ID)
	case len(open) == 0 && r.State == history.Parked:
		return nil, value.Errorf(value.NotFound, "the run '%s' has no open question", r.ID).WithHint("continue it: cassidy runs resume %s; to see its state: cassidy runs show %s", r.ID, r.ID)
	case step == "":
		return nil, value.Errorf(value.NotFound, "the run '%s' has no open question", r.ID).WithHint("to see its state: cassidy runs show %s", r.ID)
	}
	return nil, value.Errorf(value.NotFound, "the run '%s' has no open question at step %q", r.ID, step).WithHint("to see its state: cassidy runs show %s", r.ID)
}

// readAnswer reads the answer, and returns the other words: ID [STEP].
func (c *command) readAnswer(ctx *cli.Context) (a tool.Answer, rest []string, err error) {
	reply, rest, err := readReply(c.In, ctx, !c.JSON && c.OpenTerminal(c.In, false) != nil)
	if err != nil {
		return a, nil, err
	}
	a = tool.Answer{Why: ctx.String("why"), By: ctx.String("by"), Always: ctx.Bool("always")}
	switch v := reply.(type) {
	case bool:
		a.Yes = v
	case completed:
		if a.Done = true; ctx.IsSet("result") {
			a.Value, err = calls.InputJSON(c.App, "--result", ctx.String("result"))
		}
	default:
		a.Value = reply
	}
	if err != nil {
		return a, nil, err
	}
	user, _ := c.Env("USER")
	login, _ := c.Env("LOGNAME")
	a.By = cmp.Or(a.By, user, login)
	if text := ctx.String("args"); text != "" {
		if a.Args, err = calls.InputArgs(c.App, "--args", text); err != nil {
			return a, nil, err
		}
	}
	return a, rest, nil
}

// questionWords returns the words that name a question on the command line, with the complete ID of its run.
func questionWords(words []string, run string) string {
	if strings.Contains(words[0], ":") {
		return words[0]
	}
	return strings.Join(append([]string{run}, words[1:]...), " ")
}

// missing is returned instead of an answer if the command line has no answer and nobody can be asked.
type missing struct{}

// unasked is the answer that the person at the terminal is to be asked for.
type unasked struct{}

// completed is the answer that the effect was done.
type completed struct{}

// isStep reports whether a word names a step.
func isStep(word string) bool {
	_, err := history.ParseStepPath(word)
	return err == nil
}

// question returns the words ID [STEP] of an answer.
func question(words []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "no" || w == "done" }), " ")
}

// readReply reads the answer itself: yes, no or a text. Without an answer, it returns unasked if somebody
// is present who can be asked, and missing otherwise.
func readReply(in io.Reader, ctx *cli.Context, present bool) (reply value.Value, rest []string, err error) {
	rest = ctx.Args().Slice()
	answers := len(rest) > 0 && slices.Contains([]string{"yes", "no", "done"}, rest[len(rest)-1])
	done := answers && rest[len(rest)-1] == "done"
	const usage = `cassidy runs answer ID yes|no|done, or cassidy runs answer ID --text "…"`
	switch {
	case len(rest) == 0:
		return nil, nil, value.Errorf(value.Invalid, "ID is missing").WithHint("%s", usage)
	case ctx.IsSet("result") && !done:
		return nil, nil, value.Errorf(value.Invalid, "--result needs the answer done").WithHint("cassidy runs answer %s done --result JSON", question(slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "yes" })))
	case ctx.Bool("rule") && (ctx.IsSet("text") || ctx.Bool("always") || ctx.IsSet("args")):
		return nil, nil, value.Errorf(value.Invalid, "--rule cannot be used with --text, --always or --args").WithHint("cassidy runs answer ID --rule")
	case ctx.Bool("rule") && answers:
		return nil, nil, value.Errorf(value.Invalid, "--rule and the answer %q are mutually exclusive", rest[len(rest)-1]).WithHint("cassidy runs answer ID --rule")
	case ctx.Bool("rule"):
		reply = unasked{}
	case ctx.IsSet("text") && (ctx.Bool("always") || ctx.IsSet("args")):
		return nil, nil, value.Errorf(value.Invalid, "--text cannot be used with --always or --args").WithHint(`cassidy runs answer ID --text "…"`)
	case ctx.IsSet("text"):
		reply = ctx.String("text")
	case len(rest) > 2 && !answers, len(rest) == 2 && !answers && !isStep(rest[1]):
		return nil, nil, value.Errorf(value.Invalid, "invalid answer %q: expected yes, no or done", rest[len(rest)-1]).WithHint("%s", usage)
	case rest[len(rest)-1] != "yes" && ctx.Bool("always"):
		return nil, nil, value.Errorf(value.Invalid, "--always needs the answer yes").WithHint("cassidy runs answer %s yes --always", question(rest))
	case rest[len(rest)-1] != "yes" && ctx.IsSet("args"):
		return nil, nil, value.Errorf(value.Invalid, "--args needs the answer yes").WithHint("cassidy runs answer %s yes --args JSON", question(rest))
	case present && !answers:
		reply = unasked{}
	case len(rest) == 1, len(rest) == 2 && isStep(rest[1]):
		reply = missing{}
	case done:
		reply, rest = completed{}, rest[:len(rest)-1]
	default:
		reply, rest = rest[len(rest)-1] == "yes", rest[:len(rest)-1]
	}
	if len(rest) > 2 {
		return nil, nil, value.Errorf(value.Invalid, "unexpected argument %q", rest[2]).WithHint("%s", usage)
	}
	if reply == "-" {
		text, err := ui.ReadAll(in)
		if err != nil {
			return nil, nil, value.Errorf(value.Invalid, "read the answer: %w", err)
		}
		reply = strings.TrimRight(string(text), "\r\n")
	}
	if text, ok := reply.(string); ok && !utf8.ValidString(text) {
		return nil, nil, value.Errorf(value.Invalid, "the answer is not UTF-8 text")
	}
	return reply, rest, nil
}
