// Package trace defines what is reported about the lines of a script while a call runs.
package trace

import (
	"cmp"
	"slices"
	"time"
)

// A Mode selects what is reported. The zero value reports nothing, and costs nothing.
type Mode uint8

const (
	// Calls reports the position of the call in the script with each effect.
	Calls Mode = 1 << iota
	// Lines reports the steps and the time of each line with the outcome, also if the call
	// fails. The script runs several times slower.
	Lines
)

// Has reports whether all parts of p are selected.
func (m Mode) Has(p Mode) bool { return m&p == p }

// A Line is what the interpreter did in one line of a script during a call. The time of a
// line includes the functions of modules and the effects that it called, but not the
// functions of the script. A file that the script loads has lines too; what runs when a
// Starlark file is loaded is not counted.
type Line struct {
	File  string        `dict:"file"` // as errors show it
	Line  int           `dict:"line"` // from 1
	Steps int64         `dict:"steps"`
	Time  time.Duration `dict:"time_ms"`
	Text  string        `dict:"source"` // the line; set by the sandbox
}

// A Profile is the event that has the lines of a call. Its call has ended, but may be checked and
// committed afterwards.
type Profile struct {
	Lines []Line `dict:"lines"`
}

// Sort sorts lines by file and line.
func Sort(lines []Line) {
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
