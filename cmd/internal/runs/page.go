package runs

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A page prints runs for people where standard output is not a terminal.
type page struct{ *app.App }

// cut cuts a line that is not for a terminal.
func cut(line string, cells int) string { return draw.Screen{}.Cut(line, cells) }

// wait prints in full what a run waits for, and what to type.
func (p page) wait(w *describe.Wait) {
	p.Print("\n")
	if len(w.Questions) != 1 {
		p.Print(draw.Pad("waits", 9, false) + ui.VisibleLine(strings.TrimPrefix(w.Text(), "waits ")) + "\n")
	}
	for i := range w.Questions {
		p.question(&w.Questions[i])
	}
	p.Print(p.ScreenOf(p.Out).Paint(draw.Bold, "  "+w.Todo()) + "\n")
}

// question prints an open question.
func (p page) question(q *history.Asked) {
	short := *q
	short.Text = ""
	p.Print(draw.Pad("waits", 9, false) + ui.VisibleLine(strings.TrimPrefix(strings.TrimSuffix(describe.QuestionLine(&short), ": "), "waits ")) + "\n")
	// Nothing is cut: an answer does not show the question again.
	r := approve.Page{Screen: draw.Screen{Color: p.ScreenOf(p.Out).Color}, All: true}
	of := q.Question
	of.Run = "" // it is above
	r.Rows(approve.Question(&of, nil, nil))
	p.Print(r.String())
	for i := range q.Rules {
		p.Print(draw.Pad("rule", 9, false) + ui.VisibleLine(approve.RuleWords(&q.Rules[i])) + "\n")
	}
	if len(q.Rules) > 0 || q.Each {
		p.Print(draw.Pad("", 9, false) + "to answer by a rule: cassidy runs answer " + q.Run + " " + q.Step + " --rule\n")
	}
	if len(q.Sources) > 0 {
		p.Print(draw.Pad("", 9, false) + ui.VisibleLine(hint.Trust(q.Sources)) + "\n")
	}
}

// list prints runs, a line each, with their project if they are of several. Below a parked
// or failed one is what it waits for, or what to type.
func (p page) list(runs []history.Run, undone map[string]bool, waits func(*history.Run) *describe.Wait) {
	const columns, least = 6, 20 // those before the title, and the minimum width of the title
	several := slices.ContainsFunc(runs, func(r history.Run) bool { return r.Project != runs[0].Project })
	rows := make([][columns]string, len(runs))
	var widths [columns]int
	for i := range runs {
		r := &runs[i]
		rows[i] = [columns]string{r.ID, r.Kind, r.State.String(), r.Reason, describe.Age(time.Since(r.Started)), ""}
		if several && r.Project != "" {
			rows[i][5] = filepath.Base(r.Project)
		}
		if undone[r.ID] {
			rows[i][2] += ", undone"
		}
		if r.Damage != nil {
			rows[i][2] = "damaged"
		}
		if r.Started.IsZero() {
			rows[i][4] = ""
		}
		for k := range rows[i] {
			rows[i][k] = cut(ui.VisibleLine(rows[i][k]), draw.MaxText/2)
			widths[k] = max(widths[k], draw.Cells(rows[i][k]))
		}
	}
	paint, width := p.ScreenOf(p.Out).Paint, draw.MaxText
	for i := range runs {
		line := ""
		for k, text := range rows[i] {
			if widths[k] > 0 {
				line += draw.Pad(text, widths[k], false) + "  "
			}
		}
		title := cut(ui.VisibleLine(runs[i].Title), max(least, width-draw.Cells(line)))
		p.Print(strings.TrimRight(line+title, " ") + "\n")
		below := describe.Repair(&runs[i]) // a command is not cut
		if runs[i].State == history.Stuck {
			below = cut(ui.VisibleLine(runs[i].Stuck), width-4)
		}
		if w := waits(&runs[i]); w != nil {
			below = cut(ui.VisibleLine(w.Text()), width-4)
		}
		if below != "" {
			p.Print("  " + paint(draw.Magenta, "…") + " " + below + "\n")
		}
	}
}

func placeWidth(steps []describe.Step) int {
	width := 0
	for i := range steps {
		width = max(width, 2*(len(steps[i].StepPath)-1)+len(steps[i].StepPath.String()))
	}
	return width
}

// head prints the facts about a run.
func (p page) head(r *history.Run, used agent.Usage, undos []string, times *history.Times) {
	line := p.line
	line("run", r.ID)
	line("kind", r.Kind)
	if root, err := p.Root(); err != nil || root != r.Project {
		line("project", r.Project)
	}
	line("title", r.Title)
	line("state", stateText(r))
	if r.State == history.Stuck {
		p.Print(draw.Pad("stuck", 9, false) + ui.VisibleLine(r.Stuck) + "\n") // not cut: it says what differs
		line("recorded", "by cassidy "+cmp.Or(r.Version, "of an unknown version")+"; this is "+app.Version())
	}
	line("undone", strings.Join(undos, ", "))
	line("retry of", r.ForkedFrom)
	if !r.Started.IsZero() {
		line("started", r.Started.Local().Format(describe.TimeLayout))
	}
	if !r.Started.IsZero() && times != nil && r.State != history.Running {
		line("took", describe.Took(times.Run()))
	}
	line("model", r.Options.Text("model"))
	line("policy", r.Options.Text("policy"))
	line("used", used.String())
	p.outcome(r)
	p.Print("\n")
}

