package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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
	for file, text := range map[string]string{
		"big.txt":                      strings.Repeat("z", 8_000_000),
		"home/config.yaml":             "allow: [fs.write, tool, http.get, shell]\nhttp: {private: [127.0.0.1]}\n",
		".cassidy/tools/stage.star":    "def stage(n: int):\n    \"\"\"Stage 28 MB.\"\"\"\n    for i in range(4):\n        fs.write(\"out/%d_%d.txt\" % (n, i), \"x\" * 7000000)\n\ntool(stage, needs = [\"fs.write\"])\n",
		".cassidy/tools/reads.star":    "def reads(n: int):\n    \"\"\"Read 40 MB.\"\"\"\n    for i in range(5):\n        fs.read(\"big.txt\")\n\ntool(reads, needs = [\"fs.read\"])\n",
		".cassidy/tools/much.star":     "def much(n: int):\n    \"\"\"Return 7 MB.\"\"\"\n    return \"y\" * 7000000\n\ntool(much, limits = {\"result\": 8000000})\n",
		".cassidy/tools/fetches.star":  "def fetches(n: int):\n    \"\"\"Get 8 MB.\"\"\"\n    http.get(\"http://" + host + "/\")\n\ntool(fetches, needs = [\"http.get:" + host + "\"])\n",
		".cassidy/tools/prints.star":   "def prints(n: int):\n    \"\"\"Print 1 MB.\"\"\"\n    shell.run([\"head\", \"-c\", \"1000000\", \"big.txt\"])\n\ntool(prints, needs = [\"shell:head\", \"shell:sh\"])\n",
		".cassidy/tools/call_all.star": "def call_all(name: str):\n    \"\"\"Call a tool 40 times.\"\"\"\n    tools.call_all([(name, {\"n\": i}) for i in range(40)])\n\ntool(call_all, needs = [\"tool\", \"fs.read\", \"fs.write\", \"shell\", \"http.get:" + host + "\"])\n",
		".cassidy/tools/small.star":    "def small(n: int):\n    \"\"\"Write a line.\"\"\"\n    fs.write(\"out/small%d.txt\" % n, \"small\")\n    return \"done\"\n\ntool(small, needs = [\"fs.write\"])\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"stage", "reads", "much", "fetches", "prints"} {
		for _, tree := range []bool{false, true} {
			floodServer(t, program, dir, name, tree)
		}
	}
}

// floodServer starts a server, makes its hostile and honest calls, and looks at its memory.
func floodServer(t *testing.T, program, dir, name string, tree bool) {
	t.Helper()
	cmd := exec.Command(program, "--dir", dir, "--trust-once", "mcp", "serve")
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
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	const calls = 40
	go func() {
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
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
	peak := megabytes(t, cmd.Process.Pid, "VmHWM")
	t.Logf("%s, tree %v: %d MB", name, tree, peak)
	if peak >= 256 {
		t.Errorf("%s, tree %v: the server took %d MB", name, tree, peak)
	}
	for deadline := time.Now().Add(2 * time.Minute); megabytes(t, cmd.Process.Pid, "VmRSS") > 80; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s, tree %v: the server still has %d MB", name, tree, megabytes(t, cmd.Process.Pid, "VmRSS"))
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
