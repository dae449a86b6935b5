package repl

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPipe checks that a line that cannot be run is one error, and that the lines after it are read.
func TestPipe(t *testing.T) {
	long := strings.Repeat("a", 10<<20)
	p := newPipe(strings.NewReader("\ufeffx = 1\r\n" + long + "\n\n\xff\xfe\ny\x00\n  z"))
	var got []string
	for {
		line, err := p.line(context.Background(), false)
		if err == errEnd {
			break
		}
		if err != nil {
			line = "! " + err.Error()
		}
		got = append(got, line)
	}
	want := []string{"x = 1", "! the line is longer than 64 KB", "", "! the line is not text in UTF-8", "! the line is not text in UTF-8", "  z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
