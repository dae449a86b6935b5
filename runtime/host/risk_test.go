package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// shopFunc is a function of a module shop, which notes what it was called with.
func shopFunc(done *[]string, name string, kind tool.EffectKind, risk tool.Risk) tool.Func {
	return tool.Func{
		Name: name, Kind: kind, Risk: risk, Params: []tool.Param{tool.Optional("of", tool.TypeString, "", "what")},
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: strings.TrimSuffix("shop/"+name+"/"+args.Text("of"), "/")}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			*done = append(*done, strings.TrimSpace(name+" "+e.Args.Text("of")))
			return tool.Outcome{Value: name}, nil
		},
	}
}

// shopRig is a rig with a module, some of whose functions ask.
func shopRig(t *testing.T, done *[]string, who *asker, change func(*host.Options)) *rig {
	bare := tool.Func{Name: "bare", Kind: tool.Read, Risk: tool.RiskAsk, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
		*done = append(*done, "bare")
		return tool.Outcome{}, nil
	}}
	shop := tool.Module{Name: "shop", Funcs: []tool.Func{
		shopFunc(done, "look", tool.Read, tool.RiskDefault), shopFunc(done, "peek", tool.Read, tool.RiskAsk),
		shopFunc(done, "sell", tool.External, tool.RiskDefault), shopFunc(done, "tell", tool.External, tool.RiskSafe),
		shopFunc(done, "mark", tool.Write, tool.RiskDefault), shopFunc(done, "ping", tool.Repeatable, tool.RiskDefault), bare,
	}}
	return newRig(t, func(o *host.Options) {
		o.Modules = append(o.Modules, shop)
		o.Sandbox = inline(o.Modules)
		if who != nil {
			o.Approver = host.ApproverFunc(who.approve)
		}
		if change != nil {
			change(o)
		}
	})
}

// TestRisk checks which registered functions ask, and that nobody is asked about
// the others.
func TestRisk(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]bool{
		"look": false, "tell": false, "ping": false, "peek": true, "sell": true, "mark": true, "bare": true,
	} {
		var done []string
		r := shopRig(t, &done, nil, nil)
		r.script("", "return shop."+name+"()", "needs = ['use:shop/**']")
		_, err := r.byModel("t")
		if (value.KindOf(err) == value.Denied && err != nil) != asks || !asks && err != nil || asks == (len(done) > 0) {
			t.Errorf("shop.%s where nobody can be asked: %v, done %v, want that it asks: %v", name, err, done, asks)
		}
		if asks && !strings.Contains(err.Error(), "needs approval for shop."+name) {
			t.Errorf("shop.%s: the error is %v", name, err)
		}
		if _, err := r.call(); err != nil || len(done) == 0 {
			t.Errorf("shop.%s in a call of a person: %v, done %v", name, err, done)
		}
	}
}

// TestRiskOfMany checks for what a yes holds, and that a refused function can be
// caught like any error.
func TestRiskOfMany(t *testing.T) {
	t.Parallel()
	const needs = "needs = ['use:shop/**']"
	for _, tt := range []struct {
		name, body, fields string
		rules              []string
		answer             func(tool.Question) tool.Answer
		asked, done        string
	}{
		{"once for the same", "shop.sell('a')\nshop.sell('a')", needs, nil, nil, "t shop.sell", "sell a, sell a"},
		{"again for what takes something else", "shop.sell('a')\nshop.sell('b')", needs, nil, nil, "t shop.sell, t shop.sell", "sell a, sell b"},
		{"again for another function", "shop.sell()\nshop.peek()\nshop.look()", needs, nil, nil, "t shop.sell, t shop.peek", "sell, peek, look"},
		{"a no", "attempt(shop.sell)\nshop.look()", needs, nil, no, "t shop.sell", "look"},
		{"a rule allows one", "shop.sell('a')\nshop.sell('b')", needs, []string{"allow use:shop/sell/a"}, nil, "t shop.sell", "sell a, sell b"},
		{"a rule denies", "attempt(shop.look)", needs, []string{"deny use:shop/look"}, nil, "", ""},
		{"a rule asks for a safe one", "shop.look()\nshop.look()", needs, []string{"ask use:shop/look"}, nil, "t shop.look", "look, look"},
		{"it is risky", "shop.sell()\nshop.peek()", needs + ", risky = True", nil, nil, "t", "sell, peek"},
		{"it needs more that acts", "shop.sell()", "needs = ['use:shop/**', 'shell:git']", nil, nil, "t", "sell"},
		{"a rule asks for the call", "shop.sell()", needs, []string{"ask tool:t"}, nil, "t", "sell"},
		{"a tool that it calls", "tools.inner()\nshop.sell()\ntools.inner()", "needs = ['use:shop/**', 'tool:inner']", nil, nil, "inner shop.sell, t shop.sell, inner shop.sell", "sell, sell, sell"},
	} {
		var who asker
		var done []string
		who.answer = tt.answer
		r := shopRig(t, &done, &who, func(o *host.Options) { o.Rules = rules(t, tt.rules...) })
		r.script("", tt.body, tt.fields)
		r.add("inner.star", star("inner", "", "return shop.sell()", needs), nil)
		_, err := r.byModel("t")
		if got := strings.Join(done, ", "); err != nil || who.kinds() != tt.asked || got != tt.done {
			t.Errorf("%s: %v, asked about %q, done %q, want %q and %q", tt.name, err, who.kinds(), got, tt.asked, tt.done)
		}
	}
	var done []string
	r := shopRig(t, &done, nil, nil)
	r.script("", "return tools.inner()", "needs = ['use:shop/**', 'tool:inner']")
	r.add("inner.star", star("inner", "", "return shop.sell()", needs), nil)
	if _, err := r.call(); value.KindOf(err) != value.Denied || len(done) > 0 {
		t.Errorf("a tool that a person's calls: %v, done %v, want it denied", err, done)
	}
}

