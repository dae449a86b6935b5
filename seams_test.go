package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// seamHost opens a host whose tool t has this body and these needs.
func seamHost(t *testing.T, o cassidy.Options, needs, body string) *cassidy.Host {
	t.Helper()
	return seamHostIn(t, t.TempDir(), o, needs, body)
}

// seamHostIn is seamHost in a folder.
func seamHostIn(t *testing.T, dir string, o cassidy.Options, needs, body string) *cassidy.Host {
	t.Helper()
	script := fmt.Sprintf("def t():\n    \"\"\"Do it.\"\"\"\n    %s\n\ntool(t, needs = [%s])\n", strings.ReplaceAll(body, "\n", "\n    "), needs)
	file := filepath.Join(dir, ".cassidy", "tools", "t.star")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	o.TrustSource, o.NoBuiltins = true, true
	host, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline}, dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return host
}

// callSeam calls the tool t, as a model does.
func callSeam(t *testing.T, host *cassidy.Host) (cassidy.Value, error) {
	t.Helper()
	r, err := host.Call(t.Context(), cassidy.Call{Tool: "t"})
	return r.Value, err
}

// configFile writes a config.
func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestOptionsRules(t *testing.T) {
	t.Parallel()
	const needs, body = `"env:HOME"`, `return env.get("HOME")`
	env := func(_ context.Context, name string) (string, error) { return "/" + name, nil }
	rule := func(v cassidy.Verdict) []cassidy.Rule {
		return []cassidy.Rule{{Verdict: v, Capability: cassidy.Capability{Name: "env", Target: "HOME"}}}
	}
	allow := configFile(t, "allow: [\"env:HOME\"]\n")
	for _, tt := range []struct {
		rules  []cassidy.Rule
		config string
		denied bool
	}{
		{nil, "", false},
		{rule(cassidy.Allow), "", false},
		{rule(cassidy.Ask), "", true},
		{rule(cassidy.Deny), "", true},
		{rule(cassidy.Deny), allow, true}, // of both, deny wins
		{rule(cassidy.Allow), configFile(t, "deny: [\"env:HOME\"]\n"), true},
	} {
		host := seamHost(t, cassidy.Options{Rules: tt.rules, Config: tt.config, Env: env}, needs, body)
		got, err := callSeam(t, host)
		if errors.Is(err, cassidy.ErrDenied) != tt.denied || err == nil && got != "/HOME" {
			t.Errorf("with the rules %v and the config %q: %v, %v", tt.rules, tt.config, got, err)
		}
	}
}

func TestOptionsLimits(t *testing.T) {
	t.Parallel()
	const body = "x = 0\nfor i in range(10000):\n    x += i\nreturn x"
	config := configFile(t, "limits: {steps: 100}\n")
	for _, tt := range []struct {
		o       cassidy.Options
		limited bool
	}{
		{cassidy.Options{}, false},
		{cassidy.Options{Limits: cassidy.Limits{Steps: 100}}, true},
		{cassidy.Options{MaxLimits: cassidy.Limits{Steps: 100}}, true},
		{cassidy.Options{MaxLimits: cassidy.Limits{Steps: 1e9}}, false},
		{cassidy.Options{Limits: cassidy.Limits{Steps: 1e9}, MaxLimits: cassidy.Limits{Steps: 100}}, true},
		{cassidy.Options{MaxLimits: cassidy.Limits{Steps: 1e9}, Config: config}, true},
	} {
		_, err := callSeam(t, seamHost(t, tt.o, "", body))
		if errors.Is(err, cassidy.ErrLimit) != tt.limited || !tt.limited && err != nil {
			t.Errorf("with the limits %+v, at most %+v and the config %q: %v", tt.o.Limits, tt.o.MaxLimits, tt.o.Config, err)
		}
	}
	for _, o := range []cassidy.Options{{MaxLimits: cassidy.Limits{CPU: -1}}, {MaxTimeout: -1}} {
		if _, err := testhost.Open(t, testhost.On{}, t.TempDir(), &o); !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("Open with a negative maximum: %v, want an error of kind Invalid", err)
		}
	}
}

