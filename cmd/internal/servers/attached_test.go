package servers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const definition = `{"name":"get","description":"Return it.","inputSchema":{"type":"object"}}`

// A troupe plays all servers: each answers with its arguments.
type troupe struct {
	mu      sync.Mutex
	starts  map[string]int // by arguments
	running atomic.Int64
}

func (x *troupe) launch(ctx context.Context, p *tool.Process) (int, error) {
	x.running.Add(1)
	defer x.running.Add(-1)
	words := strings.Join(p.Args, " ")
	x.mu.Lock()
	x.starts[words]++
	x.mu.Unlock()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(p.Stdin); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return -1, value.AsError(context.Cause(ctx), value.Canceled)
		case line, ok := <-lines:
			if !ok {
				return 0, nil
			}
			if answer := answerTo(line, words); answer != "" {
				if _, err := fmt.Fprintln(p.Stdout, answer); err != nil {
					return -1, err
				}
			}
		}
	}
}

// answerTo returns the answer of a server to a message.
func answerTo(line, words string) string {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(line), &m) != nil || len(m.ID) == 0 {
		return ""
	}
	result := ""
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
	case "tools/list":
		result = `{"tools":[` + definition + `]}`
	case "tools/call":
		result = `{"content":[{"type":"text","text":"` + words + `"}]}`
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// A stage has servers and a host that uses them.
type stage struct {
	*testing.T
	troupe
	opts     *Options
	host     *host.Host
	attached *Attached
}

// newStage attaches the servers of the user's file, whose tools are reviewed.
func newStage(t *testing.T, text string, reviewed ...string) *stage {
	home := t.TempDir()
	s := &stage{T: t, troupe: troupe{starts: map[string]int{}}}
	s.opts = &Options{Root: t.TempDir(), Scope: &trust.Scope{Home: home, Trust: trust.New(filepath.Join(home, "state"))}, Env: os.LookupEnv, Launch: s.launch}
	s.write(text)
	tools, err := attached.ParseSet("[" + definition + "]")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range reviewed {
		e, err := s.opts.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.opts.Accept(e, tools); err != nil {
			t.Fatal(err)
		}
	}
	if s.host, err = host.New(nil); err != nil {
		t.Fatal(err)
	}
	s.attached = s.opts.Attach(s.host)
	t.Cleanup(func() {
		_ = s.host.Close()
		s.attached.Close()
		if n := s.running.Load(); n != 0 {
			t.Errorf("%d servers run after Close", n)
		}
	})
	s.update(0)
	return s
}

func (s *stage) write(text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.opts.Scope.Home, "mcp.json"), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// update updates the servers, and wants so many new errors.
func (s *stage) update(want int) {
	s.Helper()
	if wrong := s.attached.Update(); len(wrong) != want {
		s.Errorf("the new errors are %v, want %d", wrong, want)
	}
}

// call calls the tool of a server.
func (s *stage) call(server string) (string, error) {
	r, err := s.host.Call(context.Background(), tool.Call{Tool: server + ".get", Caller: tool.ByPerson})
	return value.FormatJSON(r.Value, ""), err
}

func (s *stage) started(words string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts[words]
}

// entries returns a file with servers, which are pairs of names and arguments.
func entries(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(`%q: {"command": "/bin/server", "args": [%q]}`, pairs[i], pairs[i+1]))
	}
	return `{"mcpServers": {` + strings.Join(list, ", ") + "}}"
}

// TestEditsUnderLoad edits the file of the servers 1,000 times while their tools are called: with half a
// file, with files that do not parse, and with servers that come, go and change. No call of a server that
// stays fails, and it is not restarted. A call of another one fails only because that is not attached.
func TestEditsUnderLoad(t *testing.T) {
	s := newStage(t, entries("stays", "one", "moves", "0"), "stays", "moves")
	ended := make(chan struct{})
	var load sync.WaitGroup
	each := func(do func() bool) {
		for range 2 {
			load.Go(func() {
				for do() {
					select {
					case <-ended:
						return
					default:
					}
				}
			})
		}
	}
	each(func() bool {
		got, err := s.call("stays")
		if err != nil || got != `"one"` {
			t.Errorf("a server that stays: %s, %v", got, err)
		}
		return err == nil
	})
	each(func() bool {
		_, err := s.call("moves")
		gone := errors.Is(err, value.ErrNotFound) || err != nil && strings.Contains(err.Error(), "is no longer attached")
		if err != nil && !gone {
			t.Errorf("a server that moves: %v", err)
		}
		return err == nil || gone
	})
	edits := testutil.Times(50, 1000) // a multiple of 5
	for n := range edits {
		all := entries("moves", fmt.Sprint(n), "stays", "one")
		switch n % 5 {
		case 0:
			s.write(all)
		case 1:
			s.write(all[:len(all)*(n%7)/7])
		case 2:
			s.write(strings.Replace(all, ":", ";", 1))
		case 3:
			s.write(entries("stays", "one"))
		case 4:
			s.write(entries("stays", "one", "moves", fmt.Sprint(n)))
		}
		s.attached.Update()
	}
	close(ended)
	load.Wait()
	if n := s.started("one"); n != 1 {
		t.Errorf("the server that stays was started %d times", n)
	}
	if got, err := s.call("moves"); err != nil || got != fmt.Sprintf("%q", fmt.Sprint(edits-1)) {
		t.Errorf("at the end: %s, %v", got, err)
	}
}

