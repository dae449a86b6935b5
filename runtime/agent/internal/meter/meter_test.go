package meter_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var (
	reported = model.Usage{InputTokens: 100, CachedTokens: 40, OutputTokens: 10}
	guess    = model.Usage{InputTokens: 1000, OutputTokens: 10}
	price    = &model.Price{Input: 1e4, Output: 1e4} // a cent for a token
)

// sum adds usages.
func sum(list ...meter.Usage) (u meter.Usage) {
	for _, one := range list {
		u.Add(one)
	}
	return u
}

// TestDict checks what programs and people see of usage: null and "unknown" only for what is
// known of no request, and a lower bound otherwise.
func TestDict(t *testing.T) {
	known, free := meter.Reported(reported, guess, price), &model.Price{}
	silent := meter.Reported(model.Usage{}, guess, price)
	unpriced := meter.Reported(reported, guess, nil)
	for _, tt := range []struct {
		name       string
		u          meter.Usage
		dict, text string
	}{
		{"nothing", meter.Usage{}, `{"requests":0,"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"cost_usd":0.0}`, ""},
		{"known", known, `{"requests":1,"input_tokens":100,"cached_input_tokens":40,"output_tokens":10,"cost_usd":1.1}`,
			"1 request, 100 tokens in (40 cached), 10 out, $1.10"},
		{"not reported", silent, `{"requests":1,"input_tokens":null,"cached_input_tokens":null,"output_tokens":null,"cost_usd":null}`,
			"1 request, tokens unknown, cost unknown"},
		{"free", meter.Reported(model.Usage{}, guess, free), `{"requests":1,"input_tokens":null,"cached_input_tokens":null,"output_tokens":null,"cost_usd":0.0}`,
			"1 request, tokens unknown, $0.00"},
		{"without a price", sum(unpriced, unpriced), `{"requests":2,"input_tokens":200,"cached_input_tokens":80,"output_tokens":20,"cost_usd":null}`,
			"2 requests, 200 tokens in (80 cached), 20 out, cost unknown"},
		{"one of three not reported", sum(known, silent, known),
			`{"requests":3,"input_tokens":200,"cached_input_tokens":80,"output_tokens":20,"cost_usd":2.2,"without_tokens":1,"without_cost":1}`,
			"3 requests, at least 200 tokens in (80 cached), 20 out, at least $2.20"},
		{"one of two without a price", sum(unpriced, known), `{"requests":2,"input_tokens":200,"cached_input_tokens":80,"output_tokens":20,"cost_usd":1.1,"without_cost":1}`,
			"2 requests, 200 tokens in (80 cached), 20 out, at least $1.10"},
		{"one not reported, one without a price", sum(silent, unpriced),
			`{"requests":2,"input_tokens":100,"cached_input_tokens":40,"output_tokens":10,"cost_usd":null,"without_tokens":1}`,
			"2 requests, at least 100 tokens in (40 cached), 10 out, cost unknown"},
		{"one free and not reported", sum(meter.Reported(model.Usage{}, guess, free), known),
			`{"requests":2,"input_tokens":100,"cached_input_tokens":40,"output_tokens":10,"cost_usd":1.1,"without_tokens":1}`,
			"2 requests, at least 100 tokens in (40 cached), 10 out, $1.10"},
		{"negative", meter.Reported(model.Usage{InputTokens: -5, OutputTokens: 3}, guess, nil), `{"requests":1,"input_tokens":0,"cached_input_tokens":0,"output_tokens":3,"cost_usd":null}`,
			"1 request, 0 tokens in, 3 out, cost unknown"},
	} {
		if got := value.FormatJSON(tt.u.Dict(), ""); got != tt.dict {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.dict)
		}
		if got := meter.Text(tt.u.Dict()); got != tt.text {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.text)
		}
		// A resumed run continues to count, also what only the limits need.
		if diff := cmp.Diff(tt.u, meter.Read(tt.u.Record())); diff != "" {
			t.Errorf("%s: read from its record (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(sum(tt.u, tt.u), meter.Step(value.NewDict("usage", tt.u.Record()), []*value.Dict{tt.u.Note()})); tt.u.Requests > 0 && diff != "" {
			t.Errorf("%s: of a step with a note (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestRead checks that a damaged record, and one of an older version, is read as what it can be.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		record string
		want   meter.Usage
	}{
		{`{}`, meter.Usage{}},
		{`{"requests": -3}`, meter.Usage{}},
		{`{"requests": 2, "input_tokens": null, "cost_usd": null, "counted_tokens": 70, "counted_usd": 0.5}`,
			meter.Usage{Requests: 2, Unmeasured: 2, Unpriced: 2, Tokens: 70, Charge: 0.5}},
		{`{"requests": 2, "input_tokens": 5, "output_tokens": "many", "cost_usd": -1, "without_tokens": 9, "without_cost": 1}`,
			meter.Usage{Requests: 2, Input: 5, Tokens: 5, Unmeasured: 2, Unpriced: 1}},
		{`{"requests": 1, "input_tokens": 9000000000000000000, "cost_usd": 1e300}`, meter.Usage{Requests: 1, Input: 1 << 40, Tokens: 1 << 40, Cost: 1e12, Charge: 1e12}},
	} {
		v, err := value.ParseJSON([]byte(tt.record))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, meter.Read(v.(*value.Dict))); diff != "" {
			t.Errorf("Read(%s) (-want +got):\n%s", tt.record, diff)
		}
	}
	old := value.NewDict("text", "x", "input_tokens", int64(7), "output_tokens", int64(2), "cached_tokens", int64(1))
	if diff := cmp.Diff(meter.Usage{Requests: 1, Input: 7, Output: 2, Cached: 1, Unpriced: 1, Tokens: 9}, meter.Step(old, nil)); diff != "" {
		t.Errorf("a record without usage (-want +got):\n%s", diff)
	}
	if u := meter.Read((*meter.Usage)(nil).Record()); u != (meter.Usage{}) {
		t.Errorf("the record of no request is %+v", u)
	}
}

