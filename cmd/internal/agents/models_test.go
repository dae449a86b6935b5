package agents

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/runtime/model"
)

// TestTable checks that columns line up whatever is known, and that the marks are explained.
func TestTable(t *testing.T) {
	groups := []models.Group{
		{Provider: "a", Models: []model.Listing{
			{Name: "free", Info: model.Info{Context: 999, MaxOutput: 1, Price: &model.Price{}}},
			{Name: "größer", Info: model.Info{Context: 1_050_000, Price: &model.Price{Input: 10, CachedInput: 0.005, Output: 50, Tiers: []model.Tier{{Above: 1}}}}},
		}},
		{Provider: "b", Models: []model.Listing{{Name: "x\x1b[31m"}, {Name: "y", Info: model.Info{Price: &model.Price{Input: 0.1 + 0.2, Output: 1e6}}}}},
		{Provider: "c", Unset: "set C"},
	}
	want := `
model              context  reply  input  cached      output
a:free *               999      1   0.00       -        0.00
a:größer         1,050,000      -  10.00   0.005       50.00 +
b:x⟨U+001B⟩[31m          -      -      -       -           -
b:y                      -      -   0.30       -  1000000.00

Sizes are in tokens, prices in US dollars for a million tokens; "-" means unknown.
* is used without --model.
+ costs more if the input is long; --json has these prices.
`
	got := modelTable(groups, "a:free", draw.Screen{})
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("table:\n%s\nwant:%s", got, want)
	}
	narrow := `
model            input      output
a:free *          0.00        0.00
a:größer         10.00       50.00 +
b:x⟨U+001B⟩[31m      -           -
b:y               0.30  1000000.00
▸ 3 columns: context reply cached

  Sizes are in tokens, prices in US
`
	if got := modelTable(groups, "a:free", draw.Screen{Width: 40}); !strings.HasPrefix(got, strings.Trim(narrow, "\n")) {
		t.Errorf("table on a narrow terminal:\n%s\nwant:%s", got, narrow)
	}
	if got := modelTable(groups[2:], "", draw.Screen{}); got != "" {
		t.Errorf("the table of no models is %q", got)
	}
	if got := modelTable(groups[1:2], "a:free", draw.Screen{}); strings.Contains(got, "* ") || strings.Contains(got, "+ ") {
		t.Errorf("marks that are not used are explained:\n%s", got)
	}
}