// TestUpdate checks which servers are attached after changes of the file and of the reviews, and that each
// error is new once.
func TestUpdate(t *testing.T) {
	s := newStage(t, entries("a", "1", "b", "1"), "a")
	has := func(when, want string) {
		t.Helper()
		var list []string
		for _, h := range s.host.List() {
			list = append(list, strings.TrimSuffix(h.Name, ".get"))
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: the servers are %q, want %q", when, got, want)
		}
	}
	has("only one is reviewed", "a")
	e, err := s.opts.Find("b")
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := s.opts.Reviewed(&s.attached.now[0].entry)
	if err := s.opts.Accept(e, tools); err != nil {
		t.Fatal(err)
	}
	s.update(0)
	has("both are reviewed", "a b")
	more, err := attached.ParseSet("[" + definition + strings.Replace(","+definition, "get", "put", 1) + "]")
	if err != nil {
		t.Fatal(err)
	}
	for _, review := range []struct {
		tools attached.Set
		want  string
	}{{more, "a b b.put"}, {tools, "a b"}} {
		if err := s.opts.Accept(e, review.tools); err != nil {
			t.Fatal(err)
		}
		s.update(0)
		has("other tools are reviewed", review.want)
	}
	s.write("{")
	s.update(1)
	s.update(0)
	has("an invalid file", "a b")
	s.write(entries("a", "1"))
	s.update(0)
	has("one was removed", "a")
	if err := os.Remove(filepath.Join(s.opts.Scope.Home, "mcp.json")); err != nil {
		t.Fatal(err)
	}
	s.update(0)
	has("the file was removed", "")

	project := filepath.Join(s.opts.Root, ".cassidy")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	text := entries("a", "1", "b", "1")
	put := func(text string) {
		if err := os.WriteFile(filepath.Join(project, "mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	review := func(text string) {
		t.Helper()
		hash := tool.HashBytes([]byte(text))
		if err := s.opts.Scope.Trust.Record(s.opts.Root, []trust.File{{Path: ".cassidy/mcp.json", Kind: trust.KindServers, Text: text, TextHash: hash, Hash: hash}}, false); err != nil {
			t.Fatal(err)
		}
	}
	put(text)
	s.update(1)
	has("a project that nobody has reviewed", "")
	review(text)
	for _, name := range []string{"a", "b"} {
		e, err := s.opts.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.opts.Accept(e, tools); err != nil {
			t.Fatal(err)
		}
	}
	s.update(0)
	has("a trusted project", "a b")
	if _, err := s.call("a"); err != nil {
		t.Error(err)
	}
	first := s.started("1")
	put(entries("a", "1", "b", "2"))
	s.update(1)
	has("an entry was changed", "a")
	put(entries("a", "1"))
	s.update(0) // the same error
	has("an entry was removed without a review", "a")
	if _, err := s.call("a"); err != nil || s.started("1") != first {
		t.Errorf("the entry that has not changed was started %d times: %v", s.started("1"), err)
	}
	review(entries("a", "1"))
	s.update(0)
	has("the file is trusted again", "a")
	put(entries("a", "1", "b", "1"))
	if err := s.opts.Scope.Trust.Revoke(s.opts.Root, ".cassidy/mcp.json"); err != nil {
		t.Fatal(err)
	}
	s.update(1)
	has("trust was revoked", "")
}

// TestServersGetNoSecret checks that no server is started that could read the file of a secret, in the project or in a
// folder that its entry names, also by a link or another name.
func TestServersGetNoSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t, entries("inside", "a", "link", "b", "hard", "c", "apart", "d"), "inside", "link", "hard", "apart")
	outside, file := t.TempDir(), ""
	s.opts.Secrets = func() ([]string, error) { return []string{file}, nil }
	write := func(name string) string {
		if err := os.WriteFile(name, []byte("s3cret-value"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	linked := filepath.Join(outside, "linked")
	if err := os.Symlink(s.opts.Root, linked); err != nil {
		t.Skip(err)
	}
	hard := write(filepath.Join(outside, "hard"))
	if err := os.Link(hard, filepath.Join(s.opts.Root, "name")); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct{ server, file, hint string }{
		{"inside", write(filepath.Join(s.opts.Root, ".env")), "mv '"},
		{"link", filepath.Join(linked, ".env"), "mv '"},
		{"hard", hard, "find / -samefile '"},
	} {
		file = tt.file
		_, err := s.call(tt.server)
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Denied || !strings.Contains(e.Message(), tt.file) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("with the secret in %s: %v", tt.file, err)
		}
	}
	if n := s.started("a") + s.started("b") + s.started("c"); n != 0 {
		t.Errorf("%d servers were started", n)
	}
	file = write(filepath.Join(outside, "apart"))
	if _, err := s.call("apart"); err != nil {
		t.Errorf("with the secret elsewhere: %v", err)
	}
}
