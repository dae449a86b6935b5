package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/sandbox/launch"
)

// configured is a host whose config is edited.
type configured struct {
	*testing.T
	host *cassidy.Host
	file string
}

// set writes the config, and refreshes the host.
func (c *configured) set(text string) error {
	putFile(c.T, c.file, text)
	return c.host.Refresh(context.Background())
}

// must is set for a config that is valid.
func (c *configured) must(text string) {
	c.Helper()
	if err := c.set(text); err != nil {
		c.Fatal(err)
	}
}

// call calls a tool, which must succeed, or fail with a text in the error.
func (c *configured) call(when, name, want string) {
	c.Helper()
	v, err := callOf(c.T, c.host, name)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		c.Errorf("%s: %s() = %v, %v, want the error %q", when, name, v, err, want)
	}
}

func newConfigured(t *testing.T, home string, tools map[string]string) *configured {
	dir := t.TempDir()
	if home == "" {
		home = t.TempDir()
	} else {
		home = filepath.Join(dir, home)
	}
	c := &configured{T: t, file: filepath.Join(home, "config.yaml")}
	putFile(t, c.file, "{}\n")
	for name, text := range tools {
		putFile(t, filepath.Join(dir, ".cassidy", "tools", name+".star"), text)
	}
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
	c.host = openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, TrustSource: true, NoBuiltins: true, Approver: host.ApproveAll()})
	return c
}

// TestConfigOfRequests changes http.private and secrets while a host is open.
func TestConfigOfRequests(t *testing.T) {
	t.Parallel()
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("X-Key") }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	c := newConfigured(t, "", map[string]string{
		"ask": starTool("ask", "return http.get(\""+server.URL+"\", headers = {\"X-Key\": secret(\"KEY\")})[\"status\"]", "\"http.get:"+address+"\", \"secret:KEY@"+address+"\""),
	})
	home := filepath.Dir(c.file)
	putFile(t, filepath.Join(home, "one"), "the first key")
	putFile(t, filepath.Join(home, "two"), "the second key")
	c.must("secrets: {KEY: {file: one}}\n")
	c.call("without the address", "ask", "the URL should begin with https:")
	for file, want := range map[string]string{"one": "the first key", "two": "the second key"} {
		c.must("http: {private: [\"127.0.0.1\"]}\nsecrets: {KEY: {file: " + file + "}}\n")
		if c.call("with the address", "ask", ""); got != want {
			t.Errorf("the server got the secret %q, want %q", got, want)
		}
	}
	if err := c.set("http: {private: [\"127.0.0.1\"]}\nsecrets: {KEY: 1}\n"); !errors.Is(err, cassidy.ErrInvalid) {
		t.Errorf("an invalid config gave %v", err)
	}
	c.call("after a mistake", "ask", "")
	c.must("http: {private: [\"127.0.0.1\"]}\n")
	c.call("without the secret", "ask", "KEY")
}

// TestConfigOfCalls changes a field for the calls of a tool while a host is open. A mistake has no effect.
func TestConfigOfCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code, needs, field, mistake string
		without, with               string // a word of the error of the call, or ""
		skip                        bool
	}{
		"limits": {code: "return len([i for i in range(20000)])", field: "limits: {steps: 1000}", mistake: "limits: {steps: -1}", with: "steps"},
		"commands": {code: "return shell.run([\"mkfifo\", \"--version\"])[\"exit_code\"]", needs: "\"shell:mkfifo\"", field: "commands: {mkfifo: {exec: any}}",
			mistake: "commands: {mkfifo: {exec: any, path: relative}}", without: "shell:sh", skip: !launch.Confined()},
	} {
		t.Run(name, func(t *testing.T) {
			if test.skip {
				t.Skip("THIS MACHINE CANNOT CONFINE COMMANDS")
			}
			c := newConfigured(t, "", map[string]string{"work": starTool("work", test.code, test.needs)})
			c.call("without the field", "work", test.without)
			c.must(test.field + "\n")
			c.call("with the field", "work", test.with)
			if err := c.set(test.mistake + "\n"); !errors.Is(err, cassidy.ErrInvalid) {
				t.Errorf("a mistake gave %v", err)
			}
			c.call("after a mistake", "work", test.with)
			c.must("{}\n")
			c.call("again without the field", "work", test.without)
		})
	}
}

// TestConfigOfQuestions changes runs.answer_within while a host is open.
func TestConfigOfQuestions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := newConfigured(t, "", map[string]string{"ask": starTool("ask", "return human.ask(\"Why?\")", "\"human\"")})
	for run, config := range map[string]string{"never": "{}\n", "expires": "runs: {answer_within: 1h}\n"} {
		c.must(config)
		if _, err := c.host.Call(ctx, cassidy.Call{Tool: "ask"}, host.Durable(run)); err == nil {
			t.Fatal("the call does not wait for its answer")
		}
	}
	n := 0
	for q, err := range c.host.Waiting(ctx) {
		if n++; err != nil || q.Expires.IsZero() != (q.Run == "never") {
			t.Errorf("%s: the question %s expires at %v, %v", q.Run, q.ID, q.Expires, err)
		}
	}
	if n != 2 {
		t.Errorf("%d questions wait", n)
	}
}

