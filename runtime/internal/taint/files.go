package taint

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Files are the files of a project. The zero value knows each file by one name only.
type Files struct {
	// Names returns the names of its files, for one run; or nil.
	Names func() tool.FileNames
	// WorkDir is the absolute path of the folder to which the paths in outcomes are relative, or "".
	WorkDir string
}

// readFile returns the untrusted file that an effect has read, as people read it, or "".
func (l *Lists) readFile(m *Marks, e tool.Effect, takes []tool.Capability, out value.Value) string {
	if !slices.ContainsFunc(takes, isRead) || !slices.ContainsFunc(l.Untrusted, isRead) {
		return ""
	}
	of := m.namesOf(&l.Files)
	for _, c := range takes {
		if isRead(c) {
			if name := l.untrusted(of, c.Target, opened); name != "" {
				return asOpened(c.Target, name)
			}
		}
	}
	kind := listed
	if e.Func == "fs.search" {
		kind = opened
	}
	for _, at := range found(e, out) {
		if name := l.untrusted(of, l.Files.inProject(at), kind); name != "" {
			return asOpened(at, name)
		}
	}
	return ""
}

func isRead(c tool.Capability) bool { return c.Name == "fs.read" }

// asOpened returns the name by which a file was opened, and the one by which it is untrusted.
func asOpened(at, name string) string {
	if at == name {
		return at
	}
	return at + " (" + name + ")"
}

// inProject returns a path of an outcome so that [tool.FileNames] takes it.
func (f *Files) inProject(at string) string {
	if f.Names == nil || f.WorkDir == "" || filepath.IsAbs(at) {
		return at
	}
	return filepath.ToSlash(filepath.Join(f.WorkDir, filepath.FromSlash(at)))
}

// found returns the paths in the outcome of an effect that has looked through a folder.
func found(e tool.Effect, out value.Value) (paths []string) {
	items, _ := value.Elements(out)
	if d, ok := out.(*value.Dict); ok { // with the number of all items
		items = slices.Concat(d.Elements("entries"), d.Elements("paths"))
	}
	for _, item := range items {
		switch item := item.(type) {
		case *value.Dict:
			if item.Has("path") {
				paths = append(paths, item.Text("path"))
			}
		case string:
			if e.Func == "fs.glob" {
				paths = append(paths, item)
			}
		}
	}
	return slices.Compact(paths)
}

// A reading is how an effect has read a path.
type reading bool

const (
	opened reading = true  // it was opened, and the links in it were followed
	listed reading = false // only its name was returned
)

// untrusted returns the name by which a path is untrusted, or "": one of its names is in the
// untrusted sources and not in the trusted ones. So a link makes no file trusted.
func (l *Lists) untrusted(of tool.FileNames, at string, r reading) string {
	for _, c := range l.Untrusted {
		if !isRead(c) {
			continue
		}
		names, fold := l.Files.names(of, c.Target, at, r)
		for _, name := range names {
			if covers(c, name, fold, r) && !tool.AllowsAny(l.Trusted, tool.Capability{Name: c.Name, Target: name}) {
				return name
			}
		}
	}
	return ""
}

// names returns all names of a path for a pattern.
func (f *Files) names(of tool.FileNames, pattern, at string, r reading) (names []string, fold func() bool) {
	if of == nil {
		return []string{at}, func() bool { return false }
	}
	names, fold = of(pattern, at, bool(r))
	if !filepath.IsAbs(at) {
		names = append([]string{at}, names...)
	}
	return names, fold
}

// covers reports whether a source covers a name of a path that was read, in any case if fold says so.
func covers(c tool.Capability, name string, fold func() bool, r reading) bool {
	if coversName(c, name, r) {
		return true
	}
	target, lower := strings.ToLower(c.Target), strings.ToLower(name)
	if target == c.Target && lower == name {
		return false
	}
	return coversName(tool.Capability{Name: c.Name, Target: target}, lower, r) && fold()
}

// coversName is covers without fold. If the path was only listed, the name that the source itself has is not
// covered: it tells nothing new.
func coversName(c tool.Capability, name string, r reading) bool {
	one := tool.Capability{Name: c.Name, Target: name}
	if r == listed && name == strings.TrimSuffix(strings.TrimSuffix(c.Target, "/**"), "/*") {
		return false
	}
	rule := tool.Rule{Verdict: tool.Ask, Capability: c}
	return rule.Covers(&tool.Tool{}, one) || r == opened && c.Allows(one)
}
