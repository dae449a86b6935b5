// Package protect finds what the protected names of a project lead to.
//
// What decides which code runs next, or what models read, is protected by its name: .git,
// .cassidy and notes, and what other programs of the user obey (see [Obeyed]). Such a name can be a
// link, or name another folder, as the .git file of a work tree does. Then that is protected too, and so
// is what the servers in .cassidy/mcp.json start. In the same way rules cover files by each of their names.
//
// What git starts is named by all settings that git reads for a work tree, wherever they are: those of
// the repository, of the user and of the system, and what they include.
package protect

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The protected names.
const (
	Git      = ".git"
	Settings = ".cassidy"
)

// Notes returns the names of the notes for models, in the order in which they are read.
func Notes() []string {
	return []string{"CASSIDY.md", "CASSIDY.local.md", "cassidy.md", ".cassidy.md"}
}

// Obeyed returns the names of files and folders that agents, editors, shells and git follow as soon as
// they open a folder with them: as instructions, or as settings that start programs. They are protected
// at any depth, unless the user's config says otherwise. A name with a slash is that of a file in a folder.
func Obeyed() []string {
	return []string{
		"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".github/copilot-instructions.md",
		".cursorrules", ".windsurfrules", ".clinerules",
		".agents", ".claude", ".codex", ".cursor", ".gemini", ".windsurf", ".mcp.json",
		".vscode", ".idea", ".zed", ".devcontainer",
		".envrc", ".husky", ".gitmodules", ".pre-commit-config.yaml",
	}
}

// A Project is a project's open folder.
type Project struct {
	Root  *os.Root
	Bases []string // the absolute names of the folder, with slashes
	// Env returns a variable of the environment in which the user runs git, or "". It decides which
	// settings of the user and of the system git reads. Nil means none of them.
	Env func(name string) string
	// Free are those of [Obeyed] that are not protected.
	Free []string
	// Servers is the absolute path of the user's own list of servers, or "". What they start is protected, too.
	Servers string
}

// A Target is what a protected name leads to.
type Target struct {
	Path string      // relative to the root, without links
	Info fs.FileInfo // nil if nothing is there
	Of   string      // the protected name, relative to the root
	Code *Code       // if it is a folder of which only the code is protected, else nil
}

// Covers reports whether a path is the target, or in it. same reports whether two names
// of a path are the same.
func (t *Target) Covers(p string, same func(a, b string) bool) bool {
	target, names := strings.Split(t.Path, "/"), strings.Split(p, "/")
	if t.Path == "." {
		target = nil
	}
	return len(names) >= len(target) && slices.EqualFunc(target, names[:len(target)], same) && (t.Code == nil || t.Code.has(names[len(target):]))
}

// The bounds of a search, which is made before each write: far more than any project has.
const (
	maxLinks    = 40 // that a path leads through
	maxEntries  = 50_000
	maxObeyed   = 2_000   // of a folder that other programs obey
	maxSettings = 1 << 20 // bytes of a file of git that is read
)

