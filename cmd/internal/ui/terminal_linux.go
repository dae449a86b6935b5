package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput discards what was typed and not read.
func flushInput(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // fails if the terminal has hung up
}
