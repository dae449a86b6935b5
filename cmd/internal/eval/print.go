package eval

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// print prints a report, and how it differs from the baseline if there is one.
func (c *command) print(r *eval.Report, compared bool, changes []eval.Change) error {
	if c.JSON {
		return c.printJSON(r, compared, changes)
	}
	if s := c.ScreenOf(c.Out); s.Width > 0 {
		c.PrintLines(c.draw(s, r))
	} else {
		c.printTable(r)
		c.printFailed(r)
	}
	if compared {
		c.Print("\n")
		c.printChanges(changes)
	}
	return nil
}

func (c *command) printJSON(r *eval.Report, compared bool, changes []eval.Change) error {
	v, err := value.FromGo(r)
	if err != nil {
		return err
	}
	if d, ok := v.(*value.Dict); ok && compared {
		list, err := value.FromGo(changed(changes))
		if err != nil {
			return err
		}
		d.Put("changes", list)
	}
	return c.PrintJSON(v)
}

// printTable prints a line for each model with a format and a policy.
func (c *command) printTable(r *eval.Report) {
	c.printRows(summaryRows(r))
	if len(r.Summary) > 0 {
		c.Print("\n" + averages(r) + "\n")
	}
}

// summaryRows returns a row for each model with a format and a policy, below a head.
func summaryRows(r *eval.Report) [][]string {
	rows := [][]string{{"model", "format", "policy", "agent", "passed", "iterations", "tokens", "cost", "time"}}
	for _, s := range r.Summary {
		rows = append(rows, append([]string{s.Model, string(s.Format), s.Policy, s.Agent}, tallyCells(&s.Tally)...))
	}
	if !slices.ContainsFunc(r.Summary, func(s eval.Row) bool { return s.Agent != "" }) {
		withoutColumn(rows, 3)
	}
	if !slices.ContainsFunc(r.Summary, func(s eval.Row) bool { return s.Policy != "task" }) {
		withoutColumn(rows, 2)
	}
	return rows
}

// averages explains the figures of a report.
func averages(r *eval.Report) string {
	const text = "Iterations, tokens and time are averages per case."
	if slices.ContainsFunc(r.Summary, func(s eval.Row) bool { return s.Estimated }) {
		return text + " ~ marks an estimate: the provider does not report tokens."
	}
	return text
}

// withoutColumn removes a column from a table.
func withoutColumn(rows [][]string, i int) {
	for k := range rows {
		rows[k] = slices.Delete(rows[k], i, i+1)
	}
}

// printRows prints a table, the first row as its head.
func (c *command) printRows(rows [][]string) {
	s := c.ScreenOf(c.Out)
	if s.Width > 0 {
		c.PrintLines(drawRows(s, rows, nil))
		return
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], draw.Cells(ui.VisibleLine(cell)))
		}
	}
	for i, row := range rows {
		var line strings.Builder
		for k, cell := range row {
			line.WriteString(draw.Pad(ui.VisibleLine(cell), widths[k]+2, false))
		}
		text := strings.TrimRight(line.String(), " ")
		if i == 0 {
			text = s.Paint(draw.Bold, text)
		}
		c.Print(text + "\n")
	}
}

// tallyCells are the measures of a tally in a table.
func tallyCells(t *eval.Tally) []string {
	return []string{
		fmt.Sprintf("%d of %d", t.Passed, t.Cases), oneDigit(t.Iterations), tokensText(t), costText(t.CostUSD), oneDigit(t.Seconds) + " s",
	}
}

