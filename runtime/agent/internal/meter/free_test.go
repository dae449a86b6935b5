package meter

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
)

// TestFreeModel checks that a model on the own machine costs nothing, also if it reports no
// tokens, and that the cost of others is then unknown.
func TestFreeModel(t *testing.T) {
	guess := model.Usage{InputTokens: 1000, OutputTokens: 10}
	for _, test := range []struct {
		u    model.Usage
		p    *model.Price
		want string
	}{
		{model.Usage{InputTokens: 7, OutputTokens: 3}, &model.Price{}, "1 request, 7 tokens in, 3 out, " + Dollars(0)},
		{model.Usage{}, &model.Price{}, "1 request, tokens unknown, " + Dollars(0)},
		{model.Usage{}, &model.Price{Input: 1, Output: 2}, "1 request, tokens unknown, cost unknown"},
		{model.Usage{InputTokens: 7, OutputTokens: 3}, nil, "1 request, 7 tokens in, 3 out, cost unknown"},
	} {
		if got := Text(Reported(test.u, guess, test.p).Dict()); got != test.want {
			t.Errorf("Reported(%+v, %+v): %s, want %s", test.u, test.p, got, test.want)
		}
	}
}
