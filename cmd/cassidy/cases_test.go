package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// TestCases runs the cases beside the project: scripts that play a model or a server as it was reported, and
// print OK if the command gets along with it.
func TestCases(t *testing.T) {
	t.Parallel()
	scripts, _ := filepath.Glob("../../../shared/cases/agents/*/repro.py")
	if len(scripts) == 0 {
		t.Skip("the cases are not beside the project")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	program := namedCassidy(t)
	for _, script := range scripts {
		t.Run(filepath.Base(filepath.Dir(script)), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, python, "repro.py")
			c.Dir = filepath.Dir(script)
			c.Env = append(os.Environ(), "CASSIDY="+program, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
			var messages bytes.Buffer // also of its servers, whose clients leave when they like
			c.Stderr = &messages
			out, err := c.Output()
			if err != nil || !strings.HasPrefix(string(out), "OK") {
				t.Errorf("%v: %.2000s%.2000s", err, out, messages.String())
			}
		})
	}
}

// namedCassidy returns the path of the command in a folder of its own, where it is named cassidy.
func namedCassidy(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "cassidy")
	if err := os.Symlink(testutil.Build(t, "cmd/cassidy"), program); err != nil {
		t.Fatal(err)
	}
	return program
}
