package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// An attachedProject is a project with attached servers.
type attachedProject struct {
	*testing.T
	dir, home string
}

func newAttachedProject(t *testing.T, servers string) *attachedProject {
	t.Helper()
	p := &attachedProject{t, t.TempDir(), t.TempDir()}
	putChatFile(t, p.dir, ".cassidy/mcp.json", servers)
	return p
}

// run runs a command, and returns what it prints.
func (p *attachedProject) run(args ...string) (code int, out, errs string) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"CASSIDY_HOME": p.home, "CASSIDY_WORKER": testworker.Exec()}[name]
		if !ok {
			return os.LookupEnv(name)
		}
		return value, true
	}
	var stdout, stderr bytes.Buffer
	code = command.Main(p.Context(), append([]string{"--dir", p.dir}, args...), &app.World{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: env})
	return code, stdout.String(), stderr.String()
}

// must runs a command that must succeed, and returns what it prints.
func (p *attachedProject) must(args ...string) string {
	p.Helper()
	code, out, errs := p.run(args...)
	if code != 0 {
		p.Fatalf("cassidy %s: exit code %d\n%s\n%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// slowServer never answers calls. It writes the IDs of its processes, and a line for each call.
const slowServer = `
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}' ;;
  *'"tools/list"'*) answer '{"tools":[{"name":"act","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
  *'"tools/call"'*)
    sleep 1000 &
    echo "$$ $!" >>out/pids
    echo call >>out/calls ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
`

// TestAttachedKilled kills a workflow during the call of a server's tool: the server ends with all its
// processes, and the resumed run asks before it repeats the call, although the server calls its tool
// read-only.
func TestAttachedKilled(t *testing.T) {
	p := newAttachedProject(t, `{"mcpServers": {"slow": {"command": "sh", "args": ["server.sh"], "cassidy": {"write": ["out"]}}}}`)
	putChatFile(t, p.dir, "server.sh", slowServer)
	putChatFile(t, p.dir, "out/x", "")
	putChatFile(t, p.dir, ".cassidy/workflows/act.star", "def main():\n    return tools.call(\"slow.act\")\n")
	p.must("trust", "--yes")
	p.must("mcp", "review", "slow", "--yes")
	cmd := exec.Command(os.Args[0], "--dir", p.dir, "run", "act", "--yes")
	cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+p.home, "CASSIDY_WORKER="+testworker.Exec())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	calls := func() string {
		text, _ := os.ReadFile(filepath.Join(p.dir, "out/calls"))
		return string(text)
	}
	until(t, "the call", func() bool { return calls() != "" })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	text, err := os.ReadFile(filepath.Join(p.dir, "out/pids"))
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(text))
	if len(pids) != 2 {
		t.Fatalf("the server has the processes %q, want two", pids)
	}
	for _, word := range pids {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the end of process "+word, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	list := p.must("runs", "list")
	id, _, _ := strings.Cut(list, " ")
	code, out, errs := p.run("runs", "resume", id)
	if code == 0 || !strings.Contains(errs, `mcp.call({"server":"slow","name":"act","arguments":{}}), which may have completed: do it again?`) || calls() != "call\n" {
		t.Errorf("resume: exit code %d, calls %q\n%s\n%s", code, calls(), out, errs)
	}
}

// askingServer asks for a form by its results, as servers of 2026-07-28 do. It writes a line for each call:
// what the call brings.
const askingServer = `
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"server/discover"'*) answer '{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}' ;;
  *'"tools/list"'*) answer '{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"forecast","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
  *'"tools/call"'*'"inputResponses"'*)
    case $line in
    *'"requestState":"s-1"'*'Rome'* | *'Rome'*'"requestState":"s-1"'*) echo answer >>out/calls ;;
    *) echo "unexpected $line" >>out/calls ;;
    esac
    answer '{"resultType":"complete","content":[{"type":"text","text":"sun in Rome"}]}' ;;
  *'"tools/call"'*)
    echo call >>out/calls
    answer '{"resultType":"input_required","requestState":"s-1","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Where?","requestedSchema":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}}}}}' ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
`

// TestFormKilled kills cassidy mcp serve while a form of an attached server of 2026-07-28 is parked, and while
// a client is asked. The run continues in new processes, and the server does not get the first request again.
func TestFormKilled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ capabilities, until string }{
		"parked":         {`{}`, `waits for an answer`},
		"being answered": {`{"elicitation":{"form":{}}}`, `"elicitation/create"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newAttachedProject(t, `{"mcpServers": {"weather": {"command": "sh", "args": ["server.sh"], "cassidy": {"write": ["out"], "trust_annotations": true}}}}`)
			putChatFile(t, p.dir, "server.sh", askingServer)
			putChatFile(t, p.dir, "out/calls", "")
			p.must("trust", "--yes")
			p.must("mcp", "review", "weather", "--yes")
			s := startMCPFor(t, test.capabilities, p.dir, p.home, "mcp", "serve")
			s.begin("tools/call", `{"name":"weather__forecast","arguments":{}}`)
			s.expect(test.until)
			s.kill()

			id, _, _ := strings.Cut(p.must("runs", "list"), " ")
			p.run("runs", "resume", id) // a run that was interrupted asks again
			p.must("runs", "answer", id, "--text", `{"city":"Rome"}`)
			if out := p.must("runs", "resume", id); !strings.Contains(out, "sun in Rome") {
				t.Errorf("the resumed run gave %q", out)
			}
			calls, err := os.ReadFile(filepath.Join(p.dir, "out/calls"))
			if err != nil || string(calls) != "call\nanswer\n" {
				t.Errorf("the server got the calls %q, %v", calls, err)
			}
		})
	}
}

// until waits for a condition.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(late) {
			t.Fatalf("%s did not come", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestAttachedServers uses servers that others have written, confined.
func TestAttachedServers(t *testing.T) {
	t.Parallel()
	modules, err := filepath.Abs("../../.ci/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server-everything", "server-filesystem"} {
		if _, err := os.Stat(filepath.Join(modules, "@modelcontextprotocol", name)); err != nil {
			t.Skipf("SKIPPED: %s is not installed: make .ci/mcp/node_modules/@modelcontextprotocol/conformance/package.json", name)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("SKIPPED: the servers need Node.js, which is not installed")
	}
	p := newAttachedProject(t, `{"mcpServers": {
		"everything": {"command": "`+modules+`/.bin/mcp-server-everything", "cassidy": {"read": ["`+modules+`"]}},
		"files": {"command": "`+modules+`/.bin/mcp-server-filesystem", "args": ["."], "cassidy": {"read": ["`+modules+`"], "write": ["out"]}}
	}}`)
	putChatFile(t, p.dir, "notes.txt", "the notes\n")
	putChatFile(t, p.dir, "out/x", "")
	p.must("trust", "--yes")
	p.must("mcp", "review", "everything", "--yes")
	p.must("mcp", "review", "files", "--yes")
	for _, test := range []struct{ want, command string }{
		{"Echo: hi", "everything.echo message=hi"},
		{"The sum of 2 and 3 is 5.", "everything.get-sum a=2 b=3"},
		{"image/png", "everything.get-tiny-image"},
		{`"conditions":`, "everything.get-structured-content location=Chicago"},
		{"Steps: 2", "everything.trigger-long-running-operation duration=0.01 steps=2"},
		{"the notes", "files.read_text_file path=notes.txt"},
		{"notes.txt", "files.list_directory path=."},
		{"Successfully wrote", "files.write_file path=out/new.txt content=x"},
	} {
		if out := p.must(append([]string{"tool", "run"}, strings.Fields(test.command)...)...); !strings.Contains(out, test.want) {
			t.Errorf("%s = %q, want %q", test.command, out, test.want)
		}
	}
	if code, _, errs := p.run("tool", "run", "files.write_file", "path=new.txt", "content=x"); code == 0 || !strings.Contains(errs, "EACCES") {
		t.Errorf("a server has written what it was not granted: %s", errs)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "new.txt")); err == nil {
		t.Error("the file exists")
	}
}
