package protect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The value of a secret leaves only by its placeholder, so nothing that acts for a model gets a file that is the
// source of a secret: no function reads it, and no program is started that could. What a person sends or reviews by its
// name is their own act.

// HoldsSecret returns the path in secrets, which are the files of secrets, that is a file, or "". A file has more names
// than that path: of links, in other case, and through other folders.
func HoldsSecret(secrets []string, file fs.FileInfo) string {
	for _, name := range secrets {
		if info, err := os.Stat(name); err == nil && os.SameFile(info, file) {
			return name
		}
	}
	return ""
}

// Refuse returns a function that returns an error for a file that is the source of a secret. secrets returns their paths.
func Refuse(secrets func() []string) func(fs.FileInfo) error {
	return func(file fs.FileInfo) error {
		if HoldsSecret(secrets(), file) != "" {
			return errSecret
		}
		return nil
	}
}

var errSecret = errors.New("the file holds a secret of config.yaml, which models must not get")

// SecretIn returns a file of a secret that a program which may read folders could read, and what its user can do: the file
// is in one of them, or may be, as it has hard links. The program is then not started at all, because Landlock
// allows whole folders and cannot leave out a file. "" means that there is none.
func SecretIn(secrets []string, dirs []string) (file, hint string) {
	for _, name := range secrets {
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		word := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
		followed, err := filepath.EvalSymlinks(name)
		switch {
		case err != nil || slices.ContainsFunc(dirs, func(dir string) bool { return isIn(dir, name) || isIn(dir, followed) }):
			return name, "the user can move the file out of the project, and out of each folder that the program may read: mv " + word + " ~/.config/; then change the path of the file under 'secrets' in config.yaml"
		case mayHaveLinks(info):
			return name, "the file has hard links, so one of its names may be in the project; the user can find the other names and remove them: find / -samefile " + word
		}
	}
	return "", ""
}

// isIn reports whether a path is a folder or in it, whose own path may be that of a link.
func isIn(dir, name string) bool {
	if followed, err := filepath.EvalSymlinks(dir); err == nil {
		dir = followed
	}
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}
