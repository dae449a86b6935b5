package rights

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A held is what a tool needs or was granted, and which of the wanted capabilities that
// covers.
type held struct {
	list []tool.Capability
	file bool // covers fs.read:a.txt
	call bool // covers tool:my-helper
}

var (
	nothing = held{}
	other   = held{list: caps("fs.read:b.txt", "fs.write:a.txt", "tool:other", "tool:@other")}
	exact   = held{caps("fs.read:a.txt", "tool:my_helper"), true, true}
	wide    = held{caps("fs.read:*.txt", "tool:@helpers"), true, true}
	all     = held{caps("fs.read", "tool"), true, true}
)

func caps(texts ...string) (list []tool.Capability) {
	for _, text := range texts {
		c, err := tool.ParseCapability(text)
		if err != nil {
			panic(err)
		}
		list = append(list, c)
	}
	return list
}

func (h held) covers(c tool.Capability) bool {
	return c.Name == "tool" && h.call || c.Name == "fs.read" && h.file
}

// A level is one call in a chain of calls.
type level struct {
	kind    string // script, go, program or declared: a program that declares what its calls need
	needs   held
	granted held
}

var kinds = []string{"script", "go", "program", "declared"}

// levels returns every level of some sets.
func levels(sets ...held) (list []level) {
	for _, kind := range kinds {
		for _, needs := range sets {
			for _, granted := range sets {
				list = append(list, level{kind, needs, granted})
			}
		}
	}
	return list
}

// names are those of the tools in a chain, from the one that is called.
var names = []string{"self", "above", "top"}

type groups map[string]string

func (g groups) Group(name string) (string, bool) {
	group, ok := g[tool.Key(name)]
	return group, ok
}

// rightsOf returns the rights of a call, by its chain from itself to the root.
func rightsOf(chain []level, rules []tool.Rule) *Rights {
	p := &Policy{Rules: rules, Tools: groups{"my_helper": "helpers", "self": "x"}}
	var above *Rights
	for i := len(chain) - 1; i >= 0; i-- {
		l := chain[i]
		r := &Rights{
			Policy: p, Of: &tool.Tool{Name: names[i], Needs: l.needs.list}, Granted: l.granted.list,
			Location: tool.Project, Program: l.kind == "program", Above: above,
		}
		if l.kind == "declared" {
			r.Program, r.Most = true, append([]tool.Capability{}, l.needs.list...)
		}
		if l.kind == "go" {
			r.Location = tool.Embedded
		}
		above = r
	}
	return above
}

// mayBe is the oracle: each of what limits a call, in a sentence of its own.
func mayBe(chain []level, rule *tool.Rule, c tool.Capability, own bool) bool {
	declared := own || chain[0].needs.covers(c)
	granted := own || chain[0].granted.covers(c)
	callers, rules := true, true
	for i, l := range chain {
		if i > 0 && l.kind == "script" && !(l.needs.covers(c) && l.granted.covers(c)) {
			callers = false // a tool in Go and another program bound nothing that they have done
		}
		if i > 0 && l.kind == "declared" && !l.needs.covers(c) {
			callers = false
		}
		about := rule != nil && (rule.Tool == "" || rule.Tool == names[i]) && (i == 0 || l.kind != "program" && l.kind != "declared")
		if about && rule.Verdict == tool.Deny && c.Name != "tool" { // who may call what is judged at the call
			rules = false
		}
	}
	return declared && granted && callers && rules
}

// TestWhatACallMay goes through every combination of what a call and its callers need,
// were granted and are, and of a rule: a call may do what it declares, and was granted,
// and each of its callers may, and no rule denies.
func TestWhatACallMay(t *testing.T) {
	testutil.SkipShort(t)
	wanted := caps("fs.read:a.txt", "tool:my-helper")
	rules := []*tool.Rule{nil}
	for _, about := range append([]string{""}, names...) {
		for _, v := range []tool.Verdict{tool.Allow, tool.Ask, tool.Deny} {
			for _, c := range caps("fs.read", "tool") {
				rules = append(rules, &tool.Rule{Verdict: v, Tool: about, Capability: c})
			}
		}
	}
	var chains [][]level
	for _, self := range levels(nothing, other, exact, wide, all) {
		chains = append(chains, []level{self})
		for _, above := range levels(nothing, wide, all) {
			chains = append(chains, []level{self, above})
		}
	}
	for _, self := range levels(other, exact) {
		for _, above := range levels(other, exact) {
			for _, top := range levels(nothing, exact) {
				chains = append(chains, []level{self, above, top})
			}
		}
	}
	checked, allowed := 0, 0
	for _, chain := range chains {
		for _, rule := range rules {
			var list []tool.Rule
			if rule != nil {
				list = []tool.Rule{*rule}
			}
			r := rightsOf(chain, list)
			for _, c := range wanted {
				for _, own := range []bool{false, true} {
					relevant := rule
					if rule != nil && rule.Capability.Name != c.Name {
						relevant = nil
					}
					err := r.Refusal([]tool.Capability{c}, own)
					want := mayBe(chain, relevant, c, own)
					if (err == nil) != want || err != nil && value.KindOf(err) != value.Denied {
						t.Fatalf("%s (own: %v) of %v with the rule %v: %v, want allowed: %v", c, own, chain, rule, err, want)
					}
					if checked++; err == nil {
						allowed++
					}
				}
			}
		}
	}
	if allowed == 0 || allowed == checked {
		t.Errorf("%d of %d are allowed: the cases distinguish nothing", allowed, checked)
	}
}

