package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
)

// TestUndoAsJSON undoes a run whose file was changed: one document says all.
func TestUndoAsJSON(t *testing.T) {
	dir, env := t.TempDir(), map[string]string{"CASSIDY_HOME": t.TempDir()}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".cassidy/tools/put.star", "def put():\n    \"Put.\"\n    fs.write('a.txt', 'mine')\n\ntool(put, needs = ['fs.write'])\n")
	if _, stderr, code := apptest.Run(t, dir, env, commands(), "--trust-once", "tool", "run", "put", "--yes"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	list, _, _ := apptest.Run(t, dir, env, commands(), "--json", "runs", "list")
	var runs struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal([]byte(list), &runs); err != nil || len(runs.Runs) != 1 {
		t.Fatalf("the list is %s, %v", list, err)
	}
	write("a.txt", "theirs")
	stdout, stderr, code := apptest.Run(t, dir, env, commands(), "--json", "runs", "undo", runs.Runs[0].ID, "--yes")
	var undone map[string]any
	if err := json.Unmarshal([]byte(stdout), &undone); err != nil || code == 0 || !strings.Contains(stderr, "was not restored") {
		t.Fatalf("exit %d, %q: %v (%s)", code, stdout, err, stderr)
	}
	if undone["success"] != false || undone["error_type"] != "user_error" || undone["failed"] == nil || undone["suggestion"] == nil || undone["suggestion"] == "" {
		t.Errorf("it printed %s", stdout)
	}
}
