package table

import (
	"unicode"

	"golang.org/x/text/width"
)

const (
	zeroWidthJoiner = '\u200d' // makes one picture of two
	emojiForm       = '\ufe0f' // asks for the picture of what is a letter else
)

// A ruler measures a text on a screen, character by character.
type ruler struct {
	columns int
	last    int  // how wide the last character was
	joined  bool // the next one is drawn into it
}

// add goes on to a character, and returns how many columns there are by then.
func (u *ruler) add(r rune) int {
	switch {
	case r < 0x7f:
		u.last, u.joined = 1, false
		u.columns++
	case r == zeroWidthJoiner:
		u.joined = true
	case r == emojiForm:
		if u.last == 1 {
			u.columns++
			u.last = 2
		}
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1f3fb && r <= 0x1f3ff || r >= 0x1160 && r <= 0x11ff:
		// marks, skin tones and the vowels of Hangul, which are drawn into the one before
	case u.joined:
		u.joined = false
	default:
		u.last = runeWidth(r)
		u.columns += u.last
	}
	return u.columns
}

// runeWidth is how many columns a character takes.
func runeWidth(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// textWidth is how many columns a text takes.
func textWidth(s string) int {
	var u ruler
	for _, r := range s {
		u.add(r)
	}
	return u.columns
}

// cutToWidth returns the text, or as much of its beginning as there is room for
// with an ellipsis. Marks that take no room are bounded too.
func cutToWidth(s string, most int) string {
	const marks = 4 // characters a column, more than any script writes
	var u ruler
	end, count := 0, 0 // of what there is room for beside the ellipsis
	for i, r := range s {
		count++
		if columns := u.add(r); columns > most || count > marks*most {
			return s[:end] + "…"
		} else if columns < most {
			end = i + len(string(r))
		}
	}
	return s
}
