package tool

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool/internal/target"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestParseCapability(t *testing.T) {
	tests := []struct {
		in   string
		want Capability
	}{
		{"fs.read", Capability{"fs.read", ""}},
		{"fs.read:docs/**", Capability{"fs.read", "docs/**"}},
		{"fs.read:.", Capability{"fs.read", "."}},
		{"fs.read:a b/é.csv", Capability{"fs.read", "a b/é.csv"}},
		{"fs.write:{out,tmp}/*.{csv,json}", Capability{"fs.write", "{out,tmp}/*.{csv,json}"}},
		{"fs.read:a:b", Capability{"fs.read", "a:b"}},
		{"fs.read:..a/b..", Capability{"fs.read", "..a/b.."}},
		{"http:api.example.com", Capability{"http", "api.example.com"}},
		{"http.get:*.example.com", Capability{"http.get", "*.example.com"}},
		{"http.get:*.example.com:8443", Capability{"http.get", "*.example.com:8443"}},
		{"http:localhost:8080", Capability{"http", "localhost:8080"}},
		{"http:127.0.0.1", Capability{"http", "127.0.0.1"}},
		{"http:[::1]:8080", Capability{"http", "[::1]:8080"}},
		{"http:[::1]", Capability{"http", "[::1]"}},
		{"http.delete", Capability{"http.delete", ""}},
		{"shell:git", Capability{"shell", "git"}},
		{"shell:sh", Capability{"shell", "sh"}},
		{"env:HOME", Capability{"env", "HOME"}},
		{"secret:TOKEN@api.example.com", Capability{"secret", "TOKEN@api.example.com"}},
		{"secret:TOKEN@*.example.com:8443", Capability{"secret", "TOKEN@*.example.com:8443"}},
		{"tool:read_file", Capability{"tool", "read_file"}},
		{"tool:@files", Capability{"tool", "@files"}},
		{"model", Capability{"model", ""}},
		{"human", Capability{"human", ""}},
		{"skill.create", Capability{"skill.create", ""}},
		{"context.read", Capability{"context.read", ""}},
	}
	for _, tt := range tests {
		got, err := ParseCapability(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseCapability(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
		}
		if got.String() != tt.in {
			t.Errorf("ParseCapability(%q).String() = %q, want the same", tt.in, got)
		}
	}
}