func TestOptionsMaxTimeout(t *testing.T) {
	t.Parallel()
	long, short := configFile(t, "limits: {timeout: 60}\n"), configFile(t, "limits: {timeout: 0.02}\n")
	for _, o := range []cassidy.Options{
		{MaxTimeout: 20 * time.Millisecond}, {MaxTimeout: 20 * time.Millisecond, Config: long},
		{Config: short}, {MaxTimeout: time.Minute, Config: short},
	} {
		if _, err := callSeam(t, seamHost(t, o, "", "time.sleep(20)")); !errors.Is(err, cassidy.ErrTimeout) {
			t.Errorf("with a maximum of %v and the config %q: %v, want a timeout", o.MaxTimeout, o.Config, err)
		}
	}
}

func TestOptionsCommands(t *testing.T) {
	t.Parallel()
	if !launch.Confined() {
		t.Skip("commands cannot be confined here")
	}
	const needs, body = `"shell:mktemp"`, `return shell.run(["mktemp", "--version"])["exit_code"]`
	rule := map[string]cassidy.CommandRule{"mktemp": {Any: true}}
	config := configFile(t, "commands: {mktemp: {args: [\"never\"]}}\n")
	allow := []cassidy.Rule{{Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "shell", Target: "mktemp"}}}
	for _, tt := range []struct {
		o    cassidy.Options
		runs bool
	}{
		{cassidy.Options{}, false},
		{cassidy.Options{Commands: rule}, true},
		{cassidy.Options{Config: config}, false},
		{cassidy.Options{Commands: rule, Config: config}, true},
	} {
		tt.o.Rules = allow
		got, err := callSeam(t, seamHost(t, tt.o, needs, body))
		if tt.runs != (err == nil) || tt.runs && got != int64(0) || !tt.runs && !errors.Is(err, cassidy.ErrDenied) {
			t.Errorf("with the commands %v and the config %q: %v, %v", tt.o.Commands, tt.o.Config, got, err)
		}
	}
	for name, rule := range map[string]cassidy.CommandRule{
		"a b": {Any: true}, "": {Any: true}, "make": {}, "x": {Any: true, Path: "x"}, "y": {Any: true, Write: []string{"tmp"}},
		"z": {Any: true, Env: map[string]string{"A=B": ""}},
	} {
		_, err := testhost.Open(t, testhost.On{}, t.TempDir(), &cassidy.Options{Commands: map[string]cassidy.CommandRule{name: rule}})
		if !errors.Is(err, cassidy.ErrInvalid) {
			t.Errorf("Open with the command %q: %v, want an error of kind Invalid", name, err)
		}
	}
}

// TestOptionsEnvAndSecrets checks that the functions of the program come after the
// sources of the user's config, and that their errors reach the caller.
func TestOptionsEnvAndSecrets(t *testing.T) {
	t.Parallel()
	file := configFile(t, "file-value\n")
	config := configFile(t, "secrets: {A: {env: A_TOKEN}, B: {file: \""+filepath.ToSlash(file)+"\"}, C: {env: NONE}}\n")
	asked := map[string]bool{}
	o := cassidy.Options{
		Config: config,
		Env: func(_ context.Context, name string) (string, error) {
			if name == "A_TOKEN" {
				return "env-value", nil
			}
			return "", cassidy.ErrNotFound
		},
		Secrets: func(ctx context.Context, name string) (string, error) {
			if _, ok := ctx.Deadline(); ctx.Done() == nil && !ok {
				t.Error("the context cannot end")
			}
			asked[name] = true
			switch name {
			case "D":
				return "vault-value", nil
			case "E":
				return "", value.Errorf(value.Busy, "the vault is sealed")
			}
			return "", fmt.Errorf("read: %w", cassidy.ErrNotFound)
		},
	}
	for name, want := range map[string]error{"A": nil, "B": nil, "C": cassidy.ErrUnavailable, "D": nil, "E": cassidy.ErrBusy, "F": cassidy.ErrUnavailable} {
		host := seamHost(t, o, `"secret:`+name+`@example.com"`, `return secret("`+name+`")`)
		r, err := host.Call(t.Context(), cassidy.Call{Tool: "t", Caller: tool.ByPerson})
		if !errors.Is(err, want) || err == nil && r.Value != "{{secret:"+name+"}}" {
			t.Errorf("secret(%s) = %v, %v, want the error %v", name, r.Value, err, want)
		}
	}
	if asked["A"] || asked["B"] || asked["C"] || !asked["D"] {
		t.Errorf("the program was asked for %v", asked)
	}
	for name, want := range map[string]error{"A_TOKEN": cassidy.ErrDenied, "a_token": cassidy.ErrDenied, "NONE": cassidy.ErrDenied, "OTHER": nil} {
		host := seamHost(t, o, `"env:`+name+`"`, `return env.get("`+name+`", default = "none")`)
		r, err := host.Call(t.Context(), cassidy.Call{Tool: "t", Caller: tool.ByPerson})
		if !errors.Is(err, want) || err == nil && r.Value != "none" || err != nil && !strings.Contains(err.Error(), "it holds the secret") {
			t.Errorf("env.get(%s) = %v, %v, want the error %v", name, r.Value, err, want)
		}
	}
}

