package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func (c *command) showRecorded(ctx *cli.Context, j *history.Journal) error {
	words, err := exactly(ctx, "ID")
	if err != nil {
		return err
	}
	r, err := findRun(ctx.Context, j, words[0])
	if err != nil {
		return err
	}
	switch place := ctx.String("step"); {
	case ctx.IsSet("step"):
		return c.showStep(ctx.Context, j, r, place)
	case c.JSON:
		return c.showRunJSON(ctx.Context, j, r)
	}
	return c.showRunPage(ctx.Context, j, r)
}

// A shownStep is what a line tells of a step.
type shownStep struct {
	place tool.Place
	mark  stepMark
	what  string // the effect, with what matters of its arguments
	cost  string // what it took
	said  string // what came of it
	below []string
	books bool // it only keeps the books, and did so well
}

// A stepMark says how a step stands.
type stepMark string

const (
	stepDone    stepMark = "✓"
	stepFailed  stepMark = "✗"
	stepUnknown stepMark = "?" // it may have happened
	stepWaits   stepMark = "…" // for an answer, or for what it called
	stepNever   stepMark = "·" // it was not done
)

func (m stepMark) colour() string {
	switch m {
	case stepDone:
		return ui.Green
	case stepFailed:
		return ui.Red
	case stepNever:
		return ui.Dim
	}
	return ui.Yellow
}

// showRunPage shows a run to a person.
func (c *command) showRunPage(ctx context.Context, j *history.Journal, r *history.Run) error {
	var steps []shownStep
	var tokens tokenCount
	w := waitOf(ctx, j, r)
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		s := shownStep{place: e.Place, mark: stepFailed, what: "this step", said: "its record is damaged"}
		if damage == nil {
			s = shownOf(e, r.State, tokens.count(e))
		}
		// What has called others is known by what these have come to.
		if last := len(steps) - 1; last >= 0 && steps[last].mark == stepUnknown && inside(s.place, steps[last].place) {
			steps[last].mark, steps[last].said = stepWaits, ""
		}
		s.below = append(s.below, w.sent(e.Place)...)
		steps = append(steps, s)
	})
	if err != nil {
		return err
	}
	tellBroken(j, r)
	c.printRun(r, tokens)
	hidden := 0
	width := placeWidth(steps)
	for i := range steps {
		if steps[i].books && !c.Verbose {
			hidden++
			continue
		}
		c.printStep(&steps[i], width)
	}
	if w != nil {
		c.printWait(w)
	}
	if r.Reason == brokenOff || r.Reason == "interrupted" {
		c.Print("\n" + c.Paint()(ui.Bold, "  to continue: cassidy runs resume "+r.ID) + "\n")
	}
	if hidden > 0 {
		c.Note("%s that only kept the books: --verbose shows them", ui.Count(hidden, "more step"))
	}
	return c.toldDamage(damage)
}

func placeWidth(steps []shownStep) int {
	width := 0
	for i := range steps {
		width = max(width, 2*(len(steps[i].place)-1)+len(steps[i].place.String()))
	}
	return width
}

// printRun shows what a run is.
func (c *command) printRun(r *history.Run, tokens tokenCount) {
	room := c.LineWidth()
	line := func(name, value string) {
		if value != "" {
			c.Print(ui.Clip(ui.Pad(name, 9)+ui.VisibleLine(ui.OneLine(value)), room) + "\n")
		}
	}
	line("run", r.ID)
	line("kind", r.Kind)
	line("title", r.Title)
	state := r.State.String()
	if r.Reason != "" {
		state += " (" + r.Reason + ")"
	}
	line("state", state)
	if !r.Started.IsZero() {
		line("started", r.Started.Local().Format(timeLayout))
	}
	if !r.Ended.IsZero() && !r.Started.IsZero() {
		line("took", duration(r.Ended.Sub(r.Started)))
	}
	line("model", r.Options.Text("model"))
	line("policy", r.Options.Text("policy"))
	line("tokens", tokens.String())
	result := r.Result
	if d, ok := result.(*value.Dict); ok && d.Has("answer") {
		result, _ = d.Get("answer") // of an agent
	}
	line("result", firstLine(result))
	if r.Err != nil {
		line("error", r.Err.Message())
	}
	c.Print("\n")
}

