package host

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A undoStep is one step to undo.
type undoStep struct {
	At   tool.StepPath
	What string
	Call *value.Dict // the note of a call whose tool declares an undo; else nil
	when time.Time
}

// A undoPlan is what is to be undone of a run.
type undoPlan struct {
	Found   bool       // the run has the first step to undo, or a later one
	Steps   []undoStep // those that can be undone, the last first
	Lasting []undoStep // those that cannot, in the order of the run
}

// undoPlanOf returns what is to be undone of the recorded steps of a run: those from the step from on,
// or all if it is nil. function returns a function of the host by its name, or nil.
func undoPlanOf(entries iter.Seq2[history.Entry, error], from tool.StepPath, function func(name string) *tool.Func) (undoPlan, error) {
	p := undoPlan{Found: from == nil}
	var outside []history.Entry
	var calls []undoStep
	last := map[string]time.Time{} // when anything at or inside a step was last done
	for e, err := range entries {
		if err != nil {
			return undoPlan{}, err
		}
		for i := 1; i <= len(e.StepPath); i++ {
			if at, t := e.StepPath[:i].String(), cmp.Or(e.Settled, e.Intended); t.After(last[at]) {
				last[at] = t
			}
		}
		if from != nil && slices.Compare(e.StepPath, from) < 0 {
			continue
		}
		p.Found = true
		for _, n := range e.Notes {
			if n.Text(gate.NoteUndo) != "" {
				calls = append(calls, undoStep{At: e.StepPath, What: n.Text(gate.NoteUndo), Call: n})
			}
		}
		switch {
		case e.Func == gate.CommitEffect && e.Err == nil && (!e.Unknown() || e.Change.Len() > 0), e.Outcome.Undo != nil:
			p.Steps = append(p.Steps, undoStep{At: e.StepPath, What: e.Func, when: cmp.Or(e.Settled, e.Intended)})
		case lasts(&e, function(e.Func)):
			outside = append(outside, e)
		}
	}
	calls = outermost(calls)
	for i := range calls {
		calls[i].when = last[calls[i].At.String()].Add(1) // after everything inside it
	}
	for _, e := range outside {
		if !slices.ContainsFunc(calls, func(c undoStep) bool { return inside(e.StepPath, c.At) }) {
			p.Lasting = append(p.Lasting, undoStep{At: e.StepPath, What: value.Clean(e.Func+"("+e.Args.String()+")", value.MaxErrorText)})
		}
	}
	p.Steps = append(p.Steps, calls...)
	slices.SortStableFunc(p.Steps, func(a, b undoStep) int {
		return cmp.Or(b.when.Compare(a.when), slices.Compare(b.At, a.At))
	})
	return p, nil
}

// outermost returns the calls that are not inside another one: the undo of that one includes them.
func outermost(calls []undoStep) []undoStep {
	all := slices.Clone(calls)
	return slices.DeleteFunc(calls, func(c undoStep) bool {
		return slices.ContainsFunc(all, func(by undoStep) bool { return len(by.At) < len(c.At) && inside(c.At, by.At) })
	})
}

// inside reports whether a step is another one or inside it.
func inside(p, of tool.StepPath) bool { return len(p) >= len(of) && slices.Equal(p[:len(of)], of) }