func TestParseCapabilityRefuses(t *testing.T) {
	tests := []struct{ in, want, hint string }{
		{"", `unknown capability ""`, "use one of the capabilities: fs.read, "},
		{"fs.reed", `unknown capability "fs.reed"; did you mean "fs.read"?`, "use one of the capabilities: fs.read, "},
		{"fs.reed:docs/**", `unknown capability "fs.reed:docs/**"; did you mean "fs.read"?`, ""},
		{"FS.READ", `unknown capability "FS.READ"; did you mean "fs.read"?`, ""},
		{"network", `unknown capability "network"`, ""},
		{"*", `unknown capability "*"`, ""},
		{" fs.read", `unknown capability " fs.read"; did you mean "fs.read"?`, ""},
		{"model:gpt", `capability "model" takes no target`, `write "model"`},
		{"human:", `capability "human" takes no target`, ""},
		{"fs.read:", `capability "fs.read:" has an empty target`, `to allow every target, write "fs.read"`},
		{"fs.read:[", `"[" is not a valid glob`, "write a glob such as docs/** or *.csv"},
		{"fs.read:{a", `"{a" is not a valid glob`, ""},
		{"fs.read:/etc/passwd", `"/etc/passwd" points outside the project`, "write a relative path with slashes, as in docs/**"},
		{"fs.read:../x", `"../x" points outside the project`, ""},
		{"fs.read:a/../../x", `"a/../../x" points outside the project`, ""},
		{`fs.read:a\b`, `"a\\b" contains a backslash`, "write a relative path with slashes, as in docs/**"},
		{"fs.read:docs/", `the glob "docs/" cannot match a file`, "write the glob without // and /./, and without a slash at the end, as in docs/**"},
		{"fs.read:./docs/**", `the glob "./docs/**" cannot match a file`, ""},
		{"fs.read:a//b", `the glob "a//b" cannot match a file`, ""},
		{"fs.read:" + strings.Repeat("{a,b}", 5), `"{a,b}{a,b}{a,b}{a,b}{a,b}" has too many alternatives`, "write several capabilities, as in fs.read:docs/** and fs.read:src/**"},
		{"fs.read:{" + strings.Repeat("a,", 17) + "a}", `has too many alternatives`, ""},
		{"fs.read:" + strings.Repeat("a", maxTarget+1), `: the target is longer than 256 bytes`, ""},
		{"fs.read:a\nb", `capability "fs.read:a\nb" has an invisible character`, ""},
		{"fs.read:a\u202eb", `has an invisible character`, ""},
		{"fs.read:a\u200bb", `has an invisible character`, ""},
		{"fs.read:a\xff", `has an invisible character`, ""},
		{"http:API.example.com", `"API.example.com" is not a valid host`, "write the host in lower case, as in api.example.com, *.example.com or localhost:8080"},
		{"http:https://example.com", `"https://example.com" is not a valid host`, ""},
		{"http:example.com/path", `"example.com/path" is not a valid host`, ""},
		{"http:*", `"*" is not a valid host`, ""},
		{"http:*.", `"*." is not a valid host`, ""},
		{"http:a.*.com", `"a.*.com" is not a valid host`, ""},
		{"http:*example.com", `"*example.com" is not a valid host`, ""},
		{"http:.example.com", `".example.com" is not a valid host`, ""},
		{"http:example..com", `"example..com" is not a valid host`, ""},
		{"http:user@example.com", `"user@example.com" is not a valid host`, ""},
		{"http:münchen.de", `"münchen.de" is not a valid host`, ""},
		{"http:example.com:", `"example.com:" is not a valid host`, ""},
		{"http:example.com:0", `"example.com:0" is not a valid host`, ""},
		{"http:example.com:080", `"example.com:080" is not a valid host`, ""},
		{"http:example.com:65536", `"example.com:65536" is not a valid host`, ""},
		{"http:example.com:http", `"example.com:http" is not a valid host`, ""},
		{"http:::1", `"::1" is not a valid host`, ""},
		{"http:[::1", `"[::1" is not a valid host`, ""},
		{"http:[evil.com]", `"[evil.com]" is not a valid host`, ""},
		{"shell:git commit", `"git commit" is not a valid name`, "write the name without spaces"},
		{"shell:*", `"*" is not a valid name`, ""},
		{"env:A*", `"A*" is not a valid name`, "write the name without spaces"},
		{"secret:TOKEN", `"TOKEN" has no host`, "write secret:NAME@HOST"},
		{"secret:@host", `"@host" has no name`, "write secret:NAME@HOST"},
		{"secret:TOKEN@", `"" is not a valid host`, ""},
		{"secret:*@a.com", `"*" is not a valid name`, ""},
	}
	for _, tt := range tests {
		c, err := ParseCapability(tt.in)
		if err == nil {
			t.Errorf("ParseCapability(%q) = %v, want an error", tt.in, c)
			continue
		}
		e := value.ErrorOf(err, value.Internal)
		if e.Kind != value.Invalid || !strings.Contains(e.Error(), tt.want) || !strings.HasPrefix(e.Hint, tt.hint) {
			t.Errorf("ParseCapability(%.60q)\n got %v (hint %q)\nwant %s (hint %q)", tt.in, e, e.Hint, tt.want, tt.hint)
		}
	}
}

