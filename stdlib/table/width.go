package table

import (
	"unicode"

	"golang.org/x/text/width"
)

const (
	zeroWidthJoiner = '\u200d' // joins two emojis into one
	emojiForm       = '\ufe0f' // requests the emoji form of a character
)

// A ruler measures the width of a text on a screen, character by character.
type ruler struct {
	columns int
	last    int  // width of the last character
	joined  bool // the next character is drawn into the last one
}

// add adds a character, and returns the number of columns so far.
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
		// marks, skin tones and the vowels of Hangul are drawn into the previous
		// character
	case u.joined:
		u.joined = false
	default:
		u.last = runeWidth(r)
		u.columns += u.last
	}
	return u.columns
}

// runeWidth returns the number of columns that a character takes.
func runeWidth(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// textWidth returns the number of columns that a text takes.
func textWidth(s string) int {
	var u ruler
	for _, r := range s {
		u.add(r)
	}
	return u.columns
}

// cutToWidth returns the text, or if it is too wide, its beginning and an ellipsis in
// most columns. The number of zero-width marks is limited too.
func cutToWidth(s string, most int) string {
	const marks = 4 // characters per column, more than any writing system uses
	var u ruler
	end, count := 0, 0 // of the part that fits together with the ellipsis
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
