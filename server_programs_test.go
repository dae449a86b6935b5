package cassidy_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy"
)

// TestServerProgramsAreProtected checks that a tool that may write every file cannot change what the command
// lines of servers name: those of the project, and those of the user.
func TestServerProgramsAreProtected(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	putFile(t, filepath.Join(dir, ".cassidy", "mcp.json"), `{"mcpServers": {"a": {"command": "python3", "args": ["srv/a.py"]}}}`)
	putFile(t, filepath.Join(home, "mcp.json"), `{"mcpServers": {"b": {"command": "sh", "args": ["-c", "exec ./srv/b.sh"]}}}`)
	for _, name := range []string{"a.py", "b.sh", "free.py"} {
		putFile(t, filepath.Join(dir, "srv", name), "old\n")
	}
	r := newRuntime(t, &cassidy.RuntimeOptions{})
	h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, Approver: cassidy.ApproveAll()})
	for file, want := range map[string]error{"srv/a.py": cassidy.ErrDenied, "srv/b.sh": cassidy.ErrDenied, "srv/free.py": nil} {
		_, err := h.Call(context.Background(), cassidy.Call{Tool: "write_file", Args: cassidy.NewDict("filepath", file, "content", "new\n", "overwrite", true)})
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("write %s: %v, want %v", file, err, want)
		}
	}
}
