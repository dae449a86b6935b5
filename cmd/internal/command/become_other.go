//go:build !unix

package command

import (
	"errors"
	"os"
	"os/exec"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// become runs another program with the same arguments, if that is installed, and ends with its exit code.
func become(program string) error {
	path := find(program)
	if path == "" {
		return nil
	}
	other := exec.Command(path, os.Args[1:]...)
	other.Stdin, other.Stdout, other.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := other.Run()
	var ended *exec.ExitError
	if err == nil || errors.As(err, &ended) {
		os.Exit(other.ProcessState.ExitCode())
	}
	return value.Errorf(value.Unavailable, "start %s: %w", path, err)
}
