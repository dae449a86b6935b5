package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A context is what the marks of a line depend on besides the character: its words.
type context struct {
	line  string
	words []word
	next  int  // of words, the one at the position that is asked for
	latin bool // the line has letters of Latin script
	east  bool // the line has letters of East Asian scripts
	own   map[*unicode.RangeTable]bool
}

// A word is a run of letters, digits and what belongs to them.
type word struct {
	from, to int
	ascii    bool                // it has ASCII letters or digits
	latin    bool                // it has Latin letters
	alike    bool                // each of its letters looks like a Latin one
	digits   bool                // it has digits only
	script   *unicode.RangeTable // of its first letter in one of foreignScripts, or nil
}

// The scripts with letters that look like Latin ones. Those of rareScripts are read by few:
// beside Latin text, all their letters are marked.
var (
	foreignScripts = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Coptic, unicode.Georgian}
	rareScripts    = []*unicode.RangeTable{
		unicode.Cherokee, unicode.Lisu, unicode.Deseret, unicode.Osage, unicode.Tifinagh, unicode.Canadian_Aboriginal, unicode.Vai,
		unicode.Old_Italic, unicode.Gothic, unicode.Carian, unicode.Lycian, unicode.Lydian, unicode.Runic, unicode.Bamum,
		unicode.Warang_Citi, unicode.Miao, unicode.Pau_Cin_Hau, unicode.Elbasan, unicode.Caucasian_Albanian, unicode.Glagolitic,
		unicode.Mro, unicode.Shavian, unicode.Osmanya, unicode.Medefaidrin, unicode.Vithkuqi, unicode.Old_Permic,
	}
	eastScripts  = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo}
	rightScripts = []*unicode.RangeTable{
		unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic, unicode.Adlam,
		unicode.Mende_Kikakui, unicode.Hanifi_Rohingya, unicode.Phoenician, unicode.Imperial_Aramaic, unicode.Old_South_Arabian,
		unicode.Old_North_Arabian, unicode.Avestan, unicode.Lydian, unicode.Kharoshthi, unicode.Cypriot, unicode.Yezidi,
	}
)

// twins are the letters of foreignScripts that most fonts draw like Latin ones.
const twins = "аеіїјорсухѕԁԛԝһӏѵҽкАВЕЅІЇЈКМНОРСТХУԚԜЁёҮү" + // Cyrillic
	"ονικρυχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ" + // Greek
	"օոսհգզցԼՍՕ" + // Armenian
	"ⲟⲣⲥⲭⲞⲢⲤⲬⲀⲂⲈⲎⲒⲔⲘⲚⲦ" // Coptic

// The characters that look like a part of the syntax of paths, commands and this package, and
// that are not equivalent to an ASCII character.
const (
	ours   = "⟨⟩⇥↵"
	syntax = ours +
		"∕⁄⧸╱⟋" + "∖⧵⟍" + "∶꞉˸։׃܃ː" + "⁏" + "∣ǀ❘｜⏐" + "‚" + "∗⁎٭" + "∼˜" + "‐‑⁃−˗" + "ǃ" + "․‥" + "\u02cb"
)

// exempt are characters whose ASCII equivalent nobody takes them for, or that prose is full of.
const exempt = "…™℠²³¹ªº¨¯´¸№℡℻"

// contextOf reads the words of a line.
func (c *context) contextOf(line string) {
	c.line = line
	w := word{from: -1}
	end := func(at int) {
		if w.from >= 0 {
			w.to = at
			c.words = append(c.words, w)
		}
		w = word{from: -1}
	}
	for i, r := range line {
		letter, digit := unicode.IsLetter(r), unicode.IsDigit(r)
		if !letter && !digit && !unicode.IsMark(r) && r != '_' {
			end(i)
			continue
		}
		if w.from < 0 {
			w = word{from: i, alike: true, digits: true}
		}
		w.digits = w.digits && digit
		switch {
		case r < unicode.MaxASCII:
			w.ascii = true
			w.latin = w.latin || letter
		case !letter:
		case unicode.Is(unicode.Latin, r):
			w.latin = true
		case unicode.In(r, eastScripts...):
			c.east = true
			w.alike = false
		default:
			w.letter(r)
		}
		c.latin = c.latin || w.latin
	}
	end(len(line))
	c.own = map[*unicode.RangeTable]bool{}
	for _, w := range c.words {
		if w.script != nil && !w.alike && !w.latin {
			c.own[w.script] = true
		}
	}
}

