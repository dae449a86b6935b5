//go:build unix

package command

import (
	"os"
	"syscall"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// become replaces this program by another one with the same arguments, if that is installed.
func become(program string) error {
	path := find(program)
	if path == "" {
		return nil
	}
	err := syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
	return value.Errorf(value.Unavailable, "start %s: %w", path, err)
}
