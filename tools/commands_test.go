package tools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	found "github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/sandbox/launch"
	"github.com/cassidy-run/cassidy/stdlib"
	"github.com/cassidy-run/cassidy/stdlib/shell"
	"github.com/cassidy-run/cassidy/tools"
)

// commandHost opens a host over a folder whose tools can run commands.
func commandHost(t *testing.T, dir string, commands map[string]shell.Rule) *host.Host {
	t.Helper()
	if !launch.Confined() {
		t.Skip("THIS MACHINE CANNOT CONFINE COMMANDS")
	}
	world, err := stdlib.Open(&stdlib.Options{Root: dir, Launch: launch.Run, Commands: commands})
	if err != nil {
		t.Fatal(err)
	}
	find := &found.Options{Builtin: tools.FS()}
	effects := append(world.Modules(), found.Modules(dir, func() *trust.Scope { return &find.Scope })...)
	box := sandbox.NewInline(slices.Concat(stdlib.Pure(), effects, host.Modules())...)
	find.Describe = box.Describe
	host, err := host.New(&host.Options{
		Sandbox: box, Modules: effects, WorkDir: dir,
		Discover: func(ctx context.Context, _ toolset.Source) (toolset.Discovered, error) {
			p, err := found.Load(ctx, dir, find)
			if err != nil {
				return toolset.Discovered{}, err
			}
			d := toolset.Discovered{Broken: p.Broken}
			for _, t := range p.Tools {
				head := toolset.Head{Head: t.Head, Standing: toolset.Standing{Location: t.Location, Path: t.Path, Hash: t.Hash, Granted: t.Granted}}
				d.Tools = append(d.Tools, toolset.Found{Head: head, Declared: t.Declared, Load: t.Load})
			}
			return d, nil
		},
		Close: world.Close,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close() })
	return host
}

// ask makes one call, and returns its result as a dictionary.
func ask(t *testing.T, host *host.Host, name string, args ...value.Value) *value.Dict {
	t.Helper()
	r, err := host.Call(t.Context(), tool.Call{Tool: name, Args: value.NewDict(args...), Caller: tool.ByPerson})
	if err != nil {
		t.Fatalf("%s%s: %v", name, value.FormatJSON(value.NewDict(args...), ""), err)
	}
	return r.Value.(*value.Dict)
}

// needProgram skips a test if a program is missing.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("THIS MACHINE HAS NO %s", name)
	}
}

// TestRunCommandOutput checks how much of a long output a caller gets, and that the
// last lines are included.
func TestRunCommandOutput(t *testing.T) {
	t.Parallel()
	host := commandHost(t, t.TempDir(), nil)
	r := ask(t, host, "run_command", "command", "seq 1 20000")
	out := r.Text("stdout")
	cut, _ := r.Get("truncated")
	if cut != true || len(out) > 31_000 || !strings.HasPrefix(out, "1\n2\n") || !strings.HasSuffix(out, "19999\n20000\n") || !strings.Contains(out, "bytes omitted") {
		t.Errorf("%d bytes, truncated %v: %.40q … %.40q", len(out), cut, out, out[max(0, len(out)-40):])
	}
	_, err := host.Call(t.Context(), tool.Call{Tool: "run_command", Args: value.NewDict("command", "yes | head -c 3000000; echo never >&2"), Caller: tool.ByPerson})
	if value.KindOf(err) != value.Command || !strings.Contains(err.Error(), "killed: more than 1048576 bytes of output") || strings.Contains(err.Error(), "never") {
		t.Errorf("more than 1 MB: %.200v, want an error with the output", err)
	}
	r = ask(t, host, "run_command", "command", "printf 'é%.0s' $(seq 1 20000)")
	if out := r.Text("stdout"); strings.Contains(out, "�") || len(out) > 31_000 {
		t.Errorf("characters are cut in two: %d bytes", len(out))
	}
}