// A fake is a model with one reply.
type fake struct {
	reply *model.Reply
	err   error
	asked func()
}

func (f *fake) Name() string { return "fake" }
func (f *fake) Native() bool { return true }
func (f *fake) Ask(context.Context, *model.Request) (*model.Reply, error) {
	if f.asked != nil {
		f.asked()
	}
	return f.reply, f.err
}

func hello() *model.Request {
	return &model.Request{System: "Be brief.", Messages: []model.Message{{Role: model.User, Text: strings.Repeat("word ", 100)}}}
}

// TestAsk checks what a request counts, with a reply and without.
func TestAsk(t *testing.T) {
	down := value.Errorf(value.Unavailable, "down")
	for _, tt := range []struct {
		name  string
		m     fake
		want  string // of the total
		kind  value.Kind
		fails bool
	}{
		{"a reply", fake{reply: &model.Reply{Text: "Hi.", Usage: reported}}, "1 request, 100 tokens in (40 cached), 10 out, $1.10", 0, false},
		{"a reply without usage", fake{reply: &model.Reply{Text: "Hi."}}, "1 request, tokens unknown, cost unknown", 0, false},
		{"an empty reply", fake{err: &value.Error{Kind: value.Unavailable, Err: model.ErrEmpty}}, "1 request, tokens unknown, cost unknown", value.Unavailable, true},
		{"an error", fake{err: down}, "", value.Unavailable, true},
		{"neither", fake{}, "", value.Internal, true},
	} {
		above := meter.New(nil, &meter.Rules{}, meter.Usage{})
		m := meter.New(above, &meter.Rules{}, meter.Usage{})
		_, _, err := m.Ask(t.Context(), &tt.m, price, hello())
		if (err != nil) != tt.fails || err != nil && value.KindOf(err) != tt.kind {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := meter.Text(m.Total().Dict()); got != tt.want || m.Total() != above.Total() {
			t.Errorf("%s: %q, and above %+v, want %q", tt.name, got, above.Total(), tt.want)
		}
	}
	var none *meter.Meter
	if reply, u, err := none.Ask(t.Context(), &fake{reply: &model.Reply{Usage: reported}}, nil, hello()); err != nil || reply == nil || u.Input != 100 || none.Total() != (meter.Usage{}) {
		t.Errorf("without a meter: %+v, %+v, %v", reply, u, err)
	}
	if m := meter.New(nil, nil, meter.Usage{}); meter.Of(meter.With(t.Context(), m)) != m || meter.Of(t.Context()) != nil {
		t.Error("the meter of a context is another one")
	}
}

func bounded(c meter.Ceilings) *meter.Rules { return &meter.Rules{Limits: meter.Limits{Ceilings: c}} }

// TestCeilings checks that a request is refused when a ceiling is reached, of a meter or of one
// above, also where tokens are only estimated.
func TestCeilings(t *testing.T) {
	silent := model.Usage{}
	for _, tt := range []struct {
		name  string
		c     meter.Ceilings
		usage model.Usage
		most  int // the requests that are admitted
		want  string
		hint  string
	}{
		{"requests", meter.Ceilings{Requests: 3}, reported, 3, "the run reached its limit of 3 requests to models", "--max-requests N"},
		{"tokens", meter.Ceilings{Tokens: 150}, reported, 2, "the run reached its limit of 150 tokens: it used 220", "--max-tokens N"},
		{"cost", meter.Ceilings{CostUSD: 2}, reported, 2, "the run reached its limit of $2.00: it cost $2.20", "--max-cost USD"},
		{"estimated tokens", meter.Ceilings{Tokens: 100}, silent, 1, "the run reached its limit of 100 tokens: it used ", "--max-tokens N"},
		{"estimated cost", meter.Ceilings{CostUSD: 0.5}, silent, 1, "the run reached its limit of $0.500: it cost ", "--max-cost USD"},
	} {
		for _, level := range []string{"own", "above"} {
			own, above := meter.Ceilings{}, tt.c
			if level == "own" {
				own, above = tt.c, own
			}
			m := meter.New(meter.New(nil, bounded(above), meter.Usage{}), bounded(own), meter.Usage{})
			asked := &fake{reply: &model.Reply{Text: "Hi.", Usage: tt.usage}}
			for i := range tt.most {
				if _, _, err := m.Ask(t.Context(), asked, price, hello()); err != nil {
					t.Errorf("%s, %s: request %d: %v", tt.name, level, i+1, err)
				}
			}
			for range 2 { // a refused request counts nothing
				_, _, err := m.Ask(t.Context(), asked, price, hello())
				e := value.ErrorOf(err, value.Failed)
				if e == nil || e.Kind != value.Limit || e.Limit != value.LimitUsage || !strings.HasPrefix(e.Message(), tt.want) || !strings.Contains(e.Hint, tt.hint) {
					t.Errorf("%s, %s: %v, want %q with the hint %q", tt.name, level, err, tt.want, tt.hint)
				}
			}
			if n := m.Total().Requests; n != tt.most {
				t.Errorf("%s, %s: %d requests, want %d", tt.name, level, n, tt.most)
			}
		}
	}
	m := meter.New(nil, bounded(meter.Ceilings{CostUSD: 1}), meter.Usage{})
	if _, _, err := m.Ask(t.Context(), &fake{}, nil, hello()); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "the price of the model fake is not known") {
		t.Errorf("a limit of the cost without a price: %v", err)
	}
	spent := meter.New(nil, bounded(meter.Ceilings{Requests: 2}), meter.Usage{Requests: 2})
	if _, _, err := spent.Ask(t.Context(), &fake{}, price, hello()); value.KindOf(err) != value.Limit {
		t.Errorf("a resumed run beyond its limit: %v", err)
	}
}

