package attached

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestHostile checks that no server can hold up its host or use up its memory: each call ends with
// an error of the right kind, or with its result.
func TestHostile(t *testing.T) {
	t.Parallel()
	flood := func(text string) func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
		return func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
			for {
				if _, err := io.WriteString(out, text); err != nil {
					return -1, err
				}
			}
		}
	}
	answering := func(result string) func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
		s := offering(forecast)
		s["tools/call"] = func(string, json.RawMessage) string { return result }
		return s.serve
	}
	many := func(n int, schema string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"tool%d","inputSchema":%s}`, i, schema))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	const object = `{"type":"object"}`
	for _, test := range []struct {
		name  string
		serve func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error)
		kind  value.Kind // of the review; value.Internal if it succeeds
		call  value.Kind // of a call; value.Internal if it succeeds
		want  string
	}{
		{"an endless line", flood(strings.Repeat("x", 1<<20)), value.Limit, 0, "message of more than 16 MB"},
		{"lines that are no messages, without end", flood("not a message\n"), value.Limit, 0, "more than 64 MB"},
		{"notifications without end", flood(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 1<<16) + `"}}` + "\n"), value.Limit, 0, "more than 64 MB"},
		{"empty lines without end", flood(strings.Repeat("\n", 1<<16)), value.Limit, 0, "more than 64 MB"},
		{"unknown answers without end", flood(`{"jsonrpc":"2.0","id":99,"result":{}}` + strings.Repeat(" ", 1<<16) + "\n"), value.Limit, 0, "more than 64 MB"},
		{"errors without end", func(_ context.Context, _ io.Reader, _, errs io.Writer) (int, error) {
			for {
				if _, err := errs.Write(bytes.Repeat([]byte("e"), 1<<16)); err != nil {
					return -1, err
				}
			}
		}, value.Limit, 0, "more than 64 MB"},
		{"it exits at once", func(_ context.Context, _ io.Reader, _, errs io.Writer) (int, error) {
			fmt.Fprint(errs, "no \x1b[31mkey\n")
			return 7, nil
		}, value.Unavailable, 0, `ended with exit code 7: no \u001b[31mkey`},
		{"100,000 tools", offering(many(100_000, object)).serve, value.Unavailable, 0, "cannot be read"},
		{"too many tools", offering(many(501, object)).serve, value.Limit, 0, "more than 500 tools"},
		{"lists without end", simple{
			"initialize": offering("[]")["initialize"],
			"tools/list": func(id string, _ json.RawMessage) string { return `{"tools":[],"nextCursor":"` + id + `"}` },
		}.serve, value.Limit, 0, "more than 100 pages"},
		{"a list that begins again", simple{
			"initialize": offering("[]")["initialize"],
			"tools/list": func(string, json.RawMessage) string { return `{"tools":[],"nextCursor":"again"}` },
		}.serve, value.Invalid, 0, `the cursor "again" comes again`},
		{"large definitions", offering(many(20, `{"type":"object","description":"`+strings.Repeat("d", 60_000)+`"}`)).serve, value.Limit, 0, "larger than 1024 KB"},
		{"a deep schema", offering(many(1, strings.Repeat(`{"a":`, 200)+"1"+strings.Repeat("}", 200))).serve, value.Unavailable, 0, "cannot be read"},
		{"two tools of one name", offering(`[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}]`).serve, value.Invalid, 0, "two tools with the name"},
		{"a tool without a name", offering(`[{"inputSchema":{}}]`).serve, value.Invalid, 0, "without a name"},
		{"a list that is none", offering(`{"a":1}`).serve, value.Unavailable, 0, ""},
		{"another version", simple{"initialize": func(string, json.RawMessage) string {
			return `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"t","version":"1"}}`
		}}.serve, value.Unavailable, 0, `"1999-01-01"`},
		{"a version of the future", simple{"initialize": func(string, json.RawMessage) string {
			return `{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"t","version":"1"}}`
		}}.serve, value.Unavailable, 0, `"2099-01-01"`},

		{"a wrong ID", answering(`RAW{"jsonrpc":"2.0","id":12345,"result":{"content":[]}}`), value.Internal, value.Failed, "answered a request that was not made: 12345"},
		{"an ID that is no number", answering(`RAW{"jsonrpc":"2.0","id":"x","result":{"content":[]}}`), value.Internal, value.Failed, "answered a request that was not made: x"},
		{"an ID of another type", answering(`RAW{"jsonrpc":"2.0","id":{"a":1},"result":{"content":[]}}`), value.Internal, value.Timeout, "did not answer within"},
		{"the ID of an earlier request", answering(`RAW{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`), value.Internal, value.Timeout, ""},
		{"no answer", answering(`RAW`), value.Internal, value.Timeout, ""},
		{"an answer twice", answering(`RAW{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}` + "\n" + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`), value.Internal, value.Internal, ""},
		{"an ID as text", answering(`RAW{"jsonrpc":"2.0","id":"$ID","result":{"content":[]}}`), value.Internal, value.Internal, ""},
		{"an ID as text, of a large answer", answering(`RAW{"jsonrpc":"2.0","id":"$ID","result":{"content":"` + strings.Repeat("x", 1<<20) + `"}}`), value.Internal, value.Internal, ""},
		{"a byte order mark", answering("RAW\ufeff" + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`), value.Internal, value.Internal, ""},
		{"half a surrogate", answering(`{"content":[{"type":"text","text":"a\ud99cb"}]}`), value.Internal, value.Internal, ""},
		{"no UTF-8", answering("{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}"), value.Internal, value.Internal, ""},
		{"a list of messages", answering(`RAW[{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}]`), value.Internal, value.Internal, ""},
		{"100,000 levels", answering(`{"structuredContent":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`), value.Internal, value.Failed, "nested more than"},
		{"100,000 levels before the ID", answering(`RAW{"result":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `},"id":$ID,"jsonrpc":"2.0"}`), value.Internal, value.Failed, "nested more than"},
		{"a result that is none", answering(`"text"`), value.Internal, value.Failed, ""},
		{"content that is none", answering(`{"content":[1,null,{"type":"poem"},{"type":"text","text":5}]}`), value.Internal, value.Internal, ""},
		{"invalid data", answering(`{"content":[{"type":"image","data":"%%%","mimeType":"image/png"}]}`), value.Internal, value.Failed, "invalid data"},
		{"a deep result", answering(`{"structuredContent":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`), value.Internal, value.Failed, "cannot be read"},
		{"a result of many parts", answering(`{"structuredContent":[` + strings.Repeat("{},", 1<<20) + `{}]}`), value.Internal, value.Failed, "cannot be read"},
		{"a question", answering(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"your password?"}}},"requestState":"x"}`), value.Internal, value.Failed, "asks for input"},
		{"it ends during a call", func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			s := offering(forecast)
			s["tools/call"] = func(string, json.RawMessage) string {
				cancel()
				return "RAW"
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = s.serve(ctx, in, out, errs)
			}()
			select {
			case <-ctx.Done():
				return 9, nil
			case <-done:
				return 0, nil
			}
		}, value.Internal, value.Failed, "the call may have been carried out in part"},
		{"an error with control characters", answering(`RAW{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"a\u001b[2Jb` + strings.Repeat("x", 100_000) + `"}}`), value.Internal, value.Failed, `a\u001b[2Jb`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if raceBuild && (strings.Contains(test.name, "without end") || strings.Contains(test.name, "parts")) {
				t.Skip("it reads too much for the race detector")
			}
			o, _ := launched(test.serve)
			tools, err := Fetch(t.Context(), o)
			if test.kind != value.Internal {
				if value.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 2*value.MaxErrorText || strings.Contains(err.Error(), "\x1b") {
					t.Errorf("Fetch = %v (%v), want %v: %s", err, value.KindOf(err), test.kind, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.call == value.Timeout {
				o.Timeout = 50 * time.Millisecond
			}
			s := newServer(t, o, tools)
			v, err := s.Call(t.Context(), "get-forecast", value.NewDict("city", "Rome"))
			if test.call == value.Internal && err != nil {
				t.Errorf("Call = %v", err)
			}
			if test.call != value.Internal && (value.KindOf(err) != test.call || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 2*value.MaxErrorText || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("Call = %v, %v, want %v: %s", v, err, test.call, test.want)
			}
		})
	}
}

