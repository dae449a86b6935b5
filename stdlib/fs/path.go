package fs

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
)

// maxDepth limits the number of open folders.
const maxDepth = 128

// Resolve turns a path of a script into one that is relative to the root, clean and with slashes;
// "." is the root. It uses the text alone. slash reports that the path can only be a folder.
// It fails with kind Security for a path that leads out of the project or is not valid text,
// with Invalid for one that is too long or too deep, and with Denied without a project folder.
func (w *Folder) Resolve(raw string) (clean string, slash bool, err error) {
	if w.Root == nil {
		return "", false, value.Errorf(value.Denied, "files are unavailable: no project folder is open").WithHint("run cassidy --dir DIR; in Go, set Options.Dir")
	}
	if err := checkPath(raw); err != nil {
		return "", false, err
	}
	switch {
	case w.isAbsolute(raw):
		if clean, err = w.inside(raw); err != nil {
			return "", false, err
		}
	case w.work == ".": // saves the copy of Join
		clean = path.Clean(raw)
	default:
		clean = path.Join(w.work, raw)
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false, outside(raw)
	}
	if strings.Count(clean, "/") >= maxDepth {
		return "", false, value.Errorf(value.Invalid, "the path %q has more than %d parts", value.Cut(raw, 60), maxDepth)
	}
	return clean, strings.HasSuffix(raw, "/") || strings.HasSuffix(raw, "/."), nil
}

// isAbsolute reports whether a path is absolute, on any system.
func (w *Folder) isAbsolute(raw string) bool {
	return path.IsAbs(raw) || filepath.IsAbs(raw) || filepath.VolumeName(raw) != ""
}

// inside makes an absolute path relative to the root, for each of the names of the root.
func (w *Folder) inside(raw string) (string, error) {
	clean := path.Clean(filepath.ToSlash(raw))
	for _, base := range w.bases {
		if clean == base {
			return ".", nil
		}
		if rest, ok := strings.CutPrefix(clean, strings.TrimSuffix(base, "/")+"/"); ok {
			return rest, nil
		}
	}
	return "", outside(raw)
}

// CheckInside fails with kind Security for a path that leads out of the project and for invalid
// text. A relative path begins in dir, which is relative to the root. CheckInside uses the
// text alone, and does not follow links.
func (w *Folder) CheckInside(dir, raw string) error {
	if err := checkPath(raw); err != nil {
		return err
	}
	if w.isAbsolute(raw) {
		_, err := w.inside(raw)
		return err
	}
	if clean := path.Join(dir, raw); clean == ".." || strings.HasPrefix(clean, "../") {
		return outside(raw)
	}
	return nil
}

// filePath resolves a path that must be that of a file: it cannot end with a slash.
func (w *Folder) filePath(raw string) (string, error) {
	p, slash, err := w.Resolve(raw)
	if err == nil && slash {
		return "", value.Errorf(value.Security, "%q ends with a slash: expected the path of a file", raw).WithHint("omit the slash")
	}
	return p, err
}

// outside returns the error of a path that is not in the project.
func outside(raw string) error {
	return value.Errorf(value.Security, "%q leads out of the project", raw).
		WithHint("pass a path inside the project, relative to the working directory, as in docs/a.txt")
}

// Shown is the inverse of Resolve: it returns a path that is relative to the root as a path that
// is relative to the working directory.
func (w *Folder) Shown(p string) string {
	if w.work == "." {
		return p
	}
	rel, err := filepath.Rel(filepath.FromSlash(w.work), filepath.FromSlash(p))
	if err != nil {
		return p
	}
	return filepath.ToSlash(rel)
}

// reads returns the capability to read a path.
func reads(p string) tool.Capability { return tool.Capability{Name: "fs.read", Target: p} }

// writes returns the capability to change a path.
func writes(p string) tool.Capability { return tool.Capability{Name: "fs.write", Target: p} }

// notes are the folded names of the notes for models.
var notes = foldAll(protect.Notes())

