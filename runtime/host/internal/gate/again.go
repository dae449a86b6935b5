package gate

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A call that did nothing, since others have changed its files meanwhile, is made again: as a step inside
// it, after all its own. The record notes that before the next attempt begins, so that no resumed run carries
// out an attempt that was given up.

// noteAgain is the name in the note of an attempt that was given up: the number of the step at which the call
// is made again.
const noteAgain = "again"

// nextAttempt returns the number of the step at which the call is made again, by the record, or 0.
func (p *Pass) nextAttempt() (int, error) {
	if _, none := p.Run.record.(history.None); none {
		return 0, nil
	}
	entry, _, err := p.Run.record.Recorded(p.call.StepPath)
	if err != nil {
		return 0, Unrecorded(err)
	}
	for _, n := range entry.Notes {
		if at := n.Int(noteAgain); at > 0 {
			return int(at), nil
		}
	}
	return 0, nil
}

// giveUp notes that the call is made again, and returns the number of the step.
func (p *Pass) giveUp(ctx context.Context) (int, error) {
	at, record := p.quota.effects+2, p.Run.record // its commit was at the step before
	for ; ; at++ {
		used := false // by an earlier process, in which the call got further
		for _, step := range p.stepsAt(at) {
			_, known, err := record.Recorded(step)
			if err != nil {
				return 0, Unrecorded(err)
			}
			used = used || known
		}
		if !used {
			return at, p.Run.note(ctx, p.call.StepPath, value.NewDict(noteAgain, int64(at)))
		}
	}
}

// stepsAt returns the n-th step of the call, and the commit before it.
func (p *Pass) stepsAt(n int) []tool.StepPath {
	at := p.call.StepPath.Child(n)
	return []tool.StepPath{at, at.Child(0)}
}

// recallChanges reads what was answered about the changes of an attempt that is given up, whose steps are
// those before next. An approval holds for the same changes in the next attempt, and a refusal for all.
func (p *Pass) recallChanges(ctx context.Context, next int) error {
	if !p.Run.record.Keeps() {
		return nil
	}
	for n := 1; n < next; n++ {
		for _, at := range p.stepsAt(n) {
			q := p.inquire(inquiry{at: at})
			answer, asked, err := p.Run.answer(ctx, at, q.aboutChanges)
			switch {
			case err != nil:
				return err
			case answer == nil:
			case answer.Yes:
				p.consent.shown = append(p.consent.shown, asked.Changes...)
			default:
				q.changes = asked.Changes
				p.consent.declined = q.errRefused(answer.Why)
			}
		}
	}
	return nil
}

// aboutChanges reports whether a recorded question is about the changes of the call.
func (q *inquiry) aboutChanges(asked *history.Asked) bool {
	return asked.Kind == tool.QuestionApproval && len(asked.Changes) > 0 && asked.Tool == q.of.tool.Name
}
