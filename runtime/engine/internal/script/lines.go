package script

import (
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool/trace"
)

// Lines counts the steps and the time of each line of a script. Languages call it for every
// step.
type Lines struct {
	at    map[line]*trace.Line
	last  *trace.Line // of the last step; nil before the first
	since time.Time   // when the time was last assigned to a line

	report   func([]trace.Line) // gets the lines while the call runs; may be nil
	reported time.Time
}

// reportEvery is how often the lines are reported while a script computes.
const reportEvery = 100 * time.Millisecond

type line struct {
	file   string
	number int
}

// NewLines starts the clock. The lines so far are passed to report, if it is not nil, some times a
// second and before effects.
func NewLines(report func([]trace.Line)) *Lines {
	now := time.Now()
	return &Lines{at: map[line]*trace.Line{}, since: now, report: report, reported: now}
}

// Check reports the lines so far, if it is time for that. Languages call it when they check whether
// the script must stop.
func (l *Lines) Check() {
	if l != nil && l.report != nil && time.Since(l.reported) >= reportEvery {
		l.beforeEffect()
	}
}

// beforeEffect reports the lines so far: the effect may not return.
func (l *Lines) beforeEffect() {
	if l != nil && l.report != nil {
		l.report(l.Used())
		l.reported = time.Now()
	}
}

// use returns the entry of a line, which in a loop is often that of the last step.
func (l *Lines) use(file string, number int) *trace.Line {
	if l.last != nil && l.last.Line == number && l.last.File == file {
		return l.last
	}
	u := l.at[line{file, number}]
	if u == nil {
		u = &trace.Line{File: file, Line: number}
		l.at[line{file, number}] = u
	}
	return u
}

// Began counts a step of a line that is about to be taken.
func (l *Lines) Began(file string, number int) {
	u := l.use(file, number)
	u.Steps++
	if u != l.last {
		l.assign(l.last)
		l.last = u
	}
}

// Ended counts a step of a line that has been taken since the last call.
func (l *Lines) Ended(file string, number int) {
	u := l.use(file, number)
	u.Steps++
	l.assign(u)
	l.last = u
}

// Add counts steps that a builtin took for the line of the last step.
func (l *Lines) Add(steps int) {
	if l.last != nil {
		l.last.Steps += int64(steps)
	}
}

// assign adds the time since the last assignment to a line.
func (l *Lines) assign(u *trace.Line) {
	now := time.Now()
	if u != nil {
		u.Time += now.Sub(l.since)
	}
	l.since = now
}

// Used returns what was counted, sorted by file and line. The time since the last step belongs
// to its line. Nil has counted nothing.
func (l *Lines) Used() []trace.Line {
	if l == nil {
		return nil
	}
	l.assign(l.last)
	used := make([]trace.Line, 0, len(l.at))
	for _, u := range l.at {
		used = append(used, *u)
	}
	trace.Sort(used)
	return used
}
