package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// drawn writes a tree as text: a line for each row, indented.
func drawn(rows []Row, depth int) []string {
	var list []string
	for _, r := range rows {
		text := strings.Repeat("  ", depth)
		switch {
		case r.Gap != "":
			text += "~ " + r.Gap
		case r.Fold != "":
			text += fmt.Sprintf("[%s] open=%t", r.Fold, r.Open)
		case r.More > 0:
			text += fmt.Sprintf("… %d %s", r.More, r.From)
		default:
			text += string(r.Step.Path) + " " + r.Step.Name
			if r.Inside > 0 {
				text += fmt.Sprintf(" (%d inside)", r.Inside)
			}
			if r.Current {
				text += " *"
			}
		}
		list = append(list, text)
		list = append(list, drawn(r.Rows, depth+1)...)
	}
	return list
}

func equalSteps(n int, s State) (list []Step) {
	for i := range n {
		list = append(list, Step{Path: Path(fmt.Sprint(i + 1)), Status: Status{Done, ""}, Name: "book", Took: time.Second})
	}
	list[n/2].Status.State = s
	return list
}

func TestTree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		steps         []Step
		current, from Path
		want          []string
	}{
		{"equal steps", equalSteps(5, Done), "", "", []string{"[1–5: 5 × book · 5 s] open=false", "  1 book", "  2 book", "  3 book", "  4 book", "  5 book"}},
		{"the current one", equalSteps(4, Done), "2", "", []string{"[1–4: 4 × book · 4 s] open=true", "  1 book", "  2 book *", "  3 book", "  4 book"}},
		{"a failed one is not folded", equalSteps(5, Failed), "", "", []string{"1 book", "2 book", "3 book", "4 book", "5 book"}},
		{"a wait", []Step{{Path: "1", Name: "a"}, {Path: "2", Name: "b", Wait: "waited 1 h"}}, "", "", []string{"1 a", "~ waited 1 h", "2 b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := drawn(NewTree("r", test.steps, test.current, test.from).Rows, 0)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestLongTree draws a run with 10,000 steps: some of the first level, what failed, what is in the pane, and
// the last steps. All others can be reached.
func TestLongTree(t *testing.T) {
	t.Parallel()
	steps := sampleLongSteps()
	for _, test := range []struct {
		current, from Path
		want          string
	}{
		{"", "", "121.8 fs.write"},
		{"", "", "1 book (49 inside)"},
		{"", "", "25 book (49 inside)"},
		{"", "", "200.49 fs.read"},
		{"", "", "… 4750 /runs/r?from=26#s-26"},
		{"60.3", "", "60.3 fs.read *"},
		{"60", "", "60.49 fs.read"},
		{"", "26", "27.49 fs.read"},
	} {
		rows := drawn(NewTree("r", steps, test.current, test.from).Rows, 0)
		found := false
		for _, r := range rows {
			found = found || strings.TrimSpace(r) == test.want
		}
		if !found {
			t.Errorf("current %q, from %q: there is no %q in\n%s", test.current, test.from, test.want, strings.Join(rows, "\n"))
		}
		if len(rows) > 3*mostSteps {
			t.Errorf("current %q, from %q: %d rows", test.current, test.from, len(rows))
		}
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	many := make([]Spell, 500)
	for i := range many {
		many[i] = Spell{Kind: []SpellKind{Ran, Waited}[i%2], Took: time.Duration(i) * time.Second}
	}
	for name, line := range map[string][]Spell{
		"nothing":  nil,
		"one":      {{Kind: Ran, Took: time.Second}},
		"nothing ": {{Kind: Ran}},
		"a wait":   {{Kind: Waited, Took: time.Hour}},
		"sample":   sampleRun(Pane{}).Line,
		"many":     many,
	} {
		bars := (&Run{Line: line}).Bars()
		if len(bars) > mostBars || (len(bars) == 0) != (len(line) == 0) {
			t.Errorf("%s: %d bars of %d spells", name, len(bars), len(line))
		}
		at := -gapWidth
		for _, b := range bars {
			if b.X != at+gapWidth || b.Width < leastBar {
				t.Errorf("%s: a bar from %d, %d wide, after %d", name, b.X, b.Width, at)
			}
			at = b.X + b.Width
		}
		if len(bars) > 0 && at != lineWidth {
			t.Errorf("%s: the bars end at %d, want %d", name, at, lineWidth)
		}
	}
}