// letter adds a letter that is neither Latin nor East Asian to a word.
func (w *word) letter(r rune) {
	for _, script := range foreignScripts {
		if unicode.Is(script, r) {
			if w.script == nil {
				w.script = script
			}
			if script != w.script {
				w.alike = true // of two scripts, it belongs to none
			} else {
				w.alike = w.alike && strings.ContainsRune(twins, r)
			}
			return
		}
	}
	w.alike = false
}

// at returns the word at a position, or nil. Positions must not decrease.
func (c *context) at(at int) *word {
	for c.next < len(c.words) && c.words[c.next].to <= at {
		c.next++
	}
	if c.next < len(c.words) && c.words[c.next].from <= at {
		return &c.words[c.next]
	}
	return nil
}

// alike reports whether the character at a position of the line looks like another one.
func (c *context) alike(r rune, at int) bool {
	w := c.at(at)
	switch {
	case strings.ContainsRune(syntax, r):
		return true
	case strings.ContainsRune(exempt, r) || r <= unicode.MaxLatin1:
		return false
	case likeASCII(r):
		return unicode.IsLetter(r) || unicode.IsDigit(r) || !c.east
	case w == nil:
		return false
	case unicode.Is(unicode.Latin, r):
		return w.ascii && phonetic(r)
	case unicode.IsDigit(r):
		return w.ascii || w.digits && c.latin
	case unicode.In(r, rareScripts...):
		return c.latin
	case rightToLeft(r):
		return w.ascii // it would reorder the word
	case !unicode.In(r, foreignScripts...):
		return false
	}
	// A word of letters that all look Latin is marked, except in a text that has no Latin
	// letters and other words of the script.
	return w.latin || w.alike && (c.latin || !c.own[w.script])
}

// likeASCII reports whether Unicode calls the character equivalent to ASCII characters, such
// as the full-width or the mathematical ones.
func likeASCII(r rune) bool {
	text := string(r)
	same := norm.NFKC.String(text)
	return same != text && strings.IndexFunc(same, func(r rune) bool { return r >= unicode.MaxASCII }) < 0
}

// composed reports whether a character is always shown as another one, which Unicode calls
// canonically equivalent, such as the sign of the ångström as the letter.
func composed(r rune) bool { return norm.NFC.String(string(r)) != string(r) }

// composes reports whether a character is shown as one with the character before it, as an
// accent is: the same letter can be one character.
func composes(before string, r rune) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	if size == 0 {
		return false
	}
	_, one := utf8.DecodeRuneInString(norm.NFC.String(string(last) + string(r)))
	return one == len(norm.NFC.String(string(last)+string(r)))
}

// phonetic reports whether a Latin letter is one of those that only dictionaries use and that
// look like common ones.
func phonetic(r rune) bool {
	return 0x250 <= r && r <= 0x2af || 0x1d00 <= r && r <= 0x1dbf || 0xa730 <= r && r <= 0xa7ff || 0x1c0 <= r && r <= 0x1c3
}

func rightToLeft(r rune) bool { return unicode.In(r, rightScripts...) }

// combines reports whether a character is drawn on the one before it.
func combines(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || 0x1160 <= r && r <= 0x11ff || 0xd7b0 <= r && r <= 0xd7ff
}

// covers reports whether a combining character strikes through or surrounds another one.
func covers(r rune) bool {
	return unicode.Is(unicode.Me, r) || 0x334 <= r && r <= 0x338 || 0x20d2 <= r && r <= 0x20e5
}