// line prints a fact about a run.
func (p page) line(name, value string) {
	if value != "" {
		p.Print(cut(draw.Pad(name, 9, false)+ui.VisibleLine(value), draw.MaxText) + "\n")
	}
}

// outcome prints the result or the error of a run.
func (p page) outcome(r *history.Run) {
	result := r.Result
	if d, ok := result.(*value.Dict); ok && d.Has("answer") {
		result, _ = d.Get("answer") // of an agent
	}
	p.line("result", describe.FirstLine(result))
	if r.Err != nil {
		p.line("error", r.Err.Message())
		p.line("type", r.Err.Kind.Type())
		p.line("hint", describe.ForUsers(r.Err).Hint)
	}
}

// todo prints what to type for a run that has not succeeded, and that waits for no answer.
func (p page) todo(r *history.Run) {
	repair := describe.Repair(r)
	if repair == "" {
		return
	}
	p.Print("\n" + p.ScreenOf(p.Out).Paint(draw.Bold, "  "+repair) + "\n")
	if r.State == history.Parked && !r.Wake.IsZero() {
		p.Print("  cassidy runs resume --due tries again after " + r.Wake.Local().Format(describe.TimeLayout) + "; with --faults, it tries immediately\n")
	}
}

// stateText returns the state of a run, and why.
func stateText(r *history.Run) string {
	if r.Reason == "" {
		return r.State.String()
	}
	return r.State.String() + " (" + r.Reason + ")"
}

// colors are those of the marks of steps.
var colors = map[describe.Mark]string{
	describe.Done: draw.Green, describe.Failed: draw.Red, describe.Unknown: draw.Magenta, describe.Waits: draw.Magenta, describe.NotDone: draw.Dim,
}

// step prints a step on a line, indented by its depth, and what was decided there on the
// lines below.
func (p page) step(s *describe.Step, places int) {
	const least = 16 // the minimum width of the effect, however deep the step is
	paint, width := p.ScreenOf(p.Out).Paint, draw.MaxText
	margin := draw.Pad(strings.Repeat("  ", max(0, len(s.StepPath)-1))+s.StepPath.String(), places, false) + " "
	left := width - draw.Cells(margin) - 2
	cost := ""
	if s.Cost != "" {
		cost = "  " + s.Cost
		left -= draw.Cells(cost)
	}
	result := ui.VisibleLine(s.Result)
	what := ui.VisibleLine(s.What)
	if result == "" {
		what = cut(what, max(left, least))
	} else {
		what = cut(what, max(left*3/5, left-2-draw.Cells(result), least))
		left -= draw.Cells(what) + 2
		if result = cut(result, max(left, 1)); left < least/2 && result != ui.VisibleLine(s.Result) {
			result = ""
		}
	}
	line := margin + paint(colors[s.Mark], string(s.Mark)) + " " + what + paint(draw.Dim, cost)
	if result != "" {
		line += "  " + paint(draw.Dim, result)
	}
	p.Print(strings.TrimRight(line, " ") + "\n")
	for _, text := range s.Below {
		indent := strings.Repeat(" ", places+3)
		p.Print(indent + paint(draw.Dim, cut("↳ "+ui.VisibleLine(text), max(width-len(indent), least))) + "\n")
	}
}

// fullStep prints everything about a step. Each line of untrusted text begins with a
// space, so that none looks like a line of ours.
func (p page) fullStep(e *history.Entry, state history.State, live bool, times *history.Times) {
	line := func(name, value string) {
		if value != "" {
			p.Print(draw.Pad(name, 10, false) + ui.VisibleLine(value) + "\n")
		}
	}
	block := func(name string, v value.Value) {
		p.Print(name + "\n" + indented(fullText(v), "  ") + "\n")
	}
	s := describe.StepOf(e, state, live, describe.Tokens{}, times)
	line("step", e.StepPath.String())
	line("effect", e.Func)
	line("state", s.Mark.State())
	line("began", describe.Moment(e.Intended))
	if !e.Settled.IsZero() {
		line("took", describe.Took(times.Step(e)))
	}
	line("key", e.Key)
	for _, n := range e.Notes {
		line("decided", describe.NoteText(n))
	}
	if args := describe.Args(e); args.Len() > 0 {
		block("arguments", args)
	}
	if e.Change != nil {
		block("change", e.Change)
	}
	for i := range e.Questions {
		q := &e.Questions[i]
		line("asked", describe.Moment(q.Asked))
		block("question", q.Text)
		if q.Data.Len() > 0 {
			block("with", q.Data)
		}
		if a := q.Answer; a != nil {
			line("answered", describe.Moment(a.At))
			block("answer", describe.AnswerText(q))
			line("by", a.By)
			line("why", a.Why)
		}
	}
	switch {
	case e.Err != nil:
		block("error", strings.Join(append([]string{e.Err.Error()}, e.Err.Trace...), "\n"))
		line("type", e.Err.Kind.Type())
		line("hint", describe.ForUsers(e.Err).Hint)
	case !e.Settled.IsZero():
		block("outcome", e.Outcome.Value)
	}
	if u := e.Outcome.Undo; u != nil {
		block("undo", value.NewDict("func", u.Func, "args", describe.OrNil(u.Args)))
	}
}

// fullText writes a value for people: the fields of a dict on lines of their own, and
// strings as they are.
func fullText(v value.Value) string {
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
				lines = append(lines, ui.VisibleLine(name)+":", indented(fullText(text), "  "))
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
