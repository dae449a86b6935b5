package protect

import (
	"slices"
	"strings"
	"testing"
)

// TestFiles checks which files of programs are reviewed, and as which text.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		"srv/s.py": "one", "link.py": "->srv/s.py", "pkg/__init__.py": "two", "pkg/sub/mod.py": "three", "pkg/__pycache__/x.pyc": "\xff", "bin/server": "\xff\x00", "data.db": "x", "out/log.txt": "x", "docs/a.md": "x",
		"app/main.py": "m", "app/sub/lib.py": "l", "app/node_modules/x/index.js": "x", "app/.venv/y.py": "y", "app/data/d.db": "d", "root.py": "import util\n", "util.py": "u", "other.py": "o",
	})
	for _, tt := range []struct {
		of   Program
		want string
	}{
		{Program{Command: "python3", Args: []string{"link.py", "docs", "none.py"}}, "srv/s.py=one"},
		{Program{Command: "python3", Args: []string{"-m", "pkg.sub.mod"}}, "other.py=o pkg/__init__.py=two pkg/sub/mod.py=three root.py=import util srv/s.py=one util.py=u"},
		{Program{Command: "bin/server", Args: []string{"data.db", "out/log.txt"}, Writes: []string{"data.db", "out"}}, "bin/server=a file of 2 bytes that is not shown, sha256:ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f"},
		{Program{Command: "python3", Args: []string{"app/main.py"}, Writes: []string{"app/data"}}, "app/main.py=m app/sub/lib.py=l"},
		{Program{Command: "python3", Args: []string{"root.py"}}, "other.py=o pkg/__init__.py=two pkg/sub/mod.py=three root.py=import util srv/s.py=one util.py=u"},
		{Program{Command: "mcp", Args: []string{"/etc/hosts", "../x"}}, ""},
	} {
		files, err := p.Files([]Program{tt.of})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Path+"="+strings.TrimSpace(f.Text))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %q, want %q", tt.of, got, tt.want)
		}
	}
	all, err := p.Files([]Program{{Command: "sh", Args: []string{"srv/s.py"}}, {Command: "sh", Args: []string{"./srv/s.py"}}})
	if err != nil || len(all) != 1 || !slices.IsSortedFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("two programs with one file: %v, %v", all, err)
	}
}
