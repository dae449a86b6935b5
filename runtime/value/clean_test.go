package value

import "testing"

func TestClean(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"plain, ünïcode\n\tand 漢字 😀", 100, "plain, ünïcode\n\tand 漢字 😀"},
		{"\x1b[31m\u009b31m\a\r\x7f\x00", 100, `\u001b[31m\u009b31m\u0007\u000d\u007f\u0000`},
		{"a\u202eb\u2066c\u061c\r\nd", 100, `a\u202eb\u2066c\u061c` + "\nd"},
		{"\xff\xfeé\ufffd", 100, "\\xff\\xfeé\ufffd"},
		{"a\x1bb", 6, "a…"},
		{"a\x1bb", 7, `a\u001b` + "…"},
		{"a\x1bb", 8, `a\u001bb`},
		{"ééé", 3, "é…"},
		{"", 0, ""},
	} {
		if got := Clean(c.text, c.n); got != c.want {
			t.Errorf("Clean(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
