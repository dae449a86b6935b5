package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// runs returns the IDs of the recorded runs with their states.
func (p *process) runs() (list []string) {
	p.m.t.Helper()
	for r, err := range p.Runs(context.Background(), history.Filter{}) {
		if err != nil {
			p.m.t.Fatal(err)
		}
		list = append(list, r.ID+" "+r.State.String())
	}
	return list
}

// TestNothingIsRecordedOfAWrongCall checks that a durable call which cannot be made
// leaves no run, and that a run of its ID is answered from the record all the same.
func TestNothingIsRecordedOfAWrongCall(t *testing.T) {
	t.Parallel()
	eachStore(t, testNothingIsRecordedOfAWrongCall)
}

func testNothingIsRecordedOfAWrongCall(t *testing.T, on keeper) {
	m := newMachine(t, on)
	ctx := context.Background()
	p := m.process(0, false)
	p.add("count.star", star("count", "n: int = 1, text: str = ''", "return n", ""), nil)
	cyclic := &value.Dict{}
	cyclic.Put("n", cyclic)
	for name, c := range map[string]struct {
		call tool.Call
		want value.Kind
	}{
		"a type":              {tool.Call{Tool: "count", Args: value.NewDict("n", "x")}, value.Invalid},
		"a name":              {tool.Call{Tool: "count", Args: value.NewDict("m", 1)}, value.Invalid},
		"texts":               {tool.Call{Tool: "count", Args: value.NewDict("n", "x"), Texts: true}, value.Invalid},
		"an unknown tool":     {tool.Call{Tool: "counter"}, value.NotFound},
		"too long":            {tool.Call{Tool: "count", Args: value.NewDict("text", strings.Repeat("x", 8<<20))}, value.Limit},
		"nested too deeply":   {tool.Call{Tool: "count", Args: cyclic}, value.Limit},
		"text that is no UTF": {tool.Call{Tool: "count", Args: value.NewDict("n", int64(1), "text", "\xff")}, value.Invalid},
	} {
		for _, id := range []string{"", "r"} {
			if got, err := p.Call(ctx, c.call, host.Durable(id)); err == nil || value.KindOf(err) != c.want || got.Error == "" {
				t.Errorf("%s: %+v, %v, want an error of kind %s", name, got, err, c.want)
			}
		}
	}
	if got := p.runs(); len(got) != 0 {
		t.Errorf("recorded are %v, want none", got)
	}
	call := tool.Call{Tool: "count", Args: value.NewDict("n", "3"), Texts: true}
	if got, err := p.Call(ctx, call, host.Durable("r")); err != nil || got.Value != int64(3) {
		t.Fatalf("typed arguments gave %v, %v", got.Value, err)
	}
	later := m.process(0, false)
	if got, err := later.Call(ctx, call, host.Durable("r")); err != nil || got.Value != int64(3) {
		t.Errorf("the same call where its tool is gone gave %v, %v, want the recorded result", got.Value, err)
	}
	other := tool.Call{Tool: "count", Args: value.NewDict("n", "four"), Texts: true}
	if _, err := p.Call(ctx, other, host.Durable("r")); value.KindOf(err) != value.Conflict {
		t.Errorf("another call of the ID gave %v, want a conflict", err)
	}

	m.middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if c.Tool == "counter" {
				c.Tool, c.Args = "count", value.NewDict("n", int64(5))
			}
			return next(ctx, c)
		}
	}}
	p = m.process(0, false)
	p.add("count.star", star("count", "n: int = 1, text: str = ''", "return n", ""), nil)
	if got, err := p.Call(ctx, tool.Call{Tool: "counter"}, host.Durable("changed")); err != nil || got.Value != int64(5) {
		t.Errorf("a call that a middleware changes gave %v, %v", got.Value, err)
	}
	if _, err := p.Call(ctx, tool.Call{Tool: "none"}, host.Durable("wrong")); value.KindOf(err) != value.NotFound {
		t.Errorf("an unknown tool gave %v", err)
	}
	if got := strings.Join(p.runs(), ", "); got != "wrong failed, changed done, r done" {
		t.Errorf("recorded are %s", got)
	}
}
