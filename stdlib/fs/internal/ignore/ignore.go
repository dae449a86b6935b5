// Package ignore decides, as git does, which files the patterns of an ignore file exclude.
package ignore

import (
	"bytes"
	"path"
	"strings"
)

// A rule is one line of an ignore file. It is anchored if it is a pattern of paths, and not of names.
type rule struct {
	negated bool // what matches is not excluded
	dirOnly bool
}

// A glob is a pattern that must be compared.
type glob struct {
	rule           int
	prefix, suffix string   // of what matches
	parts          []string // of the pattern
	dirOnly        bool
}

// Ends are what a glob says of the first and of the last byte of what matches it, each 0 for nothing.
type ends struct {
	anchored    bool
	first, last byte
}

// Rules are the lines of an ignore file. The last one that matches decides. Most lines have no
// wildcard, or one before a suffix, and are looked up, and of the others only those with the right ends
// are compared, so that long files cost little.
type Rules struct {
	rules    []rule
	names    map[string][]int
	paths    map[string][]int
	suffixes map[string][]int // by the suffix from its only dot on
	globs    map[ends][]glob  // all others
}

// Parse reads an ignore file. Any text is one: a line that is no pattern excludes nothing.
func Parse(text []byte) *Rules {
	r := &Rules{names: map[string][]int{}, paths: map[string][]int{}, suffixes: map[string][]int{}, globs: map[ends][]glob{}}
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		r.add(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"))
	}
	return r
}

