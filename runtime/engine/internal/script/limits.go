package script

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of what is read as a script.
const (
	// MaxSource is how long one file may be. The parsers recurse: text beyond
	// this can cost a gigabyte of stack before anything can stop it.
	MaxSource = 256 << 10
	// MaxLoads and maxLoaded bound what a script loads, in files and in bytes.
	MaxLoads  = 32
	MaxLoaded = 1 << 20
	// KeptScripts is how many compiled scripts are kept, of one kind.
	KeptScripts = 256
)

// SourceLimit is the error of a file that is too large to be read.
func SourceLimit(file, format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit, e.Pos = value.LimitSource, value.Position{File: file}
	return e
}

// TooDeep is the error of a value with too many levels.
func TooDeep() error {
	return valueLimit(value.LimitDepth, "a value nested more than %d deep cannot leave the script (does it contain itself?)", value.MaxDepth)
}

// TooManyParts is the error of a value that is too large.
func TooManyParts() error {
	return valueLimit(value.LimitNodes, "a value of more than %d parts cannot leave the script", value.MaxNodes)
}

func valueLimit(limit value.LimitName, format string, args ...any) error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e
}
