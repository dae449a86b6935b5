//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package ui

import (
	"context"
	"errors"
	"os"
)

// Columns returns how wide a terminal is taken to be, or 0 for what is none.
func Columns(f *os.File) int {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return 0
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return 0
	}
	return PageWidth
}

// dropInput would forget what was typed and not read, which this system has no
// simple call for.
func dropInput(*os.File) {}

// byKey would have a terminal tell each key as it is pressed.
func byKey(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }

// UntilEnded returns a context that ends when the system asks the program to
// end, where it has a way to ask.
func UntilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
