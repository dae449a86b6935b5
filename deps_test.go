package cassidy_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A program that imports only the host, the sandbox and the effects on files, or other
// areas of the standard library, does not link the database that package table and the
// journal bring.
func TestFilesNeedNoDatabase(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "./runtime/host", "./sandbox", "./stdlib/fs",
		"./stdlib/clock", "./stdlib/encoding", "./stdlib/human", "./stdlib/number", "./stdlib/secret", "./stdlib/shell", "./stdlib/text", "./stdlib/web")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.HasPrefix(dep, "modernc.org/") || strings.HasPrefix(dep, module+"/stdlib/table") {
			t.Errorf("%v contain %s", cmd.Args[3:], dep)
		}
	}
}
