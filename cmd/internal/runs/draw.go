package runs

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A view draws a run on a terminal.
type view struct {
	*app.App
	draw.Screen
	all bool // nothing is folded
	run *history.Run
	w   *describe.Wait // what it waits for, or nil
}

func (c *command) view(r *history.Run, w *describe.Wait) *view {
	return &view{App: c.App, Screen: c.ScreenOf(c.Out), all: c.All || c.Verbose, run: r, w: w}
}

// head returns the lines of what the run is, and how it is.
func (v *view) head(used agent.Usage, undos []string, times *history.Times) []string {
	r := v.run
	state := v.state()
	if !r.Started.IsZero() {
		layout := "2006-01-02 15:04"
		if now := time.Now(); r.Started.Local().Format(time.DateOnly) == now.Format(time.DateOnly) {
			layout = "15:04"
		}
		state += v.Between() + "started " + r.Started.Local().Format(layout)
	}
	if times != nil && r.State.Ended() {
		if worked, waited := times.Run(); worked >= time.Second {
			state += v.Between() + describe.Took(worked, waited)
		}
	}
	title := ui.VisibleLine(describe.FirstLine(r.Title))
	if !v.all && !v.Plain {
		const least = 20 // cells beside the state, or it is below
		room := v.Most() - draw.Cells(r.ID) - 4
		if beside := room - draw.Cells(state) - 2; beside >= least {
			room = beside
		}
		title = v.Cut(title, max(room, 0))
	}
	lines := v.Head(markOf(r, v.w), v.Paint(draw.Bold, ui.VisibleLine(r.ID))+"  "+title, v.Paint(draw.Dim, state))
	model := r.Options.Text("model")
	if file, isScript := strings.CutPrefix(model, "script:"); isScript {
		model = "script:" + path.Base(filepath.ToSlash(file))
	}
	about := []string{r.Kind, model, calls.Known(used.String())}
	if policy := r.Options.Text("policy"); policy != r.Kind {
		about = slices.Insert(about, 1, policy)
	}
	if r.Kind != host.WorkflowKind || about[1] != "" {
		for _, line := range draw.Wrap("  ", ui.VisibleLine(draw.Join(v.Between(), about...)), v.Most()) {
			lines = append(lines, v.Paint(draw.Dim, line))
		}
	}
	fact := func(label, text string) {
		if text != "" {
			lines = append(lines, v.Fact(draw.None, label, ui.VisibleLine(text))...)
		}
	}
	if root, err := v.Root(); err != nil || root != r.Project {
		fact("project", r.Project)
	}
	fact("undone", strings.Join(undos, ", "))
	fact("retry of", r.ForkedFrom)
	return lines
}

// state says in words how the run is.
func (v *view) state() string {
	r := v.run
	switch {
	case r.Damage != nil:
		return "damaged"
	case v.w != nil && len(v.w.Questions) > 0 && v.w.Open() == 0:
		return "answered"
	case v.w != nil && len(v.w.Questions) == 1:
		return "waits for you"
	case v.w != nil:
		return v.w.Text()
	case r.State == history.Done && r.Reason == "final", r.State == history.Failed && r.Reason == "error", r.Reason == r.State.String():
		return r.State.String()
	}
	return stateText(r)
}

// markOf returns the symbol of a run, with what it waits for or nil.
func markOf(r *history.Run, w *describe.Wait) draw.Symbol {
	switch {
	case r.Damage != nil:
		return draw.Failed
	case w != nil && w.Open() > 0:
		return draw.Asks
	case w != nil || r.State == history.Parked:
		return draw.Waits
	case r.State == history.Running && r.Reason != describe.BrokenOff:
		return draw.Running
	case r.State == history.Stuck:
		return draw.Risk
	case r.State == history.Done:
		return draw.Done
	}
	return draw.Failed
}

