package fs

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Bounds of a path: what Linux takes, and a depth that no project reaches but
// that keeps every walk and its open folders few.
const (
	fsMaxPath  = 4096
	fsMaxDepth = 128
)

// Resolve turns a path as a script writes it into one that is relative to the
// root, clean and with slashes; "." is the root. It looks at the text alone.
// slash tells that the path can only mean a folder.
func (w *Folder) Resolve(raw string) (clean string, slash bool, err error) {
	if w.Root == nil {
		return "", false, value.Errorf(value.Denied, "there is no project folder here, so no files").WithHint("a program sets Options.Dir")
	}
	if err := CheckText(raw); err != nil {
		return "", false, err
	}
	switch {
	case w.Absolute(raw):
		if clean, err = w.Inside(raw); err != nil {
			return "", false, err
		}
	case w.work == ".": // Join would make the same of it, from a copy
		clean = path.Clean(raw)
	default:
		clean = path.Join(w.work, raw)
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", false, Outside(raw)
	}
	if strings.Count(clean, "/") >= fsMaxDepth {
		return "", false, value.Errorf(value.Invalid, "a path of more than %d folders", fsMaxDepth)
	}
	return clean, strings.HasSuffix(raw, "/") || strings.HasSuffix(raw, "/."), nil
}

// Absolute reports whether a path is absolute, on any system.
func (w *Folder) Absolute(raw string) bool {
	return path.IsAbs(raw) || filepath.IsAbs(raw) || filepath.VolumeName(raw) != ""
}

// Inside makes an absolute path relative to the root, whichever of its names
// the path begins with.
func (w *Folder) Inside(raw string) (string, error) {
	clean := path.Clean(filepath.ToSlash(raw))
	for _, base := range w.Bases {
		if clean == base {
			return ".", nil
		}
		if rest, ok := strings.CutPrefix(clean, strings.TrimSuffix(base, "/")+"/"); ok {
			return rest, nil
		}
	}
	return "", Outside(raw)
}

// filePath resolves a path that must be a file's, which "a/" is not.
func (w *Folder) filePath(raw string) (string, error) {
	p, slash, err := w.Resolve(raw)
	if err == nil && slash {
		return "", value.Errorf(value.Security, "%q can only be a folder", raw).WithHint("leave the slash away")
	}
	return p, err
}

// Outside returns the error of a path that is not in the project.
func Outside(raw string) error {
	return value.Errorf(value.Security, "%q leads out of the project", raw).
		WithHint("paths are relative to the working directory and stay inside the project, as in docs/a.txt")
}

// CheckText refuses text that is no path or that would not show as what it is.
func CheckText(raw string) error {
	switch {
	case raw == "":
		return value.Errorf(value.Security, "the path is empty").WithHint(`use "." for the working directory`)
	case len(raw) > fsMaxPath:
		return value.Errorf(value.Invalid, "a path of more than %d bytes", fsMaxPath)
	case !fsNameable(raw):
		return value.Errorf(value.Security, "the path %q holds a control character or is not UTF-8", raw)
	case filepath.Separator == '\\' && strings.ContainsAny(strings.TrimPrefix(raw, filepath.VolumeName(raw)), `\:`):
		return value.Errorf(value.Security, `the path %q holds \ or :`, raw).WithHint("write paths with slashes")
	}
	return nil
}

// fsNameable reports whether a script could write a name that is on disk. One
// that it could not is left out of lists: it cannot even be a value.
func fsNameable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// Shown gives a path as the script would write it: relative to where its
// relative paths begin.
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

// Writes returns the capability to change a path.
func Writes(p string) tool.Capability { return tool.Capability{Name: "fs.write", Target: p} }

// fsTempPrefix begins the names of files that are on their way to become
// others. Scripts neither see nor write such names.
const fsTempPrefix = ".cassidy-tmp-"

// Protect refuses to write where a change would change what runs next: git's
// hooks and settings, and the project's tools, policies and trust. The names
// are compared as the most forgiving file system would.
func (w *Folder) Protect(p string) error {
	if w.isKept(p) {
		return value.Errorf(value.Denied, "%s is protected: it holds what you trust and your settings", w.Shown(p)).
			WithHint("let a person change it")
	}
	for name := range strings.SplitSeq(p, "/") {
		folded := fsFold(name)
		switch {
		case folded == ".git" || fsShortName(folded, "git"):
			return value.Errorf(value.Denied, "%s is protected: what git keeps decides which commands it runs", w.Shown(p)).
				WithHint("let a person change it, or use git")
		case folded == ".cassidy" || fsShortName(folded, "cassid"):
			return value.Errorf(value.Denied, "%s is protected: tools, policies and settings are for people to change", w.Shown(p)).
				WithHint("let a person change it")
		case strings.HasPrefix(folded, fsTempPrefix):
			return value.Errorf(value.Denied, "%s is protected: names that begin with %s are for files that are being written", w.Shown(p), fsTempPrefix)
		}
	}
	return nil
}

// keepOut notes which of some folders and files lie in the project.
func (w *Folder) keepOut(names []string) {
	for _, name := range names {
		abs, err := filepath.Abs(name)
		if name == "" || err != nil {
			continue
		}
		followed, err := filepath.EvalSymlinks(abs)
		if err != nil {
			followed = abs // it is not there yet
		}
		for _, at := range []string{abs, followed} {
			if p, err := w.Inside(at); err == nil && p != "." {
				w.kept = append(w.kept, fsFoldPath(p))
			}
		}
	}
}

// isKept reports whether a path is, or lies in, what no script may change.
func (w *Folder) isKept(p string) bool {
	if len(w.kept) == 0 {
		return false
	}
	folded := fsFoldPath(p) + "/"
	return slices.ContainsFunc(w.kept, func(kept string) bool { return strings.HasPrefix(folded, kept+"/") })
}

// HoldsKept reports whether what no script may change lies in a folder.
func (w *Folder) HoldsKept(p string) bool {
	folded := fsFoldPath(p) + "/"
	return slices.ContainsFunc(w.kept, func(kept string) bool { return strings.HasPrefix(kept+"/", folded) })
}

// fsFoldPath folds each name of a path.
func fsFoldPath(p string) string {
	names := strings.Split(p, "/")
	for i, name := range names {
		names[i] = fsFold(name)
	}
	return strings.Join(names, "/")
}

// fsShortName reports whether a name is the one that Windows gives beside a
// longer one: GIT~1 for .git.
func fsShortName(folded, stem string) bool {
	digits, ok := strings.CutPrefix(folded, stem+"~")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// fsFold gives the form under which a forgiving file system would find a
// name: letters folded to small ones (with ß as ss, and the i without and with
// its dot), full-width forms as ASCII, what is invisible dropped (HFS+, and
// ext4 with casefold), dots and spaces at the end and a stream after a colon
// left away (Windows).
func fsFold(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 0xFF01 && r <= 0xFF5E {
			r -= 0xFF01 - '!'
		}
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		case r == 'ß' || r == 'ẞ':
			b.WriteString("ss")
		case r == 'ı' || r == 'İ':
			b.WriteByte('i')
		default:
			b.WriteRune(fsSmall(r))
		}
	}
	folded, _, _ := strings.Cut(b.String(), ":")
	return strings.TrimRight(folded, ". ")
}

// fsSmall gives the small ASCII letter that a rune folds to, else its own
// lower case.
func fsSmall(r rune) rune {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if 'a' <= f && f <= 'z' {
			return f
		}
	}
	return unicode.ToLower(r)
}