func TestCapabilityAllows(t *testing.T) {
	tests := []struct {
		has, asks string
		want      bool
	}{
		{"fs.read", "fs.read:docs/a.md", true},
		{"fs.read", "fs.read:.", true},
		{"fs.read", "fs.write:docs/a.md", false},
		{"fs.write", "fs.read:docs/a.md", false},
		{"fs.read:docs/**", "fs.read:docs/a.md", true},
		{"fs.read:docs/**", "fs.read:docs/a/b/c.md", true},
		{"fs.read:docs/**", "fs.read:docs", true},
		{"fs.read:docs/**", "fs.read:docs2/a.md", false},
		{"fs.read:docs/**", "fs.read:a/docs/b", false},
		{"fs.read:docs/*", "fs.read:docs/a/b", false},
		{"fs.read:*.csv", "fs.read:a.csv", true},
		{"fs.read:*.csv", "fs.read:sub/a.csv", false},
		{"fs.read:**/*.csv", "fs.read:sub/a.csv", true},
		{"fs.read:**/*.csv", "fs.read:a.csv", true},
		{"fs.read:{a,b}/[0-9].txt", "fs.read:b/7.txt", true},
		{"fs.read:{a,b}/[0-9].txt", "fs.read:c/7.txt", false},
		{"fs.read:a.md", "fs.read:A.md", false},
		{"fs.read:**", "fs.read:../x", false},
		{"fs.read", "fs.read:../x", false},
		{"fs.read", "fs.read:/etc/passwd", false},
		{"fs.read:docs/**", "fs.read:docs/../secret", false},
		{"fs.read:docs/**", "fs.read", false},
		{"http:api.example.com", "http.get:api.example.com", true},
		{"http:api.example.com", "http.delete:api.example.com", true},
		{"http:api.example.com", "http:api.example.com", true},
		{"http.get:api.example.com", "http.post:api.example.com", false},
		{"http.get:api.example.com", "http:api.example.com", false},
		{"http", "http.get:anything.com", true},
		{"http.get", "http.get:anything.com", true},
		{"http.get", "http.post:anything.com", false},
		{"http:example.com", "http.get:api.example.com", false},
		{"http:example.com", "http.get:notexample.com", false},
		{"http:*.example.com", "http.get:api.example.com", true},
		{"http:*.example.com", "http.get:a.b.example.com", true},
		{"http:*.example.com", "http.get:example.com", false},
		{"http:*.example.com", "http.get:evilexample.com", false},
		{"http:*.example.com", "http.get:api.example.com.evil.com", false},
		{"http:*.example.com", "http.get:api.example.com:8443", false},
		{"http:*.example.com:8443", "http.get:api.example.com:8443", true},
		{"http:*.example.com:8443", "http.get:api.example.com", false},
		{"http:localhost:8080", "http.get:localhost:8080", true},
		{"http:localhost:8080", "http.get:localhost", false},
		{"http:localhost", "http.get:localhost:8080", false},
		{"shell:git", "shell:git", true},
		{"shell:git", "shell:sh", false},
		{"shell:sh", "shell:git", false},
		{"shell", "shell:sh", true},
		{"env:HOME", "env:HOME", true},
		{"env:HOME", "env:HOMER", false},
		{"env", "env:ANY", true},
		{"secret:T@api.example.com", "secret:T@api.example.com", true},
		{"secret:T@api.example.com", "secret:T@evil.com", false},
		{"secret:T@api.example.com", "secret:U@api.example.com", false},
		{"secret:T@*.example.com", "secret:T@api.example.com", true},
		{"secret:T@*.example.com", "secret:T@example.com", false},
		{"tool:read_file", "tool:read_file", true},
		{"tool:read_file", "tool:read_files", false},
		{"tool:@files", "tool:@files", true},
		{"tool", "tool:anything", true},
		{"tool:server.get-sum", "tool:server__get_sum", true}, {"tool:my-tool", "tool:my_tool", true},
		{"tool:server.get-sum", "tool:server.get", false}, {"tool:@my-files", "tool:@my_files", false},
		{"model", "model", true},
		{"model", "human", false},
	}
	for _, tt := range tests {
		has, err := ParseCapability(tt.has)
		if err != nil {
			t.Errorf("ParseCapability(%q): %v", tt.has, err)
			continue
		}
		name, target, _ := strings.Cut(tt.asks, ":")
		asks := Capability{name, target}
		if got := has.Allows(asks); got != tt.want {
			t.Errorf("%q allows %q = %v, want %v", tt.has, tt.asks, got, tt.want)
		}
		if got := AllowsAny([]Capability{{Name: "human"}, has}, asks); got != (tt.want || tt.asks == "human") {
			t.Errorf("human or %q allows %q = %v, want %v", tt.has, tt.asks, got, tt.want)
		}
	}
}

