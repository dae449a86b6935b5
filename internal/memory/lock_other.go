//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package memory

import (
	"context"
	"os"
)

// lock does nothing where a folder cannot be locked.
func lock(context.Context, *os.Root) (unlock func(), err error) { return func() {}, nil }

// syncFolder does nothing where a folder cannot be synced.
func syncFolder(*os.Root) error { return nil }