// TestNoCallerWidens checks that a call which another one makes may do nothing that it
// could not do by itself, and that a rule about any of them holds for it.
func TestNoCallerWidens(t *testing.T) {
	c := caps("fs.read:a.txt")
	for _, self := range levels(nothing, other, exact) {
		alone := rightsOf([]level{self}, nil).Refusal(c, false)
		for _, above := range levels(nothing, other, exact, all) {
			chain := []level{self, above}
			if err := rightsOf(chain, nil).Refusal(c, false); alone != nil && err == nil {
				t.Errorf("%v may do what it may not alone (%v)", chain, alone)
			}
			for _, v := range []tool.Verdict{tool.Allow, tool.Ask, tool.Deny} {
				got, _ := rightsOf(chain, []tool.Rule{{Verdict: v, Tool: "above", Capability: c[0]}}).Judge(c[0])
				want := v
				if v == tool.Allow || above.kind == "program" || above.kind == "declared" { // what a caller is allowed, it is not for others
					want = tool.Unruled
				}
				if got != want {
					t.Errorf("%v with a rule about its caller: %v, want %v", chain, got, want)
				}
			}
		}
	}
}

// TestJudgeCall checks which rules are about a call of a tool, by who makes it.
func TestJudgeCall(t *testing.T) {
	for _, tt := range []struct {
		chain      []level
		rule, want string
	}{
		{[]level{{kind: "script"}}, "", "unruled"},
		{[]level{{kind: "script"}}, "tool:self", "deny"},
		{[]level{{kind: "script"}}, "tool", "deny"},
		{[]level{{kind: "script"}}, "tool:other", "unruled"},
		{[]level{{kind: "script"}}, "above tool:self", "unruled"},
		{[]level{{kind: "script"}, {kind: "script"}}, "above tool:self", "deny"},
		{[]level{{kind: "script"}, {kind: "go"}}, "above tool:self", "deny"},
		{[]level{{kind: "script"}, {kind: "program"}}, "above tool:self", "unruled"},
		{[]level{{kind: "script"}, {kind: "program"}, {kind: "script"}}, "top tool:self", "deny"},
		{[]level{{kind: "script"}, {kind: "script"}, {kind: "script"}}, "top tool:self", "deny"},
		{[]level{{kind: "script"}, {kind: "script"}}, "self tool:self", "unruled"},
	} {
		var rules []tool.Rule
		if tt.rule != "" {
			about, c, ok := strings.Cut(tt.rule, " ")
			if !ok {
				about, c = "", tt.rule
			}
			rules = []tool.Rule{{Verdict: tool.Deny, Tool: about, Capability: caps(c)[0]}}
		}
		want := tool.Unruled
		if tt.want == "deny" {
			want = tool.Deny
		}
		if got, _ := rightsOf(tt.chain, rules).JudgeCall(); got != want {
			t.Errorf("%v with the rule %q: %v, want %v", tt.chain, tt.rule, got, want)
		}
	}
}

// TestRefusals checks that an error names the tool that may not, and what to do.
func TestRefusals(t *testing.T) {
	c := caps("fs.read:a.txt")
	for _, tt := range []struct {
		chain      []level
		text, hint string
	}{
		{[]level{{"script", nothing, nothing}}, "the tool 'self' does not declare that it needs fs.read:a.txt", `add "fs.read:a.txt" to the needs of the tool`},
		{[]level{{"script", other, exact}}, "the tool 'self' does not declare that it needs fs.read:a.txt", `use only the declared capabilities: fs.read:b.txt; or add "fs.read:a.txt" to the needs of the tool`},
		{[]level{{"script", exact, nothing}}, "the tool 'self' was not granted fs.read:a.txt", "cassidy trust"},
		{[]level{{"go", exact, nothing}}, "the tool 'self' was not granted fs.read:a.txt", "review the tool again to grant the capability"},
		{[]level{{"program", nothing, nothing}}, "the self may not use fs.read:a.txt itself", "call a tool that has this capability"},
		{[]level{{"script", exact, exact}, {"script", nothing, nothing}}, "the tool 'above' (which called 'self') does not declare that it needs fs.read:a.txt", ""},
		{[]level{{"script", exact, exact}, {"script", exact, nothing}}, "the tool 'above' (which called 'self') was not granted fs.read:a.txt", ""},
	} {
		e := value.ErrorOf(rightsOf(tt.chain, nil).Refusal(c, false), value.Internal)
		if e == nil || e.Message() != tt.text || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%v: %v (hint %q), want %s (hint %q)", tt.chain, e, e.Hint, tt.text, tt.hint)
		}
	}
}