// Above returns the folders above some paths.
func Above(paths []string) (dirs []string) {
	seen := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(p); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Find returns the first of some paths, without links, that is what a protected name in a
// folder above leads to, or is in it: by its name or by identity. same reports whether two
// names of a path are the same. The error is that of [Project.Targets].
func (p *Project) Find(paths []string, same func(a, b string) bool) (hit string, target *Target, err error) {
	targets, err := p.Targets(Above(paths))
	for i := range targets {
		for _, at := range paths {
			if targets[i].Covers(at, same) || p.identical(&targets[i], at) {
				return at, &targets[i], err
			}
		}
	}
	return "", nil, err
}

// identical reports whether a path is a target, or in it, whatever its name.
func (p *Project) identical(t *Target, at string) bool {
	for ; t.Code == nil && t.Info != nil && at != "."; at = path.Dir(at) {
		if info, err := p.Root.Lstat(at); err == nil && os.SameFile(info, t.Info) {
			return true
		}
	}
	return false
}

// Targets returns what the protected names in some folders of the project lead to, and the
// .git of the folders above the project, unless that is outside of it. Its error is [fs.ErrInvalid] where a protected folder has
// too many entries.
func (p *Project) Targets(dirs []string) ([]Target, error) {
	s := search{Project: p, left: maxEntries, seen: map[string]bool{}}
	s.global(".", filepath.FromSlash(p.base()))
	for _, dir := range dirs {
		s.obeyed(dir)
		s.of = path.Join(dir, Git)
		s.git(dir, s.of)
		s.of = path.Join(dir, Settings)
		settings := s.settings(s.of)
		if settings {
			s.servers(dir)
		}
		if settings || dir == "." {
			for _, name := range Notes() {
				s.of = path.Join(dir, name)
				s.follow(s.of)
			}
		}
	}
	s.above()
	if s.Servers != "" {
		s.of = s.Servers
		s.programs(".", Programs(readServers(s.Servers)))
	}
	if s.left < 0 {
		return nil, &fs.PathError{Op: "list", Path: Settings, Err: fs.ErrInvalid}
	}
	return s.found, nil
}

// obeyed adds what links with names that other programs obey lead to, and the links in such folders.
func (s *search) obeyed(dir string) {
	in, err := s.Root.OpenRoot(dir)
	if err != nil {
		return
	}
	defer in.Close()
	for _, name := range Obeyed() {
		if slices.Contains(s.Free, name) {
			continue
		}
		s.of = path.Join(dir, name)
		first, _, _ := strings.Cut(name, "/")
		info, err := in.Lstat(first)
		if err != nil {
			continue
		}
		at := s.of
		if info.Mode()&fs.ModeSymlink != 0 || first != name {
			var inside bool
			if at, inside = s.follow(s.of); !inside {
				continue
			}
		}
		// The folder may hold copies of whole projects: a search that ends early does not fail.
		left := s.left
		s.left = min(left, maxObeyed)
		s.links(at, nil)
		s.left = left
	}
}

// A search is the state of one search.
type search struct {
	*Project
	of    string // the protected name
	found []Target
	seen  map[string]bool // the folders that were searched
	left  int             // how many more entries of folders are looked at
}

// add adds a target, without links.
func (s *search) add(at string) {
	if slices.ContainsFunc(s.found, func(t Target) bool { return t.Path == at && t.Code == nil }) {
		return
	}
	info, err := s.Root.Lstat(at)
	if err != nil {
		info = nil
	}
	s.found = append(s.found, Target{Path: at, Info: info, Of: s.of})
}

// follow adds the links that a path leads through and what it leads to, unless it leads
// through none. It returns that, and reports false for a path that leads out of the
// project.
func (s *search) follow(name string) (at string, inside bool) {
	at, links, inside := s.Resolve(name)
	for _, link := range links {
		s.add(link)
	}
	if inside && len(links) > 0 {
		s.add(at)
	}
	return at, inside
}

// Resolve returns where a path leads when its links are followed, and the links. It reports
// false for a path that leads out of the project. What it leads to need not exist.
func (p *Project) Resolve(name string) (at string, links []string, inside bool) {
	to, links, inside := p.resolve(place{path: "."}, name)
	return to.path, links, inside
}

// A place is a path without links, and what is there.
type place struct {
	path  string
	info  fs.FileInfo // nil if nothing is there, or if nobody has looked
	known bool        // info is what is there
}

// look returns a place with what is there.
func (p *Project) look(at place) place {
	if !at.known {
		at.info, _ = p.Root.Lstat(at.path) // nil with an error
		at.known = true
	}
	return at
}

// resolve is Resolve for a path that begins in a place. It asks for each part of the path once.
func (p *Project) resolve(at place, name string) (to place, links []string, inside bool) {
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at.path == "." { // it may lead back, by the name of the project
				back, ok := p.inside(path.Join(path.Dir(p.base()), path.Join(rest...)))
				if !ok {
					return place{}, links, false
				}
				rest = strings.Split(back, "/")
				continue
			}
			at = place{path: path.Dir(at.path)}
			continue
		}
		next := place{path: path.Join(at.path, part)}
		if at.known && at.info == nil { // nothing is in it either
			next.known = true
			at = next
			continue
		}
		if next = p.look(next); next.info == nil || next.info.Mode().Type()&^fs.ModeDir == 0 { // it is no link
			at = next
			continue
		}
		to, err := p.Root.Readlink(next.path)
		if err != nil { // nor is this, or it was replaced
			at = place{path: next.path}
			continue
		}
		if links = append(links, next.path); len(links) > maxLinks {
			return place{}, links, false
		}
		to = filepath.ToSlash(to)
		if path.IsAbs(to) {
			var ok bool
			if to, ok = p.inside(to); !ok {
				return place{}, links, false
			}
			at = place{path: "."}
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, links, true
}

// base returns the folder's absolute name without links.
func (p *Project) base() string {
	if len(p.Bases) == 0 {
		return "/"
	}
	return p.Bases[len(p.Bases)-1]
}

// inside makes an absolute path relative to the root.
func (p *Project) inside(abs string) (string, bool) {
	abs = path.Clean(abs)
	for _, base := range p.Bases {
		if abs == base {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(base, "/")+"/"); ok {
			return rest, true
		}
	}
	return "", false
}

// settings adds what a folder .cassidy leads to, and the links in it. It reports whether
// there is one.
func (s *search) settings(name string) bool {
	if _, err := s.Root.Lstat(name); err != nil {
		return false
	}
	if at, inside := s.follow(name); inside {
		s.links(at, nil)
	}
	return true
}

// links adds what links in a folder lead to, except in some of its folders.
func (s *search) links(dir string, except []string) {
	if s.seen[dir] || s.left < 0 {
		return
	}
	s.seen[dir] = true
	if info, err := s.Root.Lstat(dir); err != nil || !info.IsDir() {
		return // opening a pipe would wait
	}
	f, err := s.Root.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	entries, err := f.ReadDir(s.left + 1)
	if err != nil {
		return // it is empty, or no folder
	}
	s.left -= len(entries)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case slices.Contains(except, e.Name()):
		case e.Type()&fs.ModeSymlink != 0:
			if at, inside := s.follow(name); inside {
				s.links(at, nil)
			}
		case e.IsDir():
			s.links(name, except)
		}
	}
}

