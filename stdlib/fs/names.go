package fs

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxPath is how long a path may be, as on Linux.
const maxPath = 4096

// checkPath fails for text that is not a path, or that would be displayed differently.
func checkPath(raw string) error {
	switch {
	case raw == "":
		return value.Errorf(value.Security, "the path is empty").WithHint(`use "." for the working directory`)
	case len(raw) > maxPath:
		return value.Errorf(value.Invalid, "the path %q is longer than %d bytes", value.Cut(raw, 60), maxPath)
	case !usableName(raw):
		return value.Errorf(value.Security, "the path %q contains a control character or is not UTF-8", raw)
	case filepath.Separator == '\\' && strings.ContainsAny(strings.TrimPrefix(raw, filepath.VolumeName(raw)), `\:`):
		return value.Errorf(value.Security, `the path %q contains \ or :`, raw).WithHint("separate folders with /, as in docs/a.txt")
	}
	return nil
}

// usableName reports whether a script can use a name that is on disk. Other names are left out of
// lists.
func usableName(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// foldAll folds each of some names, in place.
func foldAll(names []string) []string {
	for i, name := range names {
		names[i] = foldName(name)
	}
	return names
}

// foldPath folds each name of a path.
func foldPath(p string) string {
	return strings.Join(foldAll(strings.Split(p, "/")), "/")
}

// isShortName reports whether a name is the short name that Windows gives a longer one, such as
// GIT~1 for .git.
func isShortName(folded, stem string) bool {
	digits, ok := strings.CutPrefix(folded, stem+"~")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isHiddenName reports whether a folded name is a dot and a stem, or the short name of that.
func isHiddenName(folded, stem string) bool { return folded == "."+stem || isShortName(folded, stem) }

// foldName returns a form in which two names are equal if any common file system takes them for the
// same. It folds letters to lower case (ß becomes ss, and i with and without dot are equal),
// replaces full-width forms by ASCII, and removes invisible characters (HFS+, and ext4 with
// casefold), dots and spaces at the end, and a stream after a colon (Windows).
func foldName(name string) string {
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
			b.WriteRune(smallLetter(r))
		}
	}
	folded, _, _ := strings.Cut(b.String(), ":")
	return strings.TrimRight(folded, ". ")
}

// smallLetter returns the lower-case ASCII letter that a rune folds to, or else its lower case.
func smallLetter(r rune) rune {
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if 'a' <= f && f <= 'z' {
			return f
		}
	}
	return unicode.ToLower(r)
}

// modeKind says what a file is that is neither regular nor a folder, as in "a pipe".
func modeKind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// nearestNames returns up to most of the names that are similar to a name, the most similar first.
func nearestNames(name string, names []string, most int) (near []string) {
	for len(near) < most {
		nearest := value.Nearest(name, names)
		if nearest == "" {
			break
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == nearest })
		near = append(near, nearest)
	}
	return near
}