// wait returns the lines of what the run waits for, and what to type. Nothing of a question is cut: a person may answer it
// without seeing it again.
func (v *view) wait(rows []row) (lines []string) {
	for i := range v.w.Questions {
		q := &v.w.Questions[i]
		if q.Answer != nil {
			continue
		}
		page := approve.Page{Screen: v.Screen, All: true}
		r := approve.Question(&q.Question, nil, nil)
		if slices.ContainsFunc(rows, func(r row) bool { return r.Own && slices.Equal(r.StepPath, q.StepPath) }) {
			page.Marks(r) // the step has its text
		} else {
			page.WriteString("\n")
			page.Review(r)
		}
		if page.Len() > 0 {
			lines = append(lines, strings.Split(strings.TrimSuffix(page.String(), "\n"), "\n")...)
		}
		fact := func(label, text string) {
			lines = append(lines, v.Fact(draw.None, draw.Pad(label, review.LabelColumns, false), text)...)
		}
		for k := range q.Rules {
			fact("rule", ui.VisibleLine(approve.RuleWords(&q.Rules[k])))
		}
		if len(q.Rules) > 0 || q.Each {
			fact("by rule", "cassidy runs answer "+q.Run+" "+q.Step+" --rule")
		}
		if len(q.Sources) > 0 {
			lines = append(lines, draw.Wrap("  ", ui.VisibleLine(hint.Trust(q.Sources)), v.Most())...)
		}
		if len(v.w.Questions) > 1 {
			fact("answer", v.Paint(draw.Bold, "cassidy runs answer "+q.Run+" "+q.StepPath.String()))
		}
	}
	if label, command := v.w.Next(); command != "" {
		lines = append(append(lines, ""), v.Fact(draw.None, label, v.Paint(draw.Bold, command))...)
	}
	return lines
}

// outcome returns the lines of how the run ended, and what to type then.
func (v *view) outcome() (lines []string) {
	r := v.run
	if d, ok := r.Result.(*value.Dict); ok && d.Has("answer") { // of an agent
		lines = v.fold(v.inBlock("answer", func(inner draw.Screen) []string { return inner.Markdown(ui.Printable(d.Text("answer"))) }))
	} else {
		lines = v.fold(v.block("result", r.Result))
	}
	if r.Err != nil && r.State != history.Cancelled {
		lines = append(lines, v.Failure(v.Screen, "", r.Err)...)
	}
	if r.State == history.Stuck {
		lines = append(lines, v.Message(draw.Risk, ui.VisibleLine(r.Stuck))...)
		lines = append(lines, v.Fact(draw.None, "recorded", "by cassidy "+ui.VisibleLine(cmp.Or(r.Version, "of an unknown version"))+"; this is "+app.Version())...)
	}
	switch repair := ui.VisibleLine(describe.Command(describe.Repair(r))); {
	case strings.HasPrefix(repair, "cassidy "):
		lines = append(lines, v.Fact(draw.None, "run", v.Paint(draw.Bold, repair))...)
	case repair != "":
		lines = append(lines, v.Hint("  ", repair)...)
	}
	if r.State == history.Parked && !r.Wake.IsZero() && history.Repair(r.Reason) != "" {
		lines = append(lines, draw.Wrap("  ", "cassidy runs resume --due tries again after "+r.Wake.Local().Format(describe.TimeLayout)+"; with --faults, it tries immediately", v.Most())...)
	}
	return lines
}

// fold leaves out the end of many lines.
func (v *view) fold(lines []string) []string {
	if v.all {
		return lines
	}
	return v.First("  ", lines, "--all")
}

// block returns the lines of a name and a value, which comes from outside.
func (v *view) block(name string, of value.Value) []string {
	switch x := of.(type) {
	case nil:
		return nil
	case []byte:
		of = string(x)
		if !utf8.Valid(x) {
			return v.Fact(draw.None, name, ui.Count(len(x), "byte"))
		}
	case string, *value.Dict, value.List:
	default:
		return v.Fact(draw.None, name, ui.VisibleLine(value.FormatJSON(of, "")))
	}
	if text, ok := of.(string); ok {
		if text = strings.TrimRight(text, "\n"); !strings.Contains(text, "\n") {
			return v.Fact(draw.None, name, ui.VisibleLine(text))
		}
		return append(v.label(name), v.Quote("  ", ui.Visible(text))...)
	}
	return v.inBlock(name, func(inner draw.Screen) []string {
		return inner.Value(of, draw.Folds{AllRows: v.All, AllColumns: v.All, Rows: "--all", Columns: "--all"})
	})
}

// inBlock returns a label, and below it behind a margin what a narrower screen shows.
func (v *view) inBlock(name string, shown func(draw.Screen) []string) []string {
	inner := v.Screen
	inner.Width = v.Most() + 1 - 4
	lines := v.label(name)
	for _, line := range shown(inner) {
		lines = append(lines, strings.TrimRight("  "+v.Paint(draw.Dim, v.Margin(false))+" "+line, " "))
	}
	return lines
}

// label returns the line above a block.
func (v *view) label(name string) []string { return []string{"  " + v.Paint(draw.Dim, name)} }
