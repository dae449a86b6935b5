package value

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A pathError is an error at a part of a value.
type pathError struct {
	path string // as in ".orders[2].count"
	err  error
}

func (e *pathError) Error() string { return strings.TrimPrefix(e.path, ".") + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

func atIndex(i int, err error) error { return atPart("["+strconv.Itoa(i)+"]", err) }

// AtKey adds the key of a dict to the path of an error.
func AtKey(name string, err error) error {
	if plainKey(name) {
		return atPart("."+name, err)
	}
	return atPart("["+strconv.Quote(Cut(name, 60))+"]", err)
}

// maxPath is how long the path of an error may be, in bytes.
const maxPath = 400

func atPart(part string, err error) error {
	e, ok := err.(*pathError)
	if !ok {
		return &pathError{part, err}
	}
	if len(e.path) < maxPath {
		e.path = part + e.path
	} else if !strings.HasPrefix(e.path, "…") {
		e.path = "…" + e.path
	}
	return e
}

// plainKey reports whether a key can be part of a path without quotes.
func plainKey(name string) bool {
	for _, r := range name {
		if r < utf8.RuneSelf && !('a' <= r && r <= 'z') && !('A' <= r && r <= 'Z') && !('0' <= r && r <= '9') && r != '_' && r != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 60
}

// PathFailure converts the error of a conversion to an [Error], with its kind, limit
// and hint.
func PathFailure(err error) error {
	p, ok := err.(*pathError)
	if !ok {
		return AsError(err, Invalid)
	}
	e := *ErrorOf(p.err, Invalid)
	e.Op, e.Err = "", fmt.Errorf("%s: %w", strings.TrimPrefix(p.path, "."), p.err)
	return &e
}
