package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// replIn starts cassidy repl on a terminal, in a folder with a tool.
func replIn(t *testing.T, args ...string) *sitting {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, ".cassidy", "tools", "double.star")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("def double(n: int) -> int:\n    \"Double.\"\n    return 2 * n\n\ntool(double)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return sitAt(t, dir, nil, append([]string{"--trust-once", "repl"}, args...)...)
}

// atReplPrompt waits until a line can be typed.
func (s *sitting) atReplPrompt(prompt string) { s.t.Helper(); s.expect("\x1b[?2004h" + prompt) }

func TestReplOnTerminal(t *testing.T) {
	t.Parallel()
	s := replIn(t)
	s.atReplPrompt(">>> ")
	s.types("x = double(n = 21)\r")
	s.atReplPrompt(">>> ")
	s.types("x\r")
	s.expect("\x1b[?2004l42\r\n")
	s.atReplPrompt(">>> ")
	s.types("def f(n):\r")
	s.atReplPrompt("... ")
	s.types("    return n + x\r")
	s.atReplPrompt("... ")
	s.types("\r")
	s.atReplPrompt(">>> ")
	s.types("f(1)\r")
	s.expect("\x1b[?2004l43\r\n")
	s.atReplPrompt(">>> ")
	s.types("1 // 0\r")
	s.expect("floored division by zero\r\n")
	s.expect(" 1 // 0\r\n")
	s.atReplPrompt(">>> ")
	s.types("\x1b[A\x1b[A\r") // the line before the last
	s.expect("\x1b[?2004l43\r\n")
	s.atReplPrompt(">>> ")
	s.types(":help\r")
	s.expect(":tools   list the tools")
	s.atReplPrompt(">>> ")
	s.types("\x04")
	s.ends(0)
	past, err := os.ReadFile(filepath.Join(s.home, "state", "repl_history"))
	if err != nil {
		matches, _ := filepath.Glob(filepath.Join(s.home, "*", "repl_history"))
		t.Fatalf("the history: %v; found %q", err, matches)
	}
	if !strings.Contains(string(past), `"x = double(n = 21)"`) {
		t.Errorf("the history is %s", past)
	}
}

// TestReplInterrupted checks that Ctrl-C ends an incomplete input, one that waits and one that
// computes, and that the variables are kept.
func TestReplInterrupted(t *testing.T) {
	t.Parallel()
	s := replIn(t)
	s.atReplPrompt(">>> ")
	s.types("x = 7\r")
	s.atReplPrompt(">>> ")
	s.types("y = (1,\r")
	s.atReplPrompt("... ")
	s.types("\x03")
	s.atReplPrompt(">>> ")
	for _, line := range []string{"time.sleep(3000)", "[0 * i for i in range(1 << 40)]"} {
		s.types(`print("be" + "gun"); ` + line + "\r")
		s.expect("begun\r\n")
		s.types("\x03")
		s.atReplPrompt(">>> ")
		s.types("x\r")
		s.expect("\x1b[?2004l7\r\n")
		s.atReplPrompt(">>> ")
	}
	s.types(":quit\r")
	s.ends(0)
}

// TestReplAsks checks that an effect asks at the terminal, and that SIGTERM ends the session.
func TestReplAsks(t *testing.T) {
	t.Parallel()
	s := replIn(t)
	s.atReplPrompt(">>> ")
	s.types("fs.write(\"a.txt\", \"text\")\r")
	s.expect("a.txt")
	s.expect("y yes")
	s.types("y\r")
	s.expect("\"bytes\": 4")
	s.atReplPrompt(">>> ")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(s.home), "a.txt"))
	if err != nil || string(text) != "text" {
		t.Errorf("a.txt = %q, %v", text, err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ends(130)
}
