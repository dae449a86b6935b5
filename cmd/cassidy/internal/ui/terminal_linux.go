package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropInput forgets what was typed and not read.
func dropInput(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // else it is not forgotten
}

// The requests with which the kernel tells and changes how a terminal reads.
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)
