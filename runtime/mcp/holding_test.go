package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// heldMost is the memory of the host of these tests; a request may hold three quarters of it.
const heldMost = 16 << 20

// newHeld opens a host with little memory: much returns a MB, small little, and stay returns when stays ends.
func newHeld(t *testing.T, stays <-chan struct{}) (*bench, *membudget.Host) {
	t.Helper()
	h, err := host.New(&host.Options{Memory: heldMost})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	text := cassidy.Tool{Name: "much", Description: "Return.", Hints: tool.Hints{ReadOnly: true}, Timeout: time.Hour, Params: []cassidy.Param{{Name: "text", HasDefault: true, Default: ""}}}
	for name, do := range map[string]func(context.Context, *value.Dict) (value.Value, error){
		"much": func(context.Context, *value.Dict) (value.Value, error) { return strings.Repeat("y", 1_000_000), nil },
		"small": func(_ context.Context, args *value.Dict) (value.Value, error) {
			return int64(len(args.Text("text"))), nil
		},
		"stay": func(ctx context.Context, _ *value.Dict) (value.Value, error) {
			select {
			case <-stays:
			case <-ctx.Done():
			}
			return "done", nil
		},
	} {
		text.Name = name
		if err := h.Register(text, do); err != nil {
			t.Fatal(err)
		}
	}
	s, err := mcp.New(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{h, s}, host.Operate(h).Memory()
}

// A wire is a client as it is on the wire, which reads only if it is told to.
type wire struct {
	io.Writer
	lines *bufio.Reader
}

func (b *bench) wire(t *testing.T) *wire {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.server.ServeStdio(ctx, in, out)
	}()
	t.Cleanup(func() {
		cancel()
		_ = toServer.Close()
		_ = fromServer.Close()
		<-ended
	})
	w := &wire{toServer, bufio.NewReader(fromServer)}
	w.send(initialize)
	w.read(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) send(line string) { _, _ = io.WriteString(w, line+"\n") }

func (w *wire) call(id int, name, text string) {
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, id, name, text))
}

// An answer is one on the wire.
type answer struct {
	ID     int
	Result struct {
		IsError bool
		Content []struct{ Text string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (w *wire) read(t *testing.T) (a answer) {
	t.Helper()
	line, err := w.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		t.Fatalf("%v: %.200s", err, line)
	}
	return a
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}

// TestUnreadAnswers has a client read no answers: they hold memory, which others wait for, no more than the limit is held,
// small calls of another client are answered, and at last all are.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	b, memory := newHeld(t, nil)
	slow, other := b.wire(t), b.wire(t)
	const calls = 40
	for n := range calls {
		slow.call(n, "much", "")
		other.call(n, "small", "a")
		if a := other.read(t); a.ID != n || a.Result.IsError || a.Result.Content[0].Text != "1" {
			t.Fatalf("beside unread answers: %+v", a)
		}
	}
	until(t, "answers hold memory", func() bool { return memory.Used() > heldMost/8 })
	for range calls {
		if used := memory.Used(); used > heldMost {
			t.Errorf("%d bytes are held", used)
		}
		if a := slow.read(t); a.Result.IsError || len(a.Result.Content[0].Text) != 1_000_000 {
			t.Errorf("an answer that was read late: %.300v", a)
		}
	}
	until(t, "everything is given back", func() bool { return memory.Used() == 0 })
}

// TestLargeRequests sends requests that hold memory until they are answered, and some that are larger than the share of a
// request, alone and in a batch: these are refused, and the connection stays open.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	b, memory := newHeld(t, nil)
	w := b.wire(t)
	large, tooLarge := strings.Repeat("x", 1_000_000), strings.Repeat("x", heldMost/4+1)
	go func() {
		for n := range 40 {
			w.call(n, "small", map[bool]string{true: large, false: tooLarge}[n%10 != 0])
			if n == 20 {
				w.send(`[{"jsonrpc":"2.0","id":100,"method":"ping","params":{"a":"` + large + `"}},{"jsonrpc":"2.0","id":101,"method":"ping"}]`)
			}
		}
	}()
	for range 42 {
		a := w.read(t)
		switch {
		case a.ID >= 100:
			if a.Error != nil {
				t.Errorf("in a batch: %+v", a.Error)
			}
		case a.ID%10 == 0:
			if a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "12 MB of memory") {
				t.Errorf("a request that is too large: %+v", a)
			}
		case a.Result.IsError || a.Result.Content[0].Text != fmt.Sprint(len(large)):
			t.Errorf("a large request: %+v", a)
		}
		if used := memory.Used(); used > heldMost {
			t.Errorf("%d bytes are held", used)
		}
	}
	until(t, "everything is given back", func() bool { return memory.Used() == 0 })
}

