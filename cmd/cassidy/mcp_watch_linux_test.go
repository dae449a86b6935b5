package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// listChanged is the notification of changed tools.
const listChanged = "notifications/tools/list_changed"

// TestMCPServeFollowsFiles edits the tools of a server over standard input and output: its client hears
// of changed tools and of errors, and a broken file keeps its last good version.
func TestMCPServeFollowsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putChatFile(t, dir, ".cassidy/tools/first.star", echoTool("first", "one"))
	s := startMCP(t, dir, filepath.Join(dir, "home"), "--trust-once", "mcp", "serve")
	if list := s.request("tools/list", "{}"); !strings.Contains(list, `"first"`) {
		t.Errorf("the tools are %s", list)
	}
	putChatFile(t, dir, ".cassidy/tools/second.star", echoTool("second", "two"))
	s.expect(listChanged)
	putChatFile(t, dir, ".cassidy/tools/first.star", "def first(")
	s.expect("notifications/message", "warning", "first.star:1")
	if answer := s.call("first"); !strings.Contains(answer, "one") {
		t.Errorf("a broken file: %s", answer)
	}
	putChatFile(t, dir, ".cassidy/tools/first.star", strings.Replace(echoTool("first", "three"), "Say it.", "Say more.", 1))
	for !strings.Contains(s.call("first"), "three") {
	}
	s.end(map[string]int{"first.star:1": 1})
}

// waitingServer writes the ID of its process for each call, and answers when the file out/go exists.
const waitingServer = `
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
sleep 1000 &
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}' ;;
  *'"tools/list"'*) answer '{"tools":[{"name":"act","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*)
    echo "$$ $!" >>out/pids
    while [ ! -e out/go ]; do sleep 0.01; done
    answer "{\"content\":[{\"type\":\"text\",\"text\":\"done by $1\"}]}" ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
`

// TestMCPServeFollowsServers attaches, changes and removes servers while cassidy mcp serve runs in another
// process.
func TestMCPServeFollowsServers(t *testing.T) {
	t.Parallel()
	p := &attachedProject{t, t.TempDir(), t.TempDir()}
	putChatFile(t, p.dir, "server.sh", waitingServer)
	putChatFile(t, p.dir, "out/x", "")
	putChatFile(t, p.home, "config.yaml", "allow: [\"tool:slow.act\", \"tool:other.act\"]\ntrusted_sources: [\"tool:slow.act\", \"tool:other.act\"]\n")
	pids := func() []string {
		text, _ := os.ReadFile(filepath.Join(p.dir, "out/pids"))
		return strings.Fields(string(text))
	}
	isGone := func(pid string) bool {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		return errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
	}
	s := startMCP(t, p.dir, p.home, "mcp", "serve")
	has := func(name string) bool { return strings.Contains(s.request("tools/list", "{}"), `"`+name+`"`) }
	if has("slow__act") {
		t.Error("a server is attached before it is added")
	}

	p.must("mcp", "add", "slow", "--write", "out", "--", "sh", "server.sh", "first")
	if code, _, errs := p.run("mcp", "review", "slow"); code == 0 {
		t.Errorf("a review without an answer: %s", errs)
	}
	if has("slow__act") {
		t.Error("the tools of a server are used before their review")
	}
	p.must("mcp", "review", "slow", "--yes")
	s.expect(listChanged)
	if !has("slow__act") {
		t.Error("the tools of a reviewed server are missing")
	}

	answer := s.begin("tools/call", `{"name":"slow__act","arguments":{}}`)
	until(t, "the call", func() bool { return len(pids()) == 2 })
	p.must("mcp", "remove", "slow")
	s.expect(listChanged)
	if has("slow__act") || isGone(pids()[0]) {
		t.Errorf("after the removal during a call: processes %q", pids())
	}
	putChatFile(t, p.dir, "out/go", "")
	if got := s.expect(answer); !strings.Contains(got, "done by first") {
		t.Errorf("the call in progress gave %s", got)
	}
	for _, pid := range pids() {
		until(t, "the end of process "+pid, func() bool { return isGone(pid) })
	}

	p.must("mcp", "add", "slow", "--write", "out", "--", "sh", "server.sh", "second")
	s.expect(listChanged)
	if got := s.call("slow__act"); !strings.Contains(got, "done by second") {
		t.Errorf("after it was added again: %s", got)
	}
	running := pids()[2:]
	same := func(what string) {
		t.Helper()
		got := s.call("slow__act")
		if now := pids(); !strings.Contains(got, "done by second") || !slices.Equal(now[len(now)-2:], running) {
			t.Errorf("%s: %s, processes %q, want no restart", what, got, now)
		}
	}
	p.must("mcp", "add", "other", "--write", "out", "--", "sh", "server.sh", "another")
	p.must("mcp", "review", "other", "--yes")
	s.expect(listChanged)
	same("another server was added")

	file := filepath.Join(p.dir, ".cassidy/mcp.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	putChatFile(t, p.dir, ".cassidy/mcp.json", string(text[:len(text)/2]))
	s.expect("notifications/message", "mcp.json", "is not valid JSON")
	same("half of the file")

	widened := strings.Replace(string(text), `"another"`, `"widened"`, 1)
	putChatFile(t, p.dir, ".cassidy/mcp.json", widened)
	s.expect("notifications/message", "mcp.json is untrusted")
	same("the other entry was changed")
	if has("other__act") {
		t.Error("a changed entry is used before it is trusted")
	}
	p.must("trust", "--yes")
	until(t, "the tool of the changed entry", func() bool { return has("other__act") })
	if got := s.call("other__act"); !strings.Contains(got, "done by widened") {
		t.Errorf("the changed entry: %s", got)
	}
	same("the file was trusted again")
	p.must("trust", "--revoke", ".cassidy/mcp.json")
	until(t, "the end of the servers", func() bool { return !has("slow__act") && !has("other__act") })
	for _, pid := range pids() {
		until(t, "the end of process "+pid, func() bool { return isGone(pid) })
	}
	s.end(map[string]int{"is not valid JSON": 1})
}
