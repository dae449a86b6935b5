package tool

import "testing"

func TestJudge(t *testing.T) {
	rules := []Rule{
		{Verdict: Allow, Capability: Capability{"fs.write", ""}},
		{Verdict: Ask, Capability: Capability{"fs.write", "src/**"}},
		{Verdict: Deny, Capability: Capability{"fs.write", "src/secret/**"}},
		{Verdict: Deny, Capability: Capability{"fs.read", "docs/*.env"}},
		{Verdict: Allow, Capability: Capability{"fs.read", "notes/*.md"}},
		{Verdict: Deny, Capability: Capability{"fs.read", "home"}},
		{Verdict: Deny, Capability: Capability{"fs.read", "top/*"}},
		{Verdict: Deny, Tool: "my-tool", Capability: Capability{"shell", "git"}},
		{Verdict: Ask, Tool: "@net", Capability: Capability{"http", "*.example.com"}},
	}
	cases := []struct {
		tool       Tool
		capability string
		want       Verdict
	}{
		{Tool{Name: "a"}, "fs.write:out/a", Allow},
		{Tool{Name: "a"}, "fs.write:src/a", Ask},
		{Tool{Name: "a"}, "fs.write:src/secret/a", Deny},
		{Tool{Name: "a"}, "fs.read:src/a", Unruled},
		{Tool{Name: "a"}, "fs.read:docs/x.env", Deny},
		{Tool{Name: "a"}, "fs.read:docs/x.env/y", Deny},
		{Tool{Name: "a"}, "fs.read:home", Deny},
		{Tool{Name: "a"}, "fs.read:home/a/b", Deny},
		{Tool{Name: "a"}, "fs.read:homes/a", Unruled},
		{Tool{Name: "a"}, "fs.read:top/a", Deny},
		{Tool{Name: "a"}, "fs.read:top/a/b", Unruled},
		{Tool{Name: "a"}, "fs.read:notes/a.md/b", Unruled},
		{Tool{Name: "a"}, "fs.read:docs", Unruled},
		{Tool{Name: "a"}, "fs.read:notes", Allow},
		{Tool{Name: "my_tool"}, "shell:git", Deny},
		{Tool{Name: "other"}, "shell:git", Unruled},
		{Tool{Name: "a", Group: "net"}, "http.get:api.example.com", Ask},
		{Tool{Name: "a", Group: "no"}, "http.get:api.example.com", Unruled},
	}
	for _, c := range cases {
		concrete, err := ParseCapability(c.capability)
		if err != nil {
			t.Fatal(err)
		}
		if got, rule := Judge(rules, &c.tool, concrete); got != c.want || (rule == nil) != (got == Unruled) {
			t.Errorf("%s wants %s: %s by %v, want %s", c.tool.Name, c.capability, got, rule, c.want)
		}
	}
}
