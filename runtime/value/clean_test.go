package value

import "testing"

func TestClean(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"plain, ünïcode\n\tand 漢字 😀", 100, "plain, ünïcode\n\tand 漢字 😀"},
		{"\x1b[31m\u009b31m\a\r\x7f\x00", 100, "[31m31m"},
		{"a\u202eb\u2066c\u061c", 100, "abc"},
		{"\xff\xfeé", 100, "\ufffdé"},
		{"ééé", 3, "é…"},
		{"", 0, ""},
	} {
		if got := Clean(c.text, c.n); got != c.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
