package page

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Run is the page of one run.
type Run struct {
	ID      string
	Name    string
	Args    string
	Status  Status
	By, Via string // who began it, and how if not by hand
	Started time.Time
	Ran     time.Duration
	Waited  time.Duration
	Since   time.Time // since when it has been running now; zero if it is not
	Steps   int
	Failed  int // steps
	Tokens  int
	Cost    float64
	Links   []Related
	Notes   []Note
	Line    []Spell
	Tree    Tree
	Pane    Pane
	Buttons []Button // what to do with the run
	Menu    []Button // what else
}

// Asks reports whether the pane has an answer to give.
func (r *Run) Asks() bool { return r.Pane.Question != nil && r.Pane.Question.MayAnswer() }

// A Related is another page that belongs to a run, such as "Undone by".
type Related struct {
	Label string
	Link
}

// A Button is something to do. A label that ends in "…" leads to a page with the consequences.
type Button struct {
	Label string
	Href  URL        // of a link, or of a form if Post is set
	Post  bool       // it acts at once
	Look  ButtonLook // how it is drawn
	Copy  string     // it copies this text instead
	Key   string     // the idempotency key of a form
}

// A ButtonLook is the look of a button.
type ButtonLook string

const (
	Ordinary ButtonLook = ""
	Primary  ButtonLook = "pri"
	Danger   ButtonLook = "no"
)

// A Pane is what stands beside the tree: one of a question, a step and the result of the run. A
// parked run opens at its question, a failed one at its failed step, a running one at its newest step.
type Pane struct {
	Question *Question
	Step     *StepView
}

// A Spell is a part of the time line.
type Spell struct {
	Kind SpellKind
	Took time.Duration
	For  string // whom or what a wait was for: "Ann"
	Open bool   // it has not ended
}

// A SpellKind is what a run did in a spell.
type SpellKind string

const (
	Ran       SpellKind = "ran"
	RanFailed SpellKind = "failed" // a step in it failed
	Waited    SpellKind = "waited"
)

// A Bar is a rectangle of the time line, which is 1000 wide.
type Bar struct {
	X, Width int
	Class    SpellKind
}

// The time line has at most so many bars, which are at least so wide.
const (
	mostBars  = 60
	leastBar  = 8
	lineWidth = 1000
	gapWidth  = 4
)

// Bars returns the geometry of the time line. Waits take at most two fifths of it, however long they are.
func (r *Run) Bars() []Bar {
	line := r.Line
	if len(line) > mostBars {
		line = joined(line)
	}
	room := lineWidth - gapWidth*(len(line)-1)
	weights, total := make([]float64, len(line)), [2]float64{}
	for i, s := range line {
		w := s.Took.Seconds() + 0.001
		if s.Kind == Waited {
			w = 1 + min(s.Took.Hours(), 24)/8
		}
		weights[i] = w
		total[isWait(s)] += w
	}
	share := [2]float64{float64(room), float64(room)}
	if total[0] > 0 && total[1] > 0 {
		share = [2]float64{0.6 * float64(room), 0.4 * float64(room)}
	}
	var bars []Bar
	for i, s := range line {
		n := isWait(s)
		bars = append(bars, Bar{Width: max(leastBar, int(weights[i]/total[n]*share[n])), Class: s.Kind})
	}
	return place(bars, room)
}

func isWait(s Spell) int {
	if s.Kind == Waited {
		return 1
	}
	return 0
}

// place shrinks the widest bars until all have room, and sets where they begin.
func place(bars []Bar, room int) []Bar {
	if len(bars) == 0 {
		return nil
	}
	sum := 0
	for _, b := range bars {
		sum += b.Width
	}
	for sum != room {
		i := 0
		for j := range bars {
			if bars[j].Width > bars[i].Width {
				i = j
			}
		}
		change := max(room-sum, leastBar-bars[i].Width, -max(1, (sum-room)/len(bars)))
		if sum < room {
			change = room - sum
		}
		if change == 0 {
			break
		}
		bars[i].Width += change
		sum += change
	}
	x := 0
	for i := range bars {
		bars[i].X = x
		x += bars[i].Width + gapWidth
	}
	return bars
}

// joined puts spells together, until there are not too many: first what the shortest waits part.
func joined(line []Spell) []Spell {
	line = slices.Clone(line)
	for len(line) > mostBars {
		at := 1
		for i := 2; i < len(line)-1; i++ {
			if line[i].Took < line[at].Took {
				at = i
			}
		}
		one := line[at-1]
		one.Took += line[at].Took + line[at+1].Took
		for _, s := range line[at : at+2] {
			if s.Kind == RanFailed || one.Kind == Waited {
				one.Kind = s.Kind
			}
		}
		line = slices.Replace(line, at-1, at+2, one)
	}
	return line
}

// LineText says the time line in words.
func (r *Run) LineText() string {
	const most = 12
	var list []string
	for i, s := range r.Line {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(r.Line)-most))
			break
		}
		text := map[SpellKind]string{Ran: "ran ", RanFailed: "ran ", Waited: "waited "}[s.Kind]
		if s.Open {
			text = map[SpellKind]string{Ran: "has run ", RanFailed: "has run ", Waited: "has waited "}[s.Kind]
		}
		text += duration(s.Took)
		switch {
		case s.Kind == RanFailed:
			text += " with a failed step"
		case s.For != "":
			text += " for " + plain(s.For)
		}
		list = append(list, text)
	}
	if list == nil {
		return "Nothing has run yet."
	}
	text := strings.Join(list, ", ") + ". Waits are not drawn to scale."
	return strings.ToUpper(text[:1]) + text[1:]
}

// A StepView is one step, or the result of the whole run.
type StepView struct {
	Run      string
	Path     Path // "" for the run
	Status   Status
	Name     string
	Args     string // in the title
	Began    time.Time
	Took     time.Duration
	Tries    int
	Failure  *Failure
	Note     string // what else is worth knowing: "untrusted text"
	Value    *ValueView
	Printed  string
	Full     string // the arguments, as JSON
	Attempts []Attempt
	Record   []Fact
	Buttons  []Button
	Files    []File // what it changed
	Loading  bool   // its parts follow over the stream
}

// Unfinished reports whether there can be no result yet.
func (s *StepView) Unfinished() bool {
	switch s.Status.State {
	case Queued, Running, Waiting, Sleeping, Broken:
		return true
	}
	return false
}

// A Failure is an error of a step or a run.
type Failure struct {
	Message string
	Hint    string
	Meaning string // what it means for the run: "The script caught this error and went on."
	Frames  string // where in the scripts
	Kept    string // what a retry keeps: "Steps 1 and 2 keep their results."
}

// An Attempt is a try of an effect.
type Attempt struct {
	Began   time.Time
	Took    time.Duration
	Outcome string
}

// A Fact is a name and what is known of it.
type Fact struct {
	Label string
	Text  string
	Lines []BlockLine // instead of the text, if it is marked already
	Code  bool
	Quote bool // the lines are somebody's words
	Link  URL  // of the text
}
