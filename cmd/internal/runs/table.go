package runs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
)

// leastID is how many characters of an ID are shown at least: those of its day and time.
const leastID = 13

// table draws runs on a terminal, and below them what to type for those that wait for a person or have failed.
func (p page) table(runs []history.Run, undone map[string]bool, waits func(*history.Run) *describe.Wait) {
	several := slices.ContainsFunc(runs, func(r history.Run) bool { return r.Project != runs[0].Project })
	t := &draw.Table{Columns: []draw.Column{{Name: "WHEN", Dim: true, Rank: 2}, {Name: "RUN"}, {Name: "KIND", Rank: 1}, {Name: "PROJECT", Rank: 3}, {Name: "WHAT"}}}
	count, first := map[draw.Symbol]int{}, map[draw.Symbol]string{} // what to type for the first run with a mark
	prefix := uniquePrefix(runs)
	for i := range runs {
		r := &runs[i]
		what, w := r.Title, waits(r)
		mark := markOf(r, w)
		switch {
		case r.Damage != nil:
			what = "damaged: " + what
		case mark == draw.Asks && len(w.Questions) == 1:
			what += "  asks: " + w.Questions[0].Text
		case w != nil:
			what += "  " + w.Text()
		case r.State == history.Stuck:
			what += "  stuck: " + r.Stuck
		case r.State == history.Failed && r.Err != nil:
			what += "  " + describe.FirstLine(r.Err.Message())
		case r.State != history.Done && mark != draw.Running:
			what += "  " + stateText(r)
		}
		if undone[r.ID] {
			what += "  undone"
		}
		age := ""
		if !r.Started.IsZero() {
			age = strings.TrimSuffix(describe.Age(time.Since(r.Started)), " ago")
		}
		project := ""
		if several && r.Project != "" {
			project = filepath.Base(r.Project)
		}
		id := r.ID[:min(len(r.ID), prefix)]
		t.Rows = append(t.Rows, ui.Map([]string{age, id, r.Kind, project, describe.FirstLine(what)}, ui.VisibleLine))
		t.Marks = append(t.Marks, mark)
		if count[mark]++; count[mark] == 1 {
			if first[mark] = describe.Repair(r); mark == draw.Asks {
				first[mark] = "cassidy runs answer " + r.ID
			}
		}
	}
	if !several {
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], 3, 4)
		}
		t.Columns = slices.Delete(t.Columns, 3, 4)
	}
	t.AllRows = true // --limit says how many
	s := p.ScreenOf(p.Out)
	lines := append(s.Table(t, ""), "")
	for _, x := range []struct {
		mark draw.Symbol
		what string
	}{{draw.Asks, "for you"}, {draw.Risk, "stuck"}, {draw.Failed, "failed"}} {
		if first[x.mark] != "" {
			lines = append(lines, draw.Wrap(s.Mark(x.mark)+" ", fmt.Sprintf("%d %s: ", count[x.mark], x.what)+ui.VisibleLine(first[x.mark]), s.Most())...)
		}
	}
	p.Print(strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n")
}

// uniquePrefix returns how many characters of the IDs differ.
func uniquePrefix(runs []history.Run) int {
	for n := leastID; ; n++ {
		seen := map[string]bool{}
		longer := false
		for i := range runs {
			id := runs[i].ID
			longer = longer || len(id) > n
			seen[id[:min(len(id), n)]] = true
		}
		if len(seen) == len(runs) || !longer {
			return n
		}
	}
}
