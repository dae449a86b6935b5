//go:build !unix

package fs

import (
	"io/fs"
	"os"
)

// fsNoWait is nothing where opening a file never waits.
const fsNoWait = 0

// fsLinks counts the names of a file: one, where the system does not say.
func fsLinks(fs.FileInfo) uint64 { return 1 }

// fsKeepOwner does nothing where a new file inherits its owner.
func fsKeepOwner(*os.File, fs.FileInfo) {}

// fsSyncFolder does nothing where folders cannot be synced.
func fsSyncFolder(*os.Root) error { return nil }