// TestPending checks that requests in progress count toward the limit of requests, and that a
// failed one does not afterwards.
func TestPending(t *testing.T) {
	m := meter.New(nil, bounded(meter.Ceilings{Requests: 2}), meter.Usage{})
	started, end := make(chan bool), make(chan bool)
	slow := &fake{err: errors.New("lost"), asked: func() { started <- true; <-end }}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() { _, _, _ = m.Ask(t.Context(), slow, price, hello()) })
		<-started
	}
	if _, _, err := m.Ask(t.Context(), &fake{}, price, hello()); value.KindOf(err) != value.Limit {
		t.Errorf("a third request at the same time: %v", err)
	}
	close(end)
	wait.Wait()
	if _, _, err := m.Ask(t.Context(), &fake{reply: &model.Reply{Usage: reported}}, price, hello()); err != nil || m.Total().Requests != 1 {
		t.Errorf("after two failed requests: %v, %+v", err, m.Total())
	}
}

// TestParallel has requests at the same time near a ceiling: only one of them may exceed it, and a
// waiting one ends with its context. Without a ceiling they do not wait.
func TestParallel(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    meter.Ceilings
	}{
		{"tokens", meter.Ceilings{Tokens: 500}},
		{"cost", meter.Ceilings{CostUSD: 5}},
	} {
		m := meter.New(nil, bounded(tt.c), meter.Usage{})
		started, end := make(chan bool, 20), make(chan bool)
		slow := &fake{reply: &model.Reply{Usage: reported}, asked: func() { started <- true; <-end }}
		ctx, cancel := context.WithCancel(t.Context())
		var first, wait sync.WaitGroup
		first.Go(func() { _, _, _ = m.Ask(t.Context(), slow, price, hello()) })
		<-started
		cancel()
		if _, _, err := m.Ask(ctx, slow, price, hello()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a request that waits until its context ends: %v", tt.name, err)
		}
		for range 10 {
			wait.Go(func() {
				if _, _, err := meter.New(m, &meter.Rules{}, meter.Usage{}).Ask(t.Context(), slow, price, hello()); err != nil && value.KindOf(err) != value.Limit {
					t.Errorf("%s: %v", tt.name, err)
				}
			})
		}
		close(end)
		wait.Wait()
		first.Wait()
		// Each of the requests uses 110 tokens, which cost $1.10.
		if n := m.Total().Requests; n != 5 {
			t.Errorf("%s: %d requests, want 5", tt.name, n)
		}
	}
	m := meter.New(nil, bounded(meter.Ceilings{Tokens: 1e6}), meter.Usage{})
	var all, wait sync.WaitGroup
	all.Add(10)
	together := &fake{reply: &model.Reply{Usage: reported}, asked: func() { all.Done(); all.Wait() }}
	for range 10 {
		wait.Go(func() { _, _, _ = m.Ask(t.Context(), together, price, hello()) })
	}
	wait.Wait()
}

