package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// hostileFiles are texts of files of 250 KB that cost much to read.
func hostileFiles() map[string]string {
	fill := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	const size, end = 249_000, "\ndef NAME():\n    \"D.\"\n    return 1\n\ntool(NAME)\n"
	return map[string]string{
		"tokens":    "X = [" + strings.Repeat("1,", size/2) + "]" + end,
		"functions": fill(size, func(i int) string { return fmt.Sprintf("def f%d(): pass\n", i) }) + end,
		"unknown":   fill(size, func(i int) string { return fmt.Sprintf("u%d()\n", i) }) + end,
		"nested":    fill(size, func(int) string { return "x = " + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "\n" }) + end,
		"lines":     strings.Repeat(strings.Repeat("(", 100)+"\n", size/101) + end,
		"undefined": fill(size/2, func(i int) string { return fmt.Sprintf("def f%d(): pass\n", i) }) + fill(size/2, func(i int) string { return fmt.Sprintf("u%d()\n", i) }) + end,
		"deep":      "x = " + strings.Repeat("(", size/2) + "1" + strings.Repeat(")", size/2) + end,
		"docs":      "def NAME():\n    \"\"\"D.\n\n" + strings.Repeat("    word word word word\n", size/24) + "    \"\"\"\n    return 1\n\ntool(NAME)\n",
		"schema":    "def NAME(" + fill(size, func(i int) string { return fmt.Sprintf("a%d: dict[str, list[int]] = {}, ", i) }) + "):\n    \"D.\"\n    return 1\n\ntool(NAME)\n",
	}
}

// TestHostileProjectsAreReadInLittleMemory reads projects of 300 hostile files of 250 KB and one honest tool: each command stays below
// 256 MB and ends, and the honest tool is listed.
func TestHostileProjectsAreReadInLittleMemory(t *testing.T) {
	if !testutil.Soak() {
		t.Skip("only in make soak; TestToolsHaveAShare and TestCheckListsFewFaults have the small form")
	}
	program := testutil.Build(t, "cmd/cassidy")
	for kind, text := range hostileFiles() {
		for _, folder := range []string{"tools", "workflows", "policies"} {
			dir := t.TempDir()
			for i := range 300 {
				writeFile(t, filepath.Join(dir, ".cassidy", folder, fmt.Sprintf("a%d.star", i)), strings.ReplaceAll(text, "NAME", fmt.Sprintf("a%d", i)))
			}
			writeFile(t, filepath.Join(dir, ".cassidy/tools/honest.star"), "def honest():\n    \"\"\"D.\"\"\"\n    return 1\n\ntool(honest)\n")
			for _, command := range []string{"tool list", "check", "doctor", "trust --list"} {
				out, peak := peakOf(t, inProject(program, dir, strings.Fields(command)...))
				t.Logf("%s in %s, %s: %d MB", kind, folder, command, peak)
				if peak >= 256 {
					t.Errorf("%s in %s, %s: %d MB", kind, folder, command, peak)
				}
				if command == "tool list" && !strings.Contains(out, "honest") {
					t.Errorf("%s in %s: the honest tool is not listed", kind, folder)
				}
			}
		}
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inProject returns a command in a project, with a home of its own there.
func inProject(program, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"--dir", dir}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CASSIDY_HOME="+filepath.Join(dir, "home"))
	return cmd
}

// peakOf runs a command, and returns its output and the most memory that it was seen to hold, in MB. What the system reports
// at the end is of no use: it counts the memory of the test, which the new process has for a moment.
func peakOf(t *testing.T, cmd *exec.Cmd) (text string, peak int) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		all, _ := io.ReadAll(out)
		read <- string(all)
	}()
	for {
		select {
		case text = <-read:
			_ = cmd.Wait() // a check fails
			return text, peak
		case <-time.After(20 * time.Millisecond):
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // it may have ended
			if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
				kb, _ := strconv.Atoi(strings.Fields(rest)[0])
				peak = max(peak, kb>>10)
			}
		}
	}
}