// TestOptionsHTTP checks that the program's transport gets the requests of scripts,
// and that its base reaches no address that scripts may not.
func TestOptionsHTTP(t *testing.T) {
	t.Parallel()
	allow := []cassidy.Rule{{Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "http.get"}}}
	o := cassidy.Options{Rules: allow, HTTP: func(base http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/base" {
				return base.RoundTrip(r)
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("hello " + r.URL.Path))}, nil
		})
	}}
	host := seamHost(t, o, `"http.get:127.0.0.1"`, `return http.get("http://127.0.0.1/x")["text"]`)
	if got, err := callSeam(t, host); got != "hello /x" || err != nil {
		t.Errorf("http.get = %v, %v", got, err)
	}
	host = seamHost(t, o, `"http.get:127.0.0.1"`, `return http.get("http://127.0.0.1/base")["text"]`)
	if got, err := callSeam(t, host); !errors.Is(err, cassidy.ErrDenied) || !strings.Contains(err.Error(), "access denied: 127.0.0.1 belongs to this machine") {
		t.Errorf("http.get through base = %v, %v", got, err)
	}
	_, err := testhost.Open(t, testhost.On{}, t.TempDir(), &cassidy.Options{HTTP: func(http.RoundTripper) http.RoundTripper { return nil }})
	if !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("Open where HTTP returns nil: %v, want an error of kind Invalid", err)
	}
}

// TestRequestsLimit checks how many requests tools in workers make, redirects included: as many as they declare, the
// default of a program, and at most what the program and the config allow. A durable call keeps its own limit.
func TestRequestsLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, limits := range map[string]string{"plain": "", "more": `limits = {"requests": 30}`} {
		putFile(t, filepath.Join(dir, ".cassidy", "tools", name+".star"), fmt.Sprintf(
			"def %s(n: int, path: str = \"\"):\n    \"\"\"Do it.\"\"\"\n    for _ in range(n):\n        http.get(\"https://example.com/\" + path)\n\ntool(%s, needs = [\"http.get:example.com\"], %s)\n", name, name, limits))
	}
	var sent atomic.Int32
	capped := configFile(t, "limits: {requests: 25}\n")
	for _, tt := range []struct {
		tool string
		o    cassidy.Options
		call cassidy.Limits
		most int
	}{
		{tool: "plain", most: 20},
		{tool: "more", most: 30},
		{tool: "more", o: cassidy.Options{Config: capped}, most: 25},
		{tool: "plain", o: cassidy.Options{Limits: cassidy.Limits{Requests: 22}}, most: 22},
		{tool: "plain", o: cassidy.Options{Config: capped, Limits: cassidy.Limits{Requests: 40}, MaxLimits: cassidy.Limits{Requests: 30}}, most: 25},
		{tool: "more", call: cassidy.Limits{Requests: 7}, most: 7},
	} {
		tt.o.TrustSource, tt.o.NoBuiltins, tt.o.HTTP = true, true, func(http.RoundTripper) http.RoundTripper {
			return transport(func(r *http.Request) (*http.Response, error) {
				sent.Add(1)
				if r.URL.Path == "/moved" {
					return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/"}}, Body: http.NoBody}, nil
				}
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})
		}
		h, err := testhost.Open(t, testhost.On{Journal: t.TempDir()}, dir, &tt.o)
		must(t, err)
		for _, path := range []string{"", "moved"} {
			requests := tt.most
			if path != "" {
				requests /= 2
			}
			for _, more := range []int{0, 1} {
				sent.Store(0)
				c := cassidy.Call{Tool: tt.tool, Args: cassidy.NewDict("n", int64(requests+more), "path", path), Caller: cassidy.ByPerson, Limits: tt.call}
				_, err := h.Call(t.Context(), c, cassidy.Durable(fmt.Sprint("r", path, more)))
				if errors.Is(err, cassidy.ErrLimit) != (more == 1) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("at most %d requests, including redirects", tt.most)) || int(sent.Load()) > tt.most {
					t.Errorf("%s with %+v and at most %+v, and %d times %q: %v, and %d were sent", tt.tool, tt.o.Limits, tt.o.MaxLimits, requests+more, path, err, sent.Load())
				}
			}
		}
	}
}

