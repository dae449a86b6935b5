package rights

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// newRights returns the rights of a call of a tool that needs everything.
func newRights(name string, rules ...tool.Rule) *Rights {
	t := &tool.Tool{Name: name}
	for _, c := range tool.CapabilityNames() {
		t.Needs = append(t.Needs, tool.Capability{Name: c})
	}
	return &Rights{Policy: &Policy{Rules: rules, Tools: groups{}}, Of: t, Granted: t.Needs}
}

// drawTarget draws the target of a concrete capability, as an effect names it.
func drawTarget(t *rapid.T, name string) string {
	draw := func(letters string) string {
		return rapid.StringOfN(rapid.SampledFrom([]rune(letters)), 1, 12, -1).Draw(t, "target")
	}
	switch {
	case strings.HasPrefix(name, "fs."), name == "use":
		at := path.Clean(draw("aAb./*?[]{},\\!^- '\"\n\tä\u202e\u200b:~"))
		if at = strings.TrimLeft(at, "/"); at == "" || at == ".." || strings.HasPrefix(at, "../") {
			at = "a"
		}
		return at
	case strings.HasPrefix(name, "http."):
		return rapid.SampledFrom([]string{"", "api.", "a-b."}).Draw(t, "sub") + draw("ab0") + rapid.SampledFrom([]string{".example", "", ".example:8080", ":1"}).Draw(t, "end")
	}
	return draw("aAb*_-.\n ")
}

// neighbours returns capabilities that differ a little from one.
func neighbours(c tool.Capability) (list []tool.Capability) {
	add := func(name, target string) { list = append(list, tool.Capability{Name: name, Target: target}) }
	at := c.Target
	for _, target := range []string{at + "a", "a" + at, at + "/a", at + "/../a", "../" + at, "a/" + at, path.Dir(at), strings.ToUpper(at), strings.ToLower(at), "", at + ":8080", "a." + at, "*", "**",
		strings.ReplaceAll(at, "*", "a"), strings.ReplaceAll(at, "?", "a"), strings.ReplaceAll(at, "[", "a"), strings.NewReplacer("[", "", "]", "").Replace(at), strings.ReplaceAll(at, ".example", ".exemple"), strings.TrimSuffix(at, ":8080")} {
		add(c.Name, target)
	}
	for i := range at {
		add(c.Name, at[:i]+at[i+1:])
		add(c.Name, at[:i]+"b"+at[i+1:])
	}
	for _, name := range tool.CapabilityNames() {
		add(name, at)
	}
	return list
}

// TestOffersAreExact checks that the rules of an offer allow what was asked about, by the same tool, and
// nothing else, whatever the target is; and that a target which no rule can name has no rule.
func TestOffersAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"fs.write", "http.post", "http.get", "env", "use", "shell"}).Draw(t, "name")
		c := tool.Capability{Name: name, Target: drawTarget(t, name)}
		offer := OfferUse(newRights("t"), []tool.Capability{c}, tool.Capability{}, false)
		if (offer.Not == "") != (len(offer.Rules) == 1) || offer.Each {
			t.Fatalf("%q: offer %+v", c, offer)
		}
		if len(offer.Rules) == 0 {
			return
		}
		for _, rule := range offer.Rules { // as a config stores it
			read, err := tool.Allow.ParseCapability(rule.Capability.String())
			if err != nil || read != rule.Capability || rule.Tool != "t" || rule.Verdict != tool.Allow || strings.ContainsAny(rule.String(), "\n\t") {
				t.Fatalf("%q: the rule %s is read as %v, %v", c, rule.String(), read, err)
			}
		}
		with := newRights("t", offer.Rules...)
		if verdict, _ := with.Judge(c); verdict != tool.Allow {
			t.Fatalf("%q: %s by its own rule %v", c, verdict, offer.Rules)
		}
		if verdict, _ := newRights("u", offer.Rules...).Judge(c); verdict != tool.Unruled {
			t.Fatalf("%q: the rule %v is for another tool too", c, offer.Rules)
		}
		for _, other := range neighbours(c) {
			if verdict, _ := with.Judge(other); other != c && verdict != tool.Unruled {
				t.Fatalf("%q: the rule %v also allows %q", c, offer.Rules, other)
			}
		}
	})
}

