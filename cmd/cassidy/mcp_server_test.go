package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

// An mcpServer is cassidy mcp serve in a process of its own, and a client of its standard input and
// output.
type mcpServer struct {
	*testing.T
	requests io.WriteCloser
	lines    chan string
	told     lockedBuffer
	id       int
	cmd      *exec.Cmd
}

// startMCP starts the server in a project, and opens a session of a client without capabilities, which gets
// the log.
func startMCP(t *testing.T, dir, home string, args ...string) *mcpServer {
	t.Helper()
	s := startMCPFor(t, "{}", dir, home, args...)
	s.request("logging/setLevel", `{"level":"info"}`)
	return s
}

// startMCPFor starts the server in a project, and opens a session of a client with capabilities.
func startMCPFor(t *testing.T, capabilities, dir, home string, args ...string) *mcpServer {
	t.Helper()
	s := &mcpServer{T: t, lines: make(chan string, 1000)}
	s.cmd = exec.Command(os.Args[0], append([]string{"--dir", dir}, args...)...)
	s.cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+home, "CASSIDY_WORKER="+testworker.Exec())
	s.cmd.Stderr = &s.told
	var err error
	if s.requests, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	answers, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	go func() {
		in := bufio.NewScanner(answers)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			s.lines <- in.Text()
		}
		close(s.lines)
	}()
	s.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"test","version":"1"}}`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// kill ends the server with SIGKILL.
func (s *mcpServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *mcpServer) send(line string) {
	s.Helper()
	if _, err := io.WriteString(s.requests, line+"\n"); err != nil {
		s.Fatalf("%v; the server said:\n%s", err, s.told.String())
	}
}

// begin sends a request, and returns the words of its answer.
func (s *mcpServer) begin(method, params string) string {
	s.Helper()
	s.id++
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, s.id, method, params))
	return fmt.Sprintf(`"id":%d,`, s.id)
}

// request sends a request, and returns the answer.
func (s *mcpServer) request(method, params string) string {
	s.Helper()
	return s.expect(s.begin(method, params))
}

// call calls a tool without arguments.
func (s *mcpServer) call(name string) string {
	s.Helper()
	return s.request("tools/call", fmt.Sprintf(`{"name":"%s","arguments":{}}`, name))
}

// expect returns the next line that has all words. It drops the lines before.
func (s *mcpServer) expect(words ...string) string {
	s.Helper()
	for late := time.After(2 * time.Minute); ; {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.Fatalf("the server has ended without %q; it said:\n%s", words, s.told.String())
			}
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return line
			}
		case <-late:
			s.Fatalf("the server has not sent %q; it said:\n%s", words, s.told.String())
		}
	}
}

// end ends the server, which must have printed each text so often.
func (s *mcpServer) end(printed map[string]int) {
	s.Helper()
	s.requests.Close()
	for range s.lines {
	}
	err := s.cmd.Wait()
	for text, n := range printed {
		if strings.Count(s.told.String(), text) != n {
			err = errors.Join(err, fmt.Errorf("want %d times %q", n, text))
		}
	}
	if err != nil {
		s.Errorf("%v, standard error:\n%s", err, s.told.String())
	}
}