// TestConfigThatNeedsARestart checks that a host reports, once, what it does not apply: a changed sandbox, and
// changes of a config that tools could write.
func TestConfigThatNeedsARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := filepath.Join(dir, "settings")
	file := filepath.Join(home, "config.yaml")
	putFile(t, file, "sandbox: inline\n")
	putFile(t, filepath.Join(dir, ".cassidy", "tools", "loop.star"), starTool("loop", "return len([i for i in range(20000)])", ""))
	seen := newReports()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Process})
	h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, TrustSource: true, NoBuiltins: true, Watch: seen.add})
	const sandbox, limits = "the field 'sandbox' has changed", "limits or runs have changed"
	putFile(t, file, "sandbox: process\n")
	seen.until(t, "the report of the sandbox", func() bool { return seen.count(sandbox) == 1 })
	putFile(t, file, "sandbox: process\nlimits: {steps: 1000}\n")
	seen.until(t, "the report of the limits", func() bool { return seen.count(limits) == 1 })
	if v, err := callOf(t, h, "loop"); v != int64(20000) || err != nil {
		t.Errorf("loop() = %v, %v, want that the limit is not applied", v, err)
	}
	putFile(t, file, "sandbox: inline\n")
	putFile(t, filepath.Join(dir, ".cassidy", "tools", "other.star"), "def")
	seen.until(t, "the last report", func() bool { return seen.count("other.star") == 1 })
	if seen.count(sandbox) != 1 || seen.count(limits) != 1 {
		t.Errorf("the reports are %v", seen.all)
	}
}

// TestConfigEditsUnderLoad edits the config 1,000 times while a tool is called: with half a file, with a
// mistake, and with files that replace it. No call fails: each has the limits of one valid version.
func TestConfigEditsUnderLoad(t *testing.T) {
	t.Parallel()
	c := newConfigured(t, "", map[string]string{"loop": starTool("loop", "return len([i for i in range(100)])", "")})
	ended := make(chan struct{})
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() {
			for {
				if v, err := callOf(t, c.host, "loop"); v != int64(100) || err != nil {
					t.Errorf("loop() = %v, %v", v, err)
					return
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	for n := range testutil.Times(80, 1000) {
		limit := 100_000 + n
		text := fmt.Sprintf("limits: {steps: %d, timeout: 60}\nsecrets: {KEY: {env: KEY_%d}}\nhttp: {private: [\"10.0.0.1\"]}\ncommands: {mkfifo: {exec: any}}\n", limit, n)
		switch n % 4 {
		case 1: // any half of it is either invalid or has the limit
			putFile(t, c.file, text[:len("limits: {steps: 100000, timeout: 60}\n")+n%40])
			_ = c.host.Refresh(context.Background())
		case 2:
			if err := c.set(strings.Replace(text, "steps", "stesp", 1)); !errors.Is(err, cassidy.ErrInvalid) {
				t.Fatalf("an unknown field gave %v", err)
			}
		case 3:
			putFile(t, c.file+"~", text)
			if err := os.Rename(c.file+"~", c.file); err != nil {
				t.Fatal(err)
			}
		}
		c.must(text)
	}
	close(ended)
	load.Wait()
	c.must("limits: {steps: 10}\n")
	c.call("at the end", "loop", "steps")
}

// TestConfigLinkedIntoTheProject checks that a tool cannot write a config in the project to which the user's config
// is a link, and that changes of such a config do not apply to a running host.
func TestConfigLinkedIntoTheProject(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	linked := filepath.Join(dir, "cfg.yaml")
	putFile(t, linked, "{}\n")
	if err := os.Symlink(linked, filepath.Join(home, "config.yaml")); err != nil {
		t.Skip("SKIPPED: links cannot be made here:", err)
	}
	for name, text := range map[string]string{
		"ask":  starTool("ask", `return secret("KEY") != None`, `"secret:KEY@api.example.com"`),
		"edit": starTool("edit", `fs.write("cfg.yaml", "allow: [shell:sh]\n")`+"\n    return 1", `"fs.write:**"`),
	} {
		putFile(t, filepath.Join(dir, ".cassidy", "tools", name+".star"), text)
	}
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
	h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, TrustSource: true, NoBuiltins: true, Approver: host.ApproveAll()})
	if _, err := callOf(t, h, "edit"); !errors.Is(err, cassidy.ErrDenied) {
		t.Errorf("a tool wrote the config: %v", err)
	}
	secret := filepath.Join(t.TempDir(), "key")
	putFile(t, secret, "the private key of the user")
	putFile(t, linked, "secrets: {KEY: {file: "+secret+"}}\n") // as a command could do
	_ = h.Refresh(t.Context())
	if _, err := callOf(t, h, "ask"); !errors.Is(err, cassidy.ErrUnavailable) {
		t.Errorf("the tool got a secret of the changed config: %v", err)
	}
}