// printStep shows a step on a line, indented by how deep it stands, and what
// was decided there on lines below.
func (c *command) printStep(s *shownStep, places int) {
	const least = 16 // of what a step did, however deep it stands
	paint, room := c.Paint(), c.LineWidth()
	margin := ui.Pad(strings.Repeat("  ", max(0, len(s.place)-1))+s.place.String(), places) + " "
	left := room - utf8.RuneCountInString(margin) - 2
	cost := ""
	if s.cost != "" {
		cost = "  " + s.cost
		left -= utf8.RuneCountInString(cost)
	}
	said := ui.VisibleLine(s.said)
	what := ui.VisibleLine(s.what)
	if said == "" {
		what = ui.Clip(what, max(left, least))
	} else {
		what = ui.Clip(what, max(left*3/5, left-2-utf8.RuneCountInString(said), least))
		left -= utf8.RuneCountInString(what) + 2
		if said = ui.Clip(said, max(left, 1)); left < least/2 && said != ui.VisibleLine(s.said) {
			said = ""
		}
	}
	line := margin + paint(s.mark.colour(), string(s.mark)) + " " + what + paint(ui.Dim, cost)
	if said != "" {
		line += "  " + paint(ui.Dim, said)
	}
	c.Print(strings.TrimRight(line, " ") + "\n")
	for _, text := range s.below {
		indent := strings.Repeat(" ", places+3)
		c.Print(indent + paint(ui.Dim, ui.Clip("↳ "+ui.VisibleLine(text), max(room-len(indent), least))) + "\n")
	}
}

// showStep shows all that is recorded of a step.
func (c *command) showStep(ctx context.Context, j *history.Journal, r *history.Run, place string) error {
	at, err := history.ParsePlace(place)
	if err != nil {
		return err
	}
	var found bool
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		if found = found || slices.Equal(e.Place, at); !slices.Equal(e.Place, at) || damage != nil {
			return
		}
		if c.JSON {
			c.Print(jsonText(stepDict(e)) + "\n")
		} else {
			c.printWholeStep(e, r.State)
		}
	})
	switch {
	case err != nil:
		return err
	case !found && damage == nil:
		return value.Errorf(value.NotFound, "the run '%s' has no step %q", r.ID, place).WithHint("cassidy runs show %s lists its steps", r.ID)
	}
	return c.toldDamage(damage)
}

// printWholeStep shows a step to a person, complete: each line of what others
// wrote begins with a space, so that none passes for one of ours.
func (c *command) printWholeStep(e *history.Entry, state history.State) {
	line := func(name, value string) {
		if value != "" {
			c.Print(ui.Pad(name, 10) + ui.VisibleLine(value) + "\n")
		}
	}
	block := func(name string, v value.Value) {
		c.Print(name + "\n" + indented(wholeText(v), "  ") + "\n")
	}
	s := shownOf(e, state, tokenCount{})
	line("step", e.Place.String())
	line("effect", e.Func)
	line("state", stateWords(s.mark))
	line("began", moment(e.Intended))
	if !e.Settled.IsZero() {
		line("took", duration(e.Settled.Sub(e.Intended)))
	}
	line("key", e.Key)
	for _, n := range e.Notes {
		line("decided", noteText(n))
	}
	if args := stepArgs(e); args.Len() > 0 {
		block("arguments", args)
	}
	if e.Change != nil {
		block("change", e.Change)
	}
	for i := range e.Questions {
		q := &e.Questions[i]
		line("asked", moment(q.Asked))
		block("question", q.Text)
		if q.Data.Len() > 0 {
			block("with", q.Data)
		}
		if a := q.Answer; a != nil {
			line("answered", moment(a.At))
			block("answer", answerText(q))
			line("by", a.By)
			line("why", a.Why)
		}
	}
	switch {
	case e.Err != nil:
		block("error", strings.Join(append([]string{e.Err.Error()}, e.Err.Trace...), "\n"))
		line("hint", ui.OneLine(e.Err.Hint))
	case !e.Settled.IsZero():
		block("outcome", e.Outcome.Value)
	}
	if u := e.Outcome.Undo; u != nil {
		block("undo", value.NewDict("func", u.Func, "args", orNothing(u.Args)))
	}
}

