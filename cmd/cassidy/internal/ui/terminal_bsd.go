//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput forgets what was typed and not read.
func dropInput(f *os.File) {
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, unix.TCIFLUSH) // else it is not forgotten
}

// The requests with which the kernel tells and changes how a terminal reads.
const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
)
