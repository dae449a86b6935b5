package cassidy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestRulesCoverWhatTheirPathsLeadTo checks that a rule covers a file by each of its names:
// the links that lead to it, and the folders that it is in.
func TestRulesCoverWhatTheirPathsLeadTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, do string
		refused  bool
	}{
		{"fs.read:lnk/**", `fs.read("lnk/k")`, true},
		{"fs.read:lnk/**", `fs.read("priv/k")`, true},
		{"fs.read:lnk", `fs.read("priv/k")`, true},
		{"fs.read:lnk/*", `fs.read("priv/k")`, true},
		{"fs.read:priv/**", `fs.read("lnk/k")`, true},
		{"fs.read:priv/**", `fs.read("two/k")`, true},
		{"fs.read:lnk/**", `fs.read("two/k")`, true},
		{"fs.read:two/**", `fs.read("lnk/k")`, true},
		{"fs.read:abs/**", `fs.read("priv/k")`, true},
		{"fs.read:l*/k", `fs.read("priv/k")`, true},
		{"fs.read:**/secret.env", `fs.read("conf/prod")`, true},
		{"fs.read:**/secret.env", `fs.read("conf/test")`, false},
		{"fs.read:priv", `fs.read("priv/k")`, true},
		{"fs.read:pri?", `fs.read("priv/deep/k")`, true},
		{"fs.read:**/deep", `fs.read("priv/deep/k")`, true},
		{"fs.read:priv/*", `fs.read("priv/k")`, true},
		{"fs.read:priv/*", `fs.read("priv/deep/k")`, false},
		{"fs.read:*", `fs.read("priv/k")`, false},
		{"fs.read:lnk/**", `fs.read("open/k")`, false},
		{"fs.read:lnk/**", `fs.move("priv", "open/moved")`, true},
		{"fs.read:lnk/**", `fs.search("x", path = "priv")["matches"][0]`, true},
		{"fs.write:lnk", `fs.write("priv/k", "y")`, true},
		{"fs.write:lnk/new", `fs.write("priv/new", "y")`, true},
		{"fs.write:lnk/new", `fs.write("priv/NEW", "y")`, true},
		{"fs.write:lnk/new", `fs.write("priv/other", "y")`, false},
		{"fs.write:priv", `fs.write("two/new", "y")`, true},
		{"fs.write:two/deep", `fs.remove("priv", recursive = True)`, true},
	} {
		for _, verdict := range []cassidy.Verdict{cassidy.Deny, cassidy.Ask} {
			capability, err := tool.ParseCapability(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			rules := []cassidy.Rule{{Verdict: verdict, Capability: capability}, {Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "fs.write"}}}
			dir := t.TempDir()
			host := seamHostIn(t, dir, cassidy.Options{Rules: rules}, `"fs.read", "fs.write"`, "return "+tt.do)
			for name, text := range map[string]string{"priv/k": "x", "priv/deep/k": "x", "open/k": "x", "conf/prod": "x", "conf/test": "x"} {
				putFile(t, filepath.Join(dir, name), text)
			}
			for name, to := range map[string]string{"lnk": "priv", "two": "lnk", "abs": filepath.Join(dir, "priv"), "sub/secret.env": "../conf/prod"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			_, err = callSeam(t, host)
			if (err != nil) != tt.refused || err != nil && !strings.HasPrefix(tt.do, "fs.search") && !errors.Is(err, cassidy.ErrDenied) {
				t.Errorf("with %s %s, %s: %v, want it refused: %v", verdict, tt.rule, tt.do, err, tt.refused)
			}
		}
	}
}

// TestAllowRulesCoverOnlyTheirNames checks that nothing is allowed by another name, or in a
// folder that the rule names.
func TestAllowRulesCoverOnlyTheirNames(t *testing.T) {
	t.Parallel()
	for rule, do := range map[string]string{"fs.write:lnk/**": `fs.write("priv/k", "y")`, "fs.write:priv": `fs.write("priv/k", "y")`} {
		capability, err := tool.ParseCapability(rule)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		host := seamHostIn(t, dir, cassidy.Options{Rules: []cassidy.Rule{{Verdict: cassidy.Allow, Capability: capability}}}, `"fs.write"`, "return "+do)
		putFile(t, filepath.Join(dir, "priv/k"), "x")
		if err := os.Symlink("priv", filepath.Join(dir, "lnk")); err != nil {
			t.Fatal(err)
		}
		if _, err := callSeam(t, host); !errors.Is(err, cassidy.ErrDenied) {
			t.Errorf("with allow %s and nobody who approves, %s: %v, want it refused", rule, do, err)
		}
	}
}
