package charset

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// wide encodes a text in UTF-16, with the high byte first if big is set.
func wide(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			b.Write([]byte{byte(u >> 8), byte(u)})
		} else {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
	}
	return b.String()
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("été 🎉\r\n", 5000)
	noise := make([]byte, 9000)
	source := rand.NewChaCha8([32]byte{1})
	for i := range noise {
		noise[i] = byte(source.Uint64()%255) + 1 // no zeros
	}
	var r Reader
	for _, tt := range []struct {
		name, in, want string
		binary         bool
	}{
		{"empty", "", "", false},
		{"UTF-8", "é\n", "é\n", false},
		{"UTF-8 with a mark", "\ufeffhello", "hello", false},
		{"a mark alone", "\ufeff", "", false},
		{"UTF-16", wide("\ufeff"+long, false), long, false},
		{"big-endian UTF-16", wide("\ufeff"+long, true), long, false},
		{"UTF-16 without a mark", wide("hello world\n", false), "hello world\n", false},
		{"big-endian without a mark", wide("hello world\n", true), "hello world\n", false},
		{"half a character of UTF-16", wide("\ufeffab", false) + "c", "ab\ufffd", false},
		{"Latin-1", "caf\xe9\n", "café\n", false},
		{"Windows-1252", "\x93quoted\x94 \x80 1", "“quoted” € 1", false},
		{"Cyrillic", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0 \xe8 \xef\xee\xea\xee\xe9\n", "Привет, мир и покой\n", false},
		{"Shift JIS", "\x93\xfa\x96\x7b\x82\xcc\x96\xbc\x91\x4f\n", "日本の名前\n", false},
		{"lines of both", "Zürich\ncaf\xe9\n", "Zürich\ncafé\n", false},
		{"a bad byte among good ones", "Zürich é \xe9\n", "Zürich é \ufffd\n", false},
		{"colours", strings.Repeat("\x1b[31mx\x1b[0m\n", 9), strings.Repeat("\x1b[31mx\x1b[0m\n", 9), false},
		{"overprinted", "a\b\b\bb\f\r", "a\b\b\bb\f\r", false},
		{"CR alone", "\ufeffone\rtwo\r", "one\ntwo\n", false},
		{"CR alone in UTF-16", wide("one\rtwo", false), "one\ntwo", false},
		{"CR and LF", "one\rtwo\r\nthree", "one\rtwo\r\nthree", false},
		{"a zero", "ab\x00c", "", true},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "", true},
		{"UTF-16 with zeros", wide("\ufeffab\x00c", false), "", true},
		{"control characters", "a\x01\x02\x03", "", true},
		{"noise", string(noise), "", true},
	} {
		for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
			binary := r.Reset(in)
			got, err := io.ReadAll(&r)
			if binary != tt.binary || err != nil || !binary && Text(got) != tt.want {
				t.Errorf("%s: %.40q, binary %t, %v; want %.40q", tt.name, Text(got), binary, err, tt.want)
			}
		}
	}
	r.Reset(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))))
	if _, err := io.ReadAll(&r); err != iotest.ErrTimeout {
		t.Errorf("an error of the file is %v", err)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, text, add, want string }{
		{"UTF-8", "a\u00e9", "aé", "→", "aé→"},
		{"a byte order mark", "\ufeffa", "\ufeffa", "b", "\ufeffab"},
		{"UTF-16", wide("\ufeffaé🎉", false), "aé🎉", "→", wide("\ufeffaé🎉→", false)},
		{"big-endian without a mark", wide("hello", true), "hello", "!", wide("hello!", true)},
		{"Windows-1252", "caf\xe9 \x80\r\n", "café €\r\n", "é“", "caf\xe9 \x80\r\n\xe9\x93"},
		{"no character of Windows-1252", "caf\xe9 \x81", "", "", ""},
		{"Cyrillic", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0 \xe8 \xef\xee\xea\xee\xe9\n", "Привет, мир и покой\n", "да", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0 \xe8 \xef\xee\xea\xee\xe9\n\xe4\xe0"},
		{"what Windows-1252 does not have", "caf\xe9", "café", "→", ""},
		{"a bad byte among good ones", "é é \xe9", "é é \xe9", "ü", "é é \xe9ü"},
		{"a bad byte behind a mark", "\ufeff\xe9\xe8", "\ufeff\xe9\xe8", "é", "\ufeff\xe9\xe8é"},
		{"UTF-16 that is broken", "\xff\xfe\x00\xd8a\x00", "", "", ""},
		{"half a character of UTF-16", "\xff\xfea\x00b", "", "", ""},
		{"zeros", "\xe9\xe8a\x00", "", "", ""},
	} {
		text, c, ok := Decode([]byte(tt.in))
		if ok != (tt.text != "") || ok && text != tt.text {
			t.Errorf("%s: %q, %t; want %q", tt.name, text, ok, tt.text)
			continue
		}
		if again, err := c.Encode([]byte(text)); ok && (err != nil || string(again) != tt.in) {
			t.Errorf("%s: encoded as %q, %v", tt.name, again, err)
		}
		if got, err := c.Encode([]byte(text + tt.add)); ok && (err == nil) != (tt.want != "") || err == nil && ok && string(got) != tt.want {
			t.Errorf("%s: with more %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}
