package script

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The limits of scripts.
const (
	// MaxSource is the length of a file, in bytes. The parsers are recursive: longer
	// text can cost a gigabyte of stack before anything can stop it.
	MaxSource = 256 << 10
	// MaxLoads and MaxLoaded bound what a script loads, in files and in bytes.
	MaxLoads  = 32
	MaxLoaded = 1 << 20
	// KeptScripts is the size of each cache of compiled scripts.
	KeptScripts = 256
)

// SourceLimit returns the error of a file that is too large.
func SourceLimit(file, format string, args ...any) *value.Error {
	e := value.Limitf(value.LimitSource, format, args...)
	e.Pos.File = file
	return e
}

// NotValue returns the error of a result of Go that is not a value.
func NotValue(v any) error {
	return value.Errorf(value.Internal, "the Go function returned an unsupported type: %T", v).WithHint("convert the result with cassidy.Encode")
}

// FunctionLeaves returns the error of a result or an argument that is a function, or
// contains one.
func FunctionLeaves(name string) error {
	return value.Errorf(value.Failed, "expected data but got %s", name).WithHint("call the function with (), and use its result")
}

// TooDeep returns the error of a value that is nested too deep.
func TooDeep() error {
	return value.Limitf(value.LimitDepth, "the value is nested more than %d levels deep, or contains itself", value.MaxDepth)
}

// TooManyParts returns the error of a value that is too large.
func TooManyParts() error {
	return value.Limitf(value.LimitNodes, "the value has more than %d elements in total", value.MaxNodes)
}
