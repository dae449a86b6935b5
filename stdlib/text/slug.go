package text

import (
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func textSlug(a *value.Dict) (value.Value, error) {
	separator := a.Text("separator")
	var b row.Builder
	gap := false
	for _, r := range a.Text("text") {
		letters := textPlain(r)
		if letters == "" {
			// An accent of its own belongs to the letter before it, and an
			// apostrophe to the word around it.
			gap = gap || !(unicode.Is(unicode.Mn, r) || r == '\'' || r == '’')
			continue
		}
		if gap && b.Len() > 0 {
			b.Add(separator)
		}
		gap = false
		if b.Add(letters); b.Full {
			break
		}
	}
	return b.Text()
}

// textPlain returns a letter or digit in lower case and without an accent, or
// "" for anything else.
func textPlain(r rune) string {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		return string(r)
	case 'A' <= r && r <= 'Z':
		return string(r + 'a' - 'A')
	case r < 0xc0, 0x300 <= r && r <= 0x36f:
		return ""
	case r < 0xc0+rune(len(textLatin)) && textLatin[r-0xc0] != '.':
		return textLatin[r-0xc0 : r-0xbf]
	case 0x1e00 <= r && r <= 0x1eff && textLatinMore[r-0x1e00] != '.':
		return textLatinMore[r-0x1e00 : r-0x1dff]
	}
	if s := textLigature(unicode.ToLower(r)); s != "" {
		return s
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
		return string(unicode.ToLower(r))
	}
	return ""
}

// textLigature returns what stands for the Latin letters that are no plain
// letter with an accent.
func textLigature(r rune) string {
	const letters = "æae ððd øo þth ßss đd ħh ıi ĸk łl ŋn œoe ŧt ĳij ŀl "
	i := strings.IndexRune(letters, r)
	if i < 0 || r < 0x80 {
		return ""
	}
	s := letters[i+len(string(r)):]
	return s[:strings.IndexByte(s, ' ')]
}

// The plain letter of each character from U+00C0 and from U+1E00 that Unicode
// decomposes into one and accents; a dot for the others.
const (
	textLatin = "aaaaaa.ceeeeiiii.nooooo..uuuuy..aaaaaa.ceeeeiiii.nooooo..uuuuy.y" +
		"aaaaaaccccccccdd..eeeeeeeeeegggggggghh..iiiiiiiii...jjkk.llllll." +
		"...nnnnnn...oooooo..rrrrrrsssssssstttt..uuuuuuuuuuuuwwyyyzzzzzzs" +
		"................................oo.............uu..............." +
		".............aaiioouuuuuuuuuu.aaaa....ggkkoooo..j...gg..nnaa...." +
		"aaaaeeeeiiiioooorrrruuuusstt..hh......aaeeooooooooyy............" +
		"................"
	textLatinMore = "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm" +
		"mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv" +
		"wwwwwwwwwwxxxxyyzzzzzzhtwy.s....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee" +
		"eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......"
)
