package host_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ruler answers questions, and notes them with what rules could answer.
type ruler struct {
	mu     sync.Mutex
	asked  []string
	answer func(q *tool.Question) tool.Answer
}

func (r *ruler) approve(_ context.Context, q tool.Question) (tool.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	offer := q.NoRule
	if q.Each {
		offer = "each effect"
	}
	for i := range q.Rules {
		offer += q.Rules[i].String()
	}
	subject := q.Func
	if subject == "" {
		subject = "call"
		if len(q.Changes) > 0 {
			subject = "changes"
		}
	}
	r.asked = append(r.asked, q.Tool+" "+subject+": "+offer)
	if r.answer == nil {
		return tool.Answer{}, nil
	}
	return r.answer(&q), nil
}

// taken returns what was asked since the last call.
func (r *ruler) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// byRules answers with everything that the question offers.
func byRules(q *tool.Question) tool.Answer {
	return tool.Answer{Yes: true, Rules: q.Rules, Each: q.Each}
}

// net is a module whose function send takes http.post:HOST, and login the secret KEY for the host too. key returns
// the placeholder of the secret.
func net(sent *[]string) tool.Module {
	to := tool.Param{Name: "to", Type: tool.Type{Name: tool.TypeString}, Required: true}
	return tool.Module{Name: "net", Funcs: []tool.Func{{
		Name: "key", Kind: tool.Read,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "secret", Target: "KEY@"}}, nil
		},
		Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { return tool.Outcome{}, nil },
	}, {
		Name: "login", Kind: tool.External, Params: []tool.Param{to},
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "http.post", Target: args.Text("to")}, {Name: "secret", Target: "KEY@" + args.Text("to")}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			*sent = append(*sent, e.Args.Text("to"))
			return tool.Outcome{}, g.Check(tool.Capability{Name: "secret", Target: "KEY@" + e.Args.Text("to")}) // as http does when it sends it
		},
	}, {
		Name: "send", Kind: tool.External, Params: []tool.Param{{Name: "to", Type: tool.Type{Name: tool.TypeString}, Required: true}},
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "http.post", Target: args.Text("to")}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			*sent = append(*sent, e.Args.Text("to"))
			return tool.Outcome{}, nil
		},
	}}}
}

// netRig is a rig with the module net.
func netRig(t *testing.T, sent *[]string, who *ruler, change func(*host.Options)) *rig {
	return newRig(t, func(o *host.Options) {
		o.Modules = append(o.Modules, net(sent))
		o.Sandbox = inline(o.Modules)
		o.Approver = host.ApproverFunc(who.approve)
		if change != nil {
			change(o)
		}
	})
}

// callTo calls the tool t, as a model does, with the host to which it sends.
func (r *rig) callTo(to string) error {
	_, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("to", to), Caller: tool.ByModel})
	return err
}

