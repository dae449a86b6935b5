package cassidy_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy"
)

// TestServerProgramsAreProtected checks that a tool that may write every file cannot change what the command
// lines of servers name, or add what a script among them would load: those of the project, and those of the user.
func TestServerProgramsAreProtected(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	putFile(t, filepath.Join(dir, ".cassidy", "mcp.json"), `{"mcpServers": {"a": {"command": "python3", "args": ["srv/a.py"]}}}`)
	putFile(t, filepath.Join(home, "mcp.json"), `{"mcpServers": {"b": {"command": "sh", "args": ["-c", "exec ./bin/b.sh"]}}}`)
	for _, name := range []string{"srv/a.py", "srv/lib/c.py", "bin/b.sh", "bin/free.py"} {
		putFile(t, filepath.Join(dir, name), "old\n")
	}
	r := newRuntime(t, &cassidy.RuntimeOptions{})
	h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, Approver: cassidy.ApproveAll()})
	for file, want := range map[string]error{
		"srv/a.py": cassidy.ErrDenied, "srv/lib/c.py": cassidy.ErrDenied, "srv/json.py": cassidy.ErrDenied, "bin/b.sh": cassidy.ErrDenied, "bin/free.py": nil, "json.py": nil,
	} {
		_, err := h.Call(context.Background(), cassidy.Call{Tool: "write_file", Args: cassidy.NewDict("filepath", file, "content", "new\n", "overwrite", true)})
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("write %s: %v, want %v", file, err, want)
		}
	}
}
