package host

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// errNotRestored returns the error of a file that could not be restored because of a conflict.
func errNotRestored(run string, at tool.StepPath, err error) error {
	text := value.ErrorOf(err, value.Conflict).Message()
	if name, _, open := strings.Cut(text, " is open for writing in another process"); open {
		return value.Errorf(value.Conflict, "%s was not restored: the file is open for writing in another process", name).
			WithHint("close the file there, and repeat: cassidy runs undo %s; in Go, call Host.Undo again", run)
	}
	for _, end := range []string{" has changed on disk ", " was changed by another process "} {
		text, _, _ = strings.Cut(text, end)
	}
	return errChangedSince(run, at, text)
}

// errChangedSince returns the error of a file that has changed since the run.
func errChangedSince(run string, at tool.StepPath, name string) error {
	return value.Errorf(value.Conflict, "%s was not restored: the file has changed since step %s", name, at).
		WithHint("to skip this step: cassidy runs undo %[1]s --skip; to undo only later steps: cassidy runs undo %[1]s --to STEP; in Go, set Undo.Skip or Undo.To", run)
}
