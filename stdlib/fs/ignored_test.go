package fs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestIgnored(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		".gitignore": "build/\n*.log\n!keep.log\n/top.txt\n", ".git/info/exclude": "mine\n", ".ignore": "quiet*\n!loud.log\n",
		"a.txt": "needle", "top.txt": "needle", "sub/top.txt": "needle", "x.log": "needle", "keep.log": "needle", "loud.log": "needle", "mine": "needle", "quiet": "needle",
		"build/out.txt": "needle", "build/in/deep.log": "needle", "sub/build": "needle", ".hidden/a": "needle",
		"sub/.gitignore": "*.md\n!/x.log\n", "sub/a.md": "needle", "sub/x.log": "needle", "sub/in/x.log": "needle",
		"other/.git/config": "", "other/y.log": "needle", "other/.gitignore": "z\n", "other/z": "needle",
	})
	for _, tt := range []struct {
		args []value.Value
		want string
	}{
		{nil, "a.txt keep.log loud.log other/y.log sub/build sub/top.txt sub/x.log; 7 of 7, 8 ignored"},
		{[]value.Value{"hidden", true, "pattern", "**/*.log"}, "keep.log loud.log other/y.log sub/x.log; 4 of 4, 3 ignored"},
		{[]value.Value{"path", "build"}, "build/out.txt; 1 of 1, 1 ignored"},
		{[]value.Value{"pattern", "build/**"}, "build/out.txt; 1 of 1, 1 ignored"},
		{[]value.Value{"path", "sub/in"}, "; 0 of 0, 1 ignored"},
		{[]value.Value{"ignored", true, "pattern", "**/*.log"}, "build/in/deep.log keep.log loud.log other/y.log sub/in/x.log sub/x.log x.log; 7 of 7, 0 ignored"},
	} {
		args := append([]value.Value{"ignored", false, "total", true, "pattern", "**"}, tt.args...)
		got := d.Must("fs.glob", args...).(*value.Dict)
		if text := fmt.Sprintf("%s; %d of %d, %d ignored", strings.Trim(strings.ReplaceAll(value.FormatJSON(value.List(got.Elements("paths")), ""), `","`, " "), `[]"`), len(got.Elements("paths")), got.Int("total"), got.Int("ignored")); text != tt.want {
			t.Errorf("fs.glob(%v) = %s, want %s", tt.args, text, tt.want)
		}
	}
	if got := d.Must("fs.list", "hidden", false, "ignored", false, "total", true).(*value.Dict); namesOf(value.List(got.Elements("entries"))) != "a.txt keep.log loud.log other/ sub/" || got.Int("ignored") != 5 {
		t.Errorf("fs.list = %s", got)
	}
	found := textsOf(d.Must("fs.search", "pattern", "needle", "ignored", false))
	if want := "a.txt:1:needle keep.log:1:needle loud.log:1:needle other/y.log:1:needle sub/build:1:needle sub/top.txt:1:needle sub/x.log:1:needle"; found != want {
		t.Errorf("fs.search = %s, want %s", found, want)
	}
	if got := textsOf(d.Must("fs.search", "pattern", "needle", "ignored", false, "path", "build/in/deep.log")); got != "build/in/deep.log:1:needle" {
		t.Errorf("a search of an excluded file = %s", got)
	}
	d.Must("fs.write", "path", ".gitignore", "content", "*\n")
	if got := d.Must("fs.glob", "pattern", "*", "ignored", false); !value.Equal(got, value.List{"loud.log"}) {
		t.Errorf("a staged ignore file leaves %v", got)
	}
}

