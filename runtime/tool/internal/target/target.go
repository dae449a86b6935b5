// Package target matches the targets of capabilities, and checks their patterns.
package target

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Read is [Path], and lets a tool that may read docs/*.txt look into the
// folder docs: what it may not read there is left out of what it sees.
func Read(pattern, path string) bool {
	if Path(pattern, path) {
		return true
	}
	if path != "." && !strings.HasPrefix(pattern, path) && !strings.Contains(pattern, `\`) {
		return false // its base is the begin of the pattern
	}
	base, _ := doublestar.SplitPattern(pattern)
	return base == path && base != pattern
}

// Path reports whether a glob covers a path.
func Path(pattern, path string) bool {
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}

// Word reports whether a pattern is a word: it has no wildcards.
func Word(pattern, word string) bool { return pattern == word }

// Key returns the one form of a tool's name under which it is found; see tool.Key.
func Key(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), ".", "__")
}

// Tool reports whether a pattern is the name of a tool in any spelling, or its @GROUP.
func Tool(pattern, name string) bool {
	return pattern == name || Key(pattern) == Key(name) && !strings.HasPrefix(name, "@")
}

// Host reports whether a pattern covers a host. Hosts are lower-case ASCII, with an optional
// port. A pattern without a port means the standard ports, which a host does not spell out.
func Host(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return pattern == host
}

// Secret reports whether a pattern covers a secret for a host; one for no host yet, NAME@, is
// covered where any is.
func Secret(pattern, secret string) bool {
	name, host, _ := strings.Cut(pattern, "@")
	otherName, otherHost, ok := strings.Cut(secret, "@")
	return ok && name == otherName && (otherHost == "" || Host(host, otherHost))
}

// What one glob may hold. Its alternatives multiply, {a,b}{a,b}… is twice the
// work with each pair, and the host matches globs of untrusted authors.
const (
	// MaxBraces is how many pairs of braces it may have.
	MaxBraces = 4
	maxCommas = 16
)

// CheckGlob returns an error of kind Invalid for a glob that is invalid or expensive, or leaves the
// project.
func CheckGlob(target string) error {
	if !doublestar.ValidatePattern(target) {
		return value.Errorf(value.Invalid, "%q is not a valid glob", target).WithHint("write a glob such as docs/** or *.csv")
	}
	if Leaves(target) {
		return value.Errorf(value.Invalid, "the glob %q points outside the project", target).
			WithHint("write a relative path with slashes, as in docs/**")
	}
	if strings.Contains(target, `\`) {
		return value.Errorf(value.Invalid, "the glob %q contains a backslash", target).
			WithHint("write a relative path with slashes, as in docs/**")
	}
	for part := range strings.SplitSeq(target, "/") {
		if part == "" || part == "." && target != "." {
			return value.Errorf(value.Invalid, "the glob %q cannot match a file", target).
				WithHint("write the glob without // and /./, and without a slash at the end, as in docs/**")
		}
	}
	if strings.Count(target, "{") > MaxBraces || strings.Count(target, ",") > maxCommas {
		return value.Errorf(value.Invalid, "the glob %q has too many alternatives", target).WithHint("write several capabilities, as in fs.read:docs/** and fs.read:src/**")
	}
	return nil
}

// Leaves reports whether a path is not one inside the project by its
// words alone.
func Leaves(path string) bool {
	if strings.HasPrefix(path, "/") {
		return true
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// CheckHost returns an error of kind Invalid for an invalid host.
func CheckHost(target string) error {
	host, port, hasPort := target, "", false
	if i := strings.LastIndexByte(target, ':'); i > strings.LastIndexByte(target, ']') {
		host, port, hasPort = target[:i], target[i+1:], true
	}
	if !validHost(strings.TrimPrefix(host, "*.")) || hasPort && !validPort(port) {
		return value.Errorf(value.Invalid, "%q is not a valid host", target).
			WithHint("write the host in lower case, as in api.example.com, *.example.com or localhost:8080")
	}
	return nil
}

// validHost accepts names, IPv4 addresses, and IPv6 addresses in brackets.
func validHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		return ok && inner != "" && strings.Trim(inner, "0123456789abcdef:.") == ""
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && port == strconv.FormatUint(n, 10)
}

// CheckWord returns an error of kind Invalid for a word with wildcards or spaces.
func CheckWord(target string) error {
	if strings.ContainsFunc(target, func(r rune) bool { return r == '*' || unicode.IsSpace(r) }) {
		return value.Errorf(value.Invalid, "%q is not a valid name", target).WithHint("write the name without spaces and without *")
	}
	return nil
}

// CheckSecret returns an error of kind Invalid for a secret without a name or a valid host.
func CheckSecret(target string) error {
	name, host, ok := strings.Cut(target, "@")
	switch {
	case !ok:
		return value.Errorf(value.Invalid, "secret %q has no host", target).WithHint("write secret:NAME@HOST")
	case name == "":
		return value.Errorf(value.Invalid, "secret %q has no name", target).WithHint("write secret:NAME@HOST")
	}
	if err := CheckWord(name); err != nil {
		return err
	}
	return CheckHost(host)
}
