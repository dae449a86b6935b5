package rowtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Tester is what *testing.T and *rapid.T have in common.
type Tester interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// Wrong fails the test unless an error has a kind, and says contains.
func Wrong(t Tester, err error, kind value.Kind, says, what string) {
	t.Helper()
	e := value.ErrorOf(err, value.Internal)
	if e == nil {
		t.Errorf("%s = no error, want one of type %s", what, kind.Type())
		return
	}
	if e.Kind != kind {
		t.Errorf("%s: error of type %s (%d), want %s (%d): %v", what, e.Kind.Type(), e.Kind, kind.Type(), kind, err)
	}
	if text := e.Message() + "\n" + e.Hint; !strings.Contains(text, says) {
		t.Errorf("%s: error %q does not contain %q", what, text, says)
	}
}

// PutFile writes a file below dir; a name that ends in a slash is a folder.
func PutFile(t Tester, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		NoError(t, os.MkdirAll(full, 0o755))
		return
	}
	NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	NoError(t, os.WriteFile(full, []byte(content), 0o644))
}

// GetFile reads a file below dir.
func GetFile(t Tester, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	NoError(t, err)
	return string(b)
}

// NoError ends the test at an error.
func NoError(t Tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Snapshot gives all that is under a folder: the kind, permissions and content
// of each path.
func Snapshot(t Tester, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	NoError(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			all[filepath.ToSlash(rel)] += " " + string(b)
			return err
		}
		return nil
	}))
	return all
}

// Within fails the test where something takes as long as what waits for ever.
func Within(t Tester, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}