// TestRunCommandEvents checks that the output of a command is streamed.
func TestRunCommandEvents(t *testing.T) {
	t.Parallel()
	h := commandHost(t, t.TempDir(), nil)
	var told strings.Builder
	events := h.Subscribe(t.Context(), host.EventFilter{})
	ask(t, h, "run_command", "command", "echo one")
	for len(events) > 0 {
		e := <-events
		if out, ok := e.Data.(tool.ToolOutput); ok {
			told.WriteString(e.Tool + ":" + out.Chunk)
		}
	}
	if told.String() != "run_command:one\n" {
		t.Errorf("told %q, want the output", told.String())
	}
}

// TestRunCommandByConfig checks that commands that the user's config allows run, with
// unchanged arguments.
func TestRunCommandByConfig(t *testing.T) {
	t.Parallel()
	needProgram(t, "find")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	host := commandHost(t, dir, map[string]shell.Rule{"find": {Any: true}})
	if out := ask(t, host, "run_command", "command", `find . -name "a*" -print`).Text("stdout"); out != "./a b\n" {
		t.Errorf("find gave %q, want ./a b", out)
	}
	_, failed := host.Call(t.Context(), tool.Call{Tool: "run_command", Args: value.NewDict("command", `find . -name "a*" -delete`), Caller: tool.ByPerson})
	if _, err := os.Stat(filepath.Join(dir, "a b")); err != nil || value.KindOf(failed) != value.Command || !strings.Contains(fmt.Sprint(failed), "ermission denied") {
		t.Errorf("find -delete: %v, %v; a tool that does not write must not", err, failed)
	}
}