// What is nothing allows nothing, and what has no form that ParseCapability
// knows is not allowed because of a name that looks like one.
func TestCapabilityAllowsNothing(t *testing.T) {
	asks := Capability{"fs.read", "a"}
	for _, has := range []Capability{{}, {"", "a"}, {"fs", ""}, {"fs.", ""}, {"fs.read", "["}, {"model", "x"}} {
		if has.Allows(asks) {
			t.Errorf("%#v allows %v", has, asks)
		}
	}
	if (Capability{"http.", ""}).Allows(Capability{"http.get", "a"}) || (Capability{"nothing", "a"}).Allows(Capability{"nothing", "a"}) {
		t.Errorf("an unknown capability allows something")
	}
	if AllowsAny(nil, asks) {
		t.Errorf("no capability allows something")
	}
	// The empty host before the suffix is no subdomain.
	if (Capability{"http", "*.example.com"}).Allows(Capability{"http.get", ".example.com"}) {
		t.Errorf("*.example.com allows .example.com")
	}
}

// TestX10EnvNames checks which variables are secrets by their names.
func TestX10EnvNames(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "GITHUB_TOKEN": true, "GH_PAT": true, "dbPassword2": true, "MYSQL_PWD": true, "AWS_SECRET_ACCESS_KEY": true, "npm_config__authToken": true,
		"DATABASE_URL": true, "SENTRY_DSN": true, "APIKEYS": true, "SMTP_PASS": true, "STRIPE_SECRETS": true, "client_secret": true, "PGPASSWORD": true, "SSH_PASSPHRASE": true,
		"GOOGLE_APPLICATION_CREDENTIALS": true, "SLACK_WEBHOOK_URL": true, "HTTP_AUTH": true, "accessToken": true,
		"HOME": false, "LANG": false, "PATH": false, "PWD": false, "OLDPWD": false, "KEYBOARD_LAYOUT": false, "XDG_SESSION_TYPE": false, "AUTHOR": false, "PASSENGER": false, "MONKEY": false,
		"NODE_ENV": false, "TZ": false, "A": false, "PATTERN": false, "COMPASS": false,
	} {
		c := Capability{Name: "env", Target: name}
		if got := c.Acts(); got != want {
			t.Errorf("%s: Acts() = %v, want %v", c, got, want)
		}
		tool := Tool{Needs: []Capability{c}}
		if got := tool.NeedsApproval(); got != want {
			t.Errorf("a tool that needs %s: NeedsApproval() = %v, want %v", c, got, want)
		}
	}
}

func TestCapabilityActs(t *testing.T) {
	acts := map[string]bool{
		"fs.read": false, "fs.write": true, "http": true, "http.get": true, "http.head": true, "http.post": true, "http.put": true, "http.patch": true,
		"http.delete": true, "shell": true, "env": true, "use": true, "secret": true, "tool": false, "model": false, "human": false, "skill.create": true, "memory.add": true, "context.read": false,
	}
	for _, name := range CapabilityNames() {
		want, known := acts[name]
		if !known {
			t.Errorf("%s is not in this test: does it write, run or send?", name)
		}
		if got := (Capability{Name: name}).Acts(); got != want {
			t.Errorf("%s: Acts() = %v, want %v", name, got, want)
		}
		tool := Tool{Needs: []Capability{{Name: name, Target: "x"}}}
		want = want && name != "env" // one variable that is named is no secret among many
		if got := tool.NeedsApproval(); got != want {
			t.Errorf("a tool that needs %s: NeedsApproval() = %v, want %v", name, got, want)
		}
	}
	if len(acts) != len(CapabilityNames()) {
		t.Errorf("there are %d capabilities, want %d", len(CapabilityNames()), len(acts))
	}
	if !(Capability{Name: "later"}).Acts() {
		t.Errorf("an unknown capability does not act")
	}
}