// data are the folders of git that hold only what was committed. They can be large.
var data = []string{"objects", "refs", "logs", "lfs"}

// git adds what a name .git in a work tree leads to: a folder, and what in it decides
// what git runs.
func (s *search) git(tree, name string) {
	if _, err := s.Root.Lstat(name); err != nil {
		return
	}
	if tree != "." {
		s.global(tree, s.treeDir(tree))
		s.of = name
	}
	at, inside := s.follow(name)
	if !inside {
		return
	}
	if to, ok := strings.CutPrefix(s.read(at), "gitdir:"); ok {
		if at, ok = s.named(path.Dir(at), strings.TrimSpace(to)); !ok {
			return
		}
	}
	s.repository(tree, at)
	if common := strings.TrimSpace(s.read(path.Join(at, "commondir"))); common != "" {
		if at, ok := s.named(at, common); ok {
			s.repository(tree, at)
		}
	}
}

// repository adds the links in a folder of git, and what its settings name.
func (s *search) repository(tree, at string) {
	if s.seen[at] {
		return
	}
	s.links(at, data)
	s.config(tree, at, path.Join(at, "config"), 0)
	s.config(tree, at, path.Join(at, "config.worktree"), 0)
}

// named adds the target of a path that a file of git in a folder names.
func (s *search) named(dir, name string) (at string, inside bool) {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		if name, inside = s.inside(name); !inside {
			return "", false
		}
	} else {
		name = dir + "/" + name // not cleaned: a link may be before ..
	}
	if at, inside = s.follow(name); inside {
		s.add(at)
	}
	return at, inside
}

// maxIncluded is how deep settings include others.
const maxIncluded = 5

// config adds the files that settings of git name: other settings, and programs.
func (s *search) config(tree, dir, file string, depth int) {
	for _, set := range settingsIn(s.read(file)) {
		set.value = s.expand(set.value)
		switch {
		case set.value == "":
		case set.isInclude():
			if at, ok := s.named(path.Dir(file), set.value); ok && depth < maxIncluded {
				s.config(tree, dir, at, depth+1)
			} else if !ok && depth < maxIncluded && path.IsAbs(filepath.ToSlash(set.value)) {
				s.outerConfig(tree, s.treeDir(tree), filepath.FromSlash(set.value), depth+1)
			}
		case set.isPath():
			s.named(tree, set.value) // git starts them in the work tree
		case set.isCommand():
			s.command(tree, set.value)
		}
	}
}

// treeDir returns the absolute name of a work tree, which is relative to the project.
func (s *search) treeDir(tree string) string {
	return filepath.Join(filepath.FromSlash(s.base()), filepath.FromSlash(tree))
}

// expand replaces the name of the user's home folder at the begin of a path, as git does.
func (s *search) expand(value string) string {
	rest, ok := strings.CutPrefix(value, "~/")
	if !ok || s.Env == nil || s.Env("HOME") == "" {
		return value
	}
	return strings.TrimSuffix(filepath.ToSlash(s.Env("HOME")), "/") + "/" + rest
}

// command adds what a command line of git, which a shell reads, may start in the work
// tree: the words that are paths, or files that are there.
func (s *search) command(tree, line string) {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "!"), "ext::")
	if strings.Contains(line, "/") { // else a shell looks for it where programs are
		s.named(tree, line)
	}
	for _, word := range strings.FieldsFunc(line, isSeparator) {
		word = s.expand(word)
		at, _, inside := s.Resolve(tree + "/" + word)
		if !inside {
			continue
		}
		info, err := s.Root.Lstat(at)
		if err == nil && !info.IsDir() || err != nil && strings.Contains(word, "/") {
			s.named(tree, word)
		}
	}
}

// read reads a small text, or "".
func (s *search) read(name string) string {
	info, err := s.Root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return ""
	}
	text, err := s.Root.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// Repository reports whether a folder is one that git takes for a repository, whatever
// its name, by what is in it. git follows its settings, and starts what they name.
func Repository(exists func(name string) bool) bool {
	return exists("HEAD") && (exists("commondir") || exists("objects") && exists("refs"))
}