// TestRiskOfAvailability checks that nobody is asked while a tool's own check looks
// whether it can be used.
func TestRiskOfAvailability(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]toolset.State{"look": toolset.Ready, "peek": toolset.NotHere} {
		var who asker
		var done []string
		r := shopRig(t, &done, &who, nil)
		source := "def t():\n    \"Do it.\"\n    pass\n\ndef here():\n    return shop." + name + "() != None\n\ntool(t, needs = ['use:shop/**'], available = here)\n"
		s := tool.Script{Path: "t.star", Source: source}
		described, err := r.Describe(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return s, nil }); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Tool("t"); err != nil || got.State != want || len(who.asked) > 0 {
			t.Errorf("a check with shop.%s: the tool is %s (%s), %v, asked %d times", name, got.State, got.Reason, err, len(who.asked))
		}
	}
}

// TestRiskParks checks that a durable call waits at the effect of a function that
// asks, and that a yes holds for the rest of it, in any process.
func TestRiskParks(t *testing.T) {
	t.Parallel()
	var done []string
	passed := time.Duration(0)
	clock := func() time.Time { return time.Unix(0, 0).Add(passed) }
	j := history.Open(journal.Memory(), &history.Options{Clock: clock})
	defer j.Close()
	start := func() *rig {
		r := shopRig(t, &done, nil, func(o *host.Options) {
			o.Clock, o.Journal = clock, func() (*history.Journal, error) { return j, nil }
		})
		r.script("", "shop.look()\nshop.sell('a')\nshop.sell('a')\ntime.sleep(100000)\nshop.sell('a')\nreturn shop.sell('b')", "needs = ['use:shop/**']")
		return r
	}
	ctx := context.Background()
	waits := func(want string, questions int) *host.ParkedError {
		t.Helper()
		_, err := start().Call(ctx, tool.Call{Tool: "t"}, host.Durable("r"))
		var parked *host.ParkedError
		if !errors.As(err, &parked) || len(parked.Questions) != questions || strings.Join(done, ", ") != want {
			t.Fatalf("the call gave %v, done %q, want it parked with %d questions and %q", err, done, questions, want)
		}
		return parked
	}
	answer := func(p *host.ParkedError, a tool.Answer) {
		t.Helper()
		q := p.Questions[0]
		if q.Func != "shop.sell" || !strings.Contains(q.Why, "the function shop.sell requires approval") {
			t.Errorf("the question is %+v", q)
		}
		if err := start().Answer(ctx, q.ID, a); err != nil {
			t.Fatal(err)
		}
	}
	answer(waits("look", 1), tool.Answer{Yes: true})
	waits("look, sell a, sell a", 0) // asleep
	passed = 100000 * time.Second
	answer(waits("look, sell a, sell a, sell a", 1), tool.Answer{Why: "too much"})
	_, err := start().Call(ctx, tool.Call{Tool: "t"}, host.Durable("r"))
	if value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "too much") || len(done) != 4 {
		t.Errorf("after a no the call gave %v, done %v", err, done)
	}
}

// TestRiskIsValid checks what a module's functions cannot be.
func TestRiskIsValid(t *testing.T) {
	t.Parallel()
	do := func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil }
	for name, f := range map[string]tool.Func{
		"no kind":           {Name: "f", Do: do},
		"acts, no target":   {Name: "f", Kind: tool.External, Do: do},
		"safe, no target":   {Name: "f", Kind: tool.Write, Risk: tool.RiskSafe, Do: do},
		"an unknown risk":   {Name: "f", Kind: tool.Read, Risk: 3, Do: do},
		"pure, and it asks": {Name: "f", Kind: tool.Pure, Risk: tool.RiskAsk, Do: do},
	} {
		_, err := host.New(&host.Options{Sandbox: sandbox.NewInline(stdlib.Pure()...), Modules: []tool.Module{{Name: "m", Funcs: []tool.Func{f}}}})
		if value.KindOf(err) != value.Invalid || err == nil {
			t.Errorf("%s: %v, want an error of kind Invalid", name, err)
		}
	}
}
