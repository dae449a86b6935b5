package ptytest

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Open returns both ends of a new terminal: that of the person, and that of the program.
func Open(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// KeepOutput makes Ctrl-C keep the output of the program: by default, it discards output
// that was not read.
func KeepOutput(t *testing.T, program *os.File) {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err == nil {
		settings.Lflag |= unix.NOFLSH
		err = unix.IoctlSetTermios(int(program.Fd()), unix.TCSETS, settings)
	}
	if err != nil {
		t.Fatal(err)
	}
}
