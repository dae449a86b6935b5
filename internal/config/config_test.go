package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// readConfig reads a user's and a project's config.
func readConfig(t testing.TB, user, own string) (config.Config, error) {
	t.Helper()
	root, home := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{filepath.Join(home, "config.yaml"): user, filepath.Join(root, ".cassidy", "config.yaml"): own} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return config.Read(root, &config.Options{Home: home})
}

func TestConfigRules(t *testing.T) {
	c, err := readConfig(t, `
allow:
  - fs.write:out/**
  - {tool: git-status, capability: "shell:git"}
deny: [env]
`, `
ask: ["fs.read:private/**"]
deny: [{tool: "@net", capability: http}]
allow: ["fs.write"]
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Rules {
		got = append(got, strings.TrimSpace(r.Verdict.String()+" "+r.Tool)+" "+r.Capability.String()+" "+filepath.Base(filepath.Dir(r.Source)))
	}
	home := filepath.Base(filepath.Dir(c.Rules[0].Source))
	want := []string{
		"allow fs.write:out/** " + home, "allow git-status shell:git " + home, "deny env " + home,
		"ask fs.read:private/** .cassidy", "deny @net http .cassidy",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if want := []string{".cassidy/config.yaml: 'allow' is ignored in a project's config; only 'ask' and 'deny' are read"}; !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings = %q, want %q", c.Warnings, want)
	}
}

func TestConfigFields(t *testing.T) {
	c, err := readConfig(t, `
sandbox: {mode: strict, required: false}
secrets:
  A: {env: TOKEN}
  B: {file: keys/b}
http: {private: [127.0.0.1, "10.1.2.3/8", "fd00::/8"]}
commands: {git: {args: [status]}}
unprotected: [AGENTS.md, .vscode]
limits: {cpu: 1.5, memory: 1048576, steps: 10, result: 20, requests: 30, timeout: 60}
runs: {keep_for: 36h, keep: 5000000000, answer_within: 90m}
models:
  "local:m:8b": {context: 8192, max_output: 1024, input_price: 0, output_price: 0.5, cached_input_price: 1}
  "ollama:x": {context: 5000000000}
providers:
  local: {api: chat, base_url: "http://127.0.0.1:1/v1", key_env: LOCAL_KEY}
  openai: {key_env: WORK_KEY}
  azure: {api: responses, base_url: "https://x.example/openai/v1", key_env: AZURE_KEY, auth: api-key}
  old:
    api: anthropic
    version: "2023-06-01"
    headers: {X-Title: my project, x-tenant-token: {env: TENANT}}
    extra: {top_p: 0.5, tools: [{type: web_search}]}
ask:
`, "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Sandbox.Mode != config.SandboxStrict || c.Sandbox.Required == nil || *c.Sandbox.Required {
		t.Errorf("sandbox = %+v, want strict and not required", c.Sandbox)
	}
	if c.Secrets["A"].Env != "TOKEN" || !filepath.IsAbs(c.Secrets["B"].File) || !strings.HasSuffix(filepath.ToSlash(c.Secrets["B"].File), "/keys/b") {
		t.Errorf("secrets = %+v, want a variable, and a file beside the config", c.Secrets)
	}
	var hosts []string
	for _, p := range c.PrivateHosts {
		hosts = append(hosts, p.String())
	}
	if want := []string{"127.0.0.1/32", "10.0.0.0/8", "fd00::/8"}; !slices.Equal(hosts, want) {
		t.Errorf("private hosts = %v, want %v", hosts, want)
	}
	if want := []string{"AGENTS.md", ".vscode"}; !slices.Equal(c.Unprotected, want) {
		t.Errorf("unprotected = %q, want %q", c.Unprotected, want)
	}
	if got, want := value.FormatJSON(c.Commands, ""), `{"git":{"args":["status"]}}`; got != want {
		t.Errorf("commands = %s, want %s", got, want)
	}
	wantProviders := map[string]config.Provider{
		"local":  {API: "chat", BaseURL: "http://127.0.0.1:1/v1", KeyEnv: "LOCAL_KEY"},
		"openai": {KeyEnv: "WORK_KEY"},
		"azure":  {API: "responses", BaseURL: "https://x.example/openai/v1", KeyEnv: "AZURE_KEY", Auth: "api-key"},
		"old": {API: "anthropic", Version: "2023-06-01", Headers: map[string]config.Header{"X-Title": {Text: "my project"}, "x-tenant-token": {Env: "TENANT"}},
			Extra: value.NewDict("top_p", 0.5, "tools", value.List{value.NewDict("type", "web_search")})},
	}
	if diff := cmp.Diff(wantProviders, c.Providers, cmp.Comparer(func(a, b *value.Dict) bool { return value.EqualJSON(a, b) })); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	wantModels := map[string]config.Model{
		"local:m:8b": {Context: 8192, MaxOutput: 1024, Price: &config.Price{Output: 0.5, CachedInput: 1}},
		"ollama:x":   {Context: 1<<31 - 1},
	}
	if diff := cmp.Diff(wantModels, c.Models); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	want := config.LimitCaps{Limits: tool.Limits{CPU: 1500 * time.Millisecond, Memory: 1 << 20, Steps: 10, Result: 20, Requests: 30}, Timeout: time.Minute}
	if c.Limits != want {
		t.Errorf("limits = %+v, want %+v", c.Limits, want)
	}
	if want := (config.Runs{For: 36 * time.Hour, Most: 1<<31 - 1, AnswerWithin: 90 * time.Minute}); c.Runs != want {
		t.Errorf("runs = %+v, want %+v", c.Runs, want)
	}
}

// TestConfigMistakes checks that every error names the file, the field, and what was
// expected.
func TestConfigMistakes(t *testing.T) {
	const theirs = "only the user's config can set '"
	for _, tt := range []struct{ user, project, want string }{
		{"sandbox: strct", "", `'sandbox' should be "process", "strict" or "inline" but got "strct"; did you mean "strict"?`},
		{"sandbox: 1", "", `'sandbox' should be "process", "strict" or "inline" but got integer`},
		{"sandbox: {mod: strict}", "", `unknown field 'sandbox.mod'; did you mean "mode"?`},
		{"sandbox: {required: 1}", "", "'sandbox.required' should be true or false but got integer"},
		{"allow: fs.read", "", `'allow' should be a list of rules, as in ["fs.read:docs/**"], but got string`},
		{"deny: [fs.reed]", "", `rule 1 of 'deny': unknown capability "fs.reed"; did you mean "fs.read"?`},
		{"deny: [env, 3]", "", "rule 2 of 'deny': a rule should be a capability, or a tool and a capability, but got integer"},
		{"ask: [{tool: x}]", "", "rule 1 of 'ask': the field 'capability' is missing"},
		{"ask: [{tool: X, capability: env}]", "", `rule 1 of 'ask': Invalid tool name: "X"`},
		{"ask: [{tool: '@', capability: env}]", "", `rule 1 of 'ask': Invalid tool name: "@"`},
		{"ask: [{tool: [x], capability: env}]", "", "'tool' should be the name of a tool, or @GROUP, but got array"},
		{"ask: [{tool: x, capability: env, project: /x}]", "", "rule 1 of 'ask': unknown field 'project'"},
		{"allow: [{tool: x, capability: env, project: x}]", "", `'project' should be the absolute path of a folder but got "x"`},
		{"allow: [{tool: x, capability: env, project: 1}]", "", "'project' should be the absolute path of a folder but got 1"},
		{"", "allow: [{tool: x, capability: env, project: /x}]", "unknown field 'project'"},
		{"ask: [{tol: x, capability: env}]", "", `rule 1 of 'ask': unknown field 'tol'; did you mean "tool"?`},
		{"allow: ['fs.read:../x']", "", `"../x" points outside the project`},
		{"secrets: [A]", "", "'secrets' should be an object"},
		{"secrets: {A: TOKEN}", "", "'secrets.A' should be {env: VARIABLE}, {file: PATH} or {keyring: NAME} but got string"},
		{"secrets: {A: {env: X, file: y}}", "", "'secrets.A' should be {env: VARIABLE}, {file: PATH} or {keyring: NAME}"},
		{"secrets: {A: {env: 3}}", "", "'secrets.A' should be {env: VARIABLE}, {file: PATH} or {keyring: NAME}"},
		{"secrets: {A: {value: x}}", "", "unknown field 'secrets.A.value'"},
		{"secrets: {'a@b': {env: X}}", "", `invalid name of a secret in 'secrets': "a@b"`},
		{"http: [x]", "", "'http' should be an object"},
		{"http: {private: 127.0.0.1}", "", "'http.private' should be a list of addresses, as in [\"127.0.0.1\", \"10.0.0.0/8\"], but got string"},
		{"http: {private: [localhost]}", "", `invalid address in 'http.private': "localhost"`},
		{"http: {private: [fe80::1%eth0]}", "", "invalid address in 'http.private': "},
		{"commands: [git]", "", "'commands' should be an object"},
		{"limits: {memory: 1.5}", "", "'limits.memory' should be a positive integer but got 1.5"},
		{"limits: {steps: 0}", "", "'limits.steps' should be a positive integer but got 0"},
		{"limits: {requests: 0}", "", "'limits.requests' should be a positive integer but got 0"},
		{"limits: {requests: 2.5}", "", "'limits.requests' should be a positive integer but got 2.5"},
		{"limits: {cpu: .inf}", "", "'limits.cpu' should be more than 0"},
		{"limits: {cpus: 1}", "", `unknown field 'limits.cpus'; did you mean "cpu"?`},
		{"limits: 1", "", "'limits' should be an object"},
		{"runs: 30", "", "'runs' should be an object, as in {keep_for: 720h, keep: 1000}, but got integer"},
		{"runs: {keepfor: 1h}", "", `unknown field 'runs.keepfor'; did you mean "keep_for"?`},
		{"runs: {keep_for: 30d}", "", `'runs.keep_for' should be a duration but got "30d"`},
		{"runs: {answer_within: soon}", "", `'runs.answer_within' should be a duration but got "soon"`},
		{"runs: {keep_for: -1h}", "", `'runs.keep_for' should be a duration but got "-1h"`},
		{"runs: {keep_for: 720}", "", "'runs.keep_for' should be a duration but got 720"},
		{"runs: {keep: 0}", "", "'runs.keep' should be a positive integer but got 0"},
		{"runs: {keep: many}", "", `'runs.keep' should be a positive integer but got "many"`},
		{"providers: [x]", "", "'providers' should be an object, as in {local: "},
		{"providers: {'a:b': {api: chat}}", "", `invalid name of a provider in 'providers': "a:b"`},
		{"providers: {script: {api: chat}}", "", `invalid name of a provider in 'providers': "script"`},
		{"providers: {1: {api: chat}}", "", `invalid name of a provider in 'providers': ""`},
		{"providers: {x: chat}", "", "'providers.x' should be an object, as in {api: chat"},
		{"providers: {x: {api: chats}}", "", `unknown API "chats" in 'providers.x.api'; did you mean "chat"?`},
		{"providers: {x: {base_url: 'http://h'}}", "", "the field 'providers.x.api' is missing"},
		{"providers: {x: {api: chat, url: 'http://h'}}", "", `unknown field 'providers.x.url'; did you mean "base_url"?`},
		{"providers: {x: {api: chat, base_url: 1}}", "", "'providers.x.base_url' should be a string but got integer"},
		{"providers: {x: {api: }}", "", "'providers.x.api' should be a string but got null"},
		{"providers: {x: {api: chat, key_env: sk-secret}}", "", "'providers.x.key_env' should be the name of an environment variable"},
		{"providers: {x: {api: chat, auth: token}}", "", `the API chat does not support "token" in 'providers.x.auth'`},
		{"providers: {anthropic: {auth: api-key}}", "", `the API anthropic does not support "api-key" in 'providers.anthropic.auth'; did you mean "x-api-key"?`},
		{"providers: {ollama: {auth: x-api-key}}", "", "the API ollama does not support"},
		{"providers: {x: {api: chat, version: 2023-06-01}}", "", "'providers.x.version' is only for the API anthropic, not for chat"},
		{"providers: {openai: {version: 2023-06-01}}", "", "'providers.openai.version' is only for the API anthropic"},
		{"providers: {anthropic: {version: latest}}", "", `'providers.anthropic.version' should be a date but got "latest"`},
		{"providers: {x: {api: chat, headers: [x]}}", "", "'providers.x.headers' should be an object, as in {X-Title: my-project"},
		{"providers: {x: {api: chat, headers: {'a b': x}}}", "", `invalid name of a header in 'providers.x.headers': "a b"`},
		{"providers: {x: {api: chat, headers: {host: x}}}", "", "'providers.x.headers' has the header host, which cassidy writes itself"},
		{"providers: {x: {api: chat, headers: {Authorization: sk-secret}}}", "", "'providers.x.headers.Authorization' should be the name of an environment variable"},
		{"providers: {x: {api: chat, headers: {X-A: [sk-secret]}}}", "", "'providers.x.headers.X-A' should be a non-empty string of printable ASCII characters, or {env: VARIABLE}, but got array"},
		{`providers: {x: {api: chat, headers: {X-A: "a\nb"}}}`, "", "'providers.x.headers.X-A' should be a non-empty string of printable ASCII characters"},
		{"providers: {x: {api: chat, headers: {X-A: {env: sk-secret}}}}", "", "'providers.x.headers.X-A' should be"},
		{"providers: {x: {api: chat, extra: [x]}}", "", "'providers.x.extra' should be an object with fields of requests, as in {top_p: 0.9}, but got array"},
		{"providers: {x: {api: chat, extra: {messages: []}}}", "", "'providers.x.extra' has the field 'messages', which cassidy writes itself"},
		{"providers: {x: {api: chat, extra: {tools: web_search}}}", "", "'providers.x.extra.tools' should be a list of the provider's own tools"},
		{"providers: {cassidy: {extra: {a: 1}}}", "", "'providers.cassidy.extra' is not for the API cassidyai"},
		{"models: [x]", "", "'models' should be an object"},
		{"models: {x: {context: 1}}", "", `invalid name of a model in 'models': "x"`},
		{"models: {'opnai:x': {context: 1}}", "", `unknown provider "opnai" in 'models.opnai:x'; did you mean "openai"?`},
		{"models: {'openai:x': 1}", "", "'models.openai:x' should be an object"},
		{"models: {'openai:x': {ctx: 1}}", "", "unknown field 'models.openai:x.ctx'"},
		{"models: {'openai:x': {context: 128k}}", "", `'models.openai:x.context' should be a positive integer but got "128k"`},
		{"models: {'openai:x': {context: 10, max_output: 11}}", "", "'models.openai:x.max_output' should be at most 'context' (10) but got 11"},
		{"models: {'openai:x': {input_price: -1}}", "", "'models.openai:x.input_price' should be a price from 0 to 1000000 but got -1"},
		{"models: {'openai:x': {input_price: .nan}}", "", "'models.openai:x.input_price' should be a price"},
		{"models: {'openai:x': {input_price: 1}}", "", "'models.openai:x' has a price, but 'output_price' is missing"},
		{"1: 2", "", "unknown field ''"},
		{"", "allow: [fs.reed]", "rule 1 of 'allow': unknown capability"},
		{"", "sandbox: inline", theirs + "sandbox'"},
		{"", "secrets: {}", theirs + "secrets'"},
		{"", "http: {private: [0.0.0.0/0]}", theirs + "http'"},
		{"", "commands: {}", theirs + "commands'"},
		{"", "unprotected: [AGENTS.md]", theirs + "unprotected'"},
		{"unprotected: [AGENT.md]", "", `invalid name in 'unprotected': "AGENT.md"; did you mean "AGENTS.md"?`},
		{"unprotected: [.git]", "", `invalid name in 'unprotected': ".git"`},
		{"unprotected: [3]", "", `invalid name in 'unprotected': 3`},
		{"unprotected: .vscode", "", "'unprotected' should be a list of names"},
		{"", "limits: {}", theirs + "limits'"},
		{"", "runs: {keep: 1}", theirs + "runs'"},
		{"", "model: openai:gpt-5", theirs + "model'"},
		{"", "providers: {openai: {base_url: 'http://evil.example'}}", theirs + "providers'"},
		{"", "models: {'openai:x': {context: 1}}", theirs + "models'"},
		{"", "sandbx: inline", "unknown field 'sandbx'"},
	} {
		_, err := readConfig(t, tt.user, tt.project)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "config.yaml") {
			t.Errorf("%q and %q: %v, want config.yaml and %q", tt.user, tt.project, err, tt.want)
		} else if strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%q: the error repeats the key: %v", tt.user, err)
		} else if value.KindOf(err) != value.Invalid {
			t.Errorf("%q and %q: kind %v, want invalid", tt.user, tt.project, value.KindOf(err))
		}
	}
}

// TestConfigLines checks that an error has the line of its field.
func TestConfigLines(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
	}{
		{"model: a:b\nproviders:\n  x:\n    api: chat\n    auth: token\n", 5},
		{"providers:\n  x:\n    api: chat\n    headers:\n      X-A: b\n      Host: c\n", 6},
		{"providers:\n  x:\n    api: chat\n    extra: {a: 1,\n      model: c}\n", 5},
		{"providers:\n  x:\n    base_url: http://h\n", 2},
		{"providers:\n  local: {api: chat}\n\nmodels:\n  'local:a': {context: 1}\n  'locl:a': {context: 1}\n", 6},
		{"models:\n  'openai:a':\n    context: 128k\n", 2},
		{"\nlimits: 1\n", 2},
		{"\nlimit: 1\n", 2},
	} {
		_, err := readConfig(t, tt.text, "")
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Pos.Line != tt.line {
			t.Errorf("%q: %v in line %d, want line %d", tt.text, err, e.Pos.Line, tt.line)
		}
	}
}

// FuzzConfig checks that no project's config grants anything, and that errors of a
// config are of kind Invalid.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"allow: [fs.read]", "deny: [{tool: '@x', capability: 'shell:git'}]", "sandbox: {mode: strict}", "secrets: {A: {env: B}}",
		"http: {private: ['10.0.0.0/8']}", "limits: {cpu: 1e309, steps: 9223372036854775808}", "commands: {x: {y: [1]}}", "ask:\n  - \x00",
		"providers: {x: {api: chat, key_env: K, headers: {a: {env: b}}, extra: {a: 1}, auth: api-key}, anthropic: {version: 2023-06-01}}", "models: {'openai:x': {context: 1, input_price: 1e3, output_price: .inf}}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, own := range []bool{false, true} {
			user, theirs := text, ""
			if own {
				user, theirs = "", text
			}
			c, err := readConfig(t, user, theirs)
			if err != nil {
				if e := value.ErrorOf(err, value.Internal); e.Kind != value.Invalid && e.Kind != value.Limit {
					t.Errorf("ReadConfig(%q) = %v of kind %v", text, err, e.Kind)
				}
				continue
			}
			for _, r := range c.Rules {
				if own && r.Verdict == tool.Allow || r.Capability.Name == "" || r.Source == "" {
					t.Errorf("%q gives the rule %+v", text, r)
				}
			}
			rest := c
			rest.Rules, rest.Warnings = nil, nil
			if diff := cmp.Diff(config.Config{}, rest, cmp.Comparer(func(a, b *value.Dict) bool { return a == b })); own && diff != "" {
				t.Errorf("a project's %q says (-want +got):\n%s", text, diff)
			}
		}
	})
}

// TestEditInvalid repairs a config field by field: what was invalid before may stay so, and nothing else may be.
func TestEditInvalid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	const text = "docs: long\nlimits: {cpu: fast}\nmodell: x\n"
	for _, tt := range []struct {
		text string
		path []string
		v    value.Value // nil removes the field
		want string      // "" if the change is refused
		left string      // what is still invalid
	}{
		{text, []string{"docs"}, "brief", "docs: brief\nlimits: {cpu: fast}\nmodell: x\n", "limits.cpu"},
		{text, []string{"limits", "cpu"}, int64(3), "docs: long\nlimits:\n  cpu: 3\nmodell: x\n", "docs"},
		{text, []string{"modell"}, nil, "docs: long\nlimits: {cpu: fast}\n", "docs"},
		{text, []string{"model"}, "a", "docs: long\nlimits: {cpu: fast}\nmodell: x\nmodel: a\n", "docs"},
		{text, []string{"docs"}, "longer", "", ""},
		{text, []string{"limits", "memory"}, int64(1), "", ""},
		{text, []string{"nothing"}, "x", "", ""},
		{"docs: auto\n", []string{"docs"}, "long", "", ""},
		{"docs: long\n", []string{"docs"}, "brief", "docs: brief\n", ""},
		{"docs: [\n", []string{"docs"}, "brief", "", ""},
		{"- docs\n", []string{"docs"}, "brief", "", ""},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		v := &tt.v
		if tt.v == nil {
			v = nil
		}
		c, err := config.EditField(file, tt.path, v)
		if (err == nil) != (tt.want != "") || err == nil && c.After != tt.want {
			t.Errorf("%q, %q: %q, %v", tt.text, tt.path, c.After, err)
			continue
		}
		if err == nil && ((c.Fault != nil) != (tt.left != "") || c.Fault != nil && !strings.Contains(c.Fault.Error(), tt.left)) {
			t.Errorf("%q, %q: %v is left", tt.text, tt.path, c.Fault)
		}
		if v == nil {
			continue
		}
		if _, err := config.SetField(file, tt.path, tt.v); (err == nil) != (tt.want != "" && tt.left == "") {
			t.Errorf("%q, %q: SetField: %v", tt.text, tt.path, err)
		}
	}
}

// TestFieldPaths reads names of fields, and writes them.
func TestFieldPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"model":                         "model",
		"limits.cpu":                    "limits|cpu",
		`models."openai:x-1.2".context`: "models|openai:x-1.2|context",
		"limts":                         "limts", "": "", "limits.": "", ".cpu": "", `models."x`: "", `models."x"y`: "",
	} {
		path, err := config.ParsePath(text)
		if got := strings.Join(path, "|"); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err == nil && config.PathText(path) != text {
			t.Errorf("%q is written %q", text, config.PathText(path))
		}
	}
}
