// Package meter counts what requests to models use, and ends it at ceilings.
package meter

import (
	"context"
	"strconv"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Usage is what requests used. Its zero value is that of no request.
type Usage struct {
	Requests              int // with a reply
	Input, Cached, Output int // tokens, as reported; Cached is a part of Input
	Cost                  float64
	Unmeasured            int // of the requests: those whose tokens the provider did not report
	Unpriced              int // of the requests: those whose price is not known
	// Tokens and Charge count toward ceilings: they are estimated where nothing is reported.
	Tokens int
	Charge float64
}

// Reported returns the usage of one reply. p is the price of the model, or nil. guess is an estimate,
// for a provider that reports nothing.
func Reported(u, guess model.Usage, p *model.Price) Usage {
	of := Usage{Requests: 1, Input: max(0, u.InputTokens), Cached: max(0, u.CachedTokens), Output: max(0, u.OutputTokens)}
	counted := u
	if of.Input+of.Output == 0 {
		of.Unmeasured, counted = 1, guess
	}
	of.Tokens = max(0, counted.InputTokens) + max(0, counted.OutputTokens)
	if p != nil {
		of.Charge = max(0, p.Cost(counted))
	}
	free := p != nil && p.Input == 0 && p.Output == 0 // also if it reports no tokens
	if p == nil || of.Unmeasured > 0 && !free {
		of.Unpriced = 1
	} else {
		of.Cost = of.Charge
	}
	return of
}

// Add adds usage.
func (u *Usage) Add(more Usage) {
	u.Requests += more.Requests
	u.Input, u.Cached, u.Output = u.Input+more.Input, u.Cached+more.Cached, u.Output+more.Output
	u.Cost += more.Cost
	u.Unmeasured, u.Unpriced = u.Unmeasured+more.Unmeasured, u.Unpriced+more.Unpriced
	u.Tokens, u.Charge = u.Tokens+more.Tokens, u.Charge+more.Charge
}

// Dict returns the usage as people and programs see it: requests, input_tokens,
// cached_input_tokens, output_tokens and cost_usd. A number that is known of no request is nil. One
// that is known of some is their sum, a lower bound, and without_tokens or without_cost is how many
// requests are not in it.
func (u Usage) Dict() *value.Dict {
	d := value.NewDict("requests", int64(u.Requests), "input_tokens", nil, "cached_input_tokens", nil, "output_tokens", nil, "cost_usd", nil)
	if u.Unmeasured == 0 || u.Unmeasured < u.Requests {
		d.Put("input_tokens", int64(u.Input))
		d.Put("cached_input_tokens", int64(u.Cached))
		d.Put("output_tokens", int64(u.Output))
	}
	if u.Unpriced == 0 || u.Unpriced < u.Requests {
		d.Put("cost_usd", u.Cost)
	}
	if u.Unmeasured > 0 && u.Unmeasured < u.Requests {
		d.Put(withoutTokens, int64(u.Unmeasured))
	}
	if u.Unpriced > 0 && u.Unpriced < u.Requests {
		d.Put(withoutCost, int64(u.Unpriced))
	}
	return d
}

// The fields of a usage that count the requests which a sum lacks.
const (
	withoutTokens = "without_tokens"
	withoutCost   = "without_cost"
)

// Record returns the usage for the record of a step: the Dict, and what [Read] needs besides. Nil
// is that of no request.
func (u *Usage) Record() *value.Dict {
	if u == nil {
		u = &Usage{}
	}
	d := u.Dict()
	if u.Unmeasured > 0 {
		d.Put("counted_tokens", int64(u.Tokens))
	}
	if u.Charge != u.Cost {
		d.Put("counted_usd", u.Charge)
	}
	return d
}

// Read returns the usage that Record wrote. Fields that are missing or invalid are unknown.
func Read(d *value.Dict) Usage {
	u := Usage{Requests: count(d, "requests")}
	u.Input, u.Cached, u.Output = count(d, "input_tokens"), count(d, "cached_input_tokens"), count(d, "output_tokens")
	u.Unmeasured = min(count(d, withoutTokens), u.Requests)
	if isNil(d, "input_tokens") {
		u.Unmeasured = u.Requests
	}
	u.Tokens = max(count(d, "counted_tokens"), u.Input+u.Output)
	u.Cost, u.Unpriced = dollars(d, "cost_usd"), min(count(d, withoutCost), u.Requests)
	if isNil(d, "cost_usd") {
		u.Unpriced = u.Requests
	}
	u.Charge = max(dollars(d, "counted_usd"), u.Cost)
	return u
}

func isNil(d *value.Dict, name string) bool {
	v, _ := d.Get(name)
	return v == nil
}

// count returns a number that is not negative, as a damaged record could have one.
func count(d *value.Dict, name string) int { return int(min(max(d.Int(name), 0), 1<<40)) }

func dollars(d *value.Dict, name string) float64 {
	v, _ := d.Get(name)
	switch v := v.(type) {
	case float64:
		if v > 0 { // also false for NaN
			return min(v, 1e12)
		}
	case int64:
		return float64(min(max(v, 0), 1e12))
	}
	return 0
}

// Step returns the usage that is recorded with a step of a run: with a function that asks a model
// in its outcome, else in its notes.
func Step(outcome value.Value, notes []*value.Dict) (u Usage) {
	for _, n := range notes {
		u.Add(inside(n))
	}
	d, _ := outcome.(*value.Dict)
	u.Add(inside(d))
	if u.Requests == 0 && d.Int("input_tokens")+d.Int("output_tokens") > 0 { // of a record without usage
		u = Usage{Requests: 1, Input: count(d, "input_tokens"), Cached: count(d, "cached_tokens"), Output: count(d, "output_tokens"), Unpriced: 1}
		u.Tokens = u.Input + u.Output
	}
	return u
}

// Note returns the usage as a note of a step.
func (u Usage) Note() *value.Dict { return value.NewDict(field, u.Record()) }

// field is the name of the usage in an outcome or a note.
const field = "usage"

func inside(d *value.Dict) Usage {
	if used := d.Dict(field); used.Has("requests") {
		return Read(used)
	}
	return Usage{}
}

// Ceilings bound what a run uses. A zero field sets no bound.
type Ceilings struct {
	Tokens   int     `json:"tokens,omitempty"`   // read and written, also those from a cache
	CostUSD  float64 `json:"cost_usd,omitempty"` // US dollars
	Requests int     `json:"requests,omitempty"`
}

// Limits are what a resume can raise.
type Limits struct {
	Ceilings
	// Iterations bounds the requests of the agent itself, without those of sub-agents and scripts. 0
	// leaves it to the policy.
	Iterations int `json:"iterations,omitempty"`
}

// Or returns the ceilings with those of other for the zero fields.
func (c Ceilings) Or(other Ceilings) Ceilings {
	if c.Tokens == 0 {
		c.Tokens = other.Tokens
	}
	if c.CostUSD == 0 {
		c.CostUSD = other.CostUSD
	}
	if c.Requests == 0 {
		c.Requests = other.Requests
	}
	return c
}

// Check returns an error if a ceiling is invalid.
func (c Ceilings) Check() error {
	switch {
	case c.Tokens < 0:
		return value.Errorf(value.Invalid, "the limit of tokens must be positive, not %d", c.Tokens)
	case !(c.CostUSD >= 0 && c.CostUSD < 1e12):
		return value.Errorf(value.Invalid, "the limit of the cost must be a positive amount in US dollars, not %v", c.CostUSD)
	case c.Requests < 0:
		return value.Errorf(value.Invalid, "the limit of requests must be positive, not %d", c.Requests)
	}
	return nil
}

// CheckPrice returns an error if the cost is bounded, but the price of a model is not known.
func (c Ceilings) CheckPrice(name string, p *model.Price) error {
	if c.CostUSD == 0 || p != nil {
		return nil
	}
	return value.Errorf(value.Invalid, "the cost cannot be limited: the price of the model %s is not known", name).
		WithHint("limit the tokens or the requests instead: --max-tokens N, --max-requests N")
}

// Text describes what [Usage.Dict] returned on a line, or is "" if there was no request.
func Text(d *value.Dict) string {
	n := count(d, "requests")
	if n == 0 {
		return ""
	}
	text := requests(n)
	if isNil(d, "input_tokens") {
		text += ", tokens unknown"
	} else {
		text += ", " + atLeast(d, withoutTokens) + prose.WithCommas(count(d, "input_tokens")) + " tokens in"
		if cached := count(d, "cached_input_tokens"); cached > 0 {
			text += " (" + prose.WithCommas(cached) + " cached)"
		}
		text += ", " + prose.WithCommas(count(d, "output_tokens")) + " out"
	}
	if isNil(d, "cost_usd") {
		return text + ", cost unknown"
	}
	return text + ", " + atLeast(d, withoutCost) + Dollars(dollars(d, "cost_usd"))
}

// requests counts requests, as in "1 request".
func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return prose.WithCommas(n) + " requests"
}

