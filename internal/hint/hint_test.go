package hint

import "testing"

func TestFor(t *testing.T) {
	for _, c := range []struct{ hint, people, models string }{
		{"", "", ""},
		{"read the file first", "read the file first", "read the file first"},
		{"run the command in a terminal; in Go, set Options.Approver", "run the command in a terminal", ""},
		{"in Go, set Options.Dir", "in Go, set Options.Dir", ""},
		{"use one of the tools: a, b; to see all: cassidy tool list; in Go, call Host.Tools", "use one of the tools: a, b; to see all: cassidy tool list", "use one of the tools: a, b"},
		{"to allow more: --max-requests N", "to allow more: --max-requests N", ""},
		{"use git log --oneline", "use git log --oneline", "use git log --oneline"},
		{"relative paths begin at /root/shop; pass src/a.txt", "relative paths begin at /root/shop; pass src/a.txt", "pass src/a.txt"},
		{"export SHOP_KEY=…", "export SHOP_KEY=…", ""},
		{"set it in the user's config, as in secrets: {}; check the name", "set it in the user's config, as in secrets: {}; check the name", "check the name"},
		{"change the rule in .cassidy/agents/a.md", "change the rule in .cassidy/agents/a.md", ""},
		{"change permissionMode: plan in a.md; read a file", "change permissionMode: plan in a.md; read a file", "read a file"},
		{"write /homework/a.txt", "write /homework/a.txt", "write /homework/a.txt"},
	} {
		if users := For(c.hint, Users); users != c.people {
			t.Errorf("For(%q) = %q for users, want %q", c.hint, users, c.people)
		}
		if people, models := For(c.hint, People), For(c.hint, Models); people != c.people || models != c.models {
			t.Errorf("For(%q) = %q for people and %q for models, want %q and %q", c.hint, people, models, c.people, c.models)
		}
	}
}

// TestForAuthors leaves out what only the author of a script can do.
func TestForAuthors(t *testing.T) {
	for _, c := range []struct{ hint, people, users, models string }{
		{"set fill to true; in a script, call t.fill(); in Go, set Options.Fill", "set fill to true; in a script, call t.fill()", "set fill to true", "set fill to true"},
		{"in a script, pass a seed", "in a script, pass a seed", "", ""},
		{"in a script, pass it; run cassidy doctor", "in a script, pass it; run cassidy doctor", "run cassidy doctor", ""},
	} {
		if people, users, models := For(c.hint, People), For(c.hint, Users), For(c.hint, Models); people != c.people || users != c.users || models != c.models {
			t.Errorf("For(%q) = %q, %q, %q", c.hint, people, users, models)
		}
	}
}

func TestMessage(t *testing.T) {
	for message, want := range map[string]string{
		"": "", "no such file": "no such file",
		"the tool 'a' is untrusted: the file has changed; run cassidy trust": "the tool 'a' is untrusted: the file has changed",
		"grep: bad option; see --help":                                       "grep: bad option; see --help",
		"run cassidy trust":                                                  "run cassidy trust",
	} {
		if got := Message(message, Models); got != want {
			t.Errorf("Message(%q) = %q, want %q", message, got, want)
		}
		if got := Message(message, People); got != message {
			t.Errorf("Message(%q) for people = %q", message, got)
		}
	}
}
