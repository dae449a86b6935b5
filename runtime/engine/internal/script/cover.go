package script

import (
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// CoverEffect is the effect with which a call ends if the modules of an engine have it: its argument files
// has the lines that have run, by file.
const CoverEffect = "cover.lines"

// Covered are the lines of a call that have run, by file. Nil collects nothing.
type Covered map[string]map[int]bool

// Add adds a line.
func (l Covered) Add(file string, line int) {
	if l == nil {
		return
	}
	if l[file] == nil {
		l[file] = map[int]bool{}
	}
	l[file][line] = true
}

// Args returns the arguments of Effect.
func (l Covered) Args() *value.Dict {
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
