//go:build !unix

package fs

import "io/fs"

// noWait is nothing where opening a file never waits.
const noWait = 0

// linkCount counts the names of a file: one, where the system does not say.
func linkCount(fs.FileInfo) uint64 { return 1 }
