//go:build !unix

package protect

import "io/fs"

// mayHaveLinks reports whether a file may have other names: the system does not report it.
func mayHaveLinks(fs.FileInfo) bool { return true }