// wholeText writes a value for people: the fields of a dict one below the
// other, and texts as they are.
func wholeText(v value.Value) string {
	switch v := v.(type) {
	case string:
		return strings.TrimRight(ui.Visible(v), "\n")
	case *value.Dict:
		var lines []string
		for k, field := range v.All() {
			name, isText := k.(string)
			if !isText {
				name = value.FormatJSON(k, "")
			}
			text, isText := field.(string)
			if isText && strings.Contains(text, "\n") {
				lines = append(lines, ui.VisibleLine(name)+":", indented(wholeText(text), "  "))
				continue
			}
			lines = append(lines, ui.VisibleLine(name)+": "+ui.Visible(value.FormatJSON(field, "  ")))
		}
		return strings.Join(lines, "\n")
	}
	return ui.Visible(value.FormatJSON(v, "  "))
}

func indented(text, indent string) string {
	return indent + strings.ReplaceAll(text, "\n", "\n"+indent)
}

func stateWords(m stepMark) string {
	switch m {
	case stepDone:
		return "done"
	case stepFailed:
		return "failed"
	case stepWaits:
		return "waits"
	case stepNever:
		return "not done"
	}
	return "not known: it began, and no end is recorded"
}

// moment writes a time for people, and nothing for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(timeLayout + ".000")
}

// shownOf is what a line tells of a step.
func shownOf(e *history.Entry, run history.State, tokens tokenCount) shownStep {
	w := wordsOf(e)
	s := shownStep{place: e.Place, what: w.what, said: w.said}
	settled := !e.Settled.IsZero()
	switch {
	case e.Err != nil:
		s.mark, s.said = stepFailed, firstLine(e.Err.Message())
	case settled && w.failed:
		s.mark = stepFailed
	case settled:
		s.mark = stepDone
	case (isOpen(e) || e.Func == "time.sleep") && !run.Ended():
		s.mark, s.said = stepWaits, ""
	case isOpen(e) && e.Questions[len(e.Questions)-1].Kind != tool.QuestionUnknown:
		s.mark, s.said = stepFailed, "nobody answered"
	case e.Unknown():
		s.mark, s.said = stepUnknown, "it began, and nothing is known of its end"
	default:
		s.mark = stepNever
	}
	var cost []string
	if settled {
		cost = append(cost, duration(e.Settled.Sub(e.Intended)))
	}
	if n := size(w.result); n > 0 {
		cost = append(cost, bytesText(n))
	}
	if tokens != (tokenCount{}) {
		cost = append(cost, tokens.String()+" tokens")
	}
	s.cost = strings.Join(cost, " · ")
	for _, n := range e.Notes {
		if text := noteText(n); text != "" {
			s.below = append(s.below, text)
		}
	}
	s.below = append(s.below, questionLines(e, w.asks, settled)...)
	s.books = len(s.below) == 0 && (e.Func == "" && len(e.Questions) == 0 || s.mark == stepDone && slices.Contains([]string{"agent.limits", "agent.note", "agent.result_text", "agent.decide", "random.seed"}, e.Func))
	return s
}

// isOpen reports whether a step waits for an answer that it can use.
func isOpen(e *history.Entry) bool {
	return len(e.Questions) > 0 && e.Questions[len(e.Questions)-1].Answer == nil
}

