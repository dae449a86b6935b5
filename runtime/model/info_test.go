package model_test

import (
	"context"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
)

// A known is a shouter that says what it is.
type known struct{ shouter }

func (known) Info(context.Context) model.Info {
	return model.Info{Context: 1000, MaxOutput: 100, Price: &model.Price{Input: 1}, Source: "server"}
}

// TestInfo checks that the user's word wins over the model's, and that wrappers pass it on.
func TestInfo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if got := model.InfoOf(ctx, shouter{}); got.Context != 0 || got.Price != nil || got.Source != "" {
		t.Errorf("a model without Info: %+v", got)
	}
	m := model.WithInfo(model.WithIdleTimeout(known{}, 1), model.Info{MaxOutput: 7, Source: "user"})
	if got := model.InfoOf(ctx, m); got.Context != 1000 || got.MaxOutput != 7 || got.Price == nil || got.Source != "user" {
		t.Errorf("Info = %+v", got)
	}
}

// A silent server never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestInfoOfSilentServer checks that a server that does not answer delays a task only for seconds,
// once, whatever the idle timeout of requests is.
func TestInfoOfSilentServer(t *testing.T) {
	for name, open := range makers {
		synctest.Test(t, func(t *testing.T) {
			m, err := open(&setup{url: "http://silent.example", http: model.HTTP{Client: &http.Client{Transport: silent{}}, Timeout: time.Hour}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			for range 2 {
				model.InfoOf(t.Context(), m)
			}
			if waited := time.Since(start); waited > 10*time.Second {
				t.Errorf("%s: waited %s", name, waited)
			}
		})
	}
}

// TestCost checks the price of a request whose input is read from a cache, in part or, as some
// gateways report it, in addition to the input.
func TestCost(t *testing.T) {
	t.Parallel()
	p := &model.Price{Input: 10, Output: 50, CachedInput: 1, CacheWrite: 12.5, Tiers: []model.Tier{{Above: 200_000, Input: 20, Output: 75}}}
	for _, tt := range []struct {
		u    model.Usage
		want float64
	}{
		{model.Usage{InputTokens: 100_000, OutputTokens: 10_000}, 1.5},
		{model.Usage{InputTokens: 100_000, CachedTokens: 80_000, CacheWriteTokens: 20_000}, 0.33},
		{model.Usage{InputTokens: 1000, CachedTokens: 100_000}, 0.1},
		{model.Usage{InputTokens: 300_000, CachedTokens: 100_000, OutputTokens: 10_000}, 6.75},
	} {
		if got := p.Cost(tt.u); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("Cost(%+v) = %v, want %v", tt.u, got, tt.want)
		}
	}
}
