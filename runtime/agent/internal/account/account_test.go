package account

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// accountOf returns the account of a conversation with a budget.
func accountOf(b Budget, tools []tool.Tool, f decision.Format) *Account {
	b = b.WithDefaults()
	a := New(&b, tools, f)
	return &a
}

func TestBudgetDefaults(t *testing.T) {
	want := Budget{Limit: 200_000, Reserve: 10_000, WarnAt: 0.80, CompactAt: 0.85, MessageWarn: 100_000, MessageMax: 250_000, ThreadMax: 585_000}
	if got := accountOf(Budget{}, nil, decision.PureJSON).Budget(); got != want {
		t.Errorf("the defaults are %+v, want %+v", got, want)
	}
	own := Budget{Limit: 8_000, Reserve: 1, WarnAt: 0.1, CompactAt: 0.2, MessageWarn: 2, MessageMax: 3, ThreadMax: 4}
	if got := accountOf(own, nil, decision.PureJSON).Budget(); got != own {
		t.Errorf("the budget is %+v, want %+v", got, own)
	}
	if got := accountOf(Budget{Limit: 8_000}, nil, decision.PureJSON).EffectiveLimit(); got != 6_000 {
		t.Errorf("of a small model's 8,000 tokens %d are left, want 6,000", got)
	}
}

// costing returns tools that cost so many tokens each.
func costing(tokens ...int) []tool.Tool {
	var tools []tool.Tool
	for i, n := range tokens {
		tools = append(tools, tool.Tool{Name: string(rune('a' + i)), Description: "x", Overhead: n})
	}
	return tools
}

func TestAccount(t *testing.T) {
	a := accountOf(Budget{}, costing(1_000, 500), decision.PureJSON)
	if a.Overhead() != 2_000 || a.EffectiveLimit() != 188_000 || a.Used() != 0 {
		t.Errorf("overhead %d, effective limit %d, used %d", a.Overhead(), a.EffectiveLimit(), a.Used())
	}
	a.Add(strings.Repeat("ä", 300)) // 115 tokens
	a.AddMessage(&model.Message{Text: "abc", Calls: []model.Call{{Tool: "look", Args: value.NewDict("a", 1)}, {Tool: "b", Raw: "{"}}})
	if got, want := a.Used(), 115+2+tool.EstimateTokens(`look{"a":1}`)+1; got != want {
		t.Errorf("used %d, want %d", got, want)
	}
	a.Reported(0, 0)
	a.Reported(10, 5) // less than any text could be
	if a.Used() < 100 {
		t.Errorf("used %d after a report that is not to be believed", a.Used())
	}
	a.Reported(60, 40)
	if a.Used() != 100 {
		t.Errorf("used %d after a report, want 100", a.Used())
	}
	a.Add("abc")
	if a.Used() != 102 {
		t.Errorf("used %d after a report and a message, want 102", a.Used())
	}

	native := accountOf(Budget{}, costing(1_000, 500), decision.Native)
	if native.Used() != 2_000 {
		t.Errorf("native definitions count %d, want 2000", native.Used())
	}
	native.Reported(1_500, 0)
	if native.Used() != 1_500 {
		t.Errorf("used %d after a report, want 1500", native.Used())
	}
	if none := accountOf(Budget{}, nil, decision.Native); none.Overhead() != 0 || none.EffectiveLimit() != 190_000 {
		t.Errorf("without tools: overhead %d, effective limit %d", none.Overhead(), none.EffectiveLimit())
	}
}

func TestAccountFull(t *testing.T) {
	for _, c := range []struct {
		used         int
		nearly, full bool
	}{
		{0, false, false},
		{159_999, false, false},
		{160_000, true, false},
		{169_999, true, false},
		{170_000, true, true},
	} {
		a := accountOf(Budget{}, nil, decision.PureJSON)
		a.Reported(c.used, 0)
		if a.Nearly() != c.nearly || a.Full() != c.full {
			t.Errorf("%d tokens: nearly %v, full %v; want %v, %v", c.used, a.Nearly(), a.Full(), c.nearly, c.full)
		}
	}
	a := accountOf(Budget{ThreadMax: 1_000}, nil, decision.PureJSON)
	a.Add(strings.Repeat("ä", 849))
	if a.Full() {
		t.Error("a thread of 849 of 1,000 characters is full")
	}
	if a.Add("ä"); !a.Full() {
		t.Error("a thread of 850 of 1,000 characters is not full")
	}
}

func TestAccountCheck(t *testing.T) {
	text := func(n int) string { return strings.Repeat("ä", n) }
	for _, c := range []struct {
		name    string
		budget  Budget
		before  int // characters
		tokens  int // as reported
		message int
		warning bool
		limit   string
	}{
		{"short", Budget{}, 0, 0, 10, false, ""},
		{"at the warning", Budget{}, 0, 0, 100_000, false, ""},
		{"above it", Budget{}, 0, 0, 100_001, true, ""},
		{"at the most", Budget{}, 0, 0, 250_000, true, ""},
		{"above it", Budget{}, 0, 0, 250_001, false, "message"},
		{"a full thread", Budget{ThreadMax: 100}, 60, 0, 40, false, ""},
		{"too full", Budget{ThreadMax: 100}, 60, 0, 41, false, "conversation"},
		{"tokens", Budget{Limit: 1_000}, 0, 885, 300, false, ""},
		{"too many tokens", Budget{Limit: 1_000}, 0, 886, 300, false, "conversation"},
		{"one's own", Budget{MessageMax: 5}, 0, 0, 6, false, "message"},
	} {
		a := accountOf(c.budget, nil, decision.PureJSON)
		a.Add(text(c.before))
		a.Reported(c.tokens, 0)
		warning, err := a.Check(text(c.message))
		limit := ""
		if err != nil {
			e := value.ErrorOf(err, value.Internal)
			if limit = string(e.Limit); e.Kind != value.Limit || e.Hint == "" {
				t.Errorf("%s: %v is of kind %v, with the hint %q", c.name, err, e.Kind, e.Hint)
			}
		}
		if (warning != "") != c.warning || limit != c.limit {
			t.Errorf("%s: Check = %q, %v", c.name, warning, err)
		}
	}
}

// TestAccountCountsOnce checks that a conversation costs what its messages
// cost, in whatever order the reports come between them.
func TestAccountCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := accountOf(Budget{}, nil, decision.PureJSON)
		known, since := 0, 0
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "report") {
				n := rapid.IntRange(0, 1000).Draw(t, "tokens")
				a.Reported(n/2, n-n/2)
				if n > 0 && 4*n >= known+since {
					known, since = n, 0
				}
				continue
			}
			s := rapid.String().Draw(t, "text")
			a.Add(s)
			since += tool.EstimateTokens(s)
		}
		if a.Used() != known+since {
			t.Fatalf("used %d, want %d", a.Used(), known+since)
		}
	})
}