// packageFolders are where package managers install what others have written. Such packages bring files with
// the names of [protect.Obeyed], which nothing obeys there, and an installation must not fail because of them.
var packageFolders = []string{"node_modules", "site-packages"}

// IsTemporary reports whether a name is that of a file which is being written, and is given
// its final name afterwards.
func IsTemporary(name string) bool { return strings.HasPrefix(foldName(name), swap.Prefix) }

// Protect fails with kind Denied for a path that decides what runs next: git's hooks and
// settings, the project's tools, policies, trust and notes, what other programs obey, and the paths of
// Options.Protect. It uses the text alone; guard follows what these names lead to. p is
// relative to the root. Names are compared by the rules of all common file systems.
func (w *Folder) Protect(p string) error {
	if w.isKept(p) {
		return value.Errorf(value.Denied, "%s is protected: it contains the user's settings and trusted files", w.Shown(p)).
			WithHint("ask the user to change the file")
	}
	folder, packages := "", false
	for name := range strings.SplitSeq(p, "/") {
		folded := foldName(name)
		obeyed := obeyed(folder, folded)
		folder, packages = folded, packages || slices.Contains(packageFolders, folded)
		switch {
		case isHiddenName(folded, "git"), isHiddenName(folded, "hg"), isHiddenName(folded, "jj"):
			return value.Errorf(value.Denied, "%s is protected: settings and hooks of version control can run commands", w.Shown(p)).
				WithHint("ask the user to change the file, or use git commands")
		case folded == ".cassidy" || isShortName(folded, "cassid"):
			return value.Errorf(value.Denied, "%s is protected: only the user may change tools, policies and settings", w.Shown(p)).
				WithHint("ask the user to change the file")
		case slices.Contains(notes, folded):
			return value.Errorf(value.Denied, "%s is protected: models read it as instructions in every task", w.Shown(p)).
				WithHint("show the text to the user, and ask them to change the file")
		case obeyed != "" && !packages && !slices.Contains(w.unprotected(), obeyed):
			return value.Errorf(value.Denied, "%s is protected: agents, editors or git follow %s as instructions or settings", w.Shown(p), obeyed).
				WithHint("ask the user to change the file, or to add %q to the list 'unprotected' in their own config.yaml", obeyed)
		case strings.HasPrefix(folded, swap.Prefix):
			return value.Errorf(value.Denied, "%s is protected: names that begin with %s are reserved for temporary files", w.Shown(p), swap.Prefix)
		}
	}
	return nil
}

// keepOut protects the given folders and files that are in the project.
func (w *Folder) keepOut(paths []string) {
	for _, name := range paths {
		abs, err := filepath.Abs(name)
		if name == "" || err != nil {
			continue
		}
		followed, err := filepath.EvalSymlinks(abs)
		if err != nil {
			followed = abs // it does not exist yet
		}
		for _, at := range []string{abs, followed} {
			if p, err := w.inside(at); err == nil && p != "." {
				w.kept = append(w.kept, foldPath(p))
			}
		}
	}
}

// HoldsSecret returns the path of Options.Secret that is a file, or "".
func (w *Folder) HoldsSecret(file fs.FileInfo) string {
	return protect.HoldsSecret(w.SecretFiles(), file)
}

// SecretFiles returns the paths of Options.Secret.
func (w *Folder) SecretFiles() []string {
	if w.secret == nil {
		return nil
	}
	return w.secret()
}

// isKept reports whether a path is in Options.Protect, or inside such a path.
func (w *Folder) isKept(p string) bool {
	if len(w.kept) == 0 {
		return false
	}
	folded := foldPath(p) + "/"
	return slices.ContainsFunc(w.kept, func(kept string) bool { return strings.HasPrefix(folded, kept+"/") })
}

// HoldsKept reports whether a folder contains a path of Options.Protect.
func (w *Folder) HoldsKept(p string) bool {
	folded := foldPath(p) + "/"
	return slices.ContainsFunc(w.kept, func(kept string) bool { return strings.HasPrefix(kept+"/", folded) })
}

// Fold returns a form in which two names are equal if any common file system takes them for the
// same.
func Fold(name string) string { return foldName(name) }
