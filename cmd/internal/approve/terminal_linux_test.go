package approve

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestTerminal has a process of its own ask on a real terminal.
func TestTerminal(t *testing.T) {
	const (
		own   = "own"   // standard input is the terminal
		input = "input" // it held the arguments
		pipe  = "pipe"  // it holds what nobody said
	)
	tests := []struct {
		name     string
		stdin    string
		early    string // typed before the process begins
		says     []string
		exit     int
		out      string
		shows    string
		colour   bool
		errLater bool // standard error is no terminal
	}{
		{name: "yes", stdin: own, says: []string{"y\n"}, out: "it ran\n", colour: true},
		{name: "yes without colour", stdin: own, says: []string{"y\n"}, out: "it ran\n"},
		{name: "no", stdin: own, says: []string{"n\n"}, exit: 3, shows: "was not approved"},
		{name: "help, then Ctrl-D", stdin: own, says: []string{"?\n", "\x04"}, exit: 3, shows: "Ctrl-C end the run"},
		{name: "Ctrl-C", stdin: own, says: []string{"\x03"}, exit: 130, shows: "✗ interrupted"},
		{name: "typed too early", stdin: own, early: "y\ny\n", says: []string{"n\n"}, exit: 3, shows: "was not approved"},
		{name: "half typed too early", stdin: own, early: "y", says: []string{"\n"}, exit: 3, shows: "was not approved"},
		{name: "edited", stdin: own, says: []string{"e\n", "filepath=b\n", "\n", "y\n"}, out: "it ran\n", shows: "│ filepath: \"b\""},
		{name: "arguments on standard input", stdin: input, says: []string{"y\n"}, out: "it ran\n"},
		{name: "a pipe that says yes", stdin: pipe, exit: 3, shows: "no terminal is available to ask"},
		{name: "standard error goes to a file", stdin: own, errLater: true, exit: 3, shows: "no terminal is available to ask"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			person, program := ptytest.Open(t)
			ptytest.KeepOutput(t, program)
			if _, err := io.WriteString(person, tt.early); err != nil {
				t.Fatal(err)
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), asAsker+"="+tt.stdin, "TERM=xterm", "EDITOR=", "VISUAL=", "CASSIDY_HOME="+t.TempDir())
			if !tt.colour {
				cmd.Env = append(cmd.Env, "NO_COLOR=1")
			}
			var out, later bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, program
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
			if tt.stdin != own {
				cmd.Stdin = strings.NewReader("y\ny\ny\n")
			}
			if tt.errLater {
				cmd.Stderr, cmd.SysProcAttr.Ctty = &later, 0
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = program.Close() // so that reading ends with the process
			shown := talk(t, person, tt.says)
			_ = cmd.Wait() // the exit code says it
			shown += later.String()
			if code := cmd.ProcessState.ExitCode(); code != tt.exit || out.String() != tt.out {
				t.Errorf("exit code = %d with output %q, want %d with %q; it showed:\n%s", code, out.String(), tt.exit, tt.out, shown)
			}
			if !strings.Contains(strings.Join(strings.Fields(shown), " "), tt.shows) {
				t.Errorf("it showed:\n%s\nwant %q in it", shown, tt.shows)
			}
			if got := strings.Contains(shown, "\x1b["); got != tt.colour {
				t.Errorf("colours = %v, want %v; it showed:\n%q", got, tt.colour, shown)
			}
		})
	}
}

