//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package ui

import "os"

// flushInput does nothing: there is no simple call to discard what was typed.
func flushInput(*os.File) {}
