package lsp

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
)

// offsetOf returns the offset in bytes of a position in a text. A position outside of the text is
// moved to the end of its line, or to the end of the text. A position inside of a character is
// moved to its begin.
func offsetOf(text string, p position) int {
	offset := 0
	for range p.Line {
		n := strings.IndexAny(text[offset:], "\r\n")
		if n < 0 {
			return len(text)
		}
		offset += n + 1
		if text[offset-1] == '\r' && strings.HasPrefix(text[offset:], "\n") {
			offset++
		}
	}
	units := uint32(0)
	for offset < len(text) && text[offset] != '\n' && text[offset] != '\r' {
		r, size := utf8.DecodeRuneInString(text[offset:])
		units += unitsOf(r)
		if units > p.Character {
			return offset
		}
		offset += size
	}
	return offset
}

// unitsOf returns how many units of UTF-16 a character has.
func unitsOf(r rune) uint32 {
	if r > 0xffff {
		return 2
	}
	return 1
}

// An index finds the positions of offsets in a text. It takes time for the text once, and for a
// position only that of its line.
type index struct {
	text  string
	lines []int // the offset of each line
}

func newIndex(text string) *index {
	x := &index{text, []int{0}}
	for i := range len(text) {
		if text[i] == '\n' || text[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			x.lines = append(x.lines, i+1)
		}
	}
	return x
}

// position returns the position of an offset. An offset outside of the text is moved to its end.
func (x *index) position(offset int) position {
	offset = min(max(offset, 0), len(x.text))
	line, isStart := slices.BinarySearch(x.lines, offset)
	if !isStart {
		line--
	}
	p := position{Line: uint32(line)}
	for _, r := range strings.TrimSuffix(x.text[x.lines[line]:offset], "\r") {
		p.Character += unitsOf(r)
	}
	return p
}

// textRange returns the positions of a part of the text.
func (x *index) textRange(s source.Span) textRange {
	return textRange{x.position(s.Start), x.position(s.End)}
}

// positionOf returns the position of one offset in a text.
func positionOf(text string, offset int) position { return newIndex(text).position(offset) }

// rangeOf returns the positions of one part of a text.
func rangeOf(text string, s source.Span) textRange { return newIndex(text).textRange(s) }

// pathOf returns the path of a file: URI, or "" for any other URI.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || u.Host != "" && u.Host != "localhost" || strings.ContainsRune(u.Path, 0) {
		return ""
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' { // a drive of Windows
		p = p[1:]
	}
	return filepath.Clean(filepath.FromSlash(p))
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