// atLeast marks a sum that lacks some requests.
func atLeast(d *value.Dict, without string) string {
	if count(d, without) > 0 {
		return "at least "
	}
	return ""
}

// A Meter counts the requests of a run and of what it calls. Its methods are safe for concurrent
// use, and a nil Meter counts and bounds nothing.
type Meter struct {
	above *Meter
	rules *Rules // shared by the meters of an agent

	mu       sync.Mutex
	total    Usage
	pending  int           // requests without a reply yet
	expected amount        // what they will use, about
	ended    chan struct{} // is closed when one of them ends; nil if nothing waits for that
}

// An amount is what a ceiling bounds besides requests.
type amount struct {
	tokens int
	charge float64
}

// New returns a meter with rules, which do not change. above also counts what it counts; it may be
// nil. spent was used before, which above knows already.
func New(above *Meter, r *Rules, spent Usage) *Meter {
	return &Meter{above: above, rules: r, total: spent}
}

// Total returns what was used so far.
func (m *Meter) Total() Usage {
	if m == nil {
		return Usage{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// begin admits a request that is expected to use x, to a model with a price, which is nil if it is
// not known. It fails with kind Limit if a ceiling is reached, of this meter or one above. If the
// requests in progress are expected to reach one, it waits for them: otherwise each of them would
// exceed it. If it returns nil, the caller must call done after the request.
func (m *Meter) begin(ctx context.Context, name string, p *model.Price, x amount) error {
	for up := m; up != nil; up = up.above {
		err := up.rules.CheckPrice(name, p)
		if err == nil {
			err = up.enter(ctx, x)
		}
		if err != nil {
			for admitted := m; admitted != up; admitted = admitted.above {
				admitted.end(x, nil)
			}
			return err
		}
	}
	return nil
}

// bounded reports whether a ceiling of this meter, or one above, needs to know what a request is
// expected to use.
func (m *Meter) bounded() bool {
	for ; m != nil; m = m.above {
		if m.rules != nil && (m.rules.Tokens > 0 || m.rules.CostUSD > 0) {
			return true
		}
	}
	return false
}

// Recall counts a request of an earlier process, for the limits of the agents that it was a part
// of. The run has counted it already.
func (m *Meter) Recall(u Usage) {
	for up := m; up != nil && up.rules.Agent != ""; up = up.above {
		up.mu.Lock()
		up.total.Add(u)
		up.mu.Unlock()
	}
}

// done ends a request that begin admitted, with nil if it has no reply.
func (m *Meter) done(x amount, u *Usage) {
	for up := m; up != nil; up = up.above {
		up.end(x, u)
	}
}

// enter admits a request to this meter, or waits until it can.
func (m *Meter) enter(ctx context.Context, x amount) error {
	for {
		wait, err := m.admit(x, ctx.Value(askingKey{}) == nil)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// admit admits a request, or returns an error or, if it waits, a channel to wait for.
func (m *Meter) admit(x amount, waits bool) (wait chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, u := &m.rules.Ceilings, m.total
	if err := m.reached(); err != nil {
		return nil, err
	}
	if waits && m.pending > 0 && (c.Tokens > 0 && u.Tokens+m.expected.tokens >= c.Tokens || c.CostUSD > 0 && u.Charge+m.expected.charge >= c.CostUSD) {
		if m.ended == nil {
			m.ended = make(chan struct{})
		}
		return m.ended, nil
	}
	m.pending++
	m.expected.tokens, m.expected.charge = m.expected.tokens+x.tokens, m.expected.charge+x.charge
	return nil, nil
}

// reached returns the error of a ceiling that is reached, or nil.
func (m *Meter) reached() error {
	c, u := &m.rules.Ceilings, m.total
	switch {
	case c.Requests > 0 && u.Requests+m.pending >= c.Requests:
		return m.rules.limit("--max-requests N", "limits.requests", "its limit of %s to models", requests(c.Requests))
	case c.Tokens > 0 && u.Tokens >= c.Tokens:
		return m.rules.limit("--max-tokens N", "limits.tokens", "its limit of %s tokens: it used %s", prose.WithCommas(c.Tokens), prose.WithCommas(u.Tokens))
	case c.CostUSD > 0 && u.Charge >= c.CostUSD:
		return m.rules.limit("--max-cost USD", "limits.cost", "its limit of %s: it cost %s", Dollars(c.CostUSD), Dollars(u.Charge))
	}
	return nil
}

// Iterated returns the error of an agent whose policy has used all its iterations.
func (m *Meter) Iterated(used int) error {
	return m.rules.limit("--max-iterations N", "max_turns", "its limit of iterations: its agent sent %s", requests(used))
}

// limit returns the error of a ceiling. flag and field are where it can be raised: for a run, and
// for an agent.
func (r *Rules) limit(flag, field, format string, args ...any) error {
	if r.Agent == "" {
		return value.Limitf(value.LimitUsage, "the run reached "+format, args...).WithHint("to allow more: %s", flag)
	}
	return value.Errorf(value.Limit, "the agent '"+r.Agent+"' reached "+format, args...).WithHint("to allow more, change the field '%s' in the file of the agent '%s'", field, r.Agent)
}

func (m *Meter) end(x amount, u *Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending--
	m.expected.tokens, m.expected.charge = m.expected.tokens-x.tokens, m.expected.charge-x.charge
	if u != nil {
		m.total.Add(*u)
	}
	if m.ended != nil {
		close(m.ended)
		m.ended = nil
	}
}

// Dollars writes an amount of US dollars, with at least two digits after the point and enough to
// show a small amount.
func Dollars(amount float64) string {
	digits := 2
	for limit := 1.0; digits < 6 && amount < limit && amount > 0; limit /= 10 {
		digits++
	}
	return "$" + strconv.FormatFloat(amount, 'f', digits, 64)
}
