package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/assist"
	"github.com/cassidy-run/cassidy/internal/lsp"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A client talks with a server in this process.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
	id    int
	// cancel ends the context of the server.
	cancel func()
	// published are the faults that the server has published and that were not read yet.
	published []map[string]any
}

// project returns a project whose check finds the word WRONG, with a fix.
func project() *lsp.Project {
	world := &assist.World{Modules: stdlib.Pure(), Tools: []assist.Tool{{Tool: tool.Tool{Name: "slug", Description: "Make a slug."}, Path: "/p/.cassidy/tools/slug.star"}}}
	return &lsp.Project{
		World: func() *assist.World { return world },
		Check: func(file, text string) (list []diagnostic.Diagnostic) {
			if strings.Contains(text, "PANIC") {
				panic("a fault of the check")
			}
			for at, rest := 0, text; ; {
				before, after, ok := strings.Cut(rest, "WRONG")
				if !ok {
					return list
				}
				s := diagnostic.Span{Start: at + len(before), End: at + len(before) + len("WRONG")}
				list = append(list, diagnostic.Diagnostic{
					Span: s, Severity: diagnostic.Warning, Code: "wrong", Message: "this is wrong", Hint: "write RIGHT",
					Fix: &diagnostic.Fix{Title: "write RIGHT", Edits: []diagnostic.Edit{{Span: s, Text: "RIGHT"}}},
				})
				at, rest = s.End, after
			}
		},
		Format: func(_, text string) (string, error) {
			if strings.Contains(text, "WRONG") {
				return "", value.Errorf(value.Invalid, "syntax error")
			}
			return strings.ReplaceAll(text, "  ", " "), nil
		},
		Refresh: func(context.Context) {},
		Close:   func() {},
	}
}

// start starts a server, and initializes it unless raw is set.
func start(t *testing.T, raw bool) *client {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{t: t, in: inWrite, out: bufio.NewReader(outRead), ended: make(chan error, 1), cancel: cancel}
	go func() {
		c.ended <- lsp.Serve(ctx, inRead, outWrite, &lsp.Options{Version: "1", Open: func(context.Context, string) (*lsp.Project, error) { return project(), nil }})
	}()
	t.Cleanup(func() {
		_ = inWrite.Close()
		_ = outRead.Close()
	})
	if !raw {
		c.call("initialize", `{"rootUri": "file:///p", "capabilities": {}}`)
		c.notify("initialized", `{}`)
	}
	return c
}

// write writes bytes to the server. It does not wait until they are read.
func (c *client) write(text string) { go func() { _, _ = io.WriteString(c.in, text) }() }

// send writes a message, and waits until it is read.
func (c *client) send(message string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(message), message); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next message of the server.
func (c *client) receive() (m map[string]any) {
	c.t.Helper()
	size := -1
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("the server has ended: %v", err)
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if text, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(text)
		}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.out, body); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		c.t.Fatalf("%v: %s", err, body)
	}
	return m
}

// response returns the next message that is not a notification.
func (c *client) response() map[string]any {
	c.t.Helper()
	for {
		m := c.receive()
		if m["method"] == nil {
			return m
		}
		if m["method"] == "textDocument/publishDiagnostics" {
			c.published = append(c.published, m["params"].(map[string]any))
		}
	}
}

// faults returns the faults of the newest version of a document.
func (c *client) faults(uri string, version float64) []any {
	c.t.Helper()
	for {
		for _, p := range c.published {
			if p["uri"] == uri && p["version"] == version {
				return p["diagnostics"].([]any)
			}
		}
		if m := c.receive(); m["method"] == "textDocument/publishDiagnostics" {
			c.published = append(c.published, m["params"].(map[string]any))
		}
	}
}

func (c *client) notify(method, params string) {
	c.t.Helper()
	c.send(`{"jsonrpc": "2.0", "method": "` + method + `", "params": ` + params + `}`)
}

// request sends a request and returns its response.
func (c *client) request(method, params string) map[string]any {
	c.t.Helper()
	c.id++
	c.send(fmt.Sprintf(`{"jsonrpc": "2.0", "id": %d, "method": "%s", "params": %s}`, c.id, method, params))
	m := c.response()
	if m["id"] != float64(c.id) {
		c.t.Fatalf("%s: the response is %v", method, m)
	}
	return m
}

