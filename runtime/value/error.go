package value

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A Kind classifies an [Error]. It alone decides the exit code of the command, the
// error type that a model sees, and later the HTTP status. The list is closed; a new
// kind is added at its end.
type Kind uint8

const (
	Failed      Kind = iota // the tool ran and reports that it could not do it
	Invalid                 // the arguments, the file or the use are wrong
	NotFound                // no tool has this name
	Denied                  // denied by a policy, a missing grant or a person
	Limit                   // a limit of steps, memory, size or number was reached
	Canceled                // the caller canceled
	Unavailable             // something outside is unavailable: a network, a model, a program
	Timeout                 // the timeout expired
	Command                 // a command ran and failed
	Security                // an attempt to exceed the grants
	Internal                // a bug: of the script or of cassidy
	Conflict                // something was changed meanwhile
	Parked                  // the run waits for an answer or a time; resume continues it
	Busy                    // overload: no capacity now, try again later
	Closed                  // the host or a store was closed
	Unanswered              // nobody answered a question
	System                  // a script reports that a system that it uses failed; a run is not parked for it
	kinds                   // the number of kinds; new kinds are added before it
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
	System:      "system_error",
}

// Type returns the error_type of a result that failed with this kind.
func (k Kind) Type() string {
	if int(k) < len(kindType) {
		return kindType[k]
	}
	return kindType[Internal]
}

// KindOfType returns the first kind with an error_type, or Failed.
func KindOfType(errorType string) Kind {
	return Kind(max(0, slices.Index(kindType[:], errorType)))
}

// String returns the kind's name, as in "not found".
func (k Kind) String() string {
	names := [...]string{"failed", "invalid", "not found", "denied", "limit", "canceled", "unavailable",
		"timeout", "command", "security", "internal", "conflict", "parked", "busy", "closed", "unanswered", "system"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[Internal]
}

// KindNamed returns the kind with a name that String returned. For any other name it
// returns Internal and false.
func KindNamed(name string) (Kind, bool) {
	for k := range kinds {
		if k.String() == name {
			return k, true
		}
	}
	return Internal, false
}

// A kindError is a target for [errors.Is] that matches by kind.
type kindError Kind

func (k kindError) Error() string { return Kind(k).String() }

// The targets for [errors.Is]: errors.Is(err, value.ErrDenied) reports whether err,
// or an error that it wraps, is an [Error] of the kind Denied. ErrFailed also
// matches Command, Internal and System, and ErrDenied also matches Security; [KindOf]
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

// An Error is the error type that all packages of cassidy return. Error() is one line
// for logs. Pos and Trace locate it in a script, and Hint says how to fix it.
type Error struct {
	Kind  Kind
	Op    string    // the operation: a tool or an effect, as in "fs.read"
	Err   error     // the cause
	Hint  string    // what to do or type next, or ""
	Limit LimitName // for Limit and Timeout: the limit, as in LimitSteps; for Parked: what the run waits for
	Pos   Position  // where in a file, if known
	Trace []string  // the script's calls, outermost first: "file:line:col: in f"
	// Excerpts are the lines of the script that Pos and the end of Trace name, the innermost last,
	// as they were when they were read or run. They are for people only, and not recorded.
	Excerpts []Excerpt
	// After is how long to wait before trying again, as the server that failed asks for; else 0. It
	// is not recorded.
	After time.Duration
}

// An Excerpt is a line of a script. Its text is untrusted.
type Excerpt struct {
	Pos  Position
	Text string
}

// A Position is a position in a file. Line and Col count from 1 and in characters; zero
// means unknown.
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

// Error returns "position: op: cause", without the parts that are empty.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.File != "" {
		b.WriteString(e.Pos.String() + ": ")
	}
	b.WriteString(e.Message())
	return b.String()
}

// Message returns the text without the position. Models see this text.
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

// maxTrace is how many lines of a trace an encoded error has: far more than a script's
// calls may nest.
const maxTrace = 256

// Value returns the error as a value, for records and for other processes: its fields, with
// the text of Err but not what that wraps. [ErrorFromValue] reads it.
func (e *Error) Value() Value {
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	trace := make(List, 0, len(e.Trace))
	for _, line := range e.Trace[:min(len(e.Trace), maxTrace)] {
		trace = append(trace, strings.ToValidUTF8(line, "\ufffd"))
	}
	list := List{int64(e.Kind), int64(e.Pos.Line), int64(e.Pos.Col), trace}
	for _, s := range []string{e.Op, text, e.Hint, string(e.Limit), e.Pos.File} {
		list = append(list, strings.ToValidUTF8(s, "\ufffd"))
	}
	return list
}

// ErrorFromValue returns the error that [Error.Value] encoded as v. It reports false for
// any other value.
func ErrorFromValue(v Value) (*Error, bool) {
	list, _ := v.(List)
	if len(list) != 9 {
		return nil, false
	}
	var n [3]int64
	var s [5]string
	ok := true
	for i := range n {
		x, isInt := list[i].(int64)
		n[i], ok = x, ok && isInt && x >= 0 && x <= math.MaxInt32
	}
	for i := range s {
		x, isText := list[4+i].(string)
		s[i], ok = x, ok && isText
	}
	lines, isList := list[3].(List)
	e := &Error{Kind: Kind(n[0]), Op: s[0], Err: errors.New(s[1]), Hint: s[2], Limit: LimitName(s[3]), Pos: Position{s[4], int(n[1]), int(n[2])}}
	for _, line := range lines {
		x, isText := line.(string)
		e.Trace, ok = append(e.Trace, x), ok && isText
	}
	return e, ok && isList && n[0] <= int64(LastKind)
}

// Is reports whether target is the one for the error's kind, as in [ErrDenied]. An error of kind Canceled
// is also [context.Canceled], and one of kind Timeout [context.DeadlineExceeded], whether a context ended or
// a limit of time was reached.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Kind == Canceled
	case context.DeadlineExceeded:
		return e.Kind == Timeout
	}
	k, ok := target.(kindError)
	if !ok {
		return false
	}
	kind := e.Kind
	switch kind {
	case Command, Internal, System:
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

// WithHint returns a copy of the error with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithOp returns a copy of the error with the operation that failed.
func (e *Error) WithOp(op string) *Error {
	c := *e
	c.Op = op
	return &c
}

// WithLimit returns a copy of the error with a limit.
func (e *Error) WithLimit(limit LimitName) *Error {
	c := *e
	c.Limit = limit
	return &c
}

// AsError is [ErrorOf] for returning the result as an error: for nil it returns an
// untyped nil.
func AsError(err error, otherwise Kind) error {
	if err == nil {
		return nil
	}
	return ErrorOf(err, otherwise)
}

// ErrorOf returns err as an [Error], for reading its fields. An Error is returned as it
// is. If err wraps one, the result has its fields and the text of err. Any other error
// gets the kind otherwise; the end of a context gets the kind Canceled or Timeout. For
// nil it returns nil: to return an error, use [AsError].
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

// KindOf returns the kind of an error. It is Internal for nil and for an error that is
// not an [Error].
func KindOf(err error) Kind {
	if err == nil {
		return Internal
	}
	return ErrorOf(err, Internal).Kind
}

// Limitf returns an error of kind [Limit] that names the limit.
func Limitf(limit LimitName, format string, args ...any) *Error {
	e := Errorf(Limit, format, args...)
	e.Limit = limit
	return e
}
