package protect

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// above adds what the repositories of git lead to that the project's folder is in.
func (s *search) above() {
	if len(s.Bases) == 0 {
		return
	}
	tree := ".."
	for dir := filepath.Dir(filepath.FromSlash(s.base())); ; dir = filepath.Dir(dir) {
		s.of = tree + "/" + Git
		s.outer(tree, dir)
		if dir == filepath.Dir(dir) {
			return
		}
		tree += "/.."
	}
}

// outer adds what the repository of a folder above the project leads to. tree is that
// folder, relative to the project.
func (s *search) outer(tree, dir string) {
	at := filepath.Join(dir, Git)
	if _, err := os.Lstat(at); err != nil {
		return
	}
	s.reach(at)
	if to, ok := strings.CutPrefix(readOuter(at), "gitdir:"); ok {
		at = from(dir, strings.TrimSpace(to))
		s.reach(at)
	}
	s.outerRepository(tree, dir, at)
	if common := strings.TrimSpace(readOuter(filepath.Join(at, "commondir"))); common != "" {
		s.reach(from(at, common))
		s.outerRepository(tree, dir, from(at, common))
	}
}

func (s *search) outerRepository(tree, dir, at string) {
	for _, name := range []string{"hooks", "config", "config.worktree"} {
		s.reach(filepath.Join(at, name))
	}
	if hooks, err := os.Open(filepath.Join(at, "hooks")); err == nil {
		entries, _ := hooks.ReadDir(maxEntries)
		hooks.Close()
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink != 0 {
				s.reach(filepath.Join(at, "hooks", e.Name()))
			}
		}
	}
	s.outerConfig(tree, dir, filepath.Join(at, "config"), 0)
	s.outerConfig(tree, dir, filepath.Join(at, "config.worktree"), 0)
}

func (s *search) outerConfig(tree, dir, file string, depth int) {
	for _, set := range settingsIn(readOuter(file)) {
		switch {
		case set.value == "":
		case set.key == "include.path" || set.key == "includeif.path":
			to := from(filepath.Dir(file), set.value)
			if at, inside := s.reach(to); inside && depth < maxIncluded {
				s.config(tree, ".", at, depth+1)
			} else if depth < maxIncluded {
				s.outerConfig(tree, dir, to, depth+1)
			}
		case set.key == "core.hookspath":
			s.reach(from(dir, set.value))
		case set.isCommand():
			s.command(tree, set.value)
		}
	}
}

// from returns what a path means in a folder.
func from(dir, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// reach adds what an absolute path leads to, if that is in the project.
func (s *search) reach(name string) (at string, inside bool) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		real = name
		if to, err := os.Readlink(name); err == nil { // to what is not there yet
			real = from(filepath.Dir(name), to)
		}
	}
	if at, inside = s.inside(filepath.ToSlash(real)); !inside {
		return "", false
	}
	if at, inside = s.follow(at); inside {
		s.add(at)
	}
	return at, inside
}

// readOuter is read for a file that need not be in the project.
func readOuter(name string) string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return ""
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}
