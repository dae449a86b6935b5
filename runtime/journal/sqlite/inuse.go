package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An inUse is a file that SQLite has open, and its path. If somebody removes or replaces the file,
// SQLite writes to a file that nobody will find again, without an error. So before each
// transaction the files are compared with those at their paths: a run must not act if that cannot be
// recorded. This costs a stat for each file. While the store is open, SQLite itself removes neither.
type inUse struct {
	path string
	info os.FileInfo
}

// inPlace returns an error if a file that is in use was removed or replaced.
func (s *Store) inPlace() error {
	for _, f := range s.inUse {
		now, err := os.Stat(f.path)
		if err == nil && os.SameFile(f.info, now) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // SQLite reports other errors
		}
		happened := "replaced"
		if err != nil {
			happened = "removed"
		}
		return value.Errorf(value.Unavailable, "%s: %s was %s while it was in use, so nothing can be recorded any more", opWrite, f.path, happened).
			WithHint("if the folder %s is lost, restore it from a backup or begin the run again", quote(filepath.Dir(f.path)))
	}
	return nil
}
