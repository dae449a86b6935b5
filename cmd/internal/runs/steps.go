package runs

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A row is a step that is shown.
type row struct {
	describe.Step
	inside int // how many steps below it are not shown
	folded int // how many steps are not shown here: then it is no step
}

// rowsOf returns the steps that are shown: those of the run itself, the calls of its model, and below a step that did not
// succeed those that did not either. The others are counted, as hidden if they are below none.
func (v *view) rowsOf(steps []describe.Step) (rows []row, hidden int) {
	var list []*describe.Step
	for i := range steps {
		s := &steps[i]
		if len(s.Calls) == 0 || len(s.Notes) > 0 || v.all {
			list = append(list, s)
		}
		for k := range s.Calls {
			list = append(list, &s.Calls[k])
		}
	}
	slices.SortStableFunc(list, func(a, b *describe.Step) int { return slices.Compare(a.StepPath, b.StepPath) })
	for _, s := range list {
		switch up := above(rows, s.StepPath); {
		case v.all, s.Called, up == nil && !routine(s), up != nil && up.Mark != describe.Done && s.Mark != describe.Done && s.Mark != describe.NotDone && !saysWhy(&up.Step, s):
			rows = append(rows, row{Step: *s})
		case up != nil:
			up.inside++
		default:
			hidden++
		}
	}
	return rows, hidden
}

// routine reports whether a step that succeeded says nothing about what the run did.
func routine(s *describe.Step) bool {
	return s.Internal || s.Mark == describe.Done && (s.Name == "prompt" || s.Name == "end")
}

// saysWhy reports whether a step has failed for the reason that one inside it has.
func saysWhy(s, inside *describe.Step) bool {
	return s.Mark == describe.Failed && inside.Mark == describe.Failed && strings.Contains(s.Result, inside.Result)
}

// above returns the row that a step is below, or nil.
func above(rows []row, p tool.StepPath) *row {
	for i := len(rows) - 1; i >= 0 && len(p) > 1 && rows[i].StepPath[0] == p[0]; i-- {
		if describe.Inside(p, rows[i].StepPath) {
			return &rows[i]
		}
	}
	return nil
}

// steps returns the lines of rows. Of many, those in the middle that succeeded are left out.
func (v *view) steps(rows []row, hidden int) (lines []string) {
	if n := len(rows); n > draw.MaxRows && !v.all {
		var shown []row
		for i := range rows {
			switch k := len(shown) - 1; {
			case i < draw.HeadRows || i >= n-draw.TailRows || rows[i].Mark != describe.Done:
				shown = append(shown, rows[i])
			case shown[k].folded > 0:
				shown[k].folded++
			default:
				shown = append(shown, row{folded: 1})
			}
		}
		rows = shown
	}
	l, told := v.layout(rows), false
	for i := range rows {
		if hidden += rows[i].inside; rows[i].folded > 0 {
			lines, told = append(lines, v.Paint(draw.Dim, v.Fold(rows[i].folded, "step", "--all"))), true
			continue
		}
		lines = append(lines, v.step(&rows[i], l)...)
	}
	if hidden > 0 && !told {
		lines = append(lines, v.Paint(draw.Dim, v.Fold(hidden, "more step", "--all")))
	}
	return lines
}

// A layout is how wide the columns of steps are.
type layout struct{ places, names, figures, folds int }

func (v *view) layout(rows []row) (l layout) {
	const most = 14 // cells of a name
	for i := range rows {
		r := &rows[i]
		l.places = max(l.places, len(r.StepPath.String()))
		if n := draw.Cells(ui.VisibleLine(r.Name)); n <= most {
			l.names = max(l.names, n)
		}
		l.figures = max(l.figures, draw.Cells(v.figures(r)))
		l.folds = max(l.folds, draw.Cells(v.inside(r)))
	}
	if v.Most() < 60 {
		l.names = 0
	}
	return l
}