// The host matches the globs of untrusted tools.
// TestCapabilityHostilePatterns would not end if a pattern could make a match
// try everything.
func TestCapabilityHostilePatterns(t *testing.T) {
	patterns := []string{
		strings.Repeat("{a,aa}", target.MaxBraces) + "b", "{" + strings.Repeat("{a,", 3) + strings.Repeat("aa}", 3) + "}b", "{" + strings.Repeat("a,", 8) + "a}{" + strings.Repeat("a,", 8) + "a}b",
		strings.Repeat("*a", 60) + "b", strings.Repeat("**/a/", 40) + "b", strings.Repeat("**/", 80) + "b", strings.Repeat("{**/,}", target.MaxBraces) + "b", strings.Repeat("?*", 100) + "b", strings.Repeat("[a-z]*", 40),
	}
	paths := []string{strings.Repeat("a", 4000), strings.Repeat("a/", 2000) + "c"}
	for _, pattern := range patterns {
		c, err := ParseCapability("fs.read:" + pattern)
		if err != nil {
			continue // refused is quick too
		}
		for _, path := range paths {
			if strings.HasSuffix(pattern, "b") && c.Allows(Capability{"fs.read", path}) {
				t.Errorf("%.40s allows %.20s…, which has no b", pattern, path)
			}
		}
	}
}

func FuzzParseCapability(f *testing.F) {
	for _, s := range []string{"fs.read:docs/**", "http.get:*.example.com:80", "secret:T@h", "shell:sh", "tool:@g", "model", "env:A", "http:[::1]:1", "fs.write:{a,b}/[!c]*"} {
		f.Add(s, "docs/a.md")
	}
	f.Fuzz(func(t *testing.T, text, target string) {
		c, err := ParseCapability(text)
		if err != nil {
			return
		}
		if c.String() != text {
			t.Fatalf("ParseCapability(%q).String() = %q, want the same", text, c)
		}
		if strings.HasPrefix(c.Name, "fs.") && strings.Contains("/"+target+"/", "/../") && c.Allows(Capability{c.Name, target}) {
			t.Fatalf("%q allows %q", text, target)
		}
	})
}

// TestCapabilityWords checks that each capability has words for people and for authors, and that those for a target have it.
func TestCapabilityWords(t *testing.T) {
	for _, name := range CapabilityNames() {
		c := Capability{Name: name}
		if got := c.InWords(); got == "" || got == "use "+name {
			t.Errorf("InWords() of %s = %q, want words", c, got)
		}
		if CapabilityDoc(name) == "" {
			t.Errorf("%s has no doc", name)
		}
		c.Target = "TARGET"
		if got := c.InWords(); strings.Contains(got, "TARGET") != c.TakesTarget() {
			t.Errorf("InWords() of %s = %q, and it takes a target: %v", c, got, c.TakesTarget())
		}
	}
	for c, want := range map[Capability]string{
		{Name: "shell", Target: "sh"}: "run every command line in a sandbox, which can read the project and write the files that the tool may write",
		{Name: "tool", Target: "@db"}: "call the tools of the group db",
		{Name: "env"}:                 "read every environment variable, including secrets",
		{Name: "new.one"}:             "use new.one",
	} {
		if got := c.InWords(); got != want {
			t.Errorf("InWords() of %s = %q, want %q", c, got, want)
		}
	}
}

// TestCapabilityPowers checks that what sends or changes something also acts: else it would be neither approved nor shown
// as a risk.
func TestCapabilityPowers(t *testing.T) {
	for _, name := range CapabilityNames() {
		if c := (Capability{Name: name}); !c.Acts() && (c.changes() || c.Sends() || c.Receives()) {
			t.Errorf("%s does not act", name)
		}
	}
}
