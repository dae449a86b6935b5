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
	s.global(tree, dir)
	s.of = tree + "/" + Git
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

// outerConfig is config for settings that need not be in the project. dir is the absolute name of the
// work tree for which git reads them.
func (s *search) outerConfig(tree, dir, file string, depth int) {
	for _, set := range settingsIn(readOuter(file)) {
		set.value = s.expand(set.value)
		switch {
		case set.value == "":
		case set.isInclude():
			to := from(filepath.Dir(file), set.value)
			if at, inside := s.reach(to); inside && depth < maxIncluded {
				s.config(tree, ".", at, depth+1)
			} else if depth < maxIncluded {
				s.outerConfig(tree, dir, to, depth+1)
			}
		case set.isPath():
			s.reach(from(dir, set.value))
		case set.isCommand():
			s.command(tree, set.value)
		}
	}
}

// global adds the settings of the user and of the system, and what they name for a work tree. A path in
// them that is relative begins in the work tree.
func (s *search) global(tree, dir string) {
	for _, file := range s.globalFiles() {
		s.of = filepath.ToSlash(file)
		s.reachFile(file)
		s.outerConfig(tree, dir, file, 0)
	}
}

// globalFiles returns the absolute names of the settings of the user and of the system, which need not
// exist. The system's are where git is usually built to read them.
func (s *search) globalFiles() (files []string) {
	if s.Env == nil || len(s.Bases) == 0 {
		return nil
	}
	add := func(dir string, names ...string) {
		if filepath.IsAbs(dir) {
			files = append(files, filepath.Join(append([]string{dir}, names...)...))
		}
	}
	if file := s.Env("GIT_CONFIG_SYSTEM"); file != "" {
		add(file)
	} else {
		for _, dir := range []string{"/etc", "/usr/local/etc", "/opt/homebrew/etc", "/opt/local/etc"} {
			add(dir, "gitconfig")
		}
		for _, name := range []string{"PROGRAMDATA", "PROGRAMFILES"} {
			add(s.Env(name), "Git", "config")
			add(s.Env(name), "Git", "etc", "gitconfig")
		}
	}
	if file := s.Env("GIT_CONFIG_GLOBAL"); file != "" {
		add(file)
		return files
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		add(s.Env(name), ".gitconfig")
		add(s.Env(name), ".config", "git", "config")
	}
	add(s.Env("XDG_CONFIG_HOME"), "git", "config")
	return files
}

// reachFile is reach for a file of the user, whose folder can be the project.
func (s *search) reachFile(file string) {
	if at, inside := s.reach(file); inside {
		s.add(at)
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
