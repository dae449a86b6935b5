package lsp

import (
	"net/url"
	"path/filepath"
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

// positionOf returns the position of an offset in a text. An offset outside of the text is moved to its end.
func positionOf(text string, offset int) position {
	offset = min(max(offset, 0), len(text))
	head := text[:offset]
	var p position
	start := 0
	for i := 0; i < len(head); i++ {
		if head[i] == '\n' || head[i] == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			p.Line++
			start = i + 1
		}
	}
	for _, r := range strings.TrimSuffix(head[start:], "\r") {
		p.Character += unitsOf(r)
	}
	return p
}

// rangeOf returns the positions of a part of a text.
func rangeOf(text string, s source.Span) textRange {
	return textRange{positionOf(text, s.Start), positionOf(text, s.End)}
}

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