// TestRunCommandAlike checks that a program is run in the same way whether a shell starts it
// or not, and that failures have the output.
func TestRunCommandAlike(t *testing.T) {
	t.Parallel()
	needProgram(t, "perl")
	dir := t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "hello.pl"), []byte("print \"hello\\n\"; open(F, '>', 'made') or print STDERR \"no file\\n\"; exit 3"), 0o644),
		os.WriteFile(filepath.Join(dir, "slow.pl"), []byte("$| = 1; print \"so far\\n\"; sleep 60"), 0o644),
		testutil.WriteProgram(filepath.Join(dir, "script"), []byte("#!/bin/sh\necho hello; echo 'no file' >&2; exit 3\n")))
	if err != nil {
		t.Fatal(err)
	}
	h := commandHost(t, dir, nil)
	for _, line := range []string{"perl hello.pl", "perl hello.pl; exit 3", "sh -c 'perl hello.pl'", "./script", "env perl hello.pl"} {
		_, err := h.Call(t.Context(), tool.Call{Tool: "run_command", Args: value.NewDict("command", line, "description", "Say hello"), Caller: tool.ByPerson})
		text := fmt.Sprint(err)
		if value.KindOf(err) != value.Command || !strings.Contains(text, "exit code 3\nstdout:\nhello\nstderr:\nno file") {
			t.Errorf("%s: %v, want exit code 3 with the output", line, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a command wrote a file")
	}
	for _, line := range []string{"perl slow.pl", "perl slow.pl; true"} {
		_, err := h.Call(t.Context(), tool.Call{Tool: "run_command", Args: value.NewDict("command", line, "timeout", int64(1)), Caller: tool.ByPerson})
		if value.KindOf(err) != value.Timeout || !strings.Contains(fmt.Sprint(err), "output:\nstdout:\nso far") {
			t.Errorf("%s: %v, want a timeout with the output until then", line, err)
		}
	}
	_, err = h.Call(t.Context(), tool.Call{Tool: "run_command", Args: value.NewDict("command", "seq 1 20000; echo last >&2; exit 1"), Caller: tool.ByPerson})
	if text := fmt.Sprint(err); !strings.Contains(text, "stdout:\n1\n2\n") || !strings.Contains(text, "19999\n20000") || !strings.Contains(text, "bytes omitted") || !strings.HasSuffix(text, "stderr:\nlast") {
		t.Errorf("a long output: %v", err)
	}
}

// TestGitStatus checks every kind of change in a repository.
func TestGitStatus(t *testing.T) {
	t.Parallel()
	needProgram(t, "git")
	base := t.TempDir()
	dir := filepath.Join(base, "repo")
	git := func(at string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = at
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_DATE=2024-05-01T12:00:00Z", "GIT_COMMITTER_DATE=2024-05-01T12:00:00Z",
		}
		if out, err := cmd.CombinedOutput(); err != nil && args[0] != "merge" {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(base, "init", "-q", "--bare", "-b", "main", "origin.git")
	git(base, "init", "-q", "-b", "main", "repo")
	for _, name := range []string{"same", "changed", "staged", "old name", "gone", "both"} {
		write(name, strings.Repeat(name+"\n", 10))
	}
	git(dir, "add", ".")
	git(dir, "commit", "-q", "-m", "first")
	git(dir, "remote", "add", "origin", "../origin.git")
	git(dir, "push", "-q", "-u", "origin", "main")
	host := commandHost(t, dir, nil)
	if r := ask(t, host, "git_status"); !strings.Contains(value.FormatJSON(r, ""), `"upstream":"origin/main","ahead":0,"behind":0,"clean":true,"staged":[]`) {
		t.Errorf("a clean repository is %s", value.FormatJSON(r, ""))
	}
	git(dir, "commit", "-q", "--allow-empty", "-m", "second")
	write("changed", "x\n")
	write("staged", "x\n")
	write("both", "x\n")
	write("dir/new é", "x\n")
	git(dir, "add", "staged", "both")
	write("both", "y\n")
	git(dir, "mv", "old name", "new name")
	git(dir, "rm", "-q", "gone")
	r := ask(t, host, "git_status")
	want := `"branch":"main","commit":"","upstream":"origin/main","ahead":1,"behind":0,"clean":false,"staged":["both","gone","new name","staged"],"changed":["both","changed"],"untracked":["dir/new é"],"conflicts":[]`
	r.Put("commit", "")
	if diff := cmp.Diff("{"+want+"}", value.FormatJSON(r, "")); diff != "" {
		t.Errorf("git_status (-want +got):\n%s", diff)
	}
	git(dir, "stash", "-q")
	git(dir, "checkout", "-q", "-b", "other")
	write("same", "theirs\n")
	git(dir, "commit", "-q", "-am", "theirs")
	git(dir, "checkout", "-q", "--detach", "main")
	write("same", "ours\n")
	git(dir, "commit", "-q", "-am", "ours")
	git(dir, "merge", "-q", "other")
	if r := ask(t, host, "git_status"); r.Text("branch") != "" || !strings.Contains(value.FormatJSON(r, ""), `"conflicts":["same"]`) {
		t.Errorf("a conflict on no branch is %s", value.FormatJSON(r, ""))
	}
	outside := commandHost(t, t.TempDir(), nil)
	_, err := outside.Call(t.Context(), tool.Call{Tool: "git_status", Args: value.NewDict(), Caller: tool.ByPerson})
	if value.KindOf(err) != value.Failed || !strings.Contains(fmt.Sprint(err), "not a git repository") || !strings.Contains(fmt.Sprint(err), "run: git init") {
		t.Errorf("outside of a repository: %v, want it said", err)
	}
}

// TestListProcesses checks that a process is listed without its arguments.
func TestListProcesses(t *testing.T) {
	needProgram(t, "ps")
	sleeper := exec.Command("sleep", "61.75")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	host := commandHost(t, t.TempDir(), nil)
	for _, sort := range []string{"cpu", "memory", "pid"} {
		r := ask(t, host, "list_processes", "name", "SLEEP", "sort", sort, "limit", int64(1000))
		text := value.FormatJSON(r, "")
		if !strings.Contains(text, fmt.Sprintf(`"pid":%d,"parent":%d,`, sleeper.Process.Pid, os.Getpid())) || strings.Contains(text, "61.75") {
			t.Errorf("sleep is %s", text)
		}
	}
	r := ask(t, host, "list_processes", "sort", "pid", "limit", int64(2))
	list, _ := r.Get("processes")
	total, _ := r.Get("total")
	if got := list.(value.List); len(got) != 2 || total.(int64) < 3 {
		t.Errorf("limit 2 gave %d of %v", len(got), total)
	}
}