// askAbout has a process ask about a call with an argument, types what the person says, and
// returns what the terminal showed and the exit code.
func askAbout(t *testing.T, argument, pager string, says ...string) (shown string, code int) {
	t.Helper()
	person, program := ptytest.Open(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asAsker+"=own", asArgument+"="+strconv.Quote(argument), "NO_COLOR=1", "TERM=xterm", "PAGER="+pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = program.Close() // so that reading ends with the process
	shown = strings.ReplaceAll(talk(t, person, says), "\r\n", "\n")
	_ = cmd.Wait() // the exit code says it
	return shown, cmd.ProcessState.ExitCode()
}

// TestTerminalYesBeforeView checks that a yes to what is cut counts only after the view.
func TestTerminalYesBeforeView(t *testing.T) {
	text := strings.Repeat("echo ok\n", 40) + "curl evil\n" + strings.Repeat("echo ok\n", 40)
	shown, code := askAbout(t, text, "", "y\n", "a\n", "v\n", "y\n")
	first, rest, _ := strings.Cut(shown, enter)
	if code != 0 || strings.Contains(first, "curl evil") || !strings.Contains(rest, "curl evil") ||
		strings.Count(rest, "▸ 52 lines (418 bytes) were not shown: type v to view them before you approve\n") != 2 {
		t.Errorf("exit code = %d, and it shows:\n%s", code, shown)
	}
}

// TestTerminalHostile asks on a real terminal about arguments of each kind that could hide
// something: a yes counts only after what was cut has been viewed, nothing of the argument
// reaches the terminal but what can be seen, and the view has all of it.
func TestTerminalHostile(t *testing.T) {
	for name, text := range map[string]string{
		"spaces":            "echo ok" + strings.Repeat(" ", 3000) + "; curl evil",
		"tabs":              "echo ok" + strings.Repeat("\t", 3000) + "; curl evil",
		"blank lines":       "echo ok" + strings.Repeat("\n", 3000) + "curl evil",
		"other spaces":      "echo ok" + strings.Repeat("\u00a0\u3000", 900) + "; curl evil",
		"lines":             strings.Repeat("echo ok\n", 150) + "curl evil\n" + strings.Repeat("echo ok\n", 150),
		"a long line":       strings.Repeat("x", 20_000) + "; curl evil; " + strings.Repeat("x", 20_000),
		"escapes":           "\x1b[2J\x1b[H\x1b[8mcurl evil\x1b[0m\x1b]0;t\x07\u009b31m",
		"overwriting":       "curl evil\recho ok\b\b\b\x7f",
		"direction":         "x\u202elive lruc\u202c \u2066a\u2069\u200f\u061c",
		"no width":          "cu\u200brl\u2060 e\ufeffv\u00adil\u115f\u3164\uffa0\u180e",
		"tags and variants": "curl\ufe0f\U000e0063\U000e0075\U000e0072\U000e006c\U000e0100",
		"stacks":            "curl" + strings.Repeat("\u0301", 500) + " evil",
		"letters":           "\u0441url \uff45vil \U0001d41a g\u03bfogle.com\u2215x",
		"bytes":             "curl \xff\xfe evil \xed\xa0\x80",
		"a wide table":      strings.Repeat("| a | b "+strings.Repeat(" ", 200), 60) + "| curl evil |",
		"a prompt":          "ok\ny yes · N no · v view" + enter + "y\n✓ approved once\n",
		"marks":             "⟨3 spaces⟩ ⟨U+202E⟩ ⇥ ⟨200 blank lines⟩",
	} {
		t.Run(name, func(t *testing.T) {
			shown, _ := askAbout(t, text, "", "v\n", "n\n")
			if i := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && value.IsInvisible(r) }); i >= 0 {
				t.Fatalf("it shows %q", shown[i:min(len(shown), i+20)])
			}
			_, view, _ := strings.Cut(shown, enter)
			var all strings.Builder
			for line := range strings.Lines(view) {
				line = strings.TrimSuffix(line, "\n")
				if _, _, more := strings.Cut(line, " · Enter next · q back"+enter); more {
					continue
				}
				for _, part := range []string{"  │ ", "  ┊ ", "  ", "│ ", "┊ "} {
					line = strings.TrimPrefix(line, part)
				}
				all.WriteString(line)
			}
			for _, l := range visible.Lines(text) {
				want := ""
				for _, s := range l.Spans {
					want += s.Text
				}
				if !strings.Contains(all.String(), want) {
					t.Fatalf("the view has no %q:\n%s", want, view)
				}
			}
		})
	}
}

// TestTerminalPager checks that a view that is longer than the terminal is shown by the
// program that PAGER names, and in full if that program cannot be started.
func TestTerminalPager(t *testing.T) {
	dir := t.TempDir()
	pager, kept := filepath.Join(dir, "pager"), filepath.Join(dir, "kept")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\ncat > '"+kept+"'\necho PAGED $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("echo ok\n", 40) + "curl evil\n" + strings.Repeat("echo ok\n", 40)
	for _, tt := range []struct{ name, pager, argument, shows string }{
		{"long", pager + " -x", long, "PAGED -x"},
		{"short", pager, "short", "? Call this tool?"},
		{"it cannot be started", filepath.Join(dir, "none"), long, "curl evil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.Remove(kept)
			shown, code := askAbout(t, tt.argument, tt.pager, "v\n", "y\n")
			_, view, _ := strings.Cut(shown, enter)
			if code != 0 || !strings.Contains(view, tt.shows) {
				t.Errorf("exit code = %d, and the view is:\n%s\nwant %q in it", code, view, tt.shows)
			}
			text, _ := os.ReadFile(kept)
			if paged := tt.name == "long"; strings.Contains(string(text), "curl evil") != paged || paged && strings.Contains(view, "curl evil") {
				t.Errorf("the pager got %q", text)
			}
		})
	}
}

// talk types the next word at each prompt, and returns all that was shown.
func talk(t *testing.T, person *os.File, says []string) string {
	t.Helper()
	var shown strings.Builder
	buf := make([]byte, 4096)
	prompts := 0
	for {
		n, err := person.Read(buf)
		shown.Write(buf[:n])
		if err != nil { // EIO: the process has gone
			return shown.String()
		}
		if !strings.HasSuffix(shown.String(), enter) {
			continue
		}
		lines := strings.Split(strings.ReplaceAll(shown.String(), "\r", ""), "\n")
		switch last := lines[len(lines)-1]; {
		case strings.HasSuffix(last, " · Enter next · q back"+enter): // the next part of a view
			if _, err := io.WriteString(person, "\n"); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(last, "y yes") || strings.HasPrefix(last, "v view all first") || strings.HasPrefix(last, "type a change"):
			prompts++
			if prompts > len(says) {
				t.Errorf("asked %d times, want %d:\n%s", prompts, len(says), shown.String())
				_ = person.Close() // hang up, so that the process ends
				return shown.String()
			}
			if _, err := io.WriteString(person, says[prompts-1]); err != nil {
				t.Fatal(err)
			}
		}
	}
}
