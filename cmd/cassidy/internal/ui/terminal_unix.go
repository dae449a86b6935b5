//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ui

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Columns returns how wide a terminal is, or 0 for what is none.
func Columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 { // a terminal that does not say
		return PageWidth
	}
	return int(size.Col)
}

// byKey has a terminal tell each key as it is pressed, Ctrl-C among them, and
// show none, until the function that it returns is called.
func byKey(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, readTermios)
	if err != nil {
		return nil, err
	}
	now := *before
	now.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR | unix.IXON | unix.ISTRIP
	now.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, writeTermios, &now); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, writeTermios, before) }, nil // a terminal that has gone needs none
}

// UntilEnded returns a context that ends when the system asks the program to
// end, or the terminal hangs up. Who started it with nohup wants it to go on
// without a terminal.
func UntilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(unix.SIGHUP) {
		return signal.NotifyContext(ctx, unix.SIGTERM)
	}
	return signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGHUP)
}
