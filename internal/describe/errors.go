package describe

import (
	"errors"
	"strings"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ForUsers returns an error for users of the command: without the end of its hint, which is
// for Go programs, and with an environment variable instead of a Go field.
func ForUsers(e *value.Error) *value.Error {
	changed := *e
	changed.Hint = hint.For(e.Hint, hint.People)
	const field = "Workers.Program "
	if text := e.Err.Error(); strings.Contains(text, field) {
		changed.Err = errors.New(strings.ReplaceAll(text, field, "CASSIDY_WORKER "))
	}
	return &changed
}

// PutError adds an error to what --json prints.
func PutError(d *value.Dict, e *value.Error) {
	e = ForUsers(e)
	d.Put("error", e.Message())
	d.Put("error_type", e.Kind.Type())
	d.Put("suggestion", e.Hint)
}

// ErrorList returns the errors of files, as --json prints them.
func ErrorList(broken []*value.Error) value.List {
	list := value.List{}
	for _, e := range broken {
		e = ForUsers(e)
		list = append(list, value.NewDict("file", e.Pos.File, "line", int64(e.Pos.Line), "column", int64(e.Pos.Col),
			"reason", e.Message(), "suggestion", e.Hint))
	}
	return list
}
