package script

import (
	"errors"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// kinds are the kinds of errors that a script can report. It cannot report what only the host
// knows: that something was denied, that a limit was reached, or that a run waits. Of the kinds
// with the type system_error, it reports System: Unavailable would park the run, and Internal means a bug of ours.
var failureKinds = []value.Kind{value.Failed, value.Invalid, value.System, value.Command}

// FailureTypes returns the types of errors that a script can report.
func FailureTypes() []string { return value.Map(failureKinds, value.Kind.Type) }

// NewFailure returns the error with which a script ends its call. The type "" is user_error. A type that
// a script cannot report is an error that has the message, too.
func NewFailure(message, errorType, hint string) *value.Error {
	i := slices.Index(FailureTypes(), errorType)
	switch {
	case errorType == "":
		i = 0
	case i < 0:
		if message != "" {
			message = "; the error was: " + message
		}
		return value.Errorf(value.Failed, "unknown error type %q%s", value.Clean(errorType, 80), message).
			WithHint("use one of the types: %s", strings.Join(FailureTypes(), ", "))
	}
	hint = value.Clean(strings.TrimSpace(hint), value.MaxErrorText)
	return &value.Error{Kind: failureKinds[i], Err: &reported{errors.New(message), FailureTypes()[i]}, Hint: hint}
}

// A reported error has the type that a script reported, or that the error of a call had.
type reported struct {
	error
	errorType string
}

func (r *reported) Unwrap() error { return r.error }

// Called changes an error of kind Invalid to Failed. An invalid call inside a script is not an error
// of the tool's caller, whose arguments passed their check. The script itself can report that they
// are invalid, see [NewFailure]. A script that catches the error sees its type from before.
func Called(err error) *value.Error {
	e := *value.ErrorOf(err, value.Internal)
	var own *reported
	if e.Kind == value.Invalid && !errors.As(e.Err, &own) {
		e.Kind, e.Err = value.Failed, &reported{e.Err, e.Kind.Type()}
	}
	return &e
}

// A Caught describes an error to the script that has caught it.
type Caught struct{ Message, Type, Hint string }

// Catch describes an error.
func Catch(e *value.Error) Caught {
	c := Caught{e.Message(), e.Kind.Type(), e.Hint}
	var inner *reported
	if errors.As(e.Err, &inner) {
		c.Type = inner.errorType
	}
	return c
}

// FailureParams returns the type and the hint as parameters.
func FailureParams() (errorType, hint tool.Param) {
	types := value.List{}
	for _, name := range FailureTypes() {
		types = append(types, name)
	}
	text := tool.Type{Name: tool.TypeString}
	return tool.Param{Name: "type", Type: tool.Type{Name: tool.TypeString, Enum: types}}, tool.Param{Name: "hint", Type: text}
}
