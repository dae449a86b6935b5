package eval

import (
	"fmt"
	"slices"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
)

// numbers are the columns of tables that have numbers, and their ranks: the highest is left out first.
func numbers() map[string]int {
	return map[string]int{"passed": 0, "success": 0, "tokens": 1, "time": 2, "iterations": 3, "cost": 4, "as asked": 5}
}

// drawRows returns a table on a terminal, the first row as its head. A column of figures that nobody knows is left out.
func drawRows(s draw.Screen, rows [][]string, marks []draw.Symbol) []string {
	t := &draw.Table{Marks: marks, AllRows: true, Unfold: "--json"}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i] = ui.Map(rows[i], ui.VisibleLine)
	}
	for i := len(rows[0]) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[i] != "-" }) {
			withoutColumn(rows, i)
		}
	}
	for _, name := range rows[0] {
		rank, isNumber := numbers()[name]
		t.Columns = append(t.Columns, draw.Column{Name: name, Right: isNumber, Rank: rank})
	}
	for _, row := range rows[1:] {
		t.Rows = append(t.Rows, ui.Map(row, s.Own))
	}
	return s.Table(t, "")
}

// draw returns the lines of a report on a terminal.
func (c *command) draw(s draw.Screen, r *eval.Report) (lines []string) {
	var marks []draw.Symbol
	for i := range r.Summary {
		marks = append(marks, passes(r.Summary[i].Passed == r.Summary[i].Cases))
	}
	lines = drawRows(s, summaryRows(r), marks)
	lines = append(lines, "")
	for _, line := range draw.Wrap("  ", averages(r), s.Most()) {
		lines = append(lines, s.Paint(draw.Dim, line))
	}
	return append(append(lines, ""), drawFailed(s, r, c.Verbose)...)
}

// drawFailed returns the lines of the cases that failed, each reason once unless all is set, and how many passed.
func drawFailed(s draw.Screen, r *eval.Report, all bool) (lines []string) {
	failed := slices.DeleteFunc(slices.Clone(r.Results), func(x eval.Result) bool { return x.Success })
	count := map[string]int{}
	for i := range failed {
		count[failed[i].Why]++
	}
	for i := range failed {
		x := &failed[i]
		same := count[x.Why]
		if same == 0 { // an earlier one has the line
			continue
		}
		lines = append(lines, s.Message(draw.Failed, ui.VisibleLine(x.Name()))...)
		lines = append(lines, draw.Wrap("  ", ui.VisibleLine(ui.CutShown(x.Why, 2*draw.MaxText)), s.Most())...)
		if !all {
			if same > 1 {
				lines = append(lines, "  "+s.Paint(draw.Dim, s.Fold(same-1, "more case", "--verbose")))
			}
			count[x.Why] = 0
		}
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	passed := len(r.Results) - len(failed)
	if len(failed) == 0 {
		return append(lines, s.Message(draw.Done, ui.Count(passed, "case"))...)
	}
	return append(lines, s.Message(draw.Failed, ui.Count(len(failed), "case")+s.Between()+s.Mark(draw.Done)+fmt.Sprintf(" %d", passed))...)
}

// passes returns the mark of something that passed or not.
func passes(ok bool) draw.Symbol {
	if ok {
		return draw.Done
	}
	return draw.Failed
}

// drawScores draws a line for each format, and the best one.
func (c *command) drawScores(t *formatTest, scores []eval.Score) {
	s := c.ScreenOf(c.Out)
	rows, marks := [][]string{{"format", "success", "iterations", "as asked"}}, []draw.Symbol(nil)
	for _, task := range scores[0].Tasks {
		rows[0] = append(rows[0], task.Task)
	}
	for _, x := range scores {
		row := []string{string(x.Format), fmt.Sprintf("%.0f %%", 100*x.Rate()), meanText(x.Iterations), fmt.Sprintf("%d of %d", x.AsAsked, x.Calls)}
		for _, task := range x.Tasks {
			row = append(row, fmt.Sprintf("%d of %d", task.Successes, task.Trials))
		}
		rows, marks = append(rows, row), append(marks, passes(x.Rate() > 0))
	}
	lines := append(drawRows(s, rows, marks), "")
	name := ui.VisibleLine(t.model.Name())
	if best := eval.Preferred(scores); best != "" {
		lines = append(lines, s.Message(draw.Done, "prefer "+string(best)+" for "+name)...)
		lines = append(lines, s.Hint("  ", "cassidy task --model "+name+" --format "+string(best)+` "…"`)...)
	} else {
		lines = append(lines, s.Message(draw.Failed, "no try succeeded: "+name+" does not call tools in any of these formats")...)
	}
	c.PrintLines(lines)
}
