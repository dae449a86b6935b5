package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAudit checks that whatever somebody allowed or refused is told once.
func TestAudit(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body, fields string
		rules              []string
		caller             tool.Caller
		answer             func(tool.Question) tool.Answer
		want               []string // what is told, up to its reason
	}{
		{"nothing to decide", "fs.exists('a')", "needs = ['fs.read']", nil, tool.ByModel, no, nil},
		{"a person's call", "fs.write('a', 'x')", "needs = ['fs.write']", nil, tool.ByPerson, no,
			[]string{"t allowed call [fs.write] at  by person: a person made the call"}},
		{"an approved call", "pass", "risky = True, needs = ['fs.read']", nil, tool.ByModel, nil,
			[]string{"t allowed call [fs.read] at  by model: it was approved"}},
		{"one that was not", "pass", "risky = True", nil, tool.ByModel, no,
			[]string{"t denied call [] at  by model: the call of 't' was not approved: not today"}},
		{"approved changes", "fs.write('a', 'x')\nfs.mkdir('d')", "needs = ['fs.write']", nil, tool.ByModel, nil,
			[]string{"t allowed fs.commit [fs.write:a fs.write:d] at 3 by model: it was approved"}},
		{"changes that were not", "fs.write('a', 'x')", "needs = ['fs.write']", nil, tool.ByModel, no,
			[]string{"t denied fs.commit [fs.write:a] at 2 by model: the changes of 't' were not approved: not today"}},
		{"a rule that allows", "stock.sell()", "needs = ['use:stock']", []string{"allow use:stock"}, tool.ByModel, no,
			[]string{"t allowed call [use:stock] at  by model: a rule allows it: allow use:stock (my config)",
				"t allowed stock.sell [use:stock] at 1 by model: a rule allows it: allow use:stock (my config)"}},
		{"a rule that asks", "fs.read('old')", "needs = ['fs.read']", []string{"ask fs.read:old"}, tool.ByPerson, nil,
			[]string{"t allowed fs.read [fs.read:old] at 1 by person: it was approved"}},
		{"and a no", "fs.read('old')", "needs = ['fs.read']", []string{"ask fs.read:old"}, tool.ByModel, no,
			[]string{"t denied fs.read [fs.read:old] at 1 by model: fs.read of 't' was not approved: not today"}},
		{"a rule that denies", "fs.read('old')", "needs = ['fs.read']", []string{"deny fs.read:old"}, tool.ByModel, nil,
			[]string{"t denied fs.read [fs.read:old] at 1 by model: fs.read:old is refused by a rule: deny fs.read:old (my config)"}},
		{"a rule that denies the call", "pass", "", []string{"deny tool:t"}, tool.ByPerson, nil,
			[]string{"t denied call [] at  by person: the call of 't' is refused by a rule: deny tool:t (my config)"}},
		{"what is not declared", "fs.exists('x')\nfs.read('old')", "needs = ['fs.read:x']", nil, tool.ByModel, nil,
			[]string{"t denied fs.read [fs.read:old] at 2 by model: the tool 't' does not declare that it needs fs.read:old"}},
		{"a way out", "fs.read('../x')", "needs = ['fs.read']", nil, tool.ByModel, nil,
			[]string{"t denied fs.read [] at 1 by model: \"../x\" leads out of the project"}},
		{"a way out by a link", "fs.read('link')", "needs = ['fs.read']", nil, tool.ByModel, nil,
			[]string{"t denied fs.read [] at 1 by model: link is a link that leads out"}},
		{"a child that is refused, once", "tools.b()", "needs = ['tool:b']", nil, tool.ByModel, no,
			[]string{"b denied call [] at 1 by script: the call of 'b' was not approved: not today"}},
		{"a child that may not be called", "tools.b()", "", nil, tool.ByModel, no,
			[]string{"t denied tools.call [tool:b] at 1 by model: the tool 't' does not declare that it needs tool:b"}},
		{"a listing that leaves things out", "fs.list('.')", "needs = ['fs.read']", []string{"deny fs.read:old"}, tool.ByModel, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			who := asker{answer: c.answer}
			r := newStockRig(t, &who, c.rules...)
			r.write("old", "secret text")
			r.link("../out", "link")
			r.script("", c.body, c.fields)
			r.add("b.star", star("b", "", "pass", "risky = True"), nil)
			var got []string
			stop := hear(t, r.Host, func(e tool.Event) {
				if d, ok := e.Data.(tool.Audit); ok {
					got = append(got, fmt.Sprintf("%s %s %s %v at %s by %s: %s", e.Tool, d.Decision, d.Func, d.Capabilities, d.Step, d.Caller, d.Why))
				}
			})
			_, _ = r.Call(context.Background(), tool.Call{Tool: "t", Caller: c.caller})
			stop()
			if len(got) != len(c.want) {
				t.Fatalf("told %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("told %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

// TestAuditHoldsNoArguments checks that what could be a secret is not in it.
func TestAuditHoldsNoArguments(t *testing.T) {
	t.Parallel()
	for _, answer := range []func(tool.Question) tool.Answer{nil, no} {
		who := asker{answer: answer}
		r := newStockRig(t, &who, "ask fs.write:a", "deny fs.write:b")
		r.script("token: str", "fs.write('a', token)\nfs.write('b', token)", "needs = ['fs.write'], risky = True")
		n := 0
		stop := hear(t, r.Host, func(e tool.Event) {
			if _, ok := e.Data.(tool.Audit); !ok {
				return
			}
			n++
			if text := value.FormatJSON(e.Fields(), ""); strings.Contains(text, "hunter2") {
				t.Errorf("told %s", text)
			}
		})
		_, _ = r.byModel("t", "token", "hunter2")
		if stop(); n == 0 {
			t.Error("nothing was told")
		}
	}
}
