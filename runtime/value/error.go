package value

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Kind says what sort of failure an [Error] is. It alone decides the exit
// code of the command, the error type that a model is told, and later the HTTP
// status. The list is closed; a new kind is added at its end.
type Kind uint8

const (
	Failed      Kind = iota // the tool ran and reports that it could not do it
	Invalid                 // the arguments, the file or the use are wrong
	NotFound                // there is no such tool
	Denied                  // a policy, a missing grant or a person said no
	Limit                   // a limit of steps, memory, size or number was reached
	Canceled                // the caller gave up
	Unavailable             // something outside is away: a network, a model, a program
	Timeout                 // the time ran out
	Command                 // a command ran and ended with a failure of its own
	Security                // an attempt to leave what was granted
	Internal                // a fault of a program: the script's own, or cassidy's
	Conflict                // something changed meanwhile
	Parked                  // the run waits for an answer or a time, and goes on when it is resumed
	Busy                    // overload: no capacity now, try again later
	Closed                  // the host or a store was closed
	Unanswered              // nobody answered a question
	kinds                   // the number of kinds; a new kind comes before it
)

// LastKind is the last valid Kind: the bound for decoders and for tables of kinds.
const LastKind = kinds - 1

// kindType is the error_type that a result carries for each kind.
var kindType = [...]string{
	Failed:      "user_error",
	Invalid:     "validation_error",
	NotFound:    "validation_error",
	Denied:      "permission_error",
	Limit:       "limit_error",
	Canceled:    "cancelled",
	Unavailable: "system_error",
	Timeout:     "timeout_error",
	Command:     "command_failed",
	Security:    "security_error",
	Internal:    "system_error",
	Conflict:    "user_error",
	Parked:      "parked",
	Busy:        "system_error",
	Closed:      "system_error",
	Unanswered:  "permission_error",
}

// Type returns the error_type of a result that failed with this kind.
func (k Kind) Type() string {
	if int(k) < len(kindType) {
		return kindType[k]
	}
	return kindType[Internal]
}

// String returns the kind's name, as in "not found".
func (k Kind) String() string {
	names := [...]string{"failed", "invalid", "not found", "denied", "limit", "canceled", "unavailable",
		"timeout", "command", "security", "internal", "conflict", "parked", "busy", "closed", "unanswered"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[Internal]
}

// A kindError is a target for [errors.Is] that matches by kind.
type kindError Kind

func (k kindError) Error() string { return Kind(k).String() }

// The targets for [errors.Is]: errors.Is(err, value.ErrDenied) reports whether err,
// or an error that it wraps, is an [Error] of the kind Denied. ErrFailed also
// matches Command and Internal, and ErrDenied also matches Security; [KindOf]
// distinguishes these.
var (
	ErrFailed      error = kindError(Failed)
	ErrInvalid     error = kindError(Invalid)
	ErrNotFound    error = kindError(NotFound)
	ErrDenied      error = kindError(Denied)
	ErrLimit       error = kindError(Limit)
	ErrCanceled    error = kindError(Canceled)
	ErrUnavailable error = kindError(Unavailable)
	ErrTimeout     error = kindError(Timeout)
	ErrConflict    error = kindError(Conflict)
	ErrParked      error = kindError(Parked)
	ErrBusy        error = kindError(Busy)
	ErrClosed      error = kindError(Closed)
	ErrUnanswered  error = kindError(Unanswered)
)

// An Error is the one error that crosses the borders between cassidy's
// packages. Error() is one line for logs; Pos and Trace tell a person where in
// which script, Hint what to do about it.
type Error struct {
	Kind  Kind
	Op    string    // what was being done: a tool or an effect, as in "fs.read"
	Err   error     // what went wrong
	Hint  string    // what to do or type next, or ""
	Limit LimitName // for Limit and Timeout: which, as in LimitSteps; for Parked: what the run waits for
	Pos   Position  // where in a file, if anywhere
	Trace []string  // the script's calls, outermost first: "file:line:col: in f"
}

// A Position is a place in a file. Line and Col count from 1 and in characters;
// zero means unknown.
type Position struct {
	File string
	Line int
	Col  int
}

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Error returns "position: op: what went wrong", without the parts that are empty.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.File != "" {
		b.WriteString(e.Pos.String() + ": ")
	}
	b.WriteString(e.Message())
	return b.String()
}

// Message returns the text without the position: what a model is told.
func (e *Error) Message() string {
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	if text == "" {
		text = "unknown error" // never empty: an empty text means success
	}
	if e.Op == "" {
		return text
	}
	return e.Op + ": " + text
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the one for the error's kind, as in [ErrDenied].
func (e *Error) Is(target error) bool {
	k, ok := target.(kindError)
	if !ok {
		return false
	}
	kind := e.Kind
	switch kind {
	case Command, Internal:
		kind = Failed
	case Security:
		kind = Denied
	}
	return kind == Kind(k)
}

// Errorf returns an [Error] of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// WithHint returns the error with what to do about it.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// AsError returns err as an [Error], as [ErrorOf] does, for returning it. It
// returns nil for nil, which compares equal to nil.
func AsError(err error, otherwise Kind) error {
	if err == nil {
		return nil
	}
	return ErrorOf(err, otherwise)
}

// ErrorOf returns err as an [Error], for reading its fields: itself where it is
// one; where it wraps one, that with the text of err; and else an error of the
// kind that is given. The end of a context is an error of kind Canceled or
// Timeout. It is nil for nil: to return an error, use [AsError].
func ErrorOf(err error, otherwise Kind) *Error {
	if err == nil {
		return nil
	}
	e, ok := err.(*Error)
	var kind kindError
	switch {
	case ok && e != nil:
		return e
	case ok:
		return Errorf(otherwise, "unknown error")
	case errors.As(err, &e) && e != nil:
		wrapped := *e
		wrapped.Op, wrapped.Err, wrapped.Pos = "", err, Position{}
		return &wrapped
	case errors.As(err, &kind):
		otherwise = Kind(kind)
	case errors.Is(err, context.Canceled):
		otherwise = Canceled
	case errors.Is(err, context.DeadlineExceeded):
		otherwise = Timeout
	}
	return &Error{Kind: otherwise, Err: err}
}

// KindOf returns the kind of an error. One that is not an [Error] is Internal,
// and so, since it is a mistake to ask, is nil.
func KindOf(err error) Kind {
	if err == nil {
		return Internal
	}
	return ErrorOf(err, Internal).Kind
}

// Limitf returns an error of kind [Limit] with the limit that was met.
func Limitf(limit LimitName, format string, args ...any) *Error {
	e := Errorf(Limit, format, args...)
	e.Limit = limit
	return e
}
