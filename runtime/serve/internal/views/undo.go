package views

import (
	"iter"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Undo returns what an undo would do: the files that it restores, and what it does besides.
func Undo(plan *operate.Undone, entries iter.Seq2[history.Entry, error]) ([]page.File, []page.Point) {
	steps := map[string]bool{}
	for i := range plan.Left {
		steps[plan.Left[i].StepPath.String()] = true
	}
	var order []string
	changes := map[string]tool.Change{}
	for e, err := range entries {
		if err != nil || !steps[e.StepPath.String()] || e.Change.Len() == 0 {
			continue
		}
		delete(steps, e.StepPath.String())
		for _, c := range undone(&e) {
			if later, again := changes[c.Path]; again { // it was changed before, too
				c.After = later.After
			} else {
				order = append(order, c.Path)
			}
			changes[c.Path] = c
		}
	}
	var list []tool.Change
	for _, path := range order {
		if c := changes[path]; c.Before.Exists != c.After.Exists || c.Before.Hash != c.After.Hash || c.Before.Mode != c.After.Mode {
			list = append(list, c)
		}
	}
	return page.Files(list), points(plan, steps)
}

// points are what an undo does besides restoring files, and what it cannot do.
func points(plan *operate.Undone, other map[string]bool) (list []page.Point) {
	for i := range plan.Left {
		if s := &plan.Left[i]; other[s.StepPath.String()] {
			list = append(list, page.Point{Status: page.Status{State: page.Done, Word: "can be undone"}, Text: value.Cut(s.What, mostText), Detail: "step " + s.StepPath.String()})
		}
	}
	for i := range plan.Lasting {
		s := &plan.Lasting[i]
		list = append(list, page.Point{Status: page.Status{State: page.Failed, Word: "cannot be undone"}, Text: value.Cut(s.What, mostText), Detail: "cannot be undone (step " + s.StepPath.String() + ")"})
	}
	return list
}

// undone returns the changes that undo a commit. The contents are known if somebody was asked about them.
func undone(e *history.Entry) (list []tool.Change) {
	seen := map[string]tool.Change{}
	for i := range e.Questions {
		for _, c := range e.Questions[i].Changes {
			seen[c.Path] = c
		}
	}
	for k, v := range e.Change.All() {
		path, _ := k.(string)
		d, _ := v.(*value.Dict)
		c := tool.Change{Path: path, Before: state(d.Text("after")), After: state(d.Text("before"))}
		if known, ok := seen[path]; ok && known.After.Hash == c.Before.Hash && known.Before.Hash == c.After.Hash {
			c.Before, c.After = known.After, known.Before
		}
		list = append(list, c)
	}
	return list
}

func state(hash string) tool.FileState { return tool.FileState{Exists: hash != "", Hash: hash} }
