package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestDemo runs the demo without a terminal, and then on one, where a person answers.
func TestDemo(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(filepath.Join(binOf(t), "cassidy"), append([]string{"demo"}, args...)...)
		cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_WORKER="+testworker.Exec(), "TMPDIR="+temp, "TERM=xterm", "CASSIDY_HOME="+filepath.Join(temp, "never"))
		cmd.Dir = temp
		return cmd
	}
	out, err := command("--keep").CombinedOutput()
	for _, want := range []string{"def low_stock(", "$ kill -9 ", "supplier order=", "- 1 × green tea", "removed ORDER.md", "cassidy tool new slug", "the project of the demo is", "home cassidy runs list", "here, --yes approves it"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%v: %q is not in\n%s", err, want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(temp, "cassidy-demo/project/.cassidy/tools/low_stock.star")); err != nil {
		t.Error(err)
	}
	if out, err := command("--keep").CombinedOutput(); err == nil || !strings.Contains(string(out), "already exists") {
		t.Errorf("a second time: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(temp, "*.held")); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})

	for _, tt := range []struct {
		approve, want string
		code          int
	}{{"y\n", "Your own first tool", 0}, {"n\n", "the change was not approved", 3}} {
		t.Run(strings.TrimSpace(tt.approve), func(t *testing.T) {
			t.Parallel()
			person, terminal := ptytest.Open(t)
			cmd := command()
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			s := newShellTest(t, person)
			say := func(after, keys string) {
				s.until(after)
				if _, err := io.WriteString(person, keys); err != nil {
					t.Fatal(err)
				}
			}
			say("[Enter to continue]", "\n")
			say("help › ", tt.approve)
			if tt.code == 0 {
				say("[Enter to continue]", "\n")
				say("[Enter to continue]", "\n")
			}
			s.until(tt.want)
			_ = cmd.Wait()
			if tt.code != 0 && (strings.Contains(s.all, "does not answer") || strings.Contains(s.all, "no result")) {
				t.Errorf("the demo did not stop after the answer no:\n%s", s.all)
			}
			if *pictures != "" && tt.code == 0 {
				drawPicture(t, *pictures, s.all)
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("ended with %d, want %d", code, tt.code)
			}
		})
	}
}