// TestOffersSayWhy checks which questions have no rule, and why.
func TestOffersSayWhy(t *testing.T) {
	allow := tool.Rule{Verdict: tool.Allow, Capability: tool.Capability{Name: "http.get", Target: "a.example"}}
	ask := tool.Rule{Verdict: tool.Ask, Capability: tool.Capability{Name: "fs.write", Target: "a"}, Source: "mine"}
	caller := newRights("outer")
	for _, tt := range []struct {
		rights *Rights
		takes  []tool.Capability
		first  bool
		want   string // the rules, or why there are none
	}{
		{newRights("t"), []tool.Capability{{Name: "shell", Target: "ls"}, {Name: "shell", Target: "sh"}}, false, "a rule for shell:sh would allow every command line"},
		{newRights("t"), []tool.Capability{{Name: "fs.write", Target: "a\nb"}}, false, "no rule can name exactly fs.write:a\nb"},
		{newRights("t"), []tool.Capability{{Name: "http.get", Target: "A.example"}}, false, "no rule can name exactly http.get:A.example"},
		{newRights("t", ask), []tool.Capability{{Name: "fs.write", Target: "b"}, {Name: "fs.write", Target: "a"}}, false, "a rule asks each time: ask fs.write:a (mine)"},
		{newRights("t", allow), []tool.Capability{{Name: "http.get", Target: "a.example"}, {Name: "http.get", Target: "b.example"}}, false, `{tool: t, capability: "http.get:b.example"}`},
		{&Rights{Policy: &Policy{}, Of: &tool.Tool{Name: "p"}, Program: true}, []tool.Capability{{Name: "fs.write", Target: "a"}}, false, "a rule names a tool, and this is a program"},
		{&Rights{Policy: caller.Policy, Of: &tool.Tool{Name: "t", Risky: true, Needs: caller.Of.Needs}, Above: caller}, []tool.Capability{{Name: "fs.write", Target: "a"}}, true,
			`{tool: outer, capability: "tool:t"} {tool: t, capability: "fs.write:a"}`},
	} {
		offer := OfferUse(tt.rights, tt.takes, tool.Capability{}, tt.first)
		got := offer.Not
		for i := range offer.Rules {
			got += " " + offer.Rules[i].String()
		}
		if got = strings.TrimPrefix(got, " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.takes, got, tt.want)
		}
	}
}

// TestOffersOfCommandLines checks that a rule for a command line takes the place of those for its
// program and for every command line, and lets calls of the tool begin.
func TestOffersOfCommandLines(t *testing.T) {
	line := tool.Capability{Name: "shell", Target: "$ npm test"}
	takes := []tool.Capability{{Name: "shell", Target: "npm"}, {Name: "shell", Target: "sh"}, {Name: "fs.write", Target: "."}}
	offer := OfferUse(newRights("t"), takes, line, false)
	want := `{tool: t, capability: "fs.write:."}, {tool: t, capability: "shell:$ npm test"}`
	if got := Texts(offer.Rules); got != want || offer.Not != "" {
		t.Errorf("offer = %s %q, want %s", got, offer.Not, want)
	}
	if got := Texts(OfferUse(newRights("t"), takes[:1], line, false).Rules); got != `{tool: t, capability: "shell:npm"}` {
		t.Errorf("a command that only reads: %s", got)
	}
	rule := tool.Rule{Verdict: tool.Allow, Tool: "t", Capability: line}
	for _, tt := range []struct {
		needs string
		want  bool
	}{{"shell", true}, {"shell:sh", true}, {"shell:npm", true}, {"shell:npmx", false}, {"shell:np", false}, {"http", false}} {
		if got := Partly(newRights("t", rule), caps(tt.needs)); got != tt.want {
			t.Errorf("a tool that needs %s begins: %v, want %v", tt.needs, got, tt.want)
		}
		if Partly(newRights("u", rule), caps(tt.needs)) {
			t.Errorf("another tool that needs %s begins", tt.needs)
		}
	}
	ask := tool.Rule{Verdict: tool.Ask, Capability: tool.Capability{Name: "shell"}, Source: "mine"}
	if offer := OfferUse(newRights("t", ask), takes, line, false); offer.Not != "a rule asks each time: ask shell (mine)" {
		t.Errorf("with a rule that asks: %+v", offer)
	}
}
