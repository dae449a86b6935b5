package approve

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
)

// TestPaged checks that a text goes to the pager, and that none is lost.
func TestPaged(t *testing.T) {
	long := strings.Repeat("line\n", 500)
	for _, tt := range []struct {
		pager, text string
		shown       bool
		want        string
	}{
		{"cat", long, true, long},
		{"head -n 2", long, true, "line\nline\n"},
		{"", long, false, ""},
		{"/there/is/no/pager -x", long, false, "✗ /there/is/no/pager: "},
		{"false", long, false, "✗ false: exit status 1\n"},
	} {
		var out bytes.Buffer
		p := ui.NewPrinter(&out, &out, func(string) (string, bool) { return tt.pager, true })
		shown := paged(t.Context(), p, &ui.Terminal{Out: &out}, tt.text)
		if shown != tt.shown || !strings.HasPrefix(out.String(), tt.want) || shown && out.String() != tt.want {
			t.Errorf("with the pager %q: %v, %.80q; want %v, %.80q", tt.pager, shown, out.String(), tt.shown, tt.want)
		}
	}
}
