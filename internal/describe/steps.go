package describe

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Steps are the steps of a run, as people see them.
type Steps struct {
	Steps  []Step      // by step path
	Wait   *Wait       // what the run waits for, or nil
	Used   agent.Usage // of models
	Tokens Tokens
	Times  *history.Times // or nil
	Damage error          // of the record, or nil
}

// Steps describes the steps of a run, and what it waits for. It calls also with the record of each step, unless that is
// damaged or also is nil. The error means that nothing can be read.
func (r *Record) Steps(also func(e *history.Entry)) (*Steps, error) {
	all := &Steps{Wait: r.Wait, Times: r.Times}
	damage, err := r.Each(func(e *history.Entry, damage error) {
		if all.add(e, damage, r.Run.State, r.Live); damage == nil && also != nil {
			also(e)
		}
	})
	all.Damage = damage
	return all, err
}

func (all *Steps) add(e *history.Entry, damage error, run history.State, live bool) {
	s := Step{StepPath: e.StepPath, Mark: Failed, What: "this step", Name: "this step", Result: "its record is damaged"}
	if damage == nil {
		all.Used.Add(agent.StepUsage(e.Outcome.Value, e.Notes))
		s = StepOf(e, run, live, all.Tokens.Count(e), all.Times)
	}
	// The outcome of a step that made calls is known from theirs.
	if last := len(all.Steps) - 1; last >= 0 && all.Steps[last].Mark == Unknown && Inside(s.StepPath, all.Steps[last].StepPath) {
		all.Steps[last].Mark, all.Steps[last].Result = Waits, ""
	}
	if sent := all.Wait.Sent(e.StepPath); len(sent) > 0 {
		s.Below, s.Notes, s.Asks = append(s.Below, sent...), append(s.Notes, sent...), false
	}
	all.Steps = append(all.Steps, s)
}

// Inside reports whether a step is inside another one.
func Inside(p, other tool.StepPath) bool {
	return len(p) > len(other) && slices.Equal(p[:len(other)], other)
}

// Parts returns what a person looks for in the record of a step: the arguments of a call, why it was made, and its result or
// its error.
func Parts(e *history.Entry) (args *value.Dict, because string, outcome value.Value, failure string) {
	args, outcome = Args(e), e.Outcome.Value
	out, _ := outcome.(*value.Dict)
	switch e.Func {
	case "tools.call":
		args = args.Dict("args")
	case "agent.ask":
		outcome, _ = out.Get("text")
	case "agent.call":
		d := args.Dict("decision")
		args, because = d.Dict("input"), d.Text("reasoning")
		if outcome, _ = out.Get("result"); out.Has("success") && !out.Bool("success") {
			failure = strings.TrimRight(out.Text("error"), "\n")
		}
	}
	return args, because, outcome, failure
}