// TestRulesAnswerExactly answers each question by the rules that it offers. The same call is not asked
// about again, and every other one is.
func TestRulesAnswerExactly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, fields string
		asked              []string // by the first call, to a.example
		other              []string // by a call to b.example after that
	}{
		{"an exact need", "net.send('a.example')", "needs = ['http.post:a.example']",
			[]string{`t call: {tool: t, capability: "http.post:a.example"}`}, nil},
		{"any host", "net.send(to)", "needs = ['http']",
			[]string{`t call: each effect`, `t net.send: {tool: t, capability: "http.post:a.example"}`},
			[]string{`t net.send: {tool: t, capability: "http.post:b.example"}`}},
		{"any host, risky", "net.send(to)", "needs = ['http'], risky = True",
			[]string{`t call: each effect`, `t net.send: {capability: "tool:t"}{tool: t, capability: "http.post:a.example"}`},
			[]string{`t net.send: {tool: t, capability: "http.post:b.example"}`}},
		{"several", "net.send(to)\nnet.send('c.example')\nnet.send(to)", "needs = ['http.post']",
			[]string{`t call: each effect`, `t net.send: {tool: t, capability: "http.post:a.example"}`, `t net.send: {tool: t, capability: "http.post:c.example"}`},
			[]string{`t net.send: {tool: t, capability: "http.post:b.example"}`}},
		{"files", "fs.write('out/' + to, 'x')", "needs = ['fs.write']",
			[]string{`t changes: {tool: t, capability: "fs.write:out/a.example"}`}, []string{`t changes: {tool: t, capability: "fs.write:out/b.example"}`}},
		{"files and hosts", "fs.write(to, 'x')\nnet.send(to)", "needs = ['fs.write', 'http']",
			[]string{`t call: each effect`, `t net.send: {tool: t, capability: "http.post:a.example"}`, `t changes: {tool: t, capability: "fs.write:a.example"}`},
			[]string{`t net.send: {tool: t, capability: "http.post:b.example"}`, `t changes: {tool: t, capability: "fs.write:b.example"}`}},
		{"two needs, one of them used", "net.send(to)", "needs = ['http', 'shell']",
			[]string{`t call: each effect`, `t net.send: {tool: t, capability: "http.post:a.example"}`},
			[]string{`t call: each effect`, `t net.send: {tool: t, capability: "http.post:b.example"}`}},
		{"a host and its secret", "net.key()\nnet.login('a.example')", "needs = ['http.post:a.example', 'secret:KEY@a.example']",
			[]string{`t call: {tool: t, capability: "http.post:a.example"}{tool: t, capability: "secret:KEY@a.example"}`}, nil},
		{"any host and its secret", "net.key()\nnet.login(to)", "needs = ['http', 'secret:KEY@*.example']",
			[]string{`t call: each effect`, `t net.login: {tool: t, capability: "http.post:a.example"}{tool: t, capability: "secret:KEY@a.example"}`},
			[]string{`t net.login: {tool: t, capability: "http.post:b.example"}{tool: t, capability: "secret:KEY@b.example"}`}},
		{"any host, and a secret of one", "net.key()\nnet.send('b.example')\nnet.login('a.example')", "needs = ['http', 'secret:KEY@a.example']",
			[]string{`t call: each effect`, `t net.send: {tool: t, capability: "http.post:b.example"}`,
				`t net.login: {tool: t, capability: "http.post:a.example"}{tool: t, capability: "secret:KEY@a.example"}`}, nil},
		{"a risky one that needs nothing", "return 1", "risky = True", []string{`t call: {capability: "tool:t"}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent []string
			who := &ruler{answer: byRules}
			r := netRig(t, &sent, who, nil)
			r.script("to: str", tt.body, tt.fields)
			for _, step := range []struct {
				to   string
				want []string
			}{{"a.example", tt.asked}, {"a.example", nil}, {"b.example", tt.other}, {"b.example", nil}, {"a.example", nil}} {
				if tt.name == "two needs, one of them used" && step.want == nil {
					continue // shell still asks
				}
				if err := r.callTo(step.to); err != nil {
					t.Fatalf("to %s: %v", step.to, err)
				}
				if diff := cmp.Diff(step.want, who.taken()); diff != "" {
					t.Errorf("asked for %s (-want +got):\n%s", step.to, diff)
				}
			}
			if strings.Contains(tt.body, "net.send(to)") && len(sent) == 0 {
				t.Error("nothing was sent")
			}
		})
	}
}

// TestRulesThatAskForSecrets asks once about a host and the secret that it gets, by whatever rule, and not about
// the call before: a yes is for this host and this secret alone.
func TestRulesThatAskForSecrets(t *testing.T) {
	t.Parallel()
	const both = "http.post:a.example secret:KEY@a.example"
	for _, tt := range []struct {
		name  string
		rules []string
		by    tool.Caller
		asked []string // what each question takes
	}{
		{"about both, by a model", []string{"ask http", "ask secret"}, tool.ByModel, []string{both, "http.post:b.example secret:KEY@b.example"}},
		{"about both, by a person", []string{"ask http", "ask secret"}, tool.ByPerson, []string{both, "http.post:b.example secret:KEY@b.example"}},
		{"about the secret, by a person", []string{"ask secret"}, tool.ByPerson, []string{"secret:KEY@a.example", "secret:KEY@b.example"}},
		{"about one host, by a person", []string{"ask http:a.example", "ask secret:KEY@b.example"}, tool.ByPerson, []string{"http.post:a.example", "secret:KEY@b.example"}},
		{"about the host alone, by a model", []string{"ask http"}, tool.ByModel, []string{"http secret:KEY@*.example", "http.post:a.example", "http.post:b.example"}},
		{"about the secret alone, after a part was allowed", []string{"ask secret:KEY@a.example", "allow http for t", "allow secret:KEY@b.example for t"}, tool.ByModel, []string{"secret:KEY@a.example"}},
		{"about the host, after a part was allowed", []string{"ask http:a.example", "allow http:b.example for t", "allow secret:KEY@b.example for t"}, tool.ByModel, []string{both}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent, asked []string
			who := &ruler{answer: func(q *tool.Question) tool.Answer {
				asked = append(asked, strings.Join(value.Map(q.Capabilities, tool.Capability.String), " "))
				return tool.Answer{Yes: true}
			}}
			r := netRig(t, &sent, who, func(o *host.Options) { o.Rules = rules(t, tt.rules...) })
			r.script("to: str", "net.key()\nnet.login(to)\nnet.login('b.example')", "needs = ['http', 'secret:KEY@*.example']")
			if _, err := r.Call(context.Background(), tool.Call{Tool: "t", Args: value.NewDict("to", "a.example"), Caller: tt.by}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.asked, asked); diff != "" || len(sent) != 2 {
				t.Errorf("asked (-want +got):\n%s\nsent %q", diff, sent)
			}
		})
	}
}

// TestRulesOfAnotherTool checks that a rule is for the tool which needed it: not for one that calls
// it, nor for one that it calls.
func TestRulesOfAnotherTool(t *testing.T) {
	t.Parallel()
	var sent []string
	who := &ruler{answer: byRules}
	r := netRig(t, &sent, who, nil)
	r.add("inner.star", star("inner", "to: str", "net.send(to)", "needs = ['http']"), nil)
	r.script("to: str", "tools.inner(to = to)\nif to == 'c.example':\n    net.send(to)", "needs = ['http', 'tool:inner']")
	if err := r.callTo("a.example"); err != nil {
		t.Fatal(err)
	}
	want := []string{"t call: each effect", "inner call: each effect", `inner net.send: {tool: inner, capability: "http.post:a.example"}`}
	if diff := cmp.Diff(want, who.taken()); diff != "" {
		t.Fatalf("asked (-want +got):\n%s", diff)
	}
	if err := r.callTo("c.example"); err != nil {
		t.Fatal(err)
	}
	want = []string{"t call: each effect", `inner net.send: {tool: inner, capability: "http.post:c.example"}`, `t net.send: {tool: t, capability: "http.post:c.example"}`}
	if diff := cmp.Diff(want, who.taken()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestNoRule checks that a question which no rule answers says why, and that such an answer is
// refused.
func TestNoRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, fields string
		rules              []string
		asked              string
	}{
		{"a rule asks for the effect", "net.send(to)", "needs = ['http']", []string{"ask http.post:a.example", "allow http for t"}, "t net.send: a rule asks each time: ask http.post:a.example (my config)"},
		{"a rule asks for the call", "net.send(to)", "needs = ['http']", []string{"ask tool:t"}, "t call: a rule asks each time: ask tool:t (my config)"},
		{"a rule asks for the need", "net.send(to)", "needs = ['http.post:a.example']", []string{"ask http"}, "t net.send: a rule asks each time: ask http (my config)"},
		{"a rule asks for one of two needs", "net.send(to)", "needs = ['http.post:a.example', 'shell:ls']", []string{"ask http"}, "t call: a rule asks each time: ask http (my config)"},
		{"a rule asks for a file", "fs.write('x', 'x')", "needs = ['fs.write']", []string{"ask fs.write:x"}, "t fs.write: a rule asks each time: ask fs.write:x (my config)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent []string
			who := &ruler{answer: func(q *tool.Question) tool.Answer {
				return tool.Answer{Yes: true, Rules: []tool.Rule{{Tool: "t", Capability: tool.Capability{Name: "http"}}}}
			}}
			r := netRig(t, &sent, who, func(o *host.Options) { o.Rules = rules(t, tt.rules...) })
			r.script("to: str", tt.body, tt.fields)
			err := r.callTo("a.example")
			if err == nil || !strings.Contains(err.Error(), `the rule {tool: t, capability: "http"} does not answer the question`) || len(sent) > 0 {
				t.Errorf("error = %v, sent %v", err, sent)
			}
			if asked := who.taken(); len(asked) == 0 || asked[0] != tt.asked {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
		})
	}
}

// TestDenyOverridesAnswers checks that a rule of the user which denies or asks decides over the
// rules of answers.
func TestDenyOverridesAnswers(t *testing.T) {
	t.Parallel()
	var sent []string
	who := &ruler{answer: byRules}
	var mu sync.Mutex
	now := &toolset.Settings{}
	r := netRig(t, &sent, who, func(o *host.Options) {
		o.Settings = func() *toolset.Settings { mu.Lock(); defer mu.Unlock(); return now }
	})
	r.script("to: str", "net.send(to)", "needs = ['http']")
	if err := r.callTo("a.example"); err != nil {
		t.Fatal(err)
	}
	who.taken()
	mu.Lock()
	now = &toolset.Settings{Rules: rules(t, "deny http.post:a.example")}
	mu.Unlock()
	if err := r.callTo("a.example"); value.KindOf(err) != value.Denied || err == nil || len(sent) != 1 {
		t.Errorf("with a rule that denies: %v, sent %v", err, sent)
	}
	mu.Lock()
	now = &toolset.Settings{Rules: rules(t, "ask http.post:a.example")}
	mu.Unlock()
	who.taken()
	if err := r.callTo("a.example"); err != nil {
		t.Error(err)
	}
	if asked := who.taken(); len(asked) != 1 || !strings.Contains(asked[0], "a rule asks each time") {
		t.Errorf("with a rule that asks: asked %q", asked)
	}
}

// TestRulesInFlight adds a rule while a call runs: its next effect is not asked about.
func TestRulesInFlight(t *testing.T) {
	t.Parallel()
	var sent []string
	var mu sync.Mutex
	model := tool.Rule{Verdict: tool.Allow, Capability: tool.Capability{Name: "model"}}
	now := &toolset.Settings{Rules: []tool.Rule{model}}
	who := &ruler{}
	who.answer = func(q *tool.Question) tool.Answer {
		if q.Each {
			return tool.Answer{Yes: true, Each: true}
		}
		mu.Lock()
		defer mu.Unlock()
		now = &toolset.Settings{Rules: append(rules(t, "allow http.post:c.example for t"), model)} // another process adds it
		return tool.Answer{Yes: true}
	}
	r := netRig(t, &sent, who, func(o *host.Options) {
		o.Settings = func() *toolset.Settings {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	r.script("to: str", "net.send(to)\nnet.send('c.example')\nnet.send('d.example')", "needs = ['http']")
	if err := r.callTo("a.example"); err != nil {
		t.Fatal(err)
	}
	want := []string{"t call: each effect", `t net.send: {tool: t, capability: "http.post:a.example"}`, `t net.send: {tool: t, capability: "http.post:d.example"}`}
	if diff := cmp.Diff(want, who.taken()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// TestAnswersWithRulesLater parks a call at each of its questions, and answers from another host by
// the rules of the recorded question. The rules hold in the host that resumes.
func TestAnswersWithRulesLater(t *testing.T) {
	t.Parallel()
	var sent []string
	ctx, store := context.Background(), journal.Memory()
	open := func() *rig {
		r := newQuestionRig(t, store, func(o *host.Options) {
			o.Modules = append(o.Modules, net(&sent))
			o.Sandbox = inline(o.Modules)
		})
		r.script("to: str", "net.send(to)\nnet.send(to)\nreturn to", "needs = ['http']")
		return r
	}
	r := open()
	if _, err := r.Call(ctx, tool.Call{Tool: "t", Args: value.NewDict("to", "a.example"), Caller: tool.ByModel}, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	for _, want := range []string{"call", "net.send"} {
		r.Close()
		r = open()
		list := r.waiting()
		if len(list) != 1 || (list[0].Func == "") != (want == "call") {
			t.Fatalf("waiting are %+v, want %s", list, want)
		}
		if err := r.Answer(ctx, list[0].ID, tool.Answer{Yes: true, Rules: []tool.Rule{{Tool: "t", Capability: tool.Capability{Name: "http"}}}}); value.KindOf(err) != value.Invalid || err == nil {
			t.Errorf("a wider rule was accepted: %v", err)
		}
		if err := r.Answer(ctx, list[0].ID, byRules(&list[0])); err != nil {
			t.Fatal(err)
		}
		_, err := r.Resume(ctx, "r")
		if parks := value.KindOf(err) == value.Parked && err != nil; parks != (want == "call") || !parks && err != nil {
			t.Fatalf("resumed after the answer to %s: %v", want, err)
		}
	}
	if len(sent) != 2 {
		t.Errorf("sent %v, want twice", sent)
	}
	if err := r.callTo("a.example"); err != nil {
		t.Errorf("the rule does not hold in the host that resumed: %v", err)
	}
	if err := r.callTo("b.example"); err == nil {
		t.Error("the rule holds for another host")
	}
}

// TestApprovedBeforeTheRule approves a parked call, and adds a rule for a part of it before it is resumed:
// the answer holds for all of the call. Without an answer, only the other part asks.
func TestApprovedBeforeTheRule(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{true, false} {
		var sent []string
		ctx, store := context.Background(), journal.Memory()
		open := func(change func(*host.Options)) *rig {
			r := newQuestionRig(t, store, func(o *host.Options) {
				o.Modules = append(o.Modules, net(&sent))
				o.Sandbox = inline(o.Modules)
				if change != nil {
					change(o)
				}
			})
			r.script("to: str", "net.send('a.example')\nnet.send(to)", "needs = ['http']")
			return r
		}
		r := open(nil)
		if _, err := r.Call(ctx, tool.Call{Tool: "t", Args: value.NewDict("to", "b.example"), Caller: tool.ByModel}, host.Durable("r")); value.KindOf(err) != value.Parked {
			t.Fatalf("the call gave %v, want that it waits", err)
		}
		if answered {
			if err := r.Answer(ctx, r.waiting()[0].ID, tool.Answer{Yes: true}); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		r = open(func(o *host.Options) { o.Rules = rules(t, "allow http.post:a.example for t") })
		_, err := r.Resume(ctx, "r")
		if parks := err != nil && value.KindOf(err) == value.Parked; parks == answered || !parks && err != nil {
			t.Fatalf("answered %v: resumed with %v", answered, err)
		}
		want := []string{"a.example", "b.example"}
		if !answered {
			want = want[:1]
			list := r.waiting() // the question about the call can still be answered, too
			if len(list) != 2 || list[1].Func != "net.send" || list[1].Args.Text("to") != "b.example" || list[1].Why != "the call began without an approval, and no rule allows this" {
				t.Errorf("waiting are %+v", list)
			}
		}
		if !slices.Equal(sent, want) {
			t.Errorf("answered %v: sent %v, want %v", answered, sent, want)
		}
	}
}
