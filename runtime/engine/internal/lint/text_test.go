package lint

import (
	"strings"
	"testing"
)

// TestColumns checks offsets and columns of lines with and without characters of several bytes, in lines of any length.
func TestColumns(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"", "abc", "\ufeffabc\nd", "aé\r\nxyz\rü", strings.Repeat("aé€😀", 500) + "\n" + strings.Repeat("b", 700) + "é", strings.Repeat("é", 128) + "\n", strings.Repeat("é\n", 300),
	} {
		text := NewText("a", source)
		for n := 1; n <= text.Lines(); n++ {
			line, col := text.Line(n), 1
			start := text.ByteOffset(n, 1)
			for i := range line {
				if got := text.Column(n, i+1); got != col {
					t.Fatalf("line %d of %.20q: the column of byte %d is %d, want %d", n, source, i+1, got, col)
				}
				if got := text.Offset(n, col); got != start+i {
					t.Fatalf("line %d of %.20q: the offset of column %d is %d, want %d", n, source, col, got, start+i)
				}
				col++
			}
			if end := start + len(line); text.Offset(n, col) != end || text.Offset(n, col+9) != end || text.Column(n, len(line)+9) != col {
				t.Errorf("line %d of %.20q: the end is %d and %d, want %d", n, source, text.Offset(n, col), text.Offset(n, col+9), end)
			}
		}
	}
}
