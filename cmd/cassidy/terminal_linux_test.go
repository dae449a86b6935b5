package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openPTY returns both ends of a new terminal: what a person sees and types,
// and what a program has.
func openPTY(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// keepOutput has Ctrl-C not throw away what a program says about it, if it is
// quick.
func keepOutput(t *testing.T, program *os.File) {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err == nil {
		settings.Lflag |= unix.NOFLSH
		err = unix.IoctlSetTermios(int(program.Fd()), unix.TCSETS, settings)
	}
	if err != nil {
		t.Fatal(err)
	}
}

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
		{name: "help, then Ctrl-D", stdin: own, says: []string{"?\n", "\x04"}, exit: 3, shows: "Ctrl-C ends the whole run"},
		{name: "Ctrl-C", stdin: own, says: []string{"\x03"}, exit: 130, shows: "cassidy: interrupted"},
		{name: "typed too early", stdin: own, early: "y\ny\n", says: []string{"n\n"}, exit: 3, shows: "was not approved"},
		{name: "half typed too early", stdin: own, early: "y", says: []string{"\n"}, exit: 3, shows: "was not approved"},
		{name: "edited", stdin: own, says: []string{"e\n{\"filepath\":\"b\"}\n", "y\n"}, out: "it ran\n", shows: `{"filepath": "b"}`},
		{name: "arguments on standard input", stdin: input, says: []string{"y\n"}, out: "it ran\n"},
		{name: "a pipe that says yes", stdin: pipe, exit: 3, shows: "there is no terminal to ask on"},
		{name: "standard error goes to a file", stdin: own, errLater: true, exit: 3, shows: "there is no terminal to ask on"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			person, program := openPTY(t)
			keepOutput(t, program)
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
			if !strings.Contains(shown, tt.shows) {
				t.Errorf("it showed:\n%s\nwant %q in it", shown, tt.shows)
			}
			if got := strings.Contains(shown, "\x1b["); got != tt.colour {
				t.Errorf("colours = %v, want %v; it showed:\n%q", got, tt.colour, shown)
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
		if strings.Count(shown.String(), " ? ") > prompts {
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
