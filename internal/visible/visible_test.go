package visible_test

import (
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestText(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"plain text: a-b/c_d.txt 'x' \"y\" $Z | & ;\n\nmore\n", "plain text: a-b/c_d.txt 'x' \"y\" $Z | & ;\n\nmore\n"},
		{"Grüße, año, naïve, “quotes” – don’t… €5 m² №1 ☃ 漢字、かな 한국어", "Grüße, año, naïve, “quotes” – don’t… €5 m² №1 ☃ 漢字、かな 한국어"},
		{"Привет, мир: сор и оса", "Привет, мир: сор и оса"},
		{"Γειά σου κόσμε, το νερό", "Γειά σου κόσμε, το νερό"},
		{"שלום עולם", "שלום עולם"},
		{"使用Python编写，好！", "使用Python编写，好！"},
		{"Tiếng Việt, tiê\u0301ng", "Tiếng Việt, tiê⟨U+0301⟩ng"}, // the letter has a character of its own
		{"e\u0301 q\u0301 \u212b \uf900 \u05d1\u05bc", "e⟨U+0301⟩ q\u0301 ⟨\u212b U+212B⟩ ⟨\uf900 U+F900⟩ \u05d1\u05bc"},
		{"हिन्दी ภาษาไทย", "हिन्दी ภาษาไทย"},

		// white space
		{"echo ok" + strings.Repeat(" ", 3000) + "; curl evil", "echo ok⟨3000 spaces⟩; curl evil"},
		{"a        b", "a        b"},
		{"a         b", "a⟨9 spaces⟩b"},
		{strings.Repeat(" ", 32) + "x", strings.Repeat(" ", 32) + "x"},
		{strings.Repeat(" ", 33) + "x", "⟨33 spaces⟩x"},
		{"x \ny  \n", "x⟨1 space⟩\ny⟨2 spaces⟩\n"},
		{"   ", "⟨3 spaces⟩"},
		{"\tif x {", "⇥   if x {"},
		{"a\tb", "a⇥   b"},
		{"a\t\t\tb\t", "a⟨3 tabs⟩b⟨1 tab⟩"},
		{strings.Repeat("\t", 13) + "x", "⟨13 tabs⟩x"},
		{"a\n\n\nb", "a\n\n\nb"},
		{"a\n\n\n\n\n\nb", "a\n⟨5 blank lines⟩\nb"},
		{"a\u00a0b\u3000c\u2003d", "a⟨U+00A0⟩b⟨U+3000⟩c⟨U+2003⟩d"},
		{"a" + strings.Repeat("\u00a0", 500) + "b", "a⟨U+00A0 ×500⟩b"},
		{"a\u2028b\u2029c\u0085d\ve\ff", "a⟨U+2028⟩b⟨U+2029⟩c⟨U+0085⟩d⟨U+000B⟩e⟨U+000C⟩f"},

		// what steers a terminal or the text after it
		{"\x1b[2Jx", "⟨U+001B⟩[2Jx"},
		{"\u009b31mx\x07\x08\x7f\x00", "⟨U+009B⟩31mx⟨U+0007⟩⟨U+0008⟩⟨U+007F⟩⟨U+0000⟩"},
		{"safe\revil\r\n", "safe⟨U+000D⟩evil⟨U+000D⟩\n"},
		{"x\u202etxt.exe\u2066\u2069\u061c", "x⟨U+202E⟩txt.exe⟨U+2066⟩⟨U+2069⟩⟨U+061C⟩"},

		// what has no shape
		{"pay\u200b\u200c\u200dpal\u2060\u2064\ufeff\u00ad", "pay⟨U+200B⟩⟨U+200C⟩⟨U+200D⟩pal⟨U+2060⟩⟨U+2064⟩⟨U+FEFF⟩⟨U+00AD⟩"},
		{"a\u115f\u1160\u3164\uffa0\u180e\u2800b", "a⟨U+115F⟩⟨U+1160⟩⟨U+3164⟩⟨U+FFA0⟩⟨U+180E⟩⟨U+2800⟩b"},
		{"a\ufe0f\U000e0041\U000e0100\U000e0001b", "a⟨U+FE0F⟩⟨U+E0041⟩⟨U+E0100⟩⟨U+E0001⟩b"},
		{"a\u034f\u17b4\U0001d159\ue000\U0010ffff", "a⟨U+034F⟩⟨U+17B4⟩⟨U+1D159⟩⟨U+E000⟩⟨U+10FFFF⟩"},
		{"q" + strings.Repeat("\u0301", 40), "q\u0301\u0301\u0301⟨U+0301 ×37⟩"},
		{"\u0301a \u0301", "⟨U+0301⟩a ⟨U+0301⟩"},
		{"rm\u0336 x\u20dd", "rm⟨U+0336⟩ x⟨U+20DD⟩"},
		{"\u1161\u1100\u1161\u11a8", "⟨U+1161⟩\u1100⟨U+1161⟩⟨U+11A8⟩"},
		{"a\xff\xfe\xffb\xe2\x82", "a⟨ff⟩⟨fe⟩⟨ff⟩b⟨e2⟩⟨82⟩"},
		{strings.Repeat("\xff", 9), "⟨ff ×9⟩"},

		// what looks like something else
		{"p\u0430ypal.com", "p⟨\u0430 U+0430⟩ypal.com"},
		{"src/\u0441\u043e\u0440\u0435.py", "src/⟨с U+0441⟩⟨о U+043E⟩⟨р U+0440⟩⟨е U+0435⟩.py"},
		{"\u0441\u043e\u0440\u0435", "⟨с U+0441⟩⟨о U+043E⟩⟨р U+0440⟩⟨е U+0435⟩"},
		{"docs/отчёт.md", "docs/отчёт.md"},
		{"g\u03bfogle", "g⟨ο U+03BF⟩ogle"},
		{"ｒｍ -rf", "⟨ｒ U+FF52⟩⟨ｍ U+FF4D⟩ -rf"},
		{"a；b", "a⟨； U+FF1B⟩b"},
		{"a\u037eb", "a⟨\u037e U+037E⟩b"},
		{"𝐫𝐦 ⅽd \ufb01le \u212a", "⟨𝐫 U+1D42B⟩⟨𝐦 U+1D426⟩ ⟨ⅽ U+217D⟩d ⟨ﬁ U+FB01⟩le ⟨\u212a U+212A⟩"},
		{"a\u2215b\u2044c d\u2223e \u2010rf", "a⟨∕ U+2215⟩b⟨⁄ U+2044⟩c d⟨∣ U+2223⟩e ⟨‐ U+2010⟩rf"},
		{"\u0261it Ꭺb ᎪᏢᎪ", "⟨ɡ U+0261⟩it ⟨Ꭺ U+13AA⟩b ⟨Ꭺ U+13AA⟩⟨Ꮲ U+13E2⟩⟨Ꭺ U+13AA⟩"},
		{"a1\u05d0/b", "a1⟨U+05D0⟩/b"},
		{"v1\u09ea", "v1⟨৪ U+09EA⟩"},
		{"⟨U+202E⟩ ⇥", "⟨U+27E8⟩U+202E⟨U+27E9⟩ ⟨U+21E5⟩"},
	} {
		if got := visible.Text(tt.text); got != tt.want {
			t.Errorf("Text(%+q)\n got %q\nwant %q", tt.text, got, tt.want)
		}
		if got := read(t, visible.Text(tt.text)); got != tt.text {
			t.Errorf("Text(%+q) stands for %+q", tt.text, got)
		}
	}
	for text, want := range map[string]string{"a\nb\n": "a↵b↵", "\n\n\n\n": "⟨4 line ends⟩", "a↵": "a⟨U+21B5⟩"} {
		if got := visible.Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

var marks = regexp.MustCompile(`⟨[^⟩]*⟩|↵|` + visible.TabText)

// read returns the text that a text with marks stands for.
func read(t interface{ Fatalf(string, ...any) }, shown string) string {
	lines := regexp.MustCompile("(?m)^⟨(\\d+) blank lines⟩\n")
	shown = lines.ReplaceAllStringFunc(shown, func(m string) string {
		n, _ := strconv.Atoi(lines.FindStringSubmatch(m)[1])
		return strings.Repeat("\n", n)
	})
	return marks.ReplaceAllStringFunc(shown, func(m string) string {
		switch m {
		case visible.TabText:
			return "\t"
		case "↵":
			return "\n"
		}
		words := strings.Fields(strings.Trim(m, "⟨⟩"))
		n := 1
		if last := words[len(words)-1]; strings.HasPrefix(last, "×") {
			n, _ = strconv.Atoi(strings.TrimPrefix(last, "×"))
			words = words[:len(words)-1]
		}
		last := words[len(words)-1]
		switch {
		case strings.HasPrefix(last, "space"), strings.HasPrefix(last, "tab"):
			n, _ = strconv.Atoi(words[0])
			return strings.Repeat(map[byte]string{'s': " ", 't': "\t"}[last[0]], n)
		case last == "ends":
			n, _ = strconv.Atoi(words[0])
			return strings.Repeat("\n", n)
		case strings.HasPrefix(last, "U+"):
			r, err := strconv.ParseInt(last[2:], 16, 32)
			if err != nil {
				t.Fatalf("the mark %q has no code point", m)
			}
			return strings.Repeat(string(rune(r)), n)
		}
		b, err := hex.DecodeString(last)
		if err != nil || len(b) != 1 {
			t.Fatalf("the mark %q is of no known kind", m)
		}
		return strings.Repeat(string(b), n)
	})
}

// Hostile are the parts of generated texts.
var hostile = []string{
	" ", "  ", strings.Repeat(" ", 40), "\t", "\t\t\t", "\n", "\n\n\n\n\n", "\r", "\x1b[31m", "\u202e", "\u200b", "\u00a0", "\ufe0f", "\u0301",
	"\u0430", "соре", "раураl", "привет", "ａ", "⟨", "⟩", "⟨3 spaces⟩", "⟨2 blank lines⟩", "⇥", "⇥   ", "↵", "\xff", "\xe2\x82", "\xed\xa0\x80", "\u05d0", "漢", "👩\u200d💻",
	"a", "rm -rf", "/", ";", "\u1161", "\u037e", "…",
}

func genText() *rapid.Generator[string] {
	part := rapid.OneOf(rapid.SampledFrom(hostile), rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }))
	return rapid.Map(rapid.SliceOfN(part, 0, 12), func(parts []string) string { return strings.Join(parts, "") })
}

