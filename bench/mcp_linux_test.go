package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

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
	ours := connect(b, cassidyServer(b, testutil.Build(b, "cmd/cassidy"), dir)())
	defer ours.Close()
	theirs := connect(b, exec.Command(testutil.Build(b, "github.com/modelcontextprotocol/go-sdk/examples/server/hello")))
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
	start := cassidyServer(b, testutil.Build(b, "cmd/cassidy"), dir)
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

// orderTool is a tool of ordinary size.
const orderTool = `def %s(order: int, fields: list[str] = [], currency: str = "EUR") -> dict:
    """Return one order of the shop, with its customer, its lines and its state.

    Use this when you need the details of an order whose number you know.

    Args:
      order: The number of the order.
      fields: Which fields to return; default: all.
      currency: The currency of the sums, as in EUR or USD.
    """
    return {"order": order, "customer": "c%%d" %% (order %% 7), "sum": order * 3, "currency": currency, "state": "open"}

tool(%[1]s, group = "shop")
`

// BenchmarkMCPCodeMode measures how many tokens a client's model reads and writes with 100 tools:
// their list, and a job of 100 calls whose results are added up. The requests of the plain job each have one
// call; what is counted is each call and each result once, as if everything else were cached.
func BenchmarkMCPCodeMode(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		writeTool(b, dir, fmt.Sprintf("order_of_shop%d.star", i), fmt.Sprintf(orderTool, fmt.Sprint("order_of_shop", i)))
	}
	start := cassidyServer(b, testutil.Build(b, "cmd/cassidy"), dir)
	plain := connect(b, start())
	defer plain.Close()
	coded := start()
	coded.Args = append(coded.Args, "--code")
	code := connect(b, coded)
	defer code.Close()
	var plainList, codeList, plainJob, codeJob int
	for b.Loop() {
		plainList, codeList, plainJob, codeJob = listTokens(b, plain), listTokens(b, code), 0, 0
		for i := range 100 {
			plainJob += callTokens(b, plain, "order_of_shop7", map[string]any{"order": i})
		}
		codeJob = callTokens(b, code, "search_tools", map[string]any{"query": "order of shop7", "limit": 3}) +
			callTokens(b, code, "describe_tools", map[string]any{"names": []string{"order_of_shop7"}}) +
			callTokens(b, code, "execute_code", map[string]any{"code": "total = 0\nfor i in range(100):\n    total += order_of_shop7(order = i)[\"sum\"]\ntotal"})
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(plainList), "plain-list-tokens")
	b.ReportMetric(float64(codeList), "code-list-tokens")
	b.ReportMetric(float64(plainJob), "plain-job-tokens")
	b.ReportMetric(float64(codeJob), "code-job-tokens")
}

// tokens estimates the tokens of a value as JSON.
func tokens(b *testing.B, v any) int {
	b.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return tool.EstimateTokens(string(text))
}

func listTokens(b *testing.B, c *mcp.ClientSession) int {
	b.Helper()
	list, err := c.ListTools(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return tokens(b, list.Tools)
}

// callTokens makes a call and returns the tokens of the call and of its result's text.
func callTokens(b *testing.B, c *mcp.ClientSession, name string, args map[string]any) int {
	b.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: args}
	r, err := c.CallTool(context.Background(), p)
	if err != nil || r.IsError {
		b.Fatal(err, r)
	}
	return tokens(b, p) + tokens(b, r.Content)
}