// TestHostileRequests checks that a server gets neither a model, nor forms, nor folders, and that
// its notifications do not disturb a call.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	var answers []string
	var call json.RawMessage
	asked := []string{
		`"sampling/createMessage","params":{"messages":[],"maxTokens":1}`, `"elicitation/create","params":{"message":"your password?","requestedSchema":{"type":"object","properties":{}}}`,
		`"roots/list"`, `"no/such"`, `"tools/call","params":{"name":"x"}`,
	}
	o, _ := launched(func(_ context.Context, in io.Reader, out, _ io.Writer) (int, error) {
		lines := json.NewDecoder(in)
		for {
			var m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
				Error  json.RawMessage
			}
			if lines.Decode(&m) != nil {
				return 0, nil
			}
			switch m.Method {
			case "":
				answers = append(answers, fmt.Sprintf("%s: %s%s", m.ID, m.Result, m.Error))
				if len(answers) == len(asked) {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", call)
				}
			case "tools/call":
				call = m.ID
				for i, method := range asked {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"s%d","method":%s}`+"\n", i, method)
				}
				for range 1000 {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-1","progress":1,"message":"\u001b[2J"}}`+"\n")
					fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{"a":1},"progress":"x"}}`+"\n")
					fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`+"\n", call)
				}
			default:
				if result := offering(forecast)[m.Method]; result != nil {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result("", nil))
				} else if len(m.ID) > 0 {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
				}
			}
		}
	})
	tools := fetched(t, o)
	s := newServer(t, o, tools)
	v, err := s.Call(t.Context(), "get-forecast", nil)
	if value.KindOf(err) != value.Failed || !strings.Contains(err.Error(), "no user can answer now") {
		t.Fatalf("Call = %v, %v", v, err)
	}
	s.Close()
	if len(answers) != len(asked) {
		t.Fatalf("%d answers, want %d", len(answers), len(asked))
	}
	for _, a := range answers {
		if !strings.Contains(a, `"code"`) && !strings.Contains(a, `"roots":[]`) && !strings.Contains(a, `{"action":"cancel"}`) {
			t.Errorf("the server got %s", a)
		}
	}
}

