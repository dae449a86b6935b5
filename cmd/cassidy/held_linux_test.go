package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// TestServerStaysSmall makes hostile calls of a server: 40 at a time that stage 28 MB each, or read 8 MB, or return
// 7 MB, or get 8 MB from a server, or run commands that print 1 MB, and one call that calls each of these 40 times. The server stays below 256 MB, answers the small calls between
// them, and returns its memory afterwards.
func TestServerStaysSmall(t *testing.T) {
	if !testutil.Soak() {
		t.Skip("only in make soak; TestCallsShareMemory has the small form")
	}
	program, dir := testutil.Build(t, "cmd/cassidy"), t.TempDir()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("w", 8_000_000))
	}))
	defer web.Close()
	host := web.Listener.Addr().String()
	putFiles(t, dir, map[string]string{
		"big.txt":                      strings.Repeat("z", 8_000_000),
		"home/config.yaml":             "allow: [fs.write, tool, http.get, shell]\nhttp: {private: [127.0.0.1]}\n",
		".cassidy/tools/stage.star":    "def stage(n: int):\n    \"\"\"Stage 28 MB.\"\"\"\n    for i in range(4):\n        fs.write(\"out/%d_%d.txt\" % (n, i), \"x\" * 7000000)\n\ntool(stage, needs = [\"fs.write\"])\n",
		".cassidy/tools/reads.star":    "def reads(n: int):\n    \"\"\"Read 40 MB.\"\"\"\n    for i in range(5):\n        fs.read(\"big.txt\")\n\ntool(reads, needs = [\"fs.read\"])\n",
		".cassidy/tools/much.star":     "def much(n: int):\n    \"\"\"Return 7 MB.\"\"\"\n    return \"y\" * 7000000\n\ntool(much, limits = {\"result\": 8000000})\n",
		".cassidy/tools/fetches.star":  "def fetches(n: int):\n    \"\"\"Get 8 MB.\"\"\"\n    http.get(\"http://" + host + "/\")\n\ntool(fetches, needs = [\"http.get:" + host + "\"])\n",
		".cassidy/tools/prints.star":   "def prints(n: int):\n    \"\"\"Print 1 MB.\"\"\"\n    shell.run([\"head\", \"-c\", \"1000000\", \"big.txt\"])\n\ntool(prints, needs = [\"shell:head\", \"shell:sh\"])\n",
		".cassidy/tools/call_all.star": "def call_all(name: str):\n    \"\"\"Call a tool 40 times.\"\"\"\n    tools.call_all([(name, {\"n\": i}) for i in range(40)])\n\ntool(call_all, needs = [\"tool\", \"fs.read\", \"fs.write\", \"shell\", \"http.get:" + host + "\"])\n",
		".cassidy/tools/small.star":    "def small(n: int):\n    \"\"\"Write a line.\"\"\"\n    fs.write(\"out/small%d.txt\" % n, \"small\")\n    return \"done\"\n\ntool(small, needs = [\"fs.write\"])\n",
	})
	for _, name := range []string{"stage", "reads", "much", "fetches", "prints"} {
		for _, tree := range []bool{false, true} {
			floodServer(t, program, dir, name, tree)
		}
	}
}

