package tool

import (
	"strings"
	"testing"
)

// TestParseAllowedLines checks that a rule which allows can name one command line, and nothing else can.
func TestParseAllowedLines(t *testing.T) {
	for text, valid := range map[string]bool{
		"shell:$ npm test": true, "shell:$ sh -c 'echo a; echo *'": true, "shell:git": true, "fs.write:a": true,
		"shell:$ ": false, "shell:$  npm": false, "shell:$ npm ": false, "shell:$ a\nb": false, "shell:$ a\u202eb": false, "shell:npm test": false,
		"shell:$ " + strings.Repeat("a", 257): false, "env:$ a": false, "": false,
	} {
		c, err := Allow.ParseCapability(text)
		if (err == nil) != valid || valid && c.String() != text {
			t.Errorf("ParseCapability(%q) = %q, %v, want valid %v", text, c, err, valid)
		}
		if _, err := ParseCapability(text); strings.Contains(text, "$ ") && err == nil {
			t.Errorf("a tool can declare %q", text)
		}
		if _, err := Deny.ParseCapability(text); strings.Contains(text, "$ ") && err == nil {
			t.Errorf("a rule that denies has the capability %q, which covers no effect", text)
		}
	}
	line := Capability{"shell", "$ npm test"}
	for _, other := range []Capability{{"shell", "npm"}, {"shell", "sh"}, {"shell", ""}, {"shell", "$ npm test2"}, {"shell", "$ npm"}, {"env", "$ npm test"}} {
		if line.Allows(other) {
			t.Errorf("%s allows %s", line, other)
		}
	}
	if !line.Allows(line) || !(Capability{"shell", ""}).Allows(line) || (Capability{"shell", "npm"}).Allows(line) || (Capability{"shell", "sh"}).Allows(line) {
		t.Errorf("%s is allowed by something else than itself and every command", line)
	}
}