// TestLateChange checks that a server that reports other tools is listed again before the next call.
func TestLateChange(t *testing.T) {
	t.Parallel()
	offered := forecast
	o, starts := launched(func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
		s := offering("")
		s["tools/list"] = func(string, json.RawMessage) string { return `{"tools":` + offered + `}` }
		s["tools/call"] = func(id string, _ json.RawMessage) string {
			offered = `[]`
			return `RAW{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}`
		}
		return s.serve(ctx, in, out, errs)
	})
	s := newServer(t, o, fetched(t, o))
	if _, err := s.Call(t.Context(), "get-forecast", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), "get-forecast", nil); value.KindOf(err) != value.Denied || starts.Load() != 2 {
		t.Errorf("the call after the change = %v after %d starts", err, starts.Load())
	}
}

// TestRestart checks that a server that has ended is started again, and after failed starts only
// when the wait is over.
func TestRestart(t *testing.T) {
	t.Parallel()
	works := true
	o, starts := launched(func(ctx context.Context, in io.Reader, out, errs io.Writer) (int, error) {
		if !works {
			return 1, nil
		}
		s := offering(forecast)
		s["tools/call"] = func(string, json.RawMessage) string { return `{"content":[]}` }
		return s.serve(ctx, in, out, errs)
	})
	now := time.Now()
	o.Now = func() time.Time { return now }
	s := newServer(t, o, fetched(t, o))
	call := func() error {
		_, err := s.Call(t.Context(), "get-forecast", nil)
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	closeNow(s)
	if err := call(); err != nil || starts.Load() != 3 {
		t.Errorf("after its end: %v, %d starts", err, starts.Load())
	}
	works = false
	closeNow(s)
	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		before := starts.Load()
		if err := call(); value.KindOf(err) != value.Unavailable || starts.Load() != before+1 {
			t.Errorf("failed start %d: %v", i, err)
		}
		now = now.Add(wait - time.Millisecond)
		if err := call(); value.KindOf(err) != value.Unavailable || starts.Load() != before+1 {
			t.Errorf("a start before the wait %d was over: %v", i, err)
		}
		now = now.Add(time.Millisecond)
	}
	works = true
	if err := call(); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

// TestMemory checks that a server cannot fill the memory of the host, whatever it sends.
func TestMemory(t *testing.T) {
	if raceBuild {
		t.Skip("the race detector needs memory of its own")
	}
	s := offering(forecast)
	s["tools/call"] = func(string, json.RawMessage) string {
		return `{"structuredContent":[` + strings.Repeat("[],", 5<<20) + `[]]}` // 15 MB
	}
	o, _ := launched(s.serve)
	server := newServer(t, o, fetched(t, o))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 3 {
		if _, err := server.Call(t.Context(), "get-forecast", nil); value.KindOf(err) != value.Failed {
			t.Errorf("Call = %v", err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
}

// closeNow ends the program of a server.
func closeNow(s *Server) {
	s.session.end()
	<-s.session.ended
}

// TestExplain checks that the end of an error output stays beside a hint that explains it.
func TestExplain(t *testing.T) {
	t.Parallel()
	o, _ := launched(func(_ context.Context, _ io.Reader, _, errs io.Writer) (int, error) {
		fmt.Fprint(errs, "EACCES\n    at a\n    at b\n    at c\nNode.js v24\n")
		return 1, nil
	})
	for _, hint := range []string{"", "let it read /opt"} {
		o.Explain = func(output string) string {
			if !strings.HasPrefix(output, "EACCES\n") {
				t.Errorf("the output is %q", output)
			}
			return hint
		}
		_, err := Fetch(t.Context(), o)
		e := value.ErrorOf(err, value.Failed)
		want := "exit code 1: at b\n    at c\nNode.js v24"
		if hint == "" {
			want = "exit code 1: EACCES\n    at a\n    at b\n    at c\nNode.js v24"
		}
		if !strings.HasSuffix(e.Message(), want) || hint != "" && e.Hint != hint || hint == "" && !strings.Contains(e.Hint, "mcp.json") {
			t.Errorf("the error is %q, and the hint %q", e.Message(), e.Hint)
		}
	}
}
