package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A spoken is what a command has printed.
type spoken struct {
	out, err string
	code     int
}

// over runs a command that talks to the server, with a token.
func (m *team) over(s *site, token string, args ...string) spoken {
	m.t.Helper()
	return m.said([]string{"CASSIDY_SERVER=" + s.url, "CASSIDY_TOKEN=" + token}, args...)
}

// said runs a command with more variables in its environment.
func (m *team) said(env []string, args ...string) spoken {
	m.t.Helper()
	c := m.command(args...)
	c.Env = append(c.Env, env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if e, ended := errors.AsType[*exec.ExitError](err); err != nil && (!ended || !e.Exited()) {
		m.t.Fatalf("cassidy %s: %v", strings.Join(args, " "), err)
	}
	return spoken{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// TestOverServer uses each command that talks to a server, and compares what it prints with what it prints on the machine of the
// server.
func TestOverServer(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	s := m.serve()
	over := func(code int, args string) spoken {
		t.Helper()
		got := m.over(s, s.token, strings.Fields(args)...)
		if got.code != code {
			t.Errorf("cassidy %s exited with %d, want %d\n%s%s", args, got.code, code, got.out, got.err)
		}
		return got
	}
	want := func(got spoken, out, err string) {
		t.Helper()
		if !strings.Contains(got.out, out) || !strings.Contains(got.err, err) {
			t.Errorf("it printed %q and %q, want %q and %q", got.out, got.err, out, err)
		}
	}
	if got := over(0, "run count n=1"); got.out != "1\n" || strings.Count(got.err, "add file=n1") != 3 {
		t.Errorf("the workflow printed %q and %q", got.out, got.err)
	}
	lines := strings.Split(strings.TrimSpace(over(0, "run count n=2 --json").out), "\n")
	var end struct {
		Type, Workflow, Reason string
		Result                 int
		Success                bool
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Type != "run_end" || end.Workflow != "count" || end.Reason != "final" || end.Result != 2 || !end.Success {
		t.Errorf("the last line is %s: %v", lines[len(lines)-1], err)
	}
	want(over(6, "run ask name=Ann"), "", "waits for an answer: Greet Ann?\ncassidy: hint: cassidy runs answer ")
	want(over(2, "runs answer last"), "", "the answer is missing")
	want(over(0, "runs answer last yes"), "answered yes: Greet Ann?", "")
	want(over(0, "runs show last --follow"), "result   hi Ann", "")
	detached := strings.TrimSpace(over(0, "run ask name=Bea --detach").out)
	waitFor(t, "the question", func() bool { return strings.Contains(over(0, "runs show "+detached).out, "Greet Bea?") })
	want(over(0, "runs cancel "+detached), detached+" cancelled", "")
	want(over(1, "runs resume "+detached), "", "has ended: cancelled")
	want(over(6, "runs retry "+detached+" --from 1"), "", "retrying run "+detached)
	want(over(0, "tool run add file=x line=1"), "", "")
	want(over(0, "runs undo last"), "undid step 1.2", "to undo this undo")
	want(over(2, "tool run add file=x"), "", "Missing required parameter: line\ncassidy: hint: cassidy tool run add")
	want(over(2, "tool run nothing"), "", "Tool not found: nothing")
	want(over(2, "run nothing"), "", "no workflow \"nothing\"")
	age := regexp.MustCompile(`\b\d+[smhd] ago`)
	for _, args := range []string{
		"run", "run --json", "runs list", "runs list --json", "runs list --json --limit 3", "runs list --state done --kind run", "runs list --kind what",
		"runs show last", "runs show last --json", "runs show last --verbose", "runs show last --step 1 --json", "runs show " + detached, "runs show " + detached + " --follow",
		"runs show " + detached + " --follow --json", "runs show nothing", "runs cancel " + detached,
		"tool list", "tool list --group files", "tool list --group files --json", "tool info add", "tool info add --json", "tool help add", "tool help add --json", "tool schema add",
	} {
		here, there := m.said(nil, strings.Fields(args)...), over(map[string]int{"runs list --kind what": 2, "runs show nothing": 2, "runs cancel " + detached: 1}[args], args)
		here.out, there.out = age.ReplaceAllString(here.out, "AGE ago"), age.ReplaceAllString(there.out, "AGE ago") // one is said after the other
		if here != there {
			t.Errorf("cassidy %s prints %+v\nand over the server %+v", args, here, there)
		}
	}
}

// TestOverServerRefused checks what is refused: by the command and by the server.
func TestOverServerRefused(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	viewer := strings.TrimSpace(m.do("serve", "user", "add", "vera", "--role", "view"))
	s := m.serve()
	const none = "CASSIDY_TOKEN="
	url := "CASSIDY_SERVER=" + s.url
	for _, tt := range []struct {
		name, env, args, want string
		code                  int
	}{
		{"no token", none, "runs list", "there is no token for the server " + s.url + "\ncassidy: hint: export CASSIDY_TOKEN=…", 3},
		{"a wrong token", none + "wrong", "runs list", "does not accept the token", 3},
		{"a token that is none", none + "a\x01b", "runs list", "is not a token", 2},
		{"a role that may see", none + viewer, "runs list", "", 0},
		{"a role that may not run", none + viewer, "run count n=1", "needs the role run", 3},
		{"a role that may not call", none + viewer, "tool run add file=x line=1", "needs the role run", 3},
		{"another command", none + s.token, "tool new x", "cassidy tool new works on this machine only, not over the server " + s.url + "\ncassidy: hint: cassidy --server= tool new", 2},
		{"another command, of no server", none, "--server= runs list", "", 0},
		{"a command about this machine", none, "serve user list", "", 0},
		{"which is named", none, "--server " + s.url + " config list", "works on this machine only", 2},
		{"a flag of this machine", none + s.token, "run count n=1 --yes", "--yes does not work over a server", 2},
		{"a project that is not there", none + s.token, "run count n=1 --project other", "there is no project \"other\"", 2},
		{"a project of no server", none, "--server= run count n=1 --project other", "--project needs --server", 2},
		{"no address", none, "--server nothing runs list", "is not an address", 2},
		{"an address with a password", none, "--server http://a:b@127.0.0.1 runs list", "is not an address", 2},
		{"nobody there", none + "x", "--server http://127.0.0.1:1 runs list", "the server http://127.0.0.1:1 does not answer", 5},
	} {
		got := m.said([]string{url, tt.env}, strings.Fields(tt.args)...)
		if got.code != tt.code || !strings.Contains(got.err, tt.want) {
			t.Errorf("%s: cassidy %s exited with %d: %s", tt.name, tt.args, got.code, got.err)
		}
	}
}

// TestOverServerLeft checks that the run goes on when the command that began it is interrupted.
func TestOverServerLeft(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.write("workflows/slow.star", "def main():\n    \"Wait.\"\n    log(\"begun\")\n    time.sleep(55)\n")
	m.do("trust", "--yes")
	s := m.serve()
	c := m.command("--server", s.url, "run", "slow")
	c.Env = append(c.Env, "CASSIDY_TOKEN="+s.token)
	var errs bytes.Buffer
	said := make(chan bool, 1)
	c.Stderr = writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("begun")) {
			said <- true
		}
		return errs.Write(p)
	})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-said
	_ = c.Process.Signal(syscall.SIGINT)
	if _ = c.Wait(); c.ProcessState.ExitCode() != 130 || !strings.Contains(errs.String(), "goes on at the server\ncassidy: hint: to watch it: cassidy runs show") {
		t.Errorf("it exited with %d: %s", c.ProcessState.ExitCode(), errs.String())
	}
	if got := m.over(s, s.token, "runs", "show", "last"); !strings.Contains(got.out, "running") {
		t.Errorf("the run is %+v", got)
	}
	m.over(s, s.token, "runs", "cancel", "last")
}

// TestOverServerKilled checks that a command goes on following a run when its server was restarted, and ends when the server
// stays away.
func TestOverServerKilled(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	s := m.serve("--jobs", "4")
	id := strings.TrimSpace(m.over(s, s.token, "run", "ask", "name=Ann", "--detach").out)
	waitFor(t, "the question", func() bool { return strings.Contains(m.do("runs", "show", id), "Greet Ann?") })
	c := m.command("--server", s.url, "runs", "show", id, "--follow")
	c.Env = append(c.Env, "CASSIDY_TOKEN="+s.token)
	var out bytes.Buffer
	shown := make(chan bool, 1)
	c.Stdout = writerFunc(func(p []byte) (int, error) {
		n, err := out.Write(p)
		if bytes.Contains(out.Bytes(), []byte("Greet Ann?")) {
			select {
			case shown <- true:
			default:
			}
		}
		return n, err
	})
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-shown
	_, _ = s.process.Process.Kill(), s.process.Wait()
	again := m.command("serve", "--listen", strings.TrimPrefix(s.url, "http://"))
	again.Env = append(again.Env, "CASSIDY_SERVE_TOKEN="+s.token)
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = again.Process.Kill(), again.Wait() })
	waitFor(t, "the server", func() bool { return m.over(s, s.token, "runs", "answer", id, "yes").code == 0 })
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "hi Ann") {
		t.Errorf("it ended with %v: %s", err, out.String())
	}
}

// A writerFunc is a function that writes.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }
