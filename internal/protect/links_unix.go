//go:build unix

package protect

import (
	"io/fs"
	"syscall"
)

// mayHaveLinks reports whether a file has other names.
func mayHaveLinks(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 1
}
