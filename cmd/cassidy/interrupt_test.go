package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestInterrupt sends the signal of Ctrl-C to a tool that is waiting, and to
// one that computes: both end with code 130, and nothing that was staged stays.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGINT to send")
	}
	for name, wait := range map[string]string{
		"waiting":   "time.sleep(50)",
		"computing": "for i in range(1 << 40): pass",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, ".cassidy", "tools", "slow.star")
			source := "def slow():\n    \"Be slow.\"\n    fs.write('out.txt', 'half')\n    print('started')\n    " + wait +
				"\n\ntool(slow, needs = ['fs.write'], limits = {'steps': 1 << 40})\n"
			source = strings.ReplaceAll(source, "1 << 40}", "1099511627776}")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(exe, "--dir", dir, "--trust-once", "tool", "run", "slow")
			cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+filepath.Join(dir, "home"), "CASSIDY_WORKER="+testworker.Exec())
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stderr)
			var said []string
			for lines.Scan() {
				said = append(said, lines.Text())
				if strings.Contains(lines.Text(), "started") {
					if err := cmd.Process.Signal(os.Interrupt); err != nil {
						t.Fatal(err)
					}
				}
			}
			_ = cmd.Wait() // the exit code says it
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code = %d, want 130; it said %q", code, said)
			}
			if name == "computing" {
				if _, err := os.Stat(filepath.Join(dir, "out.txt")); err == nil {
					t.Error("a call that was interrupted has written out.txt")
				}
			}
		})
	}
}
