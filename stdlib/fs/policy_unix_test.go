//go:build unix

package fs

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// policyPaths and policyGlobs are what FuzzPathPolicy combines.
var (
	policyPaths = []string{"a", "b", "a/x", "a/y", "b/x", "b/sub/x", ".", "..", "../out/secret", "a/../b/x", "/etc/passwd", ".git/config", "a/./x", "b//x"}
	policyGlobs = []string{"**", "a/**", "a/*", "b/x", "b/**/x", "*", "?/x", "{a,b}/y", "none"}
)

// FuzzPathPolicy makes a tree of files that hold their own real paths,
// and of links that lead anywhere; then it reads and writes by any path, with
// any grant. What is read must be a file that is granted by its real path, and
// nothing that is not granted may change.
func FuzzPathPolicy(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{3, 2, 0, 1, 2, 8, 1, 4, 9, 3, 3, 3, 1})
	f.Add([]byte("links that lead out and in"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pick := func(from []string) string {
			if len(data) == 0 {
				return from[0]
			}
			i := int(data[0]) % len(from)
			data = data[1:]
			return from[i]
		}
		base := t.TempDir()
		dir := filepath.Join(base, "in")
		for _, name := range []string{"in/a/x", "in/a/y", "in/b/x", "in/b/sub/x", "in/.git/config", "out/secret"} {
			rowtest.PutFile(t, base, name, strings.TrimPrefix(name, "in/"))
		}
		for range min(4, len(data)/3) {
			at := filepath.Join(dir, filepath.FromSlash(pick([]string{"l1", "l2", "a/l", "b/l", "b/sub/l"})))
			target := pick(append([]string{"../a", "../b/x", "../../out", "../../out/secret", filepath.Join(base, "out"), "l1", "l2/x", "../.git"}, policyPaths...))
			_ = os.Symlink(target, at) // it may be there already
		}
		glob := pick(policyGlobs)
		if len(data) == 0 {
			return
		}
		script := string(data[1:])
		if data[0]%2 == 0 {
			script = pick([]string{"l1", "l2", "a/l", "b/l", "l1/x", "l2/x", "a/l/x", "b/l/sub/x", "b/sub/l", "l1/secret", "l2/l1/x"})
		}
		before := rowtest.Snapshot(t, base)
		d := openProject(t, &Options{Root: dir})
		d.Grant("fs.read:"+glob, "fs.write:"+glob)
		if v, err := d.Call("fs.read", "path", script); err == nil {
			real := v.(string)
			if ok, matchErr := doublestar.Match(glob, real); !ok || matchErr != nil {
				t.Fatalf("with %s the path %q read %q", glob, script, real)
			}
		}
		_, err := d.Call("fs.write", "path", script, "content", "changed")
		if err == nil {
			_, err = d.Call("fs.commit")
		}
		for name, was := range before {
			now := rowtest.Snapshot(t, base)[name]
			rel := strings.TrimPrefix(path.Clean(name), "in/")
			if ok, matchErr := doublestar.Match(glob, rel); now != was && (!ok || matchErr != nil || !strings.HasPrefix(name, "in/") || strings.HasPrefix(rel, ".git")) {
				t.Fatalf("with %s writing %q (%v) changed %s to %q", glob, script, err, name, now)
			}
		}
	})
}
