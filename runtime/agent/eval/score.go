package eval

import (
	"cmp"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
)

// A Score sums up the trials in one format.
type Score struct {
	Format     decision.Format
	Trials     int
	Successes  int
	Iterations float64 // mean of the trials that succeeded; 0 where none did
	Calls      int
	AsAsked    int
	Tasks      []TaskScore // in the order of the trials
}

// A TaskScore sums up the trials of one task in one format.
type TaskScore struct {
	Task       string
	Trials     int
	Successes  int
	Iterations float64
}

// Rate is the share of the trials that succeeded.
func (s *Score) Rate() float64 { return float64(s.Successes) / float64(max(s.Trials, 1)) }

// Scores sums up trials by format, in the order in which formats come first.
func Scores(trials []Result) []Score {
	var scores []Score
	for _, t := range trials {
		i := slices.IndexFunc(scores, func(s Score) bool { return s.Format == t.Format })
		if i < 0 {
			i = len(scores)
			scores = append(scores, Score{Format: t.Format})
		}
		scores[i].add(t)
	}
	return scores
}

func (s *Score) add(t Result) {
	i := slices.IndexFunc(s.Tasks, func(k TaskScore) bool { return k.Task == t.Task })
	if i < 0 {
		i = len(s.Tasks)
		s.Tasks = append(s.Tasks, TaskScore{Task: t.Task})
	}
	task := &s.Tasks[i]
	s.Trials++
	task.Trials++
	s.Calls += t.CallsRead
	s.AsAsked += t.AsAsked
	if t.Success {
		s.Iterations = addToMean(s.Iterations, t.Iterations, s.Successes)
		task.Iterations = addToMean(task.Iterations, t.Iterations, task.Successes)
		s.Successes++
		task.Successes++
	}
}

// addToMean returns the mean of n numbers and one more.
func addToMean(mean float64, more, n int) float64 {
	return (mean*float64(n) + float64(more)) / float64(n+1)
}

// Preferred returns the format to use, or "" where none succeeded: the one that
// succeeds most often, then the one that the model keeps to, then the one with
// the fewest iterations, then the first.
func Preferred(scores []Score) decision.Format {
	best := Score{}
	for _, s := range scores {
		if s.Successes > 0 && (best.Trials == 0 || better(s, best) > 0) {
			best = s
		}
	}
	return best.Format
}

func better(a, b Score) int {
	return cmp.Or(
		cmp.Compare(a.Rate(), b.Rate()),
		cmp.Compare(a.AsAsked*b.Calls, b.AsAsked*a.Calls),
		cmp.Compare(b.Iterations, a.Iterations),
	)
}
