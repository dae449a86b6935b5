package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
)

// TestModulesOfServersAreProtected checks that no tool that may write every file can add a module that a server in the root
// of the project would load, or change one, and that it can write other files.
func TestModulesOfServersAreProtected(t *testing.T) {
	t.Parallel()
	for name, home := range map[string]bool{"the project's": false, "the user's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, homeDir := t.TempDir(), t.TempDir()
			list := filepath.Join(dir, ".cassidy", "mcp.json")
			if home {
				list = filepath.Join(homeDir, "mcp.json")
			}
			putFile(t, list, `{"mcpServers": {"a": {"command": "python3", "args": ["-m", "pkg"]}}}`)
			putFile(t, filepath.Join(dir, "pkg", "__init__.py"), "old\n")
			r := newRuntime(t, &cassidy.RuntimeOptions{})
			h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: homeDir, Approver: cassidy.ApproveAll()})
			for file, want := range map[string]error{
				"re.py": cassidy.ErrDenied, "json/__init__.py": cassidy.ErrDenied, "pkg/new.py": cassidy.ErrDenied, "pkg/__init__.py": cassidy.ErrDenied, "notes.md": nil, "data/x.csv": nil, "src/a.py": nil,
			} {
				_, err := h.Call(context.Background(), cassidy.Call{Tool: "write_file", Args: cassidy.NewDict("filepath", file, "content", "new\n", "overwrite", true)})
				if !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Errorf("write %s: %v, want %v", file, err, want)
				}
				if file == "re.py" && !strings.Contains(fmt.Sprint(err), "mcp.json lists could load it as code") {
					t.Errorf("write %s: %v, want the reason", file, err)
				}
			}
		})
	}
}

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
