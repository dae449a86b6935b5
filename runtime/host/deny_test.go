package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDenyBeforeAsk checks that nobody is asked about what a rule refuses all the same.
func TestDenyBeforeAsk(t *testing.T) {
	t.Parallel()
	const write, run = "fs.write('a', '1')", "stock.sell()"
	cases := []struct {
		name, body, fields string
		rules              []string
		asked, refused     string
	}{
		{"all that it needs", run, "needs = ['shell:git', 'use:stock']", []string{"deny use", "deny shell"}, "", "use:stock is refused"},
		{"in the same pattern", write, "needs = ['fs.write:a*', 'use:stock']", []string{"deny fs.write:a*", "deny use"}, "", "fs.write:a is refused"},
		{"in another pattern, which may leave some of it", run, "needs = ['shell:git', 'use:st*']", []string{"deny use:s*", "deny shell"}, "", "use:stock is refused"},
		{"one of two, where the other one asks", run, "needs = ['shell:git', 'use:stock']", []string{"deny use"}, "t", "use:stock is refused"},
		{"all but the writes, which ask when they are known", write, "needs = ['fs.write', 'shell:git']", []string{"deny shell"}, "t a", ""},
		{"for another tool", run, "needs = ['shell:git', 'use:stock']", []string{"deny use for other"}, "t", ""},
		{"one path of two, where a rule asks about the other", "fs.move('old', 'new')", "needs = ['fs.read', 'fs.write']", []string{"ask fs.write:old", "deny fs.write:new"}, "", "fs.write:new is refused"},
		{"what its function asks about", run, "needs = ['use:stock']", []string{"deny use:stock"}, "", "use:stock is refused"},
		{"the call, where another rule asks", "pass", "", []string{"ask tool:t", "deny tool:@files"}, "", "the call of 't' is refused"},
		{"all that a risky tool does", run, "needs = ['shell:git', 'use:stock'], risky = True", []string{"deny use", "deny shell"}, "", "use:stock is refused"},
		{"all that a risky tool does besides reading", run, "needs = ['fs.read', 'use:stock'], risky = True", []string{"deny use"}, "", "use:stock is refused"},
		{"one of two that a risky tool does", run, "needs = ['shell:git', 'use:stock'], risky = True", []string{"deny use"}, "t", "use:stock is refused"},
		{"nothing, of a risky tool that only computes", "pass", "risky = True", []string{"deny use"}, "t", ""},
		{"what a risky tool does itself, where it also calls another one", "tools.inner()", "needs = ['tool:inner', 'use:stock'], risky = True", []string{"deny use"}, "t", "use:stock is refused"},
		{"all that a tool needs, where a rule asks about its calls", run, "needs = ['use:stock']", []string{"ask tool:t", "deny use"}, "", "use:stock is refused"},
		{"a part of what a tool needs, where a rule asks about its calls", run, "needs = ['fs.read', 'use:stock']", []string{"ask tool:t", "deny use"}, "t", "use:stock is refused"},
		{"what a tool that it calls needs", "tools.inner()", "needs = ['tool:inner', 'use:stock']", []string{"deny use for t"}, "", "use:stock is refused"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var who asker
			r := newStockRig(t, &who, c.rules...)
			r.write("old", "old")
			r.script("", c.body, strings.TrimPrefix(c.fields+", group = 'files'", ", "))
			r.add("inner.star", star("inner", "", run, "needs = ['use:stock', 'shell:git']"), func(d *toolset.Info) { d.Needs = d.Needs[:1] })
			_, err := r.byModel("t")
			if c.refused == "" && err != nil || c.refused != "" && (value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("error = %v, want it denied with %q", err, c.refused)
			}
			if got := who.kinds(); got != c.asked {
				t.Errorf("asked about %q, want %q", got, c.asked)
			}
			for _, q := range who.asked {
				for _, takes := range q.Capabilities {
					if takes.Name == "use" && c.refused != "" {
						t.Errorf("the question is about %v, which is refused", takes)
					}
				}
			}
		})
	}
}

// TestDenyOfAGoTool checks that a rule refuses the call of a tool in Go that needs what
// the rule denies: what the tool does passes no gate.
func TestDenyOfAGoTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule    string
		refused bool
	}{
		{"deny use:crm", true}, {"deny use", true}, {"deny fs.read", true}, {"deny fs.read:a/*", false}, {"deny use:crm for other", false}, {"deny use:crm for outer", false},
	} {
		var who asker
		ran := false
		r := newStockRig(t, &who, c.rule)
		crm := tool.Tool{Name: "crm", Description: "Look up a customer.", Needs: []tool.Capability{{Name: "use", Target: "crm"}, {Name: "fs.read"}}}
		if err := r.Register(crm, func(context.Context, *value.Dict) (value.Value, error) { ran = true; return nil, nil }); err != nil {
			t.Fatal(err)
		}
		_, err := r.byModel("crm")
		if refused := value.KindOf(err) == value.Denied && err != nil; refused != c.refused || ran == c.refused || (who.kinds() == "") != c.refused {
			t.Errorf("%s: %v, ran %v, asked about %q, want that it is refused: %v", c.rule, err, ran, who.kinds(), c.refused)
		}
		r.add("outer.star", star("outer", "", "return tools.crm()", "needs = ['tool:crm', 'use:crm', 'fs.read']"), nil)
		if _, err := r.byModel("outer"); c.rule == "deny use:crm for outer" && value.KindOf(err) != value.Denied {
			t.Errorf("%s, called by outer: %v, want it denied", c.rule, err)
		}
	}
}

// TestDenyBeforeTheQuestionWhatHappened checks that nobody is asked whether to do
// again what a rule refuses by now.
func TestDenyBeforeTheQuestionWhatHappened(t *testing.T) { eachStore(t, testDenyBeforeUnknown) }

func testDenyBeforeUnknown(t *testing.T, on keeper) {
	m := headless(t, on)
	m.approve = host.ApproveAll()
	once := func(p *process) *process {
		p.add("once.star", star("once", "", "return out.send('x')", "needs = ['use:out']"), nil)
		return p
	}
	if _, err := once(m.process(1, true)).run("r", false, "return tools.once()"); err == nil {
		t.Fatal("the process did not die")
	}
	m.rules = rules(t, "deny use:out")
	_, err := once(m.process(0, false)).run("r", true, "return tools.once()")
	if value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "out.send may have completed before the run was interrupted, and cannot be repeated") || !strings.Contains(err.Error(), "use:out is refused by a rule") {
		t.Errorf("resumed, the run gave %v, want it denied without a question", err)
	}
}
