//go:build unix

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// buildProgram builds a program for a benchmark.
func buildProgram(b *testing.B, pkg string) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return program
}

// cassidyServer is the command that serves the tools of a folder, which its user trusts.
func cassidyServer(b *testing.B, program, dir string) func() *exec.Cmd {
	b.Helper()
	home := b.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CASSIDY_HOME="+home)
		return cmd
	}
	for _, args := range [][]string{{"init"}, {"trust", "--yes"}, {"tool", "list"}} {
		if out, err := command(args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	return func() *exec.Cmd { return command("mcp", "serve") }
}

// connect starts a server and returns its client.
func connect(b *testing.B, cmd *exec.Cmd) *mcp.ClientSession {
	b.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := c.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	return session
}

// BenchmarkMCPCall compares a call of a trivial script over MCP with one of the example server
// of the SDK, whose tool is in Go.
func BenchmarkMCPCall(b *testing.B) {
	dir := b.TempDir()
	writeTool(b, dir, "greet.star", greet)
	ours := connect(b, cassidyServer(b, buildProgram(b, "../cmd/cassidy"), dir)())
	defer ours.Close()
	theirs := connect(b, exec.Command(buildProgram(b, "github.com/modelcontextprotocol/go-sdk/examples/server/hello")))
	defer theirs.Close()
	call := func(c *mcp.ClientSession) func() {
		return func() {
			r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}})
			if err != nil || r.IsError {
				b.Fatal(err, r)
			}
		}
	}
	compare(b, 2, call(ours), call(theirs))
}

// BenchmarkMCPStart measures how long cassidy mcp serve takes to answer its first request, with
// 1,000 tools, and to list them.
func BenchmarkMCPStart(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		writeTool(b, dir, fmt.Sprintf("tool%d.star", i), fmt.Sprintf(echoTool, fmt.Sprint("tool", i)))
	}
	start := cassidyServer(b, buildProgram(b, "../cmd/cassidy"), dir)
	var ready, listed time.Duration
	n := 0
	for b.Loop() {
		begin := time.Now()
		c := connect(b, start())
		ready += time.Since(begin)
		list, err := c.ListTools(context.Background(), nil)
		if err != nil || len(list.Tools) != 1000 {
			b.Fatal(err, len(list.Tools))
		}
		listed += time.Since(begin)
		_ = c.Close()
		n++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ready.Milliseconds())/float64(n), "ready-ms")
	b.ReportMetric(float64(listed.Milliseconds())/float64(n), "listed-ms")
	b.ReportMetric(50, "goal-ms")
}
