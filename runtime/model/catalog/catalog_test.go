package catalog

import (
	"math"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
)

// TestTable checks each line of the table: its cells are numbers, and no model is there twice.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if name := cells[0] + ":" + cells[1]; seen[name] || len(cells) != 9 && len(cells) != 14 {
			t.Errorf("%s: %d cells, or twice", name, len(cells))
		} else {
			seen[name] = true
		}
		for i, c := range cells {
			if i != 0 && i != 1 && i != 4 && c != "" && !(number(c) > 0) {
				t.Errorf("%s: %q is no number", cells[1], c)
			}
		}
	}
	for _, provider := range []string{"openai", "anthropic", "gemini"} {
		for _, l := range List(provider) {
			if l.Context <= 0 || l.MaxOutput <= 0 || l.MaxOutput > l.Context || l.Price == nil || l.Price.Input > l.Price.Output {
				t.Errorf("%s: %+v", l.Name, l.Info)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]float64{
		"claude-haiku-4-5": 1, "claude-haiku-4-5-20251001": 1, "claude-opus-4-1-20250805": 15, "claude-opus-5-5": 4, "claude-opus-5": 5,
		"claude-sonnet-4-20250514": 3, "claude-3-5-haiku-latest": 0.8, "claude-opus-next": 0, "claude-opus-4-8": 5, "claude-opus-4-9": 0,
		"claude-opus-4-20250514": 15, "claude-sonnet-4-0": 3, "claude-fable-5": 10, "claude": 0, "": 0,
	} {
		got := Find("anthropic", name)
		if want == 0 {
			if got.Price != nil || got.Context != 0 {
				t.Errorf("Find(%q) = %+v, want nothing", name, got)
			}
		} else if got.Price == nil || got.Price.Input != want || got.Source != "table" {
			t.Errorf("Find(%q) = %+v, want an input price of %g", name, got, want)
		}
	}
	if Find("openai", "gpt-5-codex").Price != nil || Find("other", "gpt-5").Price != nil {
		t.Error("a model that is not in the table is found")
	}
}

// TestLongPrompts checks the tier of a model whose long prompts cost more.
func TestLongPrompts(t *testing.T) {
	price := Find("anthropic", "claude-haiku-5-5").Price
	short, long := price.Cost(model.Usage{InputTokens: 100_000}), price.Cost(model.Usage{InputTokens: 200_000, CachedTokens: 100_000})
	if math.Abs(short-0.01) > 1e-9 || math.Abs(long-0.055) > 1e-9 {
		t.Errorf("the costs are %g and %g, want 0.01 and 0.055", short, long)
	}
}

func TestCost(t *testing.T) {
	price := Find("openai", "gpt-6-astra").Price
	for _, tt := range []struct {
		usage model.Usage
		want  float64
	}{
		{model.Usage{InputTokens: 100_000, OutputTokens: 1000}, 1.05},
		{model.Usage{InputTokens: 300_000, OutputTokens: 1000}, 6.075}, // twice the input's price, 1.5 times the output's
	} {
		if got := price.Cost(tt.usage); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("the cost of %+v is %g, want %g", tt.usage, got, tt.want)
		}
	}
	haiku := Find("anthropic", "claude-haiku-4-5").Price
	if got := haiku.Cost(model.Usage{InputTokens: 1_000_000, CachedTokens: 500_000, CacheWriteTokens: 200_000, OutputTokens: 0}); math.Abs(got-(0.3+0.05+0.25)) > 1e-9 {
		t.Errorf("the cost with a cache is %g", got)
	}
}