// TestRequestsAhead has a client send very many small requests that take long: only so many are read ahead as there is memory
// for. What waits longer for memory is refused, so the answers to forms behind it can be read.
func TestRequestsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stays := make(chan struct{})
		b, memory := newHeld(t, stays)
		w := b.wire(t)
		const calls = 5000
		var sent atomic.Int64
		go func() {
			for n := range calls {
				w.call(n, "stay", "")
				sent.Add(1)
			}
		}()
		synctest.Wait()
		ahead := sent.Load()
		if ahead < 100 || ahead > 1000 || memory.Used() > heldMost {
			t.Errorf("%d requests were read, which hold %d bytes", ahead, memory.Used())
		}
		if a := w.read(t); a.Error == nil || a.Error.Code != -32603 || !strings.Contains(a.Error.Message, "as much memory as they may") {
			t.Errorf("a request without memory: %+v", a)
		}
		close(stays)
		for range calls - 1 {
			w.read(t)
		}
		synctest.Wait()
		if used := memory.Used(); used != 0 {
			t.Errorf("%d bytes are held at the end", used)
		}
	})
}

// TestClientGoes has clients go while their answers wait, and while their calls are made.
func TestClientGoes(t *testing.T) {
	t.Parallel()
	b, memory := newHeld(t, nil)
	t.Run("client", func(t *testing.T) {
		w := b.wire(t)
		go func() { // it waits when there is no room
			for n := range 10 {
				w.call(n, "much", "")
				w.call(100+n, "stay", strings.Repeat("x", 100_000))
			}
		}()
		until(t, "answers hold memory", func() bool { return memory.Used() > heldMost/8 })
	})
	until(t, "everything is given back", func() bool { return memory.Used() == 0 })
}

// TestUnreadOverHTTP has a client over HTTP read no answer: it loses its connection, and others get the memory.
func TestUnreadOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, memory := newHeld(t, nil)
		l := listener{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{Handler: b.server.Handler(nil)}
		go func() { _ = server.Serve(l) }()
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		post := func(name string, size int) net.Conn {
			client, served := net.Pipe()
			l.conns <- served
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{"text":"` + strings.Repeat("x", size) + `"},` + meta + `}}`
			go fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
				"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s", name, len(body), body)
			return client
		}
		for range 3 { // more than there is room for
			defer post("much", 0).Close()
		}
		synctest.Wait()
		if used := memory.Used(); used < 6_000_000 {
			t.Errorf("two unread answers hold %d bytes", used)
		}
		for _, size := range []int{10, 500_000} {
			c := post("small", size)
			answer, err := io.ReadAll(io.LimitReader(c, 1000))
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK") || !strings.Contains(string(answer), fmt.Sprintf(`"text":"%d"`, size)) {
				t.Errorf("%d bytes beside clients that do not read: %v, %s", size, err, answer)
			}
			_ = c.Close()
		}
		time.Sleep(time.Hour) // of the clock of the bubble
		if used := memory.Used(); used != 0 {
			t.Errorf("%d bytes are held when all have lost their connections", used)
		}
		_ = server.Close()
		time.Sleep(time.Minute)
	})
}

// A listener has the connections that a test gives it.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	close(l.closed)
	return nil
}

func (l listener) Addr() net.Addr { return &net.TCPAddr{} }
