package edits

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of the search for the nearest text: it reads the file two times, and looks for some
// lines in it.
const (
	maxOverlap    = 64 << 10 // bytes of the beginning, and of the end, that are looked for
	maxLines      = 10       // lines that are looked for
	minOverlap    = 8        // bytes that must be the same, or more than half of a shorter text
	maxShownLine  = 200      // bytes of a line in an error
	maxShownPiece = 40       // bytes of what differs in it
)

// A piece is a part of a text that another text has too.
type piece struct {
	from, to int // in the old text
	at       int // in the text of the file
}

// nearest returns a part of a hint that shows where a text differs from the one in the file that has the longest
// beginning, end or line of it, or "". Its time is linear in the length of the file.
func nearest(text, old string) string {
	n, at := overlap(text, old[:min(len(old), maxOverlap)], false)
	best := piece{0, n, at}
	tail := old[max(0, len(old)-maxOverlap):]
	if n, at := overlap(text, tail, true); n > best.to-best.from {
		best = piece{len(old) - n, len(old), at}
	}
	for _, line := range longLines(old) {
		if len(line) <= best.to-best.from {
			break
		}
		if at := strings.Index(text, line); at >= 0 {
			from := strings.Index(old, line)
			best = piece{from, from + len(line), at}
		}
	}
	best = best.extend(text, old)
	same := old[best.from:best.to]
	if len(same) < minOverlap && 2*len(same) <= len(old) || strings.TrimSpace(same) == "" {
		return ""
	}
	return best.show(text, old)
}

// longLines returns the longest lines of a text, the longest first.
func longLines(old string) []string {
	lines := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return lines[:min(len(lines), maxLines)]
}

// overlap returns the length of the longest beginning of a text that another one contains, and where
// it is; or, backwards, of its end. It is the search of Knuth, Morris and Pratt.
func overlap(text, old string, backwards bool) (n, at int) {
	get := func(s string, i int) byte {
		if backwards {
			return s[len(s)-1-i]
		}
		return s[i]
	}
	border := make([]int32, len(old)) // of each beginning, the longest that is its end too
	for i, k := 1, 0; i < len(old); i++ {
		for k > 0 && get(old, i) != get(old, k) {
			k = int(border[k-1])
		}
		if get(old, i) == get(old, k) {
			k++
		}
		border[i] = int32(k)
	}
	for i, k := 0, 0; i < len(text) && n < len(old); i++ {
		c := get(text, i)
		for k > 0 && get(old, k) != c {
			k = int(border[k-1])
		}
		if get(old, k) == c {
			k++
		}
		if k > n {
			n, at = k, i+1-k
		}
	}
	if backwards {
		at = len(text) - at - n
	}
	return n, at
}

// extend adds what is the same at both ends, without incomplete characters.
func (p piece) extend(text, old string) piece {
	for p.from > 0 && p.at > 0 && text[p.at-1] == old[p.from-1] {
		p.at--
		p.from--
	}
	for p.to < len(old) && p.at+p.to-p.from < len(text) && text[p.at+p.to-p.from] == old[p.to] {
		p.to++
	}
	for p.to > p.from && p.to < len(old) && !utf8.RuneStart(old[p.to]) {
		p.to--
	}
	for p.from < p.to && !utf8.RuneStart(old[p.from]) {
		p.from++
		p.at++
	}
	return p
}

// show describes the first difference behind the piece, or the last one before it.
func (p piece) show(text, old string) string {
	at := p.at + p.to - p.from // where the texts differ
	has, wants := pieceOf(text[at:]), pieceOf(old[p.to:])
	where := "from character %d on"
	if p.to == len(old) {
		at = p.at
		has, wants = pieceBefore(text[:at]), pieceBefore(old[:p.from])
		where = "before character %d"
	}
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	column := utf8.RuneCountInString(text[start:at]) + 1
	if len(line) > maxShownLine { // the part around the difference
		from := max(0, min(at-start-maxShownLine/2, len(line)-maxShownLine))
		line = strings.ToValidUTF8(line[from:from+maxShownLine], "")
	}
	return fmt.Sprintf("differs at line %d, %s: "+where+", the file has %s and the old text %s",
		1+strings.Count(text[:at], "\n"), strconv.Quote(line), column, has, wants)
}

// pieceOf returns the beginning of a text, up to the end of its line.
func pieceOf(rest string) string {
	line, _, broken := strings.Cut(rest, "\n")
	switch {
	case line != "":
		return strconv.Quote(strings.ToValidUTF8(line[:min(len(line), maxShownPiece)], ""))
	case broken:
		return "a line break"
	}
	return "its end"
}

// pieceBefore returns the end of a text, from the beginning of its line on.
func pieceBefore(text string) string {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	switch {
	case line != "":
		return strconv.Quote(strings.ToValidUTF8(line[max(0, len(line)-maxShownPiece):], ""))
	case text != "":
		return "a line break"
	}
	return "its beginning"
}