// TestRefusedSecret checks that the hint for a secret is a capability that an author can complete: its
// server is not known yet.
func TestRefusedSecret(t *testing.T) {
	secret := []tool.Capability{{Name: "secret", Target: "TOKEN@"}}
	e := value.ErrorOf(rightsOf([]level{{"script", nothing, nothing}}, nil).Refusal(secret, false), value.Internal)
	if e == nil || !strings.Contains(e.Hint, `add "secret:TOKEN@HOST" to the needs of the tool`) {
		t.Errorf("%v, hint %q", e, e.Hint)
	}
}

// TestNeeds checks what a call is asked about: what acts, without what a rule denies
// completely or allows.
func TestNeeds(t *testing.T) {
	needs := caps("fs.read", "fs.write:out/**", "shell:git")
	for _, tt := range []struct {
		verdict             tool.Verdict
		capability, may, by string
		open                string
	}{
		{tool.Ask, "fs.write", "fs.read, fs.write:out/**, shell:git", "", "fs.write:out/**, shell:git"},
		{tool.Deny, "fs.write", "fs.read, shell:git", "", "shell:git"},
		{tool.Deny, "fs.write:out/**", "fs.read, shell:git", "", "shell:git"},
		{tool.Deny, "fs.write:out/a", "fs.read, fs.write:out/**, shell:git", "", "fs.write:out/**, shell:git"},
		{tool.Allow, "fs.write", "fs.read, fs.write:out/**, shell:git", "fs.write", "shell:git"},
		{tool.Allow, "fs.write:out/a", "fs.read, fs.write:out/**, shell:git", "", "fs.write:out/**, shell:git"},
		{tool.Allow, "shell:git", "fs.read, fs.write:out/**, shell:git", "shell:git", "fs.write:out/**"},
	} {
		rules := []tool.Rule{{Verdict: tt.verdict, Capability: caps(tt.capability)[0]}}
		r := &Rights{Policy: &Policy{Rules: rules}, Of: &tool.Tool{Name: "t", Needs: needs}}
		may, open, by := r.Needs()
		rule := ""
		if by != nil {
			rule = by.Capability.String()
		}
		if List(may) != tt.may || List(open) != tt.open || rule != tt.by {
			t.Errorf("%v %s: may %s, open %s, by %q; want %s, %s, %q", tt.verdict, tt.capability, List(may), List(open), rule, tt.may, tt.open, tt.by)
		}
	}
}

// TestASecretAlone checks that a secret needs no approval if every request that could send it is refused.
func TestASecretAlone(t *testing.T) {
	t.Parallel()
	secret := tool.Capability{Name: "secret", Target: "KEY@api.example.com"}
	for _, tt := range []struct {
		needs []string
		deny  string
		open  int
	}{
		{[]string{"http.post"}, "http.post", 0},
		{[]string{"http.post:api.example.com"}, "http.post", 0},
		{[]string{"http.post", "http.put"}, "http", 0},
		{[]string{"http"}, "http", 0},
		{[]string{"http.post", "http.put"}, "http.post", 2}, // the other one can send it
		{[]string{"http.post"}, "http.post:other.example.com", 2},
		{[]string{"http.post"}, "fs.write", 2},
		{[]string{"http.post", "shell:git"}, "http.post", 1},
	} {
		needs := []tool.Capability{secret}
		for _, text := range tt.needs {
			c, err := tool.ParseCapability(text)
			if err != nil {
				t.Fatal(err)
			}
			needs = append(needs, c)
		}
		denied, err := tool.ParseCapability(tt.deny)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPolicy([]tool.Rule{{Verdict: tool.Deny, Capability: denied}}, nil, nil, nil)
		r := Rights{Policy: &p, Of: &tool.Tool{Name: "t", Needs: needs}, Granted: needs}
		if _, open, _ := r.Needs(); len(open) != tt.open {
			t.Errorf("with the needs %v, and deny %s, %v ask, want %d", needs, tt.deny, open, tt.open)
		}
	}
}
