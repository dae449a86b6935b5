package charset

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// Legacy returns an encoding that is not one of Unicode, and its usual name: one
// of those that browsers know, or a code page of DOS or Windows. It returns "" for an
// unknown name.
func Legacy(name string) (string, encoding.Encoding) {
	switch name {
	case "cp437", "ibm437":
		return "cp437", charmap.CodePage437
	case "cp850", "ibm850":
		return "cp850", charmap.CodePage850
	case "cp852", "ibm852":
		return "cp852", charmap.CodePage852
	case "cp932":
		name = "shift_jis"
	case "cp936":
		name = "gbk"
	case "cp949":
		name = "euc-kr"
	case "cp950":
		name = "big5"
	case "macroman", "mac-roman":
		name = "macintosh"
	}
	if page := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz-"); strings.HasPrefix(page, "125") {
		name = "windows-" + page // as in cp1251, win-1251
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		return "", nil
	}
	switch usual, _ := htmlindex.Name(found); usual {
	case "replacement", "x-user-defined", UTF8, UTF16LE, UTF16BE:
		return "", nil
	default:
		return usual, found
	}
}

// AppendForeign appends the lines of a piece that have bytes beyond ASCII. An incomplete
// line may begin within a character.
func AppendForeign(sample, piece []byte, first bool) []byte {
	for i, line := range bytes.SplitAfter(piece, []byte{'\n'}) {
		whole := bytes.HasSuffix(line, []byte{'\n'}) && (i > 0 || first) || len(line) == len(piece)
		if whole && bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			sample = append(sample, line...)
		}
	}
	return sample
}

// A legacyGuess is an encoding that may be guessed.
type legacyGuess struct {
	name     string
	common   func(a, b byte) bool // whether two bytes are a common character; nil if characters are single bytes
	frequent string               // the most frequent characters of names and words
}

func legacyGuesses() []legacyGuess {
	const (
		russian  = "оеаинтсрвлкмдпуя"
		japanese = "のにはをたがでてとしれさいるなもかっらりこすうんアイトルスシラリロンーク日本人年名前田中山東京市月大"
		chinese  = "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长" +
			"名姓号码数量价格金额城市省区县称编备注类型状态期单位址电话值张王李刘陈赵北京海广州明华"
		korean      = "이다는에의가을를로고은하지기사도리어시자인아나대해그과서일만라한부수있정보제동전주성우스장게여원비상구국산경조소공선방들면것화세미오번호명름값월년김박최울신액금량품목"
		traditional = "的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學可里後小心多天能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長" +
			"名姓號碼數量價格金額城市縣區稱編備註類型狀態期單位址電話值張王李劉陳臺北灣"
	)
	high := func(b byte) bool { return b >= 0xa1 }
	return []legacyGuess{
		{"windows-1251", nil, russian},
		{"koi8-r", nil, russian},
		{"shift_jis", func(a, _ byte) bool { return 0x81 <= a && a <= 0x83 || 0x88 <= a && a <= 0x97 }, japanese},
		{"gbk", func(a, b byte) bool { return high(b) && (a == 0xa1 || a == 0xa3 || 0xb0 <= a && a <= 0xd7) }, chinese},
		{"euc-kr", func(a, b byte) bool { return high(b) && (a == 0xa1 || a == 0xa3 || 0xb0 <= a && a <= 0xc8) }, korean},
		{"big5", func(a, _ byte) bool { return 0xa1 <= a && a <= 0xc6 }, traditional},
		{"euc-jp", func(a, b byte) bool {
			return high(b) && (a == 0xa1 || 0xa3 <= a && a <= 0xa5 || 0xb0 <= a && a <= 0xcf)
		}, japanese},
	}
}

// Guess guesses the encoding of some lines. In Western texts, bytes beyond ASCII are
// single letters among others; in the other encodings they come in groups.
func Guess(sample []byte) string {
	beyond, grouped := 0, 0
	for i, c := range sample {
		if c < utf8.RuneSelf {
			continue
		}
		beyond++
		if i > 0 && sample[i-1] >= utf8.RuneSelf || i+1 < len(sample) && sample[i+1] >= utf8.RuneSelf {
			grouped++
		}
	}
	name, best := Windows1252, 0.0
	if 2*grouped < beyond {
		return name
	}
	for _, guess := range legacyGuesses() {
		if score := guess.score(sample); score > best {
			name, best = guess.name, score
		}
	}
	return name
}

// score returns how likely the encoding is, or 0.
func (l legacyGuess) score(sample []byte) float64 {
	const few = 0.8 // the share of common characters in a text
	_, e := Legacy(l.name)
	decoded, err := e.NewDecoder().Bytes(sample)
	if err != nil || bytes.Contains(decoded, []byte("\ufffd")) {
		return 0
	}
	text, all, frequent := string(decoded), 0, 0
	for _, r := range text {
		if r >= utf8.RuneSelf {
			all++
			if strings.ContainsRune(l.frequent, unicode.ToLower(r)) {
				frequent++
			}
		}
	}
	common := cyrillic(text)
	hebrew := l.name == "koi8-r" && strings.ToUpper(text) == text // its bytes are Russian capitals
	if l.common == nil && (float64(frequent) < 0.6*float64(all) || hebrew) {
		return 0
	}
	if l.common != nil {
		common = 0
		for i := 0; i+1 < len(sample); i++ {
			if c := sample[i]; c < utf8.RuneSelf || l.name == "shift_jis" && 0xa1 <= c && c <= 0xdf { // narrow katakana are single bytes
				continue
			}
			if l.common(sample[i], sample[i+1]) {
				common++
			}
			i++
		}
	}
	if share := float64(common) / float64(all); share >= few {
		return share + float64(frequent)/float64(all)
	}
	return 0
}

// cyrillic returns how many letters of a text are Cyrillic, and in words of such letters
// in which none is larger than the one before it. There must be a few.
func cyrillic(text string) (n int) {
	before := ' '
	for _, r := range text {
		is := 'А' <= r && r <= 'я' || r == 'ё' || r == 'Ё'
		switch latin := before < utf8.RuneSelf && unicode.IsLetter(before); {
		case is && !latin && !(unicode.IsUpper(r) && unicode.IsLower(before)):
			n++
		case unicode.IsLetter(r) && unicode.Is(unicode.Cyrillic, before):
			n--
		}
		before = r
	}
	if n < 3 {
		return 0
	}
	return n
}