// questionLines say what was asked at a step, and what was answered. Of a step
// that asks a person itself, its words say it.
func questionLines(e *history.Entry, asks, settled bool) (lines []string) {
	for i := range e.Questions {
		q := &e.Questions[i]
		own := asks && (q.Kind == tool.QuestionAsk || q.Kind == tool.QuestionConfirm)
		why := ""
		if q.Answer != nil && q.Answer.Why != "" {
			why = ": " + ui.OneLine(q.Answer.Why)
		}
		switch {
		case q.Kind == tool.QuestionApproval && q.Answer != nil && q.Answer.Yes:
			lines = append(lines, "approved"+why)
			continue
		case q.Kind == tool.QuestionApproval && q.Answer != nil:
			lines = append(lines, "refused"+why)
			continue
		case !own:
			lines = append(lines, "asked: "+ui.OneLine(q.Text))
		}
		if q.Answer != nil && !(own && settled) {
			lines = append(lines, "answered: "+firstLine(answerText(q)))
		}
	}
	return lines
}

// stepWords are what a step did, in words for people.
type stepWords struct {
	what   string      // the effect, with what matters of its arguments
	said   string      // what came of it, on a line
	result value.Value // the part of the outcome that whoever asked was after
	failed bool        // the outcome itself says so
	asks   bool        // it asks somebody, or waits: its question is told in these words
}

// wordsOf tells a step in words. An effect that has none of its own is shown as
// it was asked for.
func wordsOf(e *history.Entry) stepWords {
	args := e.Args
	out, _ := e.Outcome.Value.(*value.Dict)
	module, name, _ := strings.Cut(e.Func, ".")
	switch {
	case e.Func == "":
		return wordsOfNothing(e)
	case module == "agent":
		return agentWords(e, name, out)
	case e.Func == "tools.call":
		return outcomeWords(callWords(args, "name", "args"), e.Outcome.Value)
	case e.Func == "tools.call_all":
		return outcomeWords(callsWords(args), e.Outcome.Value)
	case e.Func == "fs.commit":
		return stepWords{what: e.Func, said: commitWords(e)}
	case module == "http":
		return httpWords(name, args, out)
	case e.Func == "shell.run":
		return shellWords(args, out)
	case module == "human":
		return humanWords(e, name)
	case e.Func == "time.sleep":
		return sleepWords(e)
	}
	return outcomeWords(e.Func+callArgs(args), e.Outcome.Value)
}

func outcomeWords(what string, result value.Value) stepWords {
	return stepWords{what: what, said: firstLine(result), result: result}
}

// wordsOfNothing are of a place at which nothing was done: something was asked
// or decided there.
func wordsOfNothing(e *history.Entry) stepWords {
	if !isOpen(e) {
		return stepWords{what: "decision"}
	}
	return stepWords{what: "question: " + ui.OneLine(e.Questions[len(e.Questions)-1].Text), asks: true}
}

func agentWords(e *history.Entry, name string, out *value.Dict) stepWords {
	field := func(what, name string) stepWords {
		v, _ := out.Get(name)
		return outcomeWords(what, v)
	}
	switch name {
	case "ask":
		what := "model"
		if n := out.Int("iteration"); n > 0 {
			what += ", reply " + strconv.FormatInt(n, 10)
		}
		return field(what, "text")
	case "call":
		v, _ := e.Args.Get("decision")
		d, _ := v.(*value.Dict)
		w := field(callWords(d, "action", "input"), "result")
		if w.failed = out.Has("success") && !out.Bool("success"); w.failed {
			w.said = firstLine(out.Text("error"))
		}
		return w
	case "skill":
		w := field("skill "+e.Args.Text("name"), "text")
		w.failed = out.Has("success") && !out.Bool("success")
		return w
	case "compact":
		return field("compact the conversation", "summary")
	case "prompt":
		return outcomeWords("prompt", e.Outcome.Value)
	case "finish":
		return field("end, "+e.Args.Text("reason"), "answer")
	}
	return outcomeWords(e.Func+callArgs(e.Args), e.Outcome.Value)
}

