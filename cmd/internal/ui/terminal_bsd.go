//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards what was typed and not read.
func flushInput(f *os.File) {
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH) // fails if the terminal has hung up
}