func oneDigit(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

func tokensText(t *eval.Tally) string {
	text := draw.Commas(strconv.FormatFloat(t.Tokens, 'f', 0, 64))
	if t.Estimated {
		return "~" + text
	}
	return text
}

func costText(cost *float64) string {
	if cost == nil {
		return "-"
	}
	return "$" + strconv.FormatFloat(*cost, 'f', 4, 64)
}

// printFailed lists the cases that failed.
func (c *command) printFailed(r *eval.Report) {
	first := true
	for i := range r.Results {
		failed := &r.Results[i]
		if failed.Success {
			continue
		}
		if first {
			c.Print("\nfailed:\n")
			first = false
		}
		c.Print("  " + ui.VisibleLine(failed.Name()) + ": " + ui.CutShown(failed.Why, 2*draw.MaxText) + "\n")
	}
}

// diffCommand returns cassidy eval diff.
func diffCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "show what differs between two reports", ArgsUsage: "OLD.json NEW.json",
		Description: "Write the reports with cassidy eval --out. The exit code is 1 if a case passes less often than before.",
		Action:      c.diff,
	}
}

func (c *command) diff(ctx *cli.Context) error {
	old, err := readReport(c.inDir(ctx.Args().Get(0)))
	if err != nil {
		return err
	}
	now, err := readReport(c.inDir(ctx.Args().Get(1)))
	if err != nil {
		return err
	}
	changes := eval.Diff(old, now)
	if c.JSON {
		v, err := value.FromGo(changed(changes))
		if err != nil {
			return err
		}
		err = c.PrintJSON(value.NewDict("cases", int64(len(changes)), "changes", v))
		if err != nil {
			return err
		}
	} else {
		c.printChanges(changes)
	}
	if slices.ContainsFunc(changes, func(c eval.Change) bool { return c.Worse }) {
		return ui.ErrSilent
	}
	return nil
}

// changed returns the changes of cases that differ.
func changed(changes []eval.Change) []eval.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c eval.Change) bool { return !c.Changed() })
}

// printChanges prints the cases that differ.
func (c *command) printChanges(changes []eval.Change) {
	list := changed(changes)
	if len(list) == 0 {
		c.Say(draw.Done, "no difference in "+ui.Count(len(changes), "case"))
		return
	}
	rows := [][]string{{"case", "passed", "iterations", "tokens", "cost", "what changed"}}
	for _, change := range list {
		rows = append(rows, append(append([]string{change.Name}, measures(&change)...), whatChanged(&change)))
	}
	c.printRows(rows)
	verb := "differ"
	if len(list) == 1 {
		verb = "differs"
	}
	mark := draw.None
	if slices.ContainsFunc(list, func(x eval.Change) bool { return x.Worse }) {
		mark = draw.Failed
	}
	c.Print("\n")
	c.Say(mark, fmt.Sprintf("%d of %s %s", len(list), ui.Count(len(changes), "case"), verb))
}

// arrow is between a measure before and now.
const arrow = " → "

// measures are the measures of a case before and now, or one if they are equal.
func measures(c *eval.Change) []string {
	if c.Old == nil || c.New == nil {
		of := c.New
		if of == nil {
			of = c.Old
		}
		return tallyCells(of)[:4]
	}
	old, now := tallyCells(c.Old)[:4], tallyCells(c.New)[:4]
	for i := range old {
		if old[i] != now[i] {
			now[i] = old[i] + arrow + now[i]
		}
	}
	return now
}

func whatChanged(c *eval.Change) string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{
		{c.Old == nil, "new case"}, {c.New == nil, "removed"}, {c.Worse, "worse"}, {c.Better, "better"},
		{c.Prompt, "prompt"}, {c.Tools, "tools"}, {c.Policy, "policy"},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "measures"
	}
	return ui.Join(words)
}

// readReport reads a report from a file.
func readReport(file string) (*eval.Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the report %s: %w", file, ui.FileError(err))
	}
	r, err := eval.ReadReport(text)
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		return nil, value.Errorf(value.Invalid, "%s: %s", file, e.Message()).WithHint("%s", e.Hint)
	}
	return r, nil
}

// writeReport replaces a file by a report: a reader never sees a part of one.
func writeReport(file string, r *eval.Report) (err error) {
	v, err := value.FromGo(r)
	if err != nil {
		return err
	}
	err = folder.Replace(file, []byte(value.FormatJSON(v, "  ")+"\n"), 0o644)
	if err != nil {
		return value.Errorf(value.Failed, "write the report %s: %w", file, ui.FileError(err))
	}
	return nil
}