// callWords shows a call that is given as a name and arguments.
func callWords(d *value.Dict, name, args string) string {
	v, _ := d.Get(args)
	given, _ := v.(*value.Dict)
	return d.Text(name) + callArgs(given)
}

func callsWords(args *value.Dict) string {
	v, _ := args.Get("calls")
	list, _ := value.Elements(v)
	names := make([]string, len(list))
	for i, item := range list {
		pair, _ := value.Elements(item)
		if len(pair) > 0 {
			names[i], _ = pair[0].(string)
		}
	}
	return ui.Count(len(list), "call") + ": " + strings.Join(names, ", ")
}

// commitWords says which files a commit changed: as it reported, or else as it
// was about to.
func commitWords(e *history.Entry) string {
	var words []string
	list, _ := value.Elements(e.Outcome.Value)
	for _, item := range list {
		if d, ok := item.(*value.Dict); ok {
			text := d.Text("action") + " " + d.Text("path")
			if d.Text("action") != "removed" && d.Text("kind") == "file" {
				text += " (" + bytesText(int(d.Int("bytes"))) + ")"
			}
			words = append(words, text)
		}
	}
	if list == nil {
		for path, v := range e.Change.All() {
			d, _ := v.(*value.Dict)
			name, _ := path.(string)
			action := "change "
			switch {
			case d.Text("before") == "":
				action = "create "
			case d.Text("after") == "":
				action = "remove "
			}
			words = append(words, action+name)
		}
	}
	return strings.Join(words, ", ")
}

func httpWords(name string, args, out *value.Dict) stepWords {
	method := strings.ToUpper(name)
	if name == "request" {
		method = strings.ToUpper(args.Text("method"))
	}
	w := stepWords{what: method + " " + args.Text("url")}
	if w.result, _ = out.Get("bytes"); w.result == nil {
		w.result, _ = out.Get("text")
	}
	if out.Has("status") {
		w.said = strings.TrimSpace(strconv.FormatInt(out.Int("status"), 10) + " " + firstLine(out.Text("text")))
	}
	return w
}

func shellWords(args, out *value.Dict) stepWords {
	v, _ := args.Get("argv")
	list, _ := value.Elements(v)
	words := make([]string, len(list))
	for i, item := range list {
		if words[i], _ = item.(string); words[i] == "" || strings.ContainsAny(words[i], " \t\n\"'") {
			words[i] = value.FormatJSON(item, "")
		}
	}
	w := stepWords{what: "$ " + strings.Join(words, " ")}
	if out.Has("exit_code") {
		text := out.Text("stdout") + out.Text("stderr")
		w.result = text
		w.said = strings.TrimSpace("exit " + strconv.FormatInt(out.Int("exit_code"), 10) + " " + firstLine(text))
	}
	return w
}

// humanWords are the question that was put to a person, and the answer.
func humanWords(e *history.Entry, name string) stepWords {
	w := stepWords{what: e.Func + callArgs(e.Args), result: e.Outcome.Value, asks: true}
	for i := range e.Questions {
		if q := &e.Questions[i]; q.Kind != tool.QuestionApproval {
			w.what = name + ": " + ui.OneLine(q.Text)
		}
	}
	if !e.Settled.IsZero() {
		w.said = firstLine(valueText(e.Outcome.Value))
	}
	return w
}

func sleepWords(e *history.Entry) stepWords {
	w := stepWords{what: e.Func + callArgs(e.Args), asks: true}
	v, _ := e.Args.Get("seconds")
	switch n := v.(type) {
	case int64:
		w.what = "sleep " + duration(time.Duration(n)*time.Second)
	case float64:
		w.what = "sleep " + duration(time.Duration(n*float64(time.Second)))
	}
	for _, n := range e.Notes {
		if until, err := time.Parse(time.RFC3339Nano, n.Text("until")); err == nil && e.Settled.IsZero() {
			w.what += " until " + until.Local().Format(timeLayout)
		}
	}
	return w
}
