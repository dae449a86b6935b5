package folder

import (
	"errors"
	"os"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// HomeHint is the hint of errors about the user's own folder.
const HomeHint = "set CASSIDY_HOME to a folder that you can write"

// HomeError returns the error of an operation, such as "write the config", on a file in the user's own folder.
func HomeError(operation, file string, err error) *value.Error {
	return value.Errorf(value.Failed, "%s %s: %w", operation, file, Cause(err)).WithHint(HomeHint)
}

// CheckWritable returns an error if no file can be created in a folder, which it creates.
func CheckWritable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".check-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
