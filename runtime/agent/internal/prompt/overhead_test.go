package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// costing returns tools that cost so many tokens each.
func costing(tokens ...int) []tool.Tool {
	var tools []tool.Tool
	for i, n := range tokens {
		tools = append(tools, tool.Tool{Name: string(rune('a' + i)), Description: "x", Overhead: n})
	}
	return tools
}

func TestOverhead(t *testing.T) {
	r := Overhead(append(costing(120, 1_500), tool.Tool{Name: "unknown"}), 0)
	want := `base         500 tokens
a            120 tokens
b          1,500 tokens
unknown      150 tokens
total      2,270 tokens (1.1% of 200k token limit)
`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		tokens, limit int
		percent       float64
		warned        bool
	}{{19_500, 0, 10, false}, {19_501, 0, 10, true}, {300, 8_000, 10, false}, {301, 8_000, 10, true}, {308, 8_001, 10.1, true}} {
		r := Overhead(costing(c.tokens), c.limit)
		if (r.Warning() != "") != c.warned || r.Percent() != c.percent {
			t.Errorf("%d of %d: %v %%, warning %q", r.Total, r.Limit, r.Percent(), r.Warning())
		}
	}
	if s := Overhead(nil, 8_192).String(); !strings.HasSuffix(s, "total      500 tokens (6.1% of 8,192 token limit)\n") {
		t.Errorf("the report of a small model: %s", s)
	}
}
