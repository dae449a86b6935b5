package engine

import "github.com/cassidy-run/cassidy/runtime/tool"

// The bounds of what is read as a script.
const (
	// maxSource is how long one file may be. The parsers recurse: text beyond
	// this can cost a gigabyte of stack before anything can stop it.
	maxSource = 256 << 10
	// maxLoads and maxLoaded bound what a script loads, in files and in bytes.
	maxLoads  = 32
	maxLoaded = 1 << 20
	// keptScripts is how many compiled scripts are kept, of one kind.
	keptScripts = 256
)

// sourceLimit is the error of a file that is too large to be read.
func sourceLimit(file, format string, args ...any) *tool.Error {
	e := tool.Errorf(tool.Limit, format, args...)
	e.Limit, e.Pos = tool.LimitSource, tool.Position{File: file}
	return e
}

// tooDeep is the error of a value with too many levels.
func tooDeep() error {
	return valueLimit(tool.LimitDepth, "a value nested more than %d deep cannot leave the script (does it contain itself?)", tool.MaxDepth)
}

// tooManyParts is the error of a value that is too large.
func tooManyParts() error {
	return valueLimit(tool.LimitNodes, "a value of more than %d parts cannot leave the script", tool.MaxNodes)
}

func valueLimit(limit tool.LimitName, format string, args ...any) error {
	e := tool.Errorf(tool.Limit, format, args...)
	e.Limit = limit
	return e
}
