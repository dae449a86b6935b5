package approve

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNarrowFacts checks that facts fit a narrow terminal.
func TestNarrowFacts(t *testing.T) {
	q := tool.Question{Kind: tool.QuestionApproval, Tool: "t", Args: value.NewDict("a", "x"), Why: "the author marked the tool as risky", Reasoning: "since it must be"}
	p := Page{Screen: draw.Screen{Width: 20}}
	p.Review(review.Of(&q, &review.About{}))
	for line := range strings.Lines(p.String()) {
		if line = strings.TrimSuffix(line, "\n"); draw.Cells(line) >= 20 {
			t.Errorf("%q has %d cells", line, draw.Cells(line))
		}
	}
	if !strings.Contains(p.String(), "  why\n      the author") {
		t.Errorf("the reason is not below its label:\n%s", p.String())
	}
}
