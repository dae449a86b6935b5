package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// lockedBuffer is a buffer that several goroutines use.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// TestMCPServeFollowsFiles edits the tools of a server over standard input and output: its client hears
// of changed tools and of errors, and a broken file keeps its last good version.
func TestMCPServeFollowsFiles(t *testing.T) {
	dir := t.TempDir()
	putChatFile(t, dir, ".cassidy/tools/first.star", echoTool("first", "one"))
	home := filepath.Join(dir, "home")
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"CASSIDY_HOME": home, "CASSIDY_WORKER": testworker.Exec()}[name]
		if !ok {
			return os.LookupEnv(name)
		}
		return value, true
	}
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	var told lockedBuffer
	ended := make(chan int, 1)
	go func() {
		ended <- Main(t.Context(), []string{"--dir", dir, "--trust-once", "mcp", "serve"}, &app.World{In: in, Out: out, Err: &told, Env: env})
		out.Close()
		in.Close()
	}()
	lines := make(chan string, 100)
	go func() {
		for s := bufio.NewScanner(answers); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	send := func(line string) {
		if _, err := io.WriteString(requests, line+"\n"); err != nil {
			t.Fatalf("%v; the server said:\n%s", err, told.String())
		}
	}
	expect := func(words ...string) (found string) {
		t.Helper()
		for late := time.After(30 * time.Second); ; {
			select {
			case line, ok := <-lines:
				matches := ok
				for _, w := range words {
					matches = matches && strings.Contains(line, w)
				}
				if matches {
					return line
				}
				if !ok {
					t.Fatalf("the server has ended without %q; it said:\n%s", words, told.String())
				}
			case <-late:
				t.Fatalf("the server has not sent %q; it said:\n%s", words, told.String())
			}
		}
	}
	call := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"first","arguments":{}}}`
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	expect(`"id":1`)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
	expect(`"id":2`)
	send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	expect(`"id":3`, `"first"`)
	putChatFile(t, dir, ".cassidy/tools/second.star", echoTool("second", "two"))
	expect("notifications/tools/list_changed")
	putChatFile(t, dir, ".cassidy/tools/first.star", "def first(")
	expect("notifications/message", "warning", "first.star:1")
	send(call)
	expect(`"id":9`, "one")
	putChatFile(t, dir, ".cassidy/tools/first.star", strings.Replace(echoTool("first", "three"), "Say it.", "Say more.", 1))
	for answer := ""; !strings.Contains(answer, "three"); {
		send(call)
		answer = expect(`"id":9`)
	}
	requests.Close()
	for range lines {
	}
	if code := <-ended; code != 0 || strings.Count(told.String(), "first.star:1") != 1 {
		t.Errorf("exit code %d, standard error:\n%s", code, told.String())
	}
}
