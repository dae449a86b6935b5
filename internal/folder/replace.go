package folder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file in one step, so that no reader sees a part of it, and nothing is lost if it fails. A link stays a
// link. A new file gets the permissions, and an existing one keeps its own.
func Replace(file string, data []byte, permissions fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if info, err := os.Stat(file); err == nil {
		permissions = info.Mode().Perm()
	}
	next, err := os.CreateTemp(filepath.Dir(file), ".cassidy-*")
	if err != nil {
		return err
	}
	_, err = next.Write(data)
	err = errors.Join(err, next.Chmod(permissions), next.Sync(), next.Close())
	if err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}