// A nested model asks another one, by the same meter.
type nested struct {
	*fake
	m *meter.Meter
}

func (n nested) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	reply, _, err := n.m.Ask(ctx, n.fake, price, r)
	return reply, err
}

// TestNested has a model that makes a request itself: it does not wait for its own request.
func TestNested(t *testing.T) {
	m := meter.New(nil, bounded(meter.Ceilings{Tokens: 500}), meter.Usage{})
	if _, _, err := m.Ask(t.Context(), nested{&fake{reply: &model.Reply{Usage: reported}}, m}, price, hello()); err != nil || m.Total().Requests != 2 {
		t.Errorf("%v, %+v", err, m.Total())
	}
}

// TestCheck checks which ceilings are valid, and how two are combined.
func TestCheck(t *testing.T) {
	for c, valid := range map[meter.Ceilings]bool{
		{}: true, {Tokens: 1, CostUSD: 0.1, Requests: 1}: true, {Tokens: -1}: false, {Requests: -1}: false, {CostUSD: -1}: false, {CostUSD: math.Inf(1)}: false,
	} {
		if err := c.Check(); (err == nil) != valid {
			t.Errorf("Check(%+v) = %v", c, err)
		}
	}
	if err := (meter.Ceilings{CostUSD: math.NaN()}).Check(); err == nil {
		t.Error("a cost that is not a number is valid")
	}
	if got := (meter.Ceilings{Tokens: 1}).Or(meter.Ceilings{Tokens: 2, CostUSD: 3, Requests: 4}); got != (meter.Ceilings{Tokens: 1, CostUSD: 3, Requests: 4}) {
		t.Errorf("Or = %+v", got)
	}
}

// TestDollars checks how amounts are written.
func TestDollars(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0.00", 1: "$1.00", 12.345: "$12.35", 0.5: "$0.500", 0.0123: "$0.0123", 0.0000004: "$0.000000"} {
		if got := meter.Dollars(amount); got != want {
			t.Errorf("Dollars(%v) = %s, want %s", amount, got, want)
		}
	}
}
