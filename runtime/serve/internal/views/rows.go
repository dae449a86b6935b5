package views

import (
	"context"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func num(n int) string { return strconv.Itoa(n) }

// A Summary is what a list says of a run. That of a run that has ended stays the same.
type Summary struct {
	Ask, Why    string
	Ran, Waited time.Duration
	Since       time.Time // since when it has been running now; zero if it is not
	Cost        float64
	Tokens      int
	held        bool
	wait        *describe.Wait
}

// Summarize reads what a list says of a run. What cannot be read is left out: the page of the run says why.
func Summarize(ctx context.Context, j *history.Journal, r *history.Run) *Summary {
	s := &Summary{}
	record := describe.RecordOf(ctx, j, r)
	all, err := record.Steps(nil)
	if err != nil {
		s.Why = sentenceOf(err)
		return s
	}
	s.wait, s.held, s.Cost = all.Wait, record.Live, all.Used.CostUSD
	s.Tokens = int(all.Tokens.In + all.Tokens.Out)
	s.Ran, s.Waited = times(all)
	if s.held && (s.wait == nil || s.wait.Open() == 0) {
		s.Since = runsSince(all)
		s.Ran -= max(0, time.Since(s.Since))
	}
	s.Ask, s.Why = s.why(r, all)
	return s
}

// times returns how long a run ran and waited.
func times(all *describe.Steps) (ran, waited time.Duration) {
	if all.Times == nil {
		return 0, 0
	}
	return all.Times.Run()
}

// runsSince returns since when a run that is executed has been running.
func runsSince(all *describe.Steps) time.Time {
	if list := all.Times.Spells(); len(list) > 0 && !list[len(list)-1].Waited {
		return list[len(list)-1].From
	}
	return time.Now()
}

// why says why a run is in its state, or what came of it. What stands first is shown in bold.
func (s *Summary) why(r *history.Run, all *describe.Steps) (ask, text string) {
	if w := all.Wait; w != nil && w.Open() > 0 {
		for i := range w.Questions {
			if q := &w.Questions[i]; q.Answer == nil {
				text = Asks(&q.Question)
				break
			}
		}
		if n := w.Open(); n > 1 {
			return num(n) + " questions:", text
		}
		return "1 question:", text
	}
	switch {
	case r.Damage != nil:
		return "", sentenceOf(r.Damage)
	case r.State == history.Stuck:
		return "", value.Cut(describe.FirstLine(r.Stuck), mostText)
	case r.Err != nil:
		return "", value.Cut(describe.FirstLine(r.Err.Message()), mostText)
	case r.State == history.Done:
		return "", value.Cut(describe.FirstLine(r.Result), mostText)
	case r.State == history.Running && !s.held:
		return "", "its process has ended; it continues by itself within a minute"
	case r.State == history.Running:
		return "", current(all)
	case history.Repair(r.Reason) != "":
		return "", history.Repair(r.Reason)
	case r.Reason == "ceiling":
		return "", "it has used of models what it may use"
	case r.Reason == history.Queued:
		return "", "it begins as soon as there is room"
	case r.Reason == reasonSleep:
		return "", "sleeps"
	case all.Wait != nil:
		return "", "it continues with its answer"
	}
	return "", ""
}

// current says at which step a run is.
func current(all *describe.Steps) string {
	for i := len(all.Steps) - 1; i >= 0; i-- {
		if s := &all.Steps[i]; s.Mark == describe.Waits || i == len(all.Steps)-1 {
			return value.Cut("step "+s.StepPath.String()+" · "+s.Name+" "+describe.FirstLine(s.About), mostText)
		}
	}
	return "it has begun"
}

func sentenceOf(err error) string {
	return value.Cut(describe.FirstLine(value.ErrorOf(err, value.Failed).Message()), mostText)
}

// Row returns a run as lists show it.
func Row(r *history.Run, s *Summary, undone bool, zone *time.Location) page.RunRow {
	name, args := Name(r)
	return page.RunRow{
		ID: r.ID, Status: status(r, s.held, undone, s.wait, zone), Name: name, Args: args, Ask: s.Ask, Why: s.Why, By: By(r),
		Ran: s.Ran, Waited: s.Waited, Since: s.Since, Started: r.Started.In(zone), Cost: s.Cost,
	}
}