// figures describes the outcome of a step in a few words.
func (v *view) figures(r *row) string {
	parts := r.Figures
	if r.Brief != "" {
		parts = slices.Insert(slices.Clone(parts), 0, v.Cut(ui.VisibleLine(r.Brief), 24))
	}
	return strings.Join(parts, v.Between())
}

// inside says how many steps below a step are not shown.
func (v *view) inside(r *row) string {
	if r.inside == 0 {
		return ""
	}
	return v.Fold(r.inside, "step", "")
}

// step returns the lines of a step: what it does, and at the right what came of it.
func (v *view) step(r *row, l layout) []string {
	name, about := v.Cut(ui.VisibleLine(r.Name), v.Most()/2), describe.FirstLine(r.About)
	place := r.StepPath.String()
	own := r.Asks && r.Own // a question is never cut
	if v.Plain {
		text := draw.Join(", ", ui.VisibleLine(about), v.figures(r), v.inside(r))
		lines := v.Message(stepMark(&r.Step), place+" "+name+": "+text)
		if own {
			lines = append(lines, v.rest(r, "  ")...)
		}
		return append(lines, v.below(r, "  ")...)
	}
	indent := strings.Repeat(" ", 2+l.places+2)
	left := v.Mark(stepMark(&r.Step)) + " " + v.Paint(draw.Dim, draw.Pad(place, l.places, false)) + "  " + draw.Pad(name, l.names, false) + "  "
	if own {
		lines := append(draw.Wrap(left, ui.VisibleLine(about), v.Most()), v.rest(r, strings.Repeat(" ", min(draw.Cells(left), v.Most()/2)))...)
		return append(lines, v.below(r, indent)...)
	}
	const least = 12 // cells of what it does, or the figures are left out
	right := draw.Pad(v.figures(r), l.figures, true)
	if l.folds > 0 {
		right += "  " + draw.Pad(v.inside(r), l.folds, false)
	}
	text := ui.VisibleLine(about)
	if v.all && r.Brief == "" && r.Mark == describe.Done {
		text = strings.TrimSpace(text + "  " + ui.VisibleLine(r.Result))
	}
	room := v.Most() - draw.Cells(left) - draw.Cells(right) - 2
	if room < min(least, draw.Cells(text)) {
		right = v.inside(r)
		room = v.Most() - draw.Cells(left) - draw.Cells(right) - 2
	}
	left += draw.Pad(v.CutText(text, max(room, 1)), room, false)
	return append([]string{strings.TrimRight(left+"  "+v.Paint(draw.Dim, right), " ")}, v.below(r, indent)...)
}

// rest returns the lines of a question after its first.
func (v *view) rest(r *row, indent string) []string {
	_, rest, _ := strings.Cut(strings.TrimSpace(r.About), "\n")
	if rest == "" {
		return nil
	}
	return v.Quote(indent, ui.Visible(rest))
}

// stepMark returns the symbol of a step.
func stepMark(s *describe.Step) draw.Symbol {
	switch s.Mark {
	case describe.Done:
		return draw.Done
	case describe.Failed:
		return draw.Failed
	case describe.Unknown:
		return draw.Risk
	case describe.Waits:
		if s.Asks {
			return draw.Asks
		}
		return draw.Waits
	}
	return draw.None
}

// below returns the lines below a step: why it failed, if the run did not fail for the same reason, and what was decided.
func (v *view) below(r *row, indent string) (lines []string) {
	why := r.Result
	if r.Mark == describe.Done || r.Mark == describe.Failed && v.run.Err != nil && strings.Contains(v.run.Err.Message(), why) {
		why = ""
	}
	if rest, called := strings.CutPrefix(why, r.Name+"("); called { // the line of the step says what was called
		if _, rest, found := strings.Cut(rest, "): "); found {
			why = rest
		}
	}
	const most = 5 * draw.MaxText // all of it is in the step itself
	for _, text := range append(slices.Clone(r.Notes), why) {
		if text != "" {
			lines = append(lines, draw.Wrap(indent, v.Cut(ui.VisibleLine(text), most), v.Most())...)
		}
	}
	return lines
}
