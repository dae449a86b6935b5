package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestInvalidLines sends lines that are no messages. Each is answered with an error, and the connection
// stays open.
func TestInvalidLines(t *testing.T) {
	b := serve(t, nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- b.server.ServeStdio(t.Context(), in, out) }()
	replies := bufio.NewScanner(fromServer)
	replies.Buffer(nil, 1<<20)
	send := func(line string) string {
		t.Helper()
		go func() { _, _ = io.WriteString(toServer, line+"\n") }() // a line that is refused early is not read completely
		if !replies.Scan() {
			t.Fatalf("no reply to %.80s: %v", line, replies.Err())
		}
		return replies.Text()
	}
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	hello := send(initialize)
	if !strings.Contains(hello, `"id":1`) {
		t.Fatal(hello)
	}
	for _, c := range []struct {
		line, id string
		code     int
	}{
		{"hello", "null", -32700},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"`, "null", -32700},
		{ping + ping, "null", -32700},
		{`{"id":2,"method":"ping"}`, "2", -32600},
		{`{"jsonrpc":"1.0","id":"x","method":"ping"}`, `"x"`, -32600},
		{`{"jsonrpc":"2.0","id":99999999999999999999999,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "null", -32600},
		{`"text"`, "null", -32600},
		{`[]`, "null", -32600},
		{`[1]`, "null", -32600},
		{`{"jsonrpc":"2.0","id":2,"method":"ping","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "null", -32700},
		{`{"jsonrpc":"2.0","id":2,"method":"` + strings.Repeat("a", 17<<20) + `"}`, "null", -32600},
	} {
		var reply struct {
			ID    json.RawMessage
			Error struct{ Code int }
		}
		if text := send(c.line); json.Unmarshal([]byte(text), &reply) != nil || string(reply.ID) != c.id || reply.Error.Code != c.code {
			t.Errorf("%.80s gave %s, want the code %d and the ID %s", c.line, text, c.code, c.id)
		}
		if text := send("\r\n" + ping + "\r"); text != `{"jsonrpc":"2.0","id":7,"result":{}}` {
			t.Fatalf("after %.80s a ping gave %s", c.line, text)
		}
	}
	if text := send(`[{"jsonrpc":"2.0","id":8,"method":"ping"}]`); text != `{"jsonrpc":"2.0","id":8,"result":{}}` {
		t.Errorf("a batch gave %s", text)
	}
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestLastLine has a last message without the end of its line.
func TestLastLine(t *testing.T) {
	var out strings.Builder
	in := strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	if err := serve(t, nil).server.ServeStdio(t.Context(), in, &out); err != nil || !strings.Contains(out.String(), `"id":7`) {
		t.Errorf("the server wrote %q, and ended with %v", out.String(), err)
	}
}
