package secret

import (
	"bytes"
	"encoding/ascii85"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"mime/quotedprintable"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// aToken is what many services give; oddToken has what encodings write differently.
const oddToken = `t0k<en>&"/+=?ä-value`

func each(text string, format string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func eachRune(text string, format string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

func wide(text string, little bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if little {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(b)
}

func lines(text string, width int, with string) string {
	var parts []string
	for len(text) > width {
		parts, text = append(parts, text[:width]), text[width:]
	}
	return strings.Join(append(parts, text), with)
}

func quotedPrintable(text string) string {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// escapePunctuation writes a text as shells do.
func escapePunctuation(text string) string {
	return regexp.MustCompile(`[^A-Za-z0-9ä-ü]`).ReplaceAllString(text, `\$0`)
}

// mixed percent-encodes every other byte, in either case.
func mixed(text string) string {
	var b strings.Builder
	for i, c := range []byte(text) {
		switch i % 3 {
		case 0:
			b.WriteByte(c)
		case 1:
			fmt.Fprintf(&b, "%%%02x", c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// encodings are how servers write what they were sent.
var encodings = map[string]func(string) string{
	"plain":                 func(s string) string { return s },
	"lower case":            strings.ToLower,
	"upper case":            strings.ToUpper,
	"reversed":              func(s string) string { b := []byte(s); slices.Reverse(b); return string(b) },
	"query":                 url.QueryEscape,
	"path":                  url.PathEscape,
	"percent":               func(s string) string { return each(s, "%%%02X") },
	"percent, small":        func(s string) string { return each(s, "%%%02x") },
	"percent, mixed":        mixed,
	"percent, twice":        func(s string) string { return url.QueryEscape(each(s, "%%%02X")) },
	"percent, three times":  func(s string) string { return url.QueryEscape(url.QueryEscape(each(s, "%%%02X"))) },
	"percent u":             func(s string) string { return eachRune(s, "%%u%04X") },
	"html":                  html.EscapeString,
	"html, twice":           func(s string) string { return html.EscapeString(html.EscapeString(s)) },
	"decimal entities":      func(s string) string { return eachRune(s, "&#%d;") },
	"decimal, no semicolon": func(s string) string { return eachRune(s, "&#%d") },
	"decimal, zeros":        func(s string) string { return eachRune(s, "&#0000000%d;") },
	"hex entities":          func(s string) string { return eachRune(s, "&#x%x;") },
	"hex entities, large":   func(s string) string { return eachRune(s, "&#X%X") },
	"named entities": func(s string) string {
		return strings.NewReplacer("<", "&lt", ">", "&gt;", "&", "&AMP;", "=", "&equals;", "_", "&lowbar;", "/", "&sol;").Replace(s)
	},
	"json":              func(s string) string { return jsonText(s) },
	"json in json":      func(s string) string { return jsonText(jsonText(s)) },
	"json units":        func(s string) string { return eachRune(s, `\u%04x`) },
	"json units, large": func(s string) string { return eachRune(s, `\u%04X`) },
	"percent in units":  func(s string) string { return each(each(s, "%%%02X"), `\u%04x`) },
	"units in percent":  func(s string) string { return url.QueryEscape(eachRune(s, `\u%04X`)) },
	"code points":       func(s string) string { return eachRune(s, `\u{%x}`) },
	"long units":        func(s string) string { return eachRune(s, `\U%08x`) },
	"backslash x":       func(s string) string { return each(s, `\x%02x`) },
	"octal":             func(s string) string { return each(s, `\%03o`) },
	"shell":             func(s string) string { return escapePunctuation(s) },
	"0x":                func(s string) string { return each(s, "0x%02x, ") },
	"hex":               func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hex, large":        func(s string) string { return each(s, "%02X") },
	"hex, spaced":       func(s string) string { return each(s, "%02x ") },
	"hex, colons":       func(s string) string { return each(s, "%02x:") },
	"hex, lines":        func(s string) string { return lines(hex.EncodeToString([]byte(s)), 16, "\n") },
	"hex of UTF-16":     func(s string) string { return hex.EncodeToString([]byte(wide(s, true))) },
	"numbers":           func(s string) string { return each(s, "%d, ") },
	"numbers, JSON": func(s string) string {
		return jsonText([]int{1, 2}) + strings.ReplaceAll(fmt.Sprint([]byte(s)), " ", ",")
	},
	"base64":             func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url":         func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64, raw":        func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 url, raw":    func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64 + 1":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte("a" + s + "zz")) },
	"base64 + 2":         func(s string) string { return base64.URLEncoding.EncodeToString([]byte("ab" + s + "z")) },
	"base64, lines":      func(s string) string { return lines(base64.StdEncoding.EncodeToString([]byte("user:"+s)), 12, "\r\n ") },
	"base64, JSON lines": func(s string) string { return jsonText(lines(base64.StdEncoding.EncodeToString([]byte(s)), 8, "\n")) },
	"base64, percent":    func(s string) string { return each(base64.StdEncoding.EncodeToString([]byte(s)), "%%%02X") },
	"base64 of query":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("k=" + url.QueryEscape(s))) },
	"base64 of path": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte("/x/" + url.PathEscape(s) + "?"))
	},
	"base64 of HTML": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("<p>" + html.EscapeString(s))) },
	"base64 of hex": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte("h" + hex.EncodeToString([]byte(s))))
	},
	"hex of base64": func(s string) string { return hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s)))) },
	"base64 of base64": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte("Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+s))))
	},
	"base64 of base64 url": func(s string) string {
		return base64.URLEncoding.EncodeToString([]byte("t=" + base64.RawURLEncoding.EncodeToString([]byte(s))))
	},
	"base64 of JSON": func(s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"k":` + jsonText(s) + `}`))
	},
	"base64 of UTF-16":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte(wide(s, true))) },
	"base64 of UTF-16 BE":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("\xfe\xff" + wide(s, false))) },
	"UTF-16 LE":              func(s string) string { return "\xff\xfe" + wide(s, true) },
	"UTF-16 BE":              func(s string) string { return wide(s, false) },
	"quoted-printable":       quotedPrintable,
	"quoted-printable, all":  func(s string) string { return each(s, "=%02X") },
	"quoted-printable, line": func(s string) string { return lines(s, 5, "=\r\n") },
	"spaced":                 func(s string) string { return eachRune(s, "%c ") },
	"lines":                  func(s string) string { return lines(s, 7, "\r\n\t") },
	"invisible":              func(s string) string { return lines(s, 3, "\u200b") },
}

// TestScrubEncodings checks that a value is hidden in every encoding, wherever it is.
func TestScrubEncodings(t *testing.T) {
	secrets := map[string]string{
		"token": aToken, "odd": oddToken, "eight": "x7Qp-2Lz", "spaces": "correct horse battery", "digits": "4024007198964305", "umlauts": "pässwörter-für-alle",
		"escapes": `a%41b&lt;c\u0041d=3D`, "pem": "-----BEGIN KEY-----\nMIIBVQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----",
	}
	ascii := func(s string) bool { return len(s) == utf8.RuneCountInString(s) }
	for what, val := range secrets {
		box := NewBox(nil)
		box.Hide("OTHER", "something else")
		box.Hide("T", val)
		for name, encode := range encodings {
			if !ascii(val) && slices.Contains([]string{"lower case", "upper case", "shell", "spaced", "invisible", "lines", "quoted-printable, line"}, name) {
				continue // what is visible of it in ASCII is matched, which does not hold all of it
			}
			if what == "escapes" && slices.Contains([]string{"path", "quoted-printable, line"}, name) {
				continue // not escaped as it would have to be, to be read again
			}
			for _, around := range [][2]string{{"", ""}, {"it is ", "."}, {`{"a": "`, `", "b": [1, 2]}`}, {"%20&amp;\n", "&copy 100%"}} {
				text := around[0] + encode(val) + around[1]
				got := box.Scrub(text)
				if !strings.Contains(got, "{{secret:T}}") {
					t.Errorf("%s as %s: %q came back as %q", what, name, text, got)
				} else if len(got) > len(around[0])+len(around[1])+len("{{secret:T}}")+24 {
					t.Errorf("%s as %s: of %q is left %q", what, name, text, got)
				}
			}
		}
	}
}

// TestScrubJoined checks that a value of many letters and digits is hidden where something is
// between its parts.
func TestScrubJoined(t *testing.T) {
	for what, val := range map[string]string{"token": aToken, "digits": "4024007198964305", "words": "correct horse battery"} {
		box := NewBox(nil)
		box.Hide("T", val)
		for name, text := range map[string]string{
			"a list": jsonText(strings.Split(val, "")), "quoted lines": lines(val, 6, "\n> "), "hyphens": lines(val, 4, "-"),
			"added texts": lines(val, 5, `" + "`), "a list of parts, in JSON": jsonText(jsonText([]string{val[:7], val[7:]})),
		} {
			if got := box.Scrub("it is " + text + "."); !strings.Contains(got, "{{secret:T}}") || strings.Contains(got, val[8:12]) {
				t.Errorf("%s as %s: %q came back as %q", what, name, text, got)
			}
		}
	}
	box := NewBox(nil)
	box.Hide("T", "x7Qp-2Lz")
	if got := box.Scrub("x7, Qp2 Lz"); got != "x7, Qp2 Lz" {
		t.Errorf("few letters and digits, which occur by chance, became %q", got)
	}
}

// TestScrubKeepsTheRest checks that what is around a value stays as it was.
func TestScrubKeepsTheRest(t *testing.T) {
	box := NewBox(nil)
	box.Hide("T", aToken)
	box.Hide("INNER", aToken[4:24])
	for _, tt := range []struct{ text, want string }{
		{"a=" + each(aToken, "%%%02X") + "&b=%20", "a={{secret:T}}&b=%20"},
		{"&lt;" + eachRune(aToken, "&#%d;") + "&gt;", "&lt;{{secret:T}}&gt;"},
		{"[" + strings.Trim(each(aToken, "%d, "), ", ") + "]", "[{{secret:T}}]"},
		{"x " + each(aToken, "%02x") + " y", "x {{secret:T}} y"},
		{aToken + " and " + aToken[4:24] + "!", "{{secret:T}} and {{secret:INNER}}!"},
		{aToken + aToken, "{{secret:T}}{{secret:T}}"},
		{"50%25 " + aToken + ` \u0041 ` + url.QueryEscape(aToken), `50%25 {{secret:T}} \u0041 {{secret:T}}`},
		{"a=" + each(aToken, "=%02X") + "=3D", "a={{secret:T}}=3D"},
	} {
		if got := box.Scrub(tt.text); got != tt.want {
			t.Errorf("Scrub(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestScrubOrdinaryText checks that texts without a value stay as they are.
func TestScrubOrdinaryText(t *testing.T) {
	testutil.SkipShort(t)
	box := NewBox(nil)
	for name, val := range map[string]string{"A": aToken, "B": "password", "C": "x7Qp-2Lz", "D": "12345678", "E": oddToken} {
		box.Hide(name, val)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 1<<20)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	words := strings.Fields("the quick brown fox &amp; 100% of \\n all the sentences a1b2 = 1234 567 and <b>more</b> text: naïve café, 0x41 %2F")
	var natural strings.Builder
	for natural.Len() < 1<<20 {
		natural.WriteString(words[rng.IntN(len(words))] + " ")
	}
	var a85 bytes.Buffer
	ascii85.NewEncoder(&a85).Write(random)
	for name, text := range map[string]string{
		"random": string(random), "base64": base64.StdEncoding.EncodeToString(random), "hex": hex.EncodeToString(random), "ascii85": a85.String(), "percent": each(string(random[:1<<18]), "%%%02x"),
		"numbers": fmt.Sprint(random[:1<<18]), "natural": natural.String(), "placeholder": "{{secret:A}} {{secret:B}}",
	} {
		if got := box.Scrub(text); got != text {
			at := 0
			for at < len(got) && got[at] == text[at] {
				at++
			}
			t.Errorf("%s: changed at %d: %q became %q", name, at, text[max(0, at-20):min(len(text), at+40)], got[max(0, at-20):min(len(got), at+40)])
		}
	}
}

// hostile are bodies of a size that make a careless search slow.
func hostile(size int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	return map[string]string{
		"natural": fill("The quick brown fox jumps over the lazy dog. "), "json": fill(`{"name": "a \"b\" c", "n": [1, 2, 3], "url": "https:\/\/x"}, `),
		"html": fill(`<a href="x?a=1&amp;b=2">R&eacute;sum&#233;</a> `), "prefix": fill(aToken[:len(aToken)-1]), "base64 prefix": fill(base64.StdEncoding.EncodeToString([]byte(aToken))[:44]),
		"percent": fill("%25"), "entity": "&#" + fill("0"), "entities": fill("&#0"), "names": fill("&ampampampampamp"), "backslashes": fill(`\`), "braces": fill(`\u{0`), "equals": fill("=\n"), "zeros": fill("\x00"), "hits": fill(each(aToken, "%%%02X")),
	}
}

// TestScrubIsLinear checks that hostile texts of 1 MB take no time that grows with the
// square of their length: that would be many minutes, and it is usually 50 ms.
func TestScrubIsLinear(t *testing.T) {
	testutil.SkipShort(t)
	box := NewBox(nil)
	box.Hide("T", aToken)
	for name, text := range hostile(1 << 20) {
		late := time.AfterFunc(2*time.Minute, func() { panic(name + ": 1 MB takes two minutes") })
		box.Scrub(text)
		late.Stop()
	}
}

func FuzzScrub(f *testing.F) {
	for _, encode := range encodings {
		f.Add(encode(aToken), encode(oddToken))
	}
	box := NewBox(nil)
	box.Hide("T", aToken)
	box.Hide("ODD", oddToken)
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, val := range []string{aToken, oddToken} {
			for _, middle := range []string{val, url.QueryEscape(val), hex.EncodeToString([]byte(val))} {
				if got := box.Scrub(before + middle + after); strings.Contains(got, middle) {
					t.Errorf("%q is in what is left of %q: %q", middle, before+middle+after, got)
				}
			}
		}
	})
}

// BenchmarkScrub measures a body of 8 MB, as the ratio to one search for the value.
func BenchmarkScrub(b *testing.B) {
	for _, name := range []string{"natural", "json", "html", "percent"} {
		b.Run(name, func(b *testing.B) {
			text := hostile(8 << 20)[name]
			box := NewBox(nil)
			box.Hide("T", aToken)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				box.Scrub(text)
			}
			scrub := b.Elapsed() / time.Duration(b.N)
			start := time.Now()
			for range 20 {
				if strings.Contains(text, aToken) {
					b.Fatal("it is there")
				}
			}
			b.ReportMetric(float64(scrub)/float64(time.Since(start)/20), "×Contains")
		})
	}
}
