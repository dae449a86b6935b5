package fs

import (
	"path"
	"strings"

	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// guard fails if the plan touches what is protected under another name.
func (p *plan) guard() error {
	l := p.look
	planned := map[string]bool{}
	paths := make([]string, len(p.changes))
	for i, c := range p.changes {
		paths[i] = c.path
		planned[foldPath(c.path)] = true
	}
	return l.w.guard(paths, func(at string) bool {
		if planned[foldPath(at)] {
			return true
		}
		if st, staged := l.stage.Changed(at); staged {
			return st.Exists
		}
		_, err := l.w.Root.Lstat(at)
		return err == nil
	})
}

// guardChanges is guard for a commit: a protected name may lead elsewhere than when the
// changes were staged.
func (w *Folder) guardChanges(changes []tool.Change) error {
	after := map[string]bool{}
	paths := make([]string, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
		after[foldPath(c.Path)] = c.After.Exists
	}
	return w.guard(paths, func(at string) bool {
		_, err := w.Root.Lstat(at)
		return err == nil || after[foldPath(at)]
	})
}

// guard fails with kind Denied if one of some paths, without links, is what a protected
// name leads to, is in it, or is in a repository of git by any name. exists reports
// whether something is at a path, or will be.
func (w *Folder) guard(paths []string, exists func(p string) bool) error {
	hit, target, err := w.Project().Find(paths, func(a, b string) bool { return a == b || Fold(a) == Fold(b) })
	switch {
	case err != nil:
		return value.Errorf(value.Limit, "find protected files: the folders .git and .cassidy contain too many files and folders")
	case target != nil && target.Code != nil:
		return value.Errorf(value.Denied, "%s is protected: a server that %s lists could load it as code", w.Shown(hit), w.Shown(target.Of)).
			WithHint("ask the user to change the file, or to give the server a folder of its own")
	case target != nil:
		return value.Errorf(value.Denied, "%s is protected: %s leads to %s, by a link, by a setting of git, or by the command line of a server", w.Shown(hit), w.Shown(target.Of), w.Shown(target.Path)).
			WithHint("ask the user to change the file")
	}
	for _, dir := range protect.Above(paths) {
		if protect.Repository(func(name string) bool { return exists(path.Join(dir, name)) }) {
			return value.Errorf(value.Denied, "%s is protected: it is a git repository, and the settings of a repository can make git run commands", w.Shown(dir)).
				WithHint("ask the user to make the change")
		}
	}
	return nil
}

// Project returns the folder as what protected names are looked up in.
func (w *Folder) Project() *protect.Project {
	return &protect.Project{Root: w.Root, Bases: w.bases, Env: w.env, Free: w.unprotected(), Servers: w.servers}
}

// Unprotect replaces Options.Unprotected.
func (w *Folder) Unprotect(names []string) { w.free.Store(&names) }

func (w *Folder) unprotected() []string {
	if free := w.free.Load(); free != nil {
		return *free
	}
	return nil
}

// An obeyedName is one of [protect.Obeyed].
type obeyedName struct {
	folder, name string // folded; the folder is that of the file, or ""
	stem         string // of the short name on Windows
	of           string
}

// obeyedNames are all of them.
var obeyedNames = foldObeyed()

func foldObeyed() (list []obeyedName) {
	for _, of := range protect.Obeyed() {
		folder, name := path.Split(foldName(of))
		stem, _, _ := strings.Cut(strings.TrimPrefix(name, "."), ".")
		list = append(list, obeyedName{strings.TrimSuffix(folder, "/"), name, stem[:min(len(stem), 6)], of})
	}
	return list
}

// obeyed returns the name of [protect.Obeyed] that a folded name is in a folder, or "".
func obeyed(folder, name string) string {
	stem, _, _ := strings.Cut(name, ".")
	isShort := strings.Contains(stem, "~")
	for i := range obeyedNames {
		o := &obeyedNames[i]
		if (name == o.name || isShort && isShortName(stem, o.stem)) && (o.folder == "" || o.folder == folder) {
			return o.of
		}
	}
	return ""
}