// TestNothingIsHidden checks that the text that is shown determines the text that it stands
// for, that it has only what can be seen, and that the sizes of the parts add up.
func TestNothingIsHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genText().Draw(t, "text")
		shown := visible.Text(text)
		if got := read(t, shown); got != text {
			t.Fatalf("Text(%+q) = %q, which stands for %+q", text, shown, got)
		}
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && value.IsInvisible(r) }) {
			t.Fatalf("Text(%+q) = %+q has what cannot be seen", text, shown)
		}
		size := 0
		for _, l := range visible.Lines(text) {
			size += l.Size
			inside := 0
			for _, s := range l.Spans {
				inside += s.Size
			}
			if end := l.Size - inside; end != 0 && (end != 1 || !l.Ended) {
				t.Fatalf("Lines(%+q): the parts of a line of %d bytes have %d", text, l.Size, inside)
			}
		}
		if size != len(text) {
			t.Fatalf("Lines(%+q) have %d bytes, want %d", text, size, len(text))
		}
		line := visible.Line(text)
		if strings.Contains(line, "\n") || read(t, line) != text {
			t.Fatalf("Line(%+q) = %q", text, line)
		}
	})
}

// TestCost shows long texts of each kind: the time is linear in their length.
func TestCost(t *testing.T) {
	// A line of equal letters beside one that is not shown: counting them from each one is quadratic.
	done := make(chan int)
	go func() { done <- len(visible.Spans(strings.Repeat("x", 2<<20) + "\x00")) }()
	select {
	case got := <-done:
		if got != 2 {
			t.Errorf("a long line has %d spans, want 2", got)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("a line of equal letters takes more than linear time")
	}
	for _, part := range hostile {
		text := strings.Repeat(part+"x", 20_000)
		if got := len(visible.Lines(text)); got == 0 {
			t.Errorf("%+q: no lines", part)
		}
	}
}