func (r *Rules) add(line string) {
	if strings.HasPrefix(line, "#") {
		return
	}
	line = trimSpaces(line)
	var n rule
	line, n.negated = strings.CutPrefix(line, "!")
	line, n.dirOnly = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return
	}
	const special = `*?[\`
	at := len(r.rules)
	wild := strings.IndexAny(line, special)
	suffix := line[1:]
	switch {
	case wild < 0 && anchored:
		r.paths[line] = append(r.paths[line], at)
	case wild < 0:
		r.names[line] = append(r.names[line], at)
	case !anchored && line[0] == '*' && strings.LastIndexByte(suffix, '.') == 0 && !strings.ContainsAny(suffix, special):
		r.suffixes[suffix] = append(r.suffixes[suffix], at)
	default:
		suffix = line[strings.LastIndexAny(line, special+"]/")+1:]
		of := ends{anchored: anchored}
		if wild > 0 {
			of.first = line[0]
		}
		if suffix != "" {
			of.last = line[len(line)-1]
		}
		r.globs[of] = append(r.globs[of], glob{at, line[:wild], suffix, strings.Split(line, "/"), n.dirOnly})
	}
	r.rules = append(r.rules, n)
}

// trimSpaces removes the spaces at the end of a line, up to one behind a backslash.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		end--
	}
	slashes := 0
	for slashes < end && line[end-1-slashes] == '\\' {
		slashes++
	}
	if slashes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// Match reports whether a file or folder is excluded. p is relative to the folder of the ignore file.
// decided is false if no line matches. Folders above are not considered.
func (r *Rules) Match(p string, dir bool) (excluded, decided bool) {
	last := -1
	consider := func(found []int) {
		for i := len(found) - 1; i >= 0 && found[i] > last; i-- {
			if dir || !r.rules[found[i]].dirOnly {
				last = found[i]
			}
		}
	}
	name := path.Base(p)
	consider(r.names[name])
	consider(r.paths[p])
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		consider(r.suffixes[name[dot:]])
	}
	for _, first := range []byte{0, name[0]} {
		for _, end := range []byte{0, name[len(name)-1]} {
			last = lastMatch(r.globs[ends{false, first, end}], last, dir, name, func(g *glob) bool { return matchName(g.parts[0], name) })
		}
	}
	parts := strings.Split(p, "/")
	for _, first := range []byte{0, p[0]} {
		for _, end := range []byte{0, p[len(p)-1]} {
			last = lastMatch(r.globs[ends{true, first, end}], last, dir, p, func(g *glob) bool { return matchPath(g.parts, parts) })
		}
	}
	if last < 0 {
		return false, false
	}
	return !r.rules[last].negated, true
}

// lastMatch returns the rule of the last glob that matches, if that is behind the rule last.
func lastMatch(globs []glob, last int, dir bool, whole string, matches func(*glob) bool) int {
	for i := len(globs) - 1; i >= 0 && globs[i].rule > last; i-- {
		g := &globs[i]
		if (dir || !g.dirOnly) && strings.HasSuffix(whole, g.suffix) && strings.HasPrefix(whole, g.prefix) && matches(g) {
			return g.rule
		}
	}
	return last
}

// matchPath matches the names of a path. A part ** stands for any number of names, and at the end for
// at least one.
func matchPath(pattern, names []string) bool {
	at, name, star, from := 0, 0, -1, 0
	for name < len(names) {
		switch {
		case at < len(pattern) && pattern[at] == "**":
			if at == len(pattern)-1 {
				return true
			}
			star, from = at, name
			at++
		case at < len(pattern) && matchName(pattern[at], names[name]):
			at++
			name++
		case star >= 0:
			from++
			at, name = star+1, from
		default:
			return false
		}
	}
	return at == len(pattern)
}

// matchName matches one name, byte by byte as git does. It goes back to the last * only, so that its
// time is bounded by the product of the lengths.
func matchName(pattern, name string) bool {
	at, i, star, from := 0, 0, -1, 0
	for i < len(name) {
		if at < len(pattern) && pattern[at] == '*' {
			star, from = at, i
			at++
			continue
		}
		if at < len(pattern) {
			if n := matchByte(pattern[at:], name[i]); n > 0 {
				at += n
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		at, i = star+1, from
	}
	return strings.Trim(pattern[at:], "*") == ""
}

// matchByte returns the length of what a pattern begins with if that matches a byte, or 0.
func matchByte(pattern string, b byte) int {
	switch pattern[0] {
	case '?':
		return 1
	case '[':
		return matchClass(pattern, b)
	case '\\':
		if len(pattern) > 1 && pattern[1] == b {
			return 2
		}
		return 0
	}
	if pattern[0] == b {
		return 1
	}
	return 0
}

// matchClass is matchByte for a pattern that begins with a bracket. Unlike in git, a slash is in no class.
func matchClass(pattern string, b byte) int {
	i, matches := 1, false
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := i; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == ']' && i > first:
			if matches == negated {
				return 0
			}
			return i + 1
		case c == '[' && i+1 < len(pattern) && pattern[i+1] == ':':
			if end := strings.IndexByte(pattern[i+2:], ']'); end > 0 && pattern[i+1+end] == ':' {
				in, known := classes[pattern[i+2:i+1+end]]
				if !known {
					return 0
				}
				matches = matches || in(b)
				i += end + 3
				continue
			}
		case c == '\\':
			if i++; i == len(pattern) {
				return 0
			}
			c = pattern[i]
		}
		i++
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high := pattern[i+1]
			i += 2
			if high == '\\' {
				if i == len(pattern) {
					return 0
				}
				high = pattern[i]
				i++
			}
			matches = matches || c <= b && b <= high
			continue
		}
		matches = matches || c == b
	}
	return 0
}

func isBetween(pairs string) func(byte) bool {
	return func(b byte) bool {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] <= b && b <= pairs[i+1] {
				return true
			}
		}
		return false
	}
}

// classes are the named classes in brackets.
var classes = map[string]func(byte) bool{
	"alnum": isBetween("09AZaz"), "alpha": isBetween("AZaz"), "blank": isBetween("  \t\t"), "cntrl": isBetween("\x00\x1f\x7f\x7f"),
	"digit": isBetween("09"), "graph": isBetween("!~"), "lower": isBetween("az"), "print": isBetween(" ~"),
	"punct": isBetween("!/:@[`{~"), "space": isBetween("  \t\r"), "upper": isBetween("AZ"), "xdigit": isBetween("09AFaf"),
}
