package prompt

import (
	"github.com/cassidy-run/cassidy/runtime/value"
	"strings"
)

// Notes returns the names of the reminders.
func Notes() []string {
	return []string{"no_decision", "bad_decision", "loop", "answer_now", "last_turn", "more", "cut", "continue", "empty"}
}

// Note returns a reminder by its name. detail is its subject, and times is how often a call was
// repeated, or how many replies there are. It fails with kind Invalid for an unknown name.
func (p *Prompt) Note(name, detail string, times int) (string, error) {
	switch name {
	case "no_decision":
		return p.NoDecision(detail), nil
	case "bad_decision":
		return p.BrokenDecision(detail), nil
	case "loop":
		return p.LoopWarning(detail, times), nil
	case "answer_now":
		return p.LastTurn(), nil
	case "empty":
		return p.Empty(), nil
	case "cut":
		return p.Cut(), nil
	case "continue":
		return p.ContinueAnswer(), nil
	case "more":
		return p.MoreIterations(times), nil
	case "last_turn":
		return p.LastIteration(), nil
	}
	return "", value.Errorf(value.Invalid, "agent.note: unknown note %q%s", name, value.DidYouMean(name, Notes())).WithHint("use one of: \"%s\"", strings.Join(Notes(), `", "`))
}
