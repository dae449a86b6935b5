package test

import (
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
)

// folder returns the folder whose tests are run, and the paths that limit them: the project, or the
// folder with tools that the first path is in, if that is in no project.
func (c *command) folder(paths []string) (dir string, rest []string, err error) {
	work, root, err := c.WorkProject()
	if err != nil {
		return "", nil, err
	}
	dir = root
	if dir == "" {
		dir = work
	}
	for i, p := range paths {
		if !filepath.IsAbs(p) {
			if abs := filepath.Join(work, p); exists(abs) {
				paths[i] = abs
			}
		}
	}
	if len(paths) == 0 || !exists(paths[0]) {
		return dir, paths, nil
	}
	first := paths[0]
	info, err := os.Stat(first)
	switch {
	case err != nil:
		return dir, paths, nil
	case !info.IsDir():
		first = filepath.Dir(first)
	}
	if within(dir, first) && root != "" && within(filepath.Join(root, folder.Name), first) {
		return dir, paths, nil
	}
	if other, ok := project.Find(first, c.Home(), string(filepath.Separator)); ok {
		return other, paths, nil
	}
	if root != "" && first == root {
		return root, nil, nil
	}
	return first, paths, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}
