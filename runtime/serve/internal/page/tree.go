package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Path is the number of a step: "3.1". It is ours, so it needs no marks.
type Path string

// up returns the path of the step around it, or "".
func (p Path) up() Path { return p[:max(strings.LastIndexByte(string(p), '.'), 0)] }

// First returns the step of the first level that a step is, or is inside.
func (p Path) First() Path {
	first, _, _ := strings.Cut(string(p), ".")
	return Path(first)
}

// Compare orders steps: 2 before 10, and 3 before 3.1.
func (p Path) Compare(other Path) int {
	return slices.CompareFunc(strings.Split(string(p), "."), strings.Split(string(other), "."), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}

// A Step is a step of a run, with those inside it.
type Step struct {
	Path   Path
	Status Status
	Name   string
	Args   string
	Note   string // instead of how long it took: "Ann: yes", "3 tries", "untrusted"
	Took   time.Duration
	Since  time.Time // since when it runs; zero if it does not
	Wait   string    // a wait before it: "waited 9 h 12 m for Ann"
	Steps  []Step
}

// A Tree is the steps of a run as they are drawn.
type Tree struct {
	Run  string
	Rows []Row
}

// A Row of a tree is a step, a wait, some equal steps that are folded, or some that are left out.
type Row struct {
	Run     string
	Step    *Step
	Current bool
	Inside  int   // steps inside it that are not drawn: they are if it is the one in the pane
	Rows    []Row // inside the step, or the fold
	Gap     string
	Fold    string // what is folded: "9–12: 4 × model.ask"
	Open    bool   // the fold
	More    int    // steps that are left out
	From    URL    // where these are shown
}

// Grows reports whether a step can still get others inside it.
func (r *Row) Grows() bool {
	switch r.Step.Status.State {
	case Running, Waiting, Sleeping, Broken:
		return true
	}
	return false
}

// Into names the list to which a row belongs, for live updates.
func (r *Row) Into() string {
	return "l-" + string(r.Step.Path.up())
}

// How much of a tree is drawn at once.
const (
	mostSteps  = 100 // all of them up to here
	firstSteps = 25  // else the first ones
	lastSteps  = 50  // and the last ones
	leastFold  = 4   // equal neighbours
)

// NewTree returns the tree of a run. Current is the step in the pane. Of a run with more steps than a
// page has room for, it shows the beginning of the first level, what failed or waits, the last steps and, if
// from is set, the steps from there on.
func NewTree(run string, steps []Step, current, from Path) Tree {
	b := treeBuilder{run: run, current: current, kept: map[Path]bool{}}
	b.keep(steps, from)
	return Tree{run, b.rows(steps)}
}

// StepRow returns a step for a live update, as a tree shows it.
func StepRow(run string, s *Step) Row {
	b := treeBuilder{run: run}
	return b.row(s)
}

type treeBuilder struct {
	run     string
	current Path
	kept    map[Path]bool // nil if everything is
}

// keep selects what is drawn.
func (b *treeBuilder) keep(steps []Step, from Path) {
	var all []*Step
	var walk func(list []Step)
	walk = func(list []Step) {
		for i := range list {
			all = append(all, &list[i])
			walk(list[i].Steps)
		}
	}
	walk(steps)
	if len(all) <= mostSteps {
		b.kept = nil
		return
	}
	for i := range min(len(steps), firstSteps) {
		b.mark(steps[i].Path)
	}
	left := 0
	for i, s := range all {
		switch {
		case s.Path == from && from != "":
			left = mostSteps
		case s.Path == b.current:
			left = max(left, min(CountSteps(s), mostSteps))
		}
		if left > 0 || len(all)-i <= lastSteps || s.Path == b.current || b.notable(s) {
			b.mark(s.Path)
			left--
		}
	}
}

// notable reports whether a step is drawn in any case: the failed and waiting ones, as long as they are few.
func (b *treeBuilder) notable(s *Step) bool {
	return len(b.kept) < mostSteps && isNotable(s.Status.State)
}

func isNotable(s State) bool {
	switch s {
	case Failed, Waiting, Sleeping, Running, Broken, Unknown, Damaged:
		return true
	}
	return false
}

// mark keeps a step and those around it.
func (b *treeBuilder) mark(path Path) {
	for ; path != ""; path = path.up() {
		b.kept[path] = true
	}
}

func (b *treeBuilder) rows(steps []Step) []Row {
	var rows []Row
	for i := 0; i < len(steps); {
		s := &steps[i]
		if b.kept != nil && !b.kept[s.Path] {
			n, first := 0, s.Path
			for ; i < len(steps) && !b.kept[steps[i].Path]; i++ {
				n += CountSteps(&steps[i])
			}
			q := url.Values{"from": {string(first)}}
			if b.current != "" {
				q.Set("step", string(b.current))
			}
			rows = append(rows, Row{More: n, From: URL("/runs/" + url.PathEscape(b.run) + "?" + q.Encode() + "#s-" + string(first))})
			continue
		}
		if s.Wait != "" {
			rows = append(rows, Row{Gap: s.Wait})
		}
		if n := b.equal(steps[i:]); n >= leastFold {
			rows = append(rows, b.fold(steps[i:i+n]))
			i += n
			continue
		}
		rows = append(rows, b.row(s))
		i++
	}
	return rows
}

func (b *treeBuilder) row(s *Step) Row {
	r := Row{Run: b.run, Step: s, Current: s.Path == b.current, Rows: b.rows(s.Steps)}
	if len(r.Rows) == 1 && r.Rows[0].More > 0 {
		r.Rows, r.Inside = nil, r.Rows[0].More
	}
	return r
}

// CountSteps counts a step and those inside it.
func CountSteps(s *Step) int {
	n := 1
	for i := range s.Steps {
		n += CountSteps(&s.Steps[i])
	}
	return n
}

// equal returns how many steps at the beginning are the same call that has gone well.
func (b *treeBuilder) equal(steps []Step) int {
	n := 0
	for i := range steps {
		s := &steps[i]
		if s.Name != steps[0].Name || i > 0 && s.Wait != "" || !b.dull(s) || b.kept != nil && !b.kept[s.Path] {
			break
		}
		n++
	}
	return n
}

// dull reports whether a step and all inside it are done, so that a fold may hide them.
func (b *treeBuilder) dull(s *Step) bool {
	if s.Status.State != Done {
		return false
	}
	for i := range s.Steps {
		if !b.dull(&s.Steps[i]) {
			return false
		}
	}
	return true
}

// fold returns equal steps behind a line. It is open if the pane shows one of them.
func (b *treeBuilder) fold(steps []Step) Row {
	var took time.Duration
	var rows []Row
	open := false
	for i := range steps {
		took += steps[i].Took
		open = open || b.current == steps[i].Path || strings.HasPrefix(string(b.current), string(steps[i].Path)+".")
		rows = append(rows, b.row(&steps[i]))
	}
	label := fmt.Sprintf("%s–%s: %d × %s", steps[0].Path, last(steps[len(steps)-1].Path), len(steps), steps[0].Name)
	if took > 0 {
		label += " · " + duration(took)
	}
	return Row{Fold: label, Open: open, Rows: rows}
}

// last returns the last number of a path.
func last(p Path) Path { return p[strings.LastIndexByte(string(p), '.')+1:] }