// floodServer starts a server, makes its hostile and honest calls, and looks at its memory.
func floodServer(t *testing.T, program, dir, name string, tree bool) {
	t.Helper()
	cmd, in, out := startServer(t, program, dir, "--trust-once")
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	const calls = 40
	go func() {
		for n := range calls {
			hostile, args := name, fmt.Sprintf(`{"n":%d}`, n)
			if tree {
				hostile, args = "call_all", fmt.Sprintf(`{"name":%q}`, name)
			}
			if n == 0 || !tree {
				_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", 1000+n, hostile, args)
			}
			_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"small","arguments":{"n":%d}}}`+"\n", 1+n, n)
		}
	}()
	want := 1 + calls + calls
	if tree {
		want = 1 + calls + 1
	}
	lines := bufio.NewReaderSize(out, 1<<20)
	for range want {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.ID >= 1 && answer.ID <= calls && !strings.Contains(string(answer.Result), "done") {
			t.Errorf("beside %s, tree %v: the answer of a small call is %.300s", name, tree, line)
		}
	}
	staysSmall(t, cmd.Process.Pid, fmt.Sprintf("%s, tree %v", name, tree))
}

// startServer starts a server over standard input and output.
func startServer(t *testing.T, program, dir string, flags ...string) (*exec.Cmd, io.WriteCloser, io.Reader) {
	t.Helper()
	cmd := exec.Command(program, append(append([]string{"--dir", dir}, flags...), "mcp", "serve")...)
	cmd.Env = append(os.Environ(), "CASSIDY_HOME="+filepath.Join(dir, "home"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return cmd, in, out
}

// staysSmall checks how much memory a process has taken at most, and that it returns its memory.
func staysSmall(t *testing.T, pid int, what string) {
	t.Helper()
	peak := megabytes(t, pid, "VmHWM")
	t.Logf("%s: %d MB", what, peak)
	if peak >= 256 {
		t.Errorf("%s: the process took %d MB", what, peak)
	}
	for deadline := time.Now().Add(2 * time.Minute); megabytes(t, pid, "VmRSS") > 80; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: the process still has %d MB", what, megabytes(t, pid, "VmRSS"))
		}
	}
}

// TestClientsStaySmall has clients of a server send large requests, and read the large answers late. The server stays below
// 256 MB, answers the small calls between them, and returns its memory afterwards.
func TestClientsStaySmall(t *testing.T) {
	if !testutil.Soak() {
		t.Skip("only in make soak; TestUnreadAnswers and others of runtime/mcp have the small form")
	}
	program, dir := testutil.Build(t, "cmd/cassidy"), t.TempDir()
	putFiles(t, dir, map[string]string{
		".cassidy/tools/much.star":   "def much(n: int):\n    \"\"\"Return 7 MB.\"\"\"\n    return \"y\" * 7000000\n\ntool(much, limits = {\"result\": 8000000})\n",
		".cassidy/tools/takes.star":  "def takes(text: str):\n    \"\"\"Take a text.\"\"\"\n    return len(text)\n\ntool(takes)\n",
		".cassidy/tools/sleeps.star": "def sleeps(text: str):\n    \"\"\"Take a text, and sleep.\"\"\"\n    clock.sleep(20)\n\ntool(sleeps)\n",
		".cassidy/tools/small.star":  "def small(n: int):\n    \"\"\"Return.\"\"\"\n    return \"done\"\n\ntool(small)\n",
	})
	call := func(id int, name, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
	}
	large := `{"text":"` + strings.Repeat("x", 15_000_000) + `"}`
	medium := `{"text":"` + strings.Repeat("x", 60_000) + `"}`
	for _, hostile := range []struct {
		name  string
		line  func(n int) string
		times int
		late  time.Duration // how long it reads nothing
		read  int           // how many answers it gets
	}{
		{"unread", func(n int) string { return call(1000+n, "much", fmt.Sprintf(`{"n":%d}`, n)) }, 40, 10 * time.Second, 40},
		{"lines", func(n int) string { return call(1000+n, "takes", large) }, 20, 0, 20},
		{"batches", func(n int) string { return "[" + call(1000+n, "takes", large) + "]" }, 20, 0, 20},
		{"unknown", func(n int) string { return strings.ReplaceAll(call(1000+n, "takes", large), "tools/call", "nothing") }, 20, 0, 20},
		{"notifications", func(int) string { return `{"jsonrpc":"2.0","method":"notifications/progress","params":` + large + `}` }, 20, 0, 0},
		{"parts", func(int) string { return `{"jsonrpc":"2.0","id":[` + strings.Repeat("[],", 5_000_000) + `1]}` }, 10, 0, 10},
		{"sleeps", func(n int) string { return call(1000+n, "sleeps", medium) }, 2000, 0, 2000},
		{"sleeps, unread", func(n int) string { return call(1000+n, "sleeps", medium) }, 2000, 30 * time.Second, 2000},
	} {
		func() {
			cmd, in, out := startServer(t, program, dir, "--trust-once")
			defer func() {
				_ = in.Close()
				_ = cmd.Wait()
			}()
			const every = 40
			small := 0
			go func() {
				for n := range hostile.times {
					_, _ = io.WriteString(in, hostile.line(n)+"\n")
					if hostile.times <= every || n%every == 0 {
						_, _ = io.WriteString(in, call(1+n, "small", fmt.Sprintf(`{"n":%d}`, n))+"\n")
					}
				}
			}()
			for n := range hostile.times {
				if hostile.times <= every || n%every == 0 {
					small++
				}
			}
			time.Sleep(hostile.late)
			lines := bufio.NewReaderSize(out, 1<<20)
			done := 0
			for range 1 + hostile.read + small {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(line, []byte(`"done"`)) {
					done++
				}
			}
			if done != small {
				t.Errorf("%s: %d of %d small calls were answered", hostile.name, done, small)
			}
			staysSmall(t, cmd.Process.Pid, hostile.name)
		}()
	}
}

// TestAttachedStaySmall has servers that are attached answer 40 calls at a time with 7 MB each, over their output and over HTTP with single answers and with streams, to calls beside each other and to one call tree.
// The answers are longer than the limit of a result.
func TestAttachedStaySmall(t *testing.T) {
	if !testutil.Soak() {
		t.Skip("only in make soak; TestAnswersHoldMemory of runtime/mcp/attached has the small form")
	}
	program, dir := testutil.Build(t, "cmd/cassidy"), t.TempDir()
	servers := map[string]string{"program": `{"command": "sh", "args": ["server.sh"]}`}
	for name, single := range map[string]bool{"single": true, "stream": false} {
		served := sdk.NewServer(&sdk.Implementation{Name: "t", Version: "1"}, nil)
		served.AddTool(&sdk.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("z", 7_000_000)}}}, nil
		})
		web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return served }, &sdk.StreamableHTTPOptions{JSONResponse: single}))
		defer web.Close()
		servers[name] = fmt.Sprintf(`{"url": %q}`, web.URL)
	}
	var entries []string
	for name, entry := range servers {
		entries = append(entries, fmt.Sprintf("%q: %s", name, entry))
	}
	putFiles(t, dir, map[string]string{
		"home/config.yaml":  "allow: [tool]\nhttp: {private: [127.0.0.1]}\n",
		".cassidy/mcp.json": `{"mcpServers": {` + strings.Join(entries, ", ") + `}}`,
		"server.sh": `while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}\n' "$id" ;;
  *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"get","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  *'"tools/call"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
    head -c 7000000 /dev/zero | tr '\0' z
    printf '"}]}}\n' ;;
  *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
