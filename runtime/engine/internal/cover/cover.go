// Package cover collects which lines of scripts run, for tests of scripts.
package cover

import (
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Effect is the effect with which a call ends if the modules of an engine have it: its argument files
// has the lines that have run, by file.
const Effect = "cover.lines"

// Lines are the lines of a call that have run, by file. Nil collects nothing.
type Lines map[string]map[int]bool

// Add adds a line.
func (l Lines) Add(file string, line int) {
	if l == nil {
		return
	}
	if l[file] == nil {
		l[file] = map[int]bool{}
	}
	l[file][line] = true
}

// Args returns the arguments of Effect.
func (l Lines) Args() *value.Dict {
	files := &value.Dict{}
	for _, file := range slices.Sorted(maps.Keys(l)) {
		var lines value.List
		for _, line := range slices.Sorted(maps.Keys(l[file])) {
			lines = append(lines, int64(line))
		}
		files.Put(file, lines)
	}
	return value.NewDict("files", files)
}