// TestIgnoredAsGit compares what is excluded with what git excludes, for random ignore files.
func TestIgnoredAsGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed: the patterns of ignore files are not compared with it")
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	name := func() string { return pick("a", "b", "ab", "a.c", "b.c", "é", "a b", "!a", "#b", `a\b`, "[a]", "c ") }
	pattern := func() string {
		var b strings.Builder
		b.WriteString(pick("", "", "", "!", "/", "!/", "**/", "#", " "))
		for i := range 1 + random.IntN(3) {
			if i > 0 {
				b.WriteString(pick("/", "/", "/**/", "//"))
			}
			for range 1 + random.IntN(2) {
				b.WriteString(pick(name(), name(), "*", "?", "**", "a*", "*.c", "[ab]", "[!a]", "[^b]*", "[a-b]", "[]a]", `\a`, `\[a]`, `\!a`, `\`, "[[:alpha:]]", "[[:digit:][:punct:]]*", "[a-]", `[\]]`, "[[:x:]]", "{a,b}", "[z-a]", "[a[:b]"))
			}
		}
		b.WriteString(pick("", "", "", "/", "/**", "/*", " ", `\ `, "  ", "\r", "\t", `\`, "["))
		return b.String()
	}
	for round := range 60 {
		dir := t.TempDir()
		run := func(args ...string) string {
			c := exec.Command(git, args...)
			c.Dir = dir
			c.Env = []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir + "/none", "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
			return string(out)
		}
		run("init", "-q", "--template=", ".")
		write := func(p, content string) {
			p = filepath.Join(dir, p)
			if os.MkdirAll(filepath.Dir(p), 0o755) == nil {
				_ = os.WriteFile(p, []byte(content), 0o644) // fails where there is a folder
			}
		}
		folders := []string{"."}
		for range 40 {
			folder := folders[random.IntN(len(folders))]
			p := path.Join(folder, name())
			if random.IntN(3) == 0 && strings.Count(p, "/") < 3 {
				folders = append(folders, p)
			}
			write(path.Join(p, pick("", name())), "")
		}
		var written []string
		for _, at := range []string{".gitignore", ".git/info/exclude", path.Join(folders[random.IntN(len(folders))], ".gitignore")} {
			var lines []string
			for range 1 + random.IntN(5) {
				lines = append(lines, pattern())
			}
			text := pick("", "", "\ufeff") + strings.Join(lines, "\n") + pick("", "\n")
			write(at, text)
			written = append(written, fmt.Sprintf("%s: %q", at, text))
		}
		var want []string
		for _, p := range strings.Split(strings.TrimSuffix(run("ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00") {
			if p != "" {
				want = append(want, p)
			}
		}
		d := openProject(t, &Options{Root: dir})
		var got []string
		for _, p := range d.Must("fs.glob", "pattern", "**", "hidden", true, "ignored", false).(value.List) {
			got = append(got, p.(string))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("round %d: %s\ncassidy only: %q\ngit only: %q", round, strings.Join(written, "\n"), without(got, want), without(want, got))
		}
	}
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

func TestLargeIgnoreFiles(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, "%s%d\n", []string{"name", "dir/name", "*.x", "a*b", "**/deep/*/c"}[i%5], i)
	}
	files := map[string]string{".gitignore": lines.String() + "y1*\n"}
	for i := range 300 {
		files[fmt.Sprintf("f%d/name%d", i%10, i)] = ""
		files[fmt.Sprintf("f%d/y%d", i%10, i)] = ""
	}
	d := newProject(t, files)
	got := d.Must("fs.glob", "pattern", "**", "ignored", false, "total", true).(*value.Dict)
	if got.Int("total") != 600-60-111 || got.Int("ignored") != 60+111 {
		t.Errorf("100,000 lines leave %d files, and exclude %d", got.Int("total"), got.Int("ignored"))
	}
	d = newProject(t, map[string]string{".gitignore": strings.Repeat("x\n", maxIgnoreFiles/2+1), "a": ""})
	d.Fails(value.Limit, "the ignore files up to .gitignore have more than 16 MB\nset ignored to true", "fs.glob", "pattern", "**", "ignored", false)
	d.Must("fs.glob", "pattern", "**")
	slow := map[string]string{".gitignore": strings.Repeat("*a*a*a*a*a*a*b*\n", 100_000)}
	for i := range 100 {
		slow[strings.Repeat("a", 100)+fmt.Sprint(i)] = ""
	}
	newProject(t, slow).Fails(value.Limit, "match ignore files: the time limit of 1s is exceeded", "fs.glob", "pattern", "**", "ignored", false)
}