`,
		".cassidy/tools/asks.star":  "def asks(server: str):\n    \"\"\"Ask a server.\"\"\"\n    return len(tools.call(server + \".get\"))\n\ntool(asks, needs = [\"tool\"], timeout = 100)\n",
		".cassidy/tools/all.star":   "def all(server: str):\n    \"\"\"Ask a server 40 times.\"\"\"\n    return [str(r)[:300] for r in tools.call_all([(server + \".get\", {})] * 40)]\n\ntool(all, needs = [\"tool\"], timeout = 100)\n",
		".cassidy/tools/small.star": "def small(n: int):\n    \"\"\"Return.\"\"\"\n    return \"done\"\n\ntool(small)\n",
	})
	run := func(args ...string) {
		cmd := exec.Command(program, append([]string{"--dir", dir}, args...)...)
		cmd.Env = append(os.Environ(), "CASSIDY_HOME="+filepath.Join(dir, "home"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("trust", "--yes")
	for name := range servers {
		run("mcp", "review", name, "--yes")
	}
	for name := range servers {
		for _, tree := range []bool{false, true} {
			func() {
				cmd, in, out := startServer(t, program, dir)
				defer func() {
					_ = in.Close()
					_ = cmd.Wait()
				}()
				calls := 40
				go func() {
					for n := range calls {
						called := "asks"
						if tree {
							called = "all"
						}
						if n == 0 || !tree {
							_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"server":%q}}}`+"\n", 1000+n, called, name)
						}
						_, _ = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"small","arguments":{"n":1}}}`+"\n", 1+n)
					}
				}()
				want := 1 + 2*calls
				if tree {
					want = 2 + calls
				}
				lines := bufio.NewReaderSize(out, 1<<20)
				done, got, last := 0, 0, ""
				for range want {
					line, err := lines.ReadBytes('\n')
					if err != nil {
						t.Fatal(err)
					}
					switch {
					case bytes.Contains(line, []byte(`"done"`)):
						done++
					case bytes.Contains(line, []byte("the result is too long: 6835 KB")), tree && (bytes.Contains(line, []byte("6835 KB")) || bytes.Contains(line, []byte("120 MB of memory"))):
						got++
					case !bytes.Contains(line, []byte("protocolVersion")):
						last = fmt.Sprintf("%.500s", line)
					}
				}
				if done != calls || got != want-1-calls {
					t.Errorf("%s, tree %v: %d small calls and %d others were answered; %s", name, tree, done, got, last)
				}
				staysSmall(t, cmd.Process.Pid, fmt.Sprintf("%s, tree %v", name, tree))
			}()
		}
	}
}

// TestSpawnStaysSmall has a policy start very many agents, with large tasks, and with large answers. The command stays below
// 256 MB.
func TestSpawnStaysSmall(t *testing.T) {
	if !testutil.Soak() {
		t.Skip("only in make soak; TestSpawnedAgentsHoldMemory of runtime/agent has the small form")
	}
	program := testutil.Build(t, "cmd/cassidy")
	for _, flood := range []struct {
		agents, task, answer int
		want                 string // or, separated by |, another text
	}{
		{8000, 1_000, 1_000, "more than 120 MB of memory"},
		{120, 240_000, 1_000, "120 done"},
		{60, 100_000, 900_000, "the message is too large|more than 120 MB of memory"}, // whichever limit is reached first
		{1000, 1_000, 1_000, "1000 done"},
	} {
		dir := t.TempDir()
		putFiles(t, dir, map[string]string{
			"home/config.yaml": "allow: [tool, model]\n",
			"model.star":       fmt.Sprintf("def reply(messages, turn):\n    return \"TASK COMPLETE: \" + \"y\" * %d\n", flood.answer),
			".cassidy/policies/flood.star": fmt.Sprintf(`"""Starts many agents."""

def policy(task, agent):
    for i in range(%d):
        agent.spawn("x" * %d, tools = [])
    results = agent.wait()["results"]
    return agent.finish("final", "%%d done" %% len([r for r in results if r["ok"]]))
`, flood.agents, flood.task),
		})
		cmd := inProject(program, dir, "--json", "--trust-once", "task", "Go", "--policy", "flood", "--model", "script:model.star", "--tools", "agent", "--yes") // with --json, the output has the errors
		out, peak := peakOf(t, cmd)
		t.Logf("%+v: %d MB", flood, peak)
		said := slices.ContainsFunc(strings.Split(flood.want, "|"), func(want string) bool { return strings.Contains(out, want) })
		if peak >= 256 || !said {
			t.Errorf("%+v: the command took %d MB, and printed %.3000s", flood, peak, out)
		}
	}
}

// putFiles writes files into a folder.
func putFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// megabytes returns a field of the status of a process.
func megabytes(t *testing.T, pid int, field string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), field+":")
	kb, err := strconv.Atoi(strings.Fields(rest + " -")[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}
