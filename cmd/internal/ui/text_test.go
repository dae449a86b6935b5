package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestVisible(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain, ünïcode, 漢字 😀", "plain, ünïcode, 漢字 😀"},
		{"a\n\tb", "a\n⇥   b"},
		{"a\rb", "a⟨U+000D⟩b"},
		{"\x1b[31m", "⟨U+001B⟩[31m"},
		{"x\u202ey", "x⟨U+202E⟩y"},
		{"\u200b\u200d\ufeff\u00ad\u00a0", "⟨U+200B⟩⟨U+200D⟩⟨U+FEFF⟩⟨U+00AD⟩⟨U+00A0⟩"},
		{"❤\ufe0f", "❤⟨U+FE0F⟩"},
		{"\u3164\u2800", "⟨U+3164⟩⟨U+2800⟩"},
		{"\U000e0041", "⟨U+E0041⟩"},
		{"\xff\xc3", "⟨ff⟩⟨c3⟩"},
		{"\ufffd", "\ufffd"},
		{"\u0085\u2028", "⟨U+0085⟩⟨U+2028⟩"},
	}
	for _, tt := range tests {
		if got := Visible(tt.in); got != tt.want {
			t.Errorf("visible(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a\tb\n", "a\tb\n"},
		{"\x1b[31mred\x1b[0m", "⟨U+001B⟩[31mred⟨U+001B⟩[0m"},
		{"a\r\nb\u0085\u009b", "a\nb⟨U+0085⟩⟨U+009B⟩"},
		{"x\u202etxt.exe\u2066\u200f\u2028", "x⟨U+202E⟩txt.exe⟨U+2066⟩⟨U+200F⟩⟨U+2028⟩"},
		{"👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3 ℹ\ufe0f 🏳\ufe0f\u200d🌈 👩🏽\u200d🚀", "👨\u200d👩 ❤\ufe0f 1\ufe0f\u20e3 ℹ\ufe0f 🏳\ufe0f\u200d🌈 👩🏽\u200d🚀"},
		{"a\ufe0f 1\ufe0f ❤\ufe0f\ufe0f 👩\u200d x\u200dy", "a⟨U+FE0F⟩ 1⟨U+FE0F⟩ ❤\ufe0f⟨U+FE0F⟩ 👩⟨U+200D⟩ x⟨U+200D⟩y"},
		{"می\u200cخواهم a\u200cb", "می\u200cخواهم a⟨U+200C⟩b"},
		{"10\u00a0000\u202f€ 日\u3000本", "10\u00a0000\u202f€ 日\u3000本"},
		{"a\u200b\u00ad\ufeff\U000e0041\ufe00\u2800", "a⟨U+200B⟩⟨U+00AD⟩⟨U+FEFF⟩⟨U+E0041⟩⟨U+FE00⟩⟨U+2800⟩"},
		{"\xff\ufffd", "⟨ff⟩\ufffd"},
	}
	for _, tt := range tests {
		if got := Printable(tt.in); got != tt.want || Printable(got) != got {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestStyled checks that a text of ours keeps its colours, and nothing else that steers a terminal.
func TestStyled(t *testing.T) {
	t.Parallel()
	in := "\x1b[31mred\u202e\x1b[0m \x1b[2J\x1b[33m\x1b]8;;x\a\x1b[7m"
	want := "\x1b[31mred⟨U+202E⟩\x1b[0m ⟨U+001B⟩[2J⟨U+001B⟩[33m⟨U+001B⟩]8;;x⟨U+0007⟩\x1b[7m"
	if got := styled(in); got != want {
		t.Errorf("styled(%q) = %q, want %q", in, got, want)
	}
	var out strings.Builder // no terminal
	p := NewPrinter(&out, &out, func(string) (string, bool) { return "", false })
	p.Print("\x1b[31mx\u200b\n")
	p.LogLine("\x1b[31my")
	p.PrintText("\u200bz")
	p.Log("%s", "\u202e")
	if got, want := out.String(), "⟨U+001B⟩[31mx⟨U+200B⟩\ncassidy: ⟨U+001B⟩[31my\n\u200bz\ncassidy: ⟨U+202E⟩\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestJSONText(t *testing.T) {
	t.Parallel()
	in := value.NewDict("a\u202e", "\x1b\u200b\U000e0041\x7fé👩", "日本", int64(1))
	text := JSONText(value.FormatJSON(in, ""))
	if want := `{"a\u202e":"\u001b\u200b\udb40\udc41\u007fé👩","日本":1}`; text != want {
		t.Errorf("JSONText = %s, want %s", text, want)
	}
	if back, err := value.ParseJSON([]byte(text)); err != nil || !value.Equal(back, in) {
		t.Errorf("read back: %v, %v", back, err)
	}
}

func TestCutShown(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"echo ok" + strings.Repeat(" ", 400) + ";curl evil", 50, "echo ok" + strings.Repeat(" ", 400) + ";curl evil"},
		{"a\x1b[2Jbcd", 10, "a\x1b…"},
		{"a\x1b[2Jbcd", 4, "a…"},
		{"ééééé", 4, "ééé…"},
	} {
		got := CutShown(tt.in, tt.width)
		if shown := VisibleLine(got); got != tt.want || utf8.RuneCountInString(shown) > tt.width+1 {
			t.Errorf("CutShown(%q, %d) = %q, which is shown as %q, want %q", tt.in, tt.width, got, shown, tt.want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, text := range []string{"\x1b[2J\x1b[Hcassidy: ", "\u009b31m", "a\rb", "x\u202etxt.exe", "\u3164", "\U000e0041", "\xff\xfe", "漢字", "e\u0301", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Visible(text)
		if !utf8.ValidString(got) {
			t.Errorf("visible(%q) = %q, which is not UTF-8", text, got)
		}
		for _, r := range got {
			if r != '\n' && value.IsInvisible(r) {
				t.Errorf("visible(%q) = %q, which has %U", text, got, r)
			}
		}
	})
}
