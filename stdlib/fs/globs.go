package fs

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of a pattern. The alternatives of nested braces multiply, and each is tried on each
// path.
const (
	maxPattern      = 1000
	maxAlternatives = 64
)

// checkGlob fails for an invalid pattern, and for one that takes too long to match.
func checkGlob(pattern string) error {
	switch {
	case pattern == "" || !doublestar.ValidatePattern(pattern):
		return value.Errorf(value.Invalid, "invalid glob %q", pattern).WithHint("write a glob such as *.csv, docs/** or src/**/*.{js,ts}")
	case len(pattern) > maxPattern:
		return value.Errorf(value.Invalid, "the glob is longer than %d bytes", maxPattern)
	case countAlternatives(pattern) > maxAlternatives:
		return value.Errorf(value.Invalid, "the glob has more than %d alternatives", maxAlternatives).WithHint("use several calls with simpler globs")
	}
	return nil
}

// countAlternatives returns an upper bound of the number of patterns that a pattern with braces
// expands to.
func countAlternatives(pattern string) int {
	var open []int
	all := 1
	for i := 0; i < len(pattern) && all <= maxAlternatives; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				all *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return all
}

// globNamesHidden reports whether a pattern contains a name that begins with a dot.
func globNamesHidden(pattern string) bool {
	return strings.HasPrefix(pattern, ".") || strings.Contains(pattern, "/.")
}

// globInside changes a pattern that ends in /** so that it matches only what is inside the
// folder, and not a file with the name of the folder.
func globInside(pattern string) string {
	if strings.HasSuffix(pattern, "/**") {
		return pattern + "/*"
	}
	return pattern
}

// globDepth returns how many folders deep a pattern can match, and at most most.
func globDepth(pattern string, most int) int {
	if strings.Contains(pattern, "**") {
		return most
	}
	return min(strings.Count(pattern, "/"), most)
}