// A transport is a function as an [http.RoundTripper].
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestFilesOfSecrets checks that no script and no command reads a file that is the source of a secret, by any of
// its names, and that no script moves or replaces it.
func TestFilesOfSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		do      string
		refused bool
	}{
		{`fs.read("conf/key.txt")`, true},
		{`fs.read("./conf/../conf/key.txt")`, true},
		{`fs.read("CONF/KEY.TXT")`, true}, // where the file system ignores case; else it does not exist
		{`fs.read("link")`, true},
		{`fs.read("dir/key.txt")`, true},
		{`fs.read("hard")`, true},
		{`fs.read_bytes("conf/key.txt")`, true},
		{`data.read("conf/key.txt", format = "csv", header = False).show()`, true},
		{`fs.search("s3cret", path = ".")`, true},
		{`fs.copy("conf/key.txt", "copy.txt") or fs.read("copy.txt")`, true},
		{`fs.move("conf/key.txt", "moved.txt") or fs.read("moved.txt")`, true},
		{`fs.move("conf", "moved") or fs.read("moved/key.txt")`, true},
		{`fs.edit("hard", [{"old": "s3", "new": "s4"}])`, true},
		{`fs.write("conf/key.txt", "other", overwrite = True)`, true},
		{`shell.run(["cat", "conf/key.txt"])`, true},
		{`shell.run(["cat", "conf/other.txt"])`, true}, // it could read all of the project
		{`fs.read("conf/other.txt")`, false},
		{`fs.remove("conf/key.txt")`, true},
		{`fs.remove("conf", recursive = True)`, true},
		{`fs.write("conf/new.txt", "x")`, false},
	} {
		dir := t.TempDir()
		putFile(t, filepath.Join(dir, "conf", "key.txt"), "s3cret-value")
		putFile(t, filepath.Join(dir, "conf", "other.txt"), "open")
		for name, to := range map[string]string{"link": "conf/key.txt", "dir": "conf"} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
		if err := os.Link(filepath.Join(dir, "conf", "key.txt"), filepath.Join(dir, "hard")); err != nil {
			t.Skip(err)
		}
		config := configFile(t, "secrets: {K: {file: \""+filepath.ToSlash(filepath.Join(dir, "conf", "key.txt"))+"\"}}\nallow: [fs.write, shell]\n")
		host := seamHostIn(t, dir, cassidy.Options{Config: config}, `"fs.read", "fs.write", "shell:cat"`, "return "+tt.do)
		r, err := callSeam(t, host)
		if got := fmt.Sprint(r, err); strings.Contains(got, "s3cret-value") || (err != nil) != tt.refused && !strings.Contains(tt.do, "search") {
			t.Errorf("%s = %v, %v", tt.do, r, err)
		}
		if hint := value.ErrorOf(err, value.Failed); strings.HasPrefix(tt.do, "shell") && value.KindOf(err) == value.Denied && !strings.Contains(hint.Hint, "mv '") {
			t.Errorf("%s: the hint %q does not say what to type", tt.do, hint.Hint)
		}
	}
}

// TestSecretFilesAreNoNotes checks that no tool gets a file of a secret that is also a note of the user's own project.
func TestSecretFilesAreNoNotes(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(from, to string) error{"a link": os.Symlink, "a hard link": os.Link} {
		dir := t.TempDir()
		key := filepath.Join(dir, "key.txt")
		putFile(t, key, "s3cret-value\n")
		putFile(t, filepath.Join(dir, "CASSIDY.local.md"), "the other note\n")
		if err := link(key, filepath.Join(dir, "CASSIDY.md")); err != nil {
			t.Skip(err)
		}
		config := configFile(t, "secrets: {K: {file: \""+filepath.ToSlash(key)+"\"}}\n")
		h := openIn(t, newRuntime(t, &cassidy.RuntimeOptions{}), cassidy.Dir(dir), &cassidy.Options{Dir: dir, Config: config, TrustSource: true})
		r, err := h.Call(t.Context(), cassidy.Call{Tool: "get_context"})
		if got := fmt.Sprint(r.Value, err); err != nil || strings.Contains(got, "s3cret") || !strings.Contains(got, "the other note") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