// call sends a request and returns its result as JSON.
func (c *client) call(method, params string) string {
	c.t.Helper()
	m := c.request(method, params)
	if m["error"] != nil {
		c.t.Fatalf("%s: %v", method, m["error"])
	}
	text, err := json.Marshal(m["result"])
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// open opens a document and returns the parameters of requests about the mark ‸ in it.
func (c *client) open(uri, text string) (params string) {
	c.t.Helper()
	before, after, marked := strings.Cut(text, "‸")
	c.notify("textDocument/didOpen", `{"textDocument": {"uri": "`+uri+`", "languageId": "x", "version": 1, "text": `+strconv.Quote(before+after)+`}}`)
	if !marked {
		return `{"textDocument": {"uri": "` + uri + `"}}`
	}
	line := strings.Count(before, "\n")
	units := 0
	for _, r := range before[strings.LastIndexByte(before, '\n')+1:] {
		units++
		if r > 0xffff {
			units++
		}
	}
	return fmt.Sprintf(`{"textDocument": {"uri": %q}, "position": {"line": %d, "character": %d}}`, uri, line, units)
}

func TestAnswers(t *testing.T) {
	c := start(t, false)
	for i, tt := range []struct{ file, text, method, want string }{
		{"a.star", "def f():\n    return text.lin‸es(\"a\")", "hover", "text.lines(text: string"},
		{"a.lua", "local x = text.lin‸es(\"a\")", "hover", "text.lines(text: string"},
		{"a.md", "---\ndescription: x\n---\n```lua\nlocal x = text.lin‸es(\"a\")\n```\n", "hover", "text.lines(text: string"},
		{"a.star", "x = \"ä𝄞\" + text.li‸", "completion", `"newText":"lines","range":{"end":{"character":19,"line":0},"start":{"character":17,"line":0}}`},
		{"a.lua", "local x = text.‸", "completion", `"label":"lines"`},
		{"a.md", "---\ndescription: x\nne‸\n---\n", "completion", `"label":"needs"`},
		{"a.star", "text.lines(‸", "signatureHelp", `"activeParameter":0`},
		{"a.lua", "text.lines(‸", "signatureHelp", `"activeParameter":0`},
		{"a.md", "---\ndescription: x\n---\n```star\ntext.lines(‸\n```\n", "signatureHelp", `"activeParameter":0`},
		{"a.star", "def page():\n    pass\n\ntool(pa‸ge)", "definition", `"start":{"character":4,"line":0}`},
		{"a.star", "tools.slu‸g()", "definition", `"uri":"file:///p/.cassidy/tools/slug.star"`},
		{"a.lua", "local function page() end\nreturn tool{ handler = pa‸ge }", "definition", `"start":{"character":15,"line":0}`},
		{"a.md", "---\ndescription: x\n---\n```star\ndef page():\n  pa‸ge\n```\n", "definition", `"start":{"character":4,"line":4}`},
		{"a.star", "def page():\n    pass\n", "documentSymbol", `"name":"page"`},
		{"a.lua", "local function page() end\n", "documentSymbol", `"name":"page"`},
		{"a.md", "---\ndescription: x\n---\n```star\ndef page():\n  pass\n```\n", "documentSymbol", `"name":"page"`},
		{"a.star", "x  = 1\n", "formatting", `"newText":"x = 1\n"`},
		{"a.lua", "x  = 1\n", "formatting", "[]"},
		{"a.star", "x = unknown‸", "hover", "null"},
		{"a.star", "x = 1‸", "definition", "null"},
	} {
		uri := fmt.Sprintf("file:///p/%d/%s", i, tt.file)
		if got := c.call("textDocument/"+tt.method, c.open(uri, tt.text)); !strings.Contains(got, tt.want) {
			t.Errorf("%s of %q: %s, want %s", tt.method, tt.text, got, tt.want)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	c := start(t, false)
	const in = "file:///p/.cassidy/tools/"
	for _, tt := range []struct {
		uri, text string
		want      int
	}{
		{in + "a.star", "ä = \"𝄞\" + WRONG\n", 1},
		{in + "a.lua", "local x = WRONG + WRONG\n", 2},
		{in + "a.md", "---\ndescription: x\n---\n```lua\nlocal x = WRONG\n```\n", 1},
		{in + "README.md", "WRONG", 0},
		{"file:///p/docs/page.md", "WRONG", 0},
		{"file:///p/BUILD.star", "WRONG", 0},
		{"file:///p/init.lua", "WRONG", 0},
		{"file:///p/mine.star", "def f():\n  WRONG\ntool(f)\n", 1},
		{"untitled:a.star", "tool(WRONG)", 0},
		{in + "panic.star", "PANIC", 1},
		{in + "long.star", strings.Repeat("x", 1<<20+1), 1},
	} {
		c.open(tt.uri, tt.text)
		got := c.faults(tt.uri, 1)
		if len(got) != tt.want {
			t.Errorf("%s: faults %v, want %d", tt.uri, got, tt.want)
		}
	}
	got, err := json.Marshal(c.faults(in+"a.star", 1))
	if want := `[{"code":"wrong","message":"this is wrong\nhint: write RIGHT","range":{"end":{"character":16,"line":0},"start":{"character":11,"line":0}},"severity":2,"source":"cassidy"}]`; err != nil || string(got) != want {
		t.Errorf("the fault is %s, want %s", got, want)
	}
	actions := c.call("textDocument/codeAction", `{"textDocument": {"uri": "`+in+`a.star"}, "range": {"start": {"line": 0, "character": 12}, "end": {"line": 0, "character": 12}}, "context": {"diagnostics": []}}`)
	if want := `"changes":{"` + in + `a.star":[{"newText":"RIGHT","range":{"end":{"character":16,"line":0},"start":{"character":11,"line":0}}}]}`; !strings.Contains(actions, want) {
		t.Errorf("the actions are %s, want %s", actions, want)
	}
	c.notify("textDocument/didChange", `{"textDocument": {"uri": "`+in+`a.star", "version": 2}, "contentChanges": [{"text": "x = 1"}]}`)
	if got := c.faults(in+"a.star", 2); len(got) != 0 {
		t.Errorf("after the fix: %v", got)
	}
	c.notify("textDocument/didClose", `{"textDocument": {"uri": "`+in+`a.lua"}}`)
	if got := c.faults(in+"a.lua", 0); len(got) != 0 {
		t.Errorf("after the file was closed: %v", got)
	}
}

// TestLastGood checks that the symbols stay while the text is edited.
func TestLastGood(t *testing.T) {
	c := start(t, false)
	const uri = "file:///p/.cassidy/tools/a.star"
	params := c.open(uri, "def page():\n    pass\n\ndef other():\n    pass\n")
	c.notify("textDocument/didChange", `{"textDocument": {"uri": "`+uri+`", "version": 2}, "contentChanges": [{"text": "def page():\n    \"\"\"x\n\ndef other():\n    pass\n"}]}`)
	if got := c.call("textDocument/documentSymbol", params); !strings.Contains(got, `"name":"other"`) {
		t.Errorf("symbols = %s", got)
	}
}

func TestGarbage(t *testing.T) {
	const ping = `{"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": {}}`
	frame := func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
	for _, tt := range []struct {
		name, input, want string
		code              float64
	}{
		{"text", "hello\r\n\r\nhow are you\r\n\r\n", "invalid header", -32700},
		{"no length", "Content-Length: abc\r\n\r\n", "not a number", -32700},
		{"a negative length", "Content-Length: -1\r\n\r\n", "not a number", -32700},
		{"an overflow", "Content-Length: 99999999999999999999\r\n\r\n", "not a number", -32700},
		{"a long line", strings.Repeat("x", 100_000) + "\r\n\r\n", "too long", -32700},
		{"no JSON", frame("{nothing"), "not valid JSON", -32700},
		{"invalid UTF-8", frame("\xff\xfe"), "not valid JSON", -32700},
		{"a huge message", frame(`{"a": "` + strings.Repeat("x", 5<<20) + `"}`), "at most", -32600},
		{"a batch", frame("[" + ping + "]"), "batches", -32600},
		{"a number", frame("1"), "not a request", -32600},
		{"no version", frame(`{"id": 3, "method": "x"}`), "not a request", -32600},
		{"no method", frame(`{"jsonrpc": "2.0", "id": 3}`), "no method", -32600},
		{"an unknown method", frame(`{"jsonrpc": "2.0", "id": 3, "method": "x"}`), "x: unknown method", -32601},
		{"an internal method", frame(`{"jsonrpc": "2.0", "id": 3, "method": "rpc.serverInfo"}`), "unknown method", -32601},
		{"invalid parameters", frame(`{"jsonrpc": "2.0", "id": 3, "method": "textDocument/hover", "params": {"position": {"line": -1}}}`), "invalid parameters", -32602},
		{"a list of parameters", frame(`{"jsonrpc": "2.0", "id": 3, "method": "textDocument/hover", "params": [1]}`), "invalid parameters", -32602},
		{"initialized twice", frame(`{"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}}`), "already initialized", -32600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, false)
			c.write(tt.input + frame(ping))
			m, next := c.response(), c.response()
			if m["id"] == 7.0 { // requests are answered in any order
				m, next = next, m
			}
			e, _ := m["error"].(map[string]any)
			if text, _ := e["message"].(string); !strings.Contains(text, tt.want) || e["code"] != tt.code {
				t.Errorf("the answer is %v, want %q and %v", m, tt.want, tt.code)
			}
			if next["id"] != 7.0 || next["error"] != nil {
				t.Errorf("the next request is answered with %v", next)
			}
		})
	}
}

// TestIgnored checks what has no answer and no effect.
func TestIgnored(t *testing.T) {
	c := start(t, false)
	for _, message := range []string{
		`{"jsonrpc": "2.0", "id": 3, "result": 1}`,
		`{"jsonrpc": "2.0", "method": "unknown"}`,
		`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 1}}`,
		`{"jsonrpc": "2.0", "method": "textDocument/didOpen"}`,
		`{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///none"}, "contentChanges": [{"text": "x"}]}}`,
		`{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///none"}}}`,
		`{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": {}}}`,
		`{"jsonrpc": "2.0", "method": "initialize", "params": {}}`,
	} {
		c.send(message)
	}
	params := c.open("file:///p/a.star", "x = text.li‸")
	for _, at := range []string{`{"line": 4000000000, "character": 0}`, `{"line": 0, "character": 4000000000}`} {
		outside := `{"textDocument": {"uri": "file:///p/a.star"}, "position": ` + at + `}`
		for _, method := range []string{"hover", "completion", "signatureHelp", "definition"} {
			c.call("textDocument/"+method, outside)
		}
	}
	if got := c.call("textDocument/hover", `{"textDocument": {"uri": "http://example.com/a.star"}, "position": {"line": 0, "character": 0}}`); got != "null" {
		t.Errorf("hover of an unknown document = %s", got)
	}
	if got := c.call("textDocument/completion", params); !strings.Contains(got, `"label":"lines"`) {
		t.Errorf("completion = %s", got)
	}
}

func TestOrder(t *testing.T) {
	c := start(t, true)
	if m := c.request("textDocument/hover", `{}`); fmt.Sprint(m["error"]) != "map[code:-32002 message:textDocument/hover: the server is not initialized: send initialize first]" {
		t.Errorf("before initialize: %v", m)
	}
	c.call("initialize", `{"rootUri": null, "workspaceFolders": null, "capabilities": {}}`)
	c.call("shutdown", `null`)
	if m := c.request("textDocument/hover", `{}`); m["error"] == nil {
		t.Errorf("after shutdown: %v", m)
	}
	c.send(`{"jsonrpc": "2.0", "method": "exit"}`)
	if err := <-c.ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestEnd(t *testing.T) {
	c := start(t, false)
	c.send(`{"jsonrpc": "2.0", "method": "exit"}`)
	if err := <-c.ended; err != lsp.ErrNoShutdown {
		t.Errorf("exit without shutdown: %v", err)
	}
	c = start(t, false)
	_ = c.in.Close()
	if err := <-c.ended; err != nil {
		t.Errorf("the end of the input: %v", err)
	}
	c = start(t, false)
	go func() {
		_, _ = io.WriteString(c.in, "Content-Length: 100\r\n\r\n{")
		_ = c.in.Close()
	}()
	if err := <-c.ended; err != nil {
		t.Errorf("the end of the input in a message: %v", err)
	}
}

// TestEndWhileSending ends servers whose clients send messages without end, by exit or by their context.
func TestEndWhileSending(t *testing.T) {
	for n := range 200 {
		c := start(t, false)
		go func() {
			message := `{"jsonrpc": "2.0", "method": "textDocument/didClose", "params": {"textDocument": {"uri": "x"}}}`
			if n%2 == 0 {
				message = strings.Replace(message, "textDocument/didClose", "exit", 1)
			}
			for {
				if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(message), message); err != nil {
					return
				}
			}
		}()
		if n%2 == 1 {
			c.cancel()
		}
		if err := <-c.ended; err != nil && err != lsp.ErrNoShutdown {
			t.Fatal(err)
		}
		_ = c.in.Close()
	}
}

// TestEdits sends many edits without waiting: the newest version is checked, and all requests are
// answered in the end.
func TestEdits(t *testing.T) {
	c := start(t, false)
	const uri, n = "file:///p/.cassidy/tools/a.star", 2000
	params := c.open(uri, "x = 1")
	go func() {
		for i := 2; i <= n; i++ {
			message := fmt.Sprintf(`{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": %q, "version": %d}, "contentChanges": [{"text": "x = text.li + WRONG # %d"}]}}`, uri, i, i)
			fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(message), message)
			message = fmt.Sprintf(`{"jsonrpc": "2.0", "id": "h%d", "method": "textDocument/documentSymbol", "params": %s}`, i, params)
			fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(message), message)
			message = fmt.Sprintf(`{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "h%d"}}`, i)
			fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(message), message)
		}
	}()
	answered := map[any]bool{}
	for len(answered) < n-1 {
		answered[c.response()["id"]] = true
	}
	if got := c.faults(uri, n); len(got) != 1 {
		t.Errorf("faults of the last version: %v", got)
	}
}
