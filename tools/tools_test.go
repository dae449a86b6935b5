package tools_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bazelbuild/buildtools/build"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/tools"
)

var update = flag.Bool("update", false, "write what the calls give into the files of testdata")

// A project is the files of a txtar archive, laid out on disk.
type project struct {
	dir    string
	home   string
	host   *host.Host
	worker *project // the same again, with workers
}

// written is when every file of a project was last changed.
var written = time.Date(2024, 5, 1, 12, 30, 0, 0, time.UTC)

// layFiles lays the files out; testdata/README.md says what their names may mean.
func layFiles(t *testing.T, files []txtar.File) *project {
	t.Helper()
	base := t.TempDir()
	p := &project{dir: filepath.Join(base, "demo"), home: filepath.Join(base, "home")}
	for _, dir := range []string{p.dir, p.home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		if f.Name != "calls" && f.Name != "want" {
			p.file(t, f)
		}
	}
	err := filepath.WalkDir(base, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, written, written)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *project) file(t *testing.T, f txtar.File) {
	t.Helper()
	name, kind, _ := strings.Cut(f.Name, " (")
	kind, count, _ := strings.Cut(strings.TrimSuffix(kind, ")"), " ")
	data := f.Data
	switch kind {
	case "":
	case "crlf":
		data = []byte(strings.ReplaceAll(string(data), "\n", "\r\n"))
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(data))); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	case "times":
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		data = []byte(strings.Repeat(string(data), n))
	default:
		t.Fatalf("%s: there is no kind of file %q", f.Name, kind)
	}
	at := filepath.Join(p.dir, filepath.FromSlash(name))
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		at = filepath.Join(p.home, filepath.FromSlash(rest))
	}
	dir := filepath.Dir(at)
	if strings.HasSuffix(name, "/") {
		dir = at
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil && dir != at {
		err = os.WriteFile(at, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// write adds a file.
func (p *project) write(t *testing.T, name, text string) {
	t.Helper()
	for _, p := range p.both() {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// call runs one line of calls, `NAME {arguments}`, and formats the result.
func (p *project) call(t *testing.T, line string) string {
	t.Helper()
	name, text, _ := strings.Cut(line, " ")
	args, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	dict, ok := args.(*value.Dict)
	if !ok {
		t.Fatalf("%s: the arguments are not an object", line)
	}
	r, err := p.do(t, tool.Call{Tool: name, Args: dict, Caller: tool.ByPerson})
	out := r.Text()
	if err != nil {
		out = r.ErrorType + ": " + r.Error
		if r.Suggestion != "" {
			out += "\nhint: " + r.Suggestion
		}
	}
	return strings.NewReplacer(filepath.ToSlash(p.home), "$HOME", "\r", "␍").Replace(out)
}

// TestCases runs the calls of each archive in testdata and compares the results with
// the recorded ones.
func TestCases(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives in testdata (%v)", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := lay(t, archive.Files)
			var got strings.Builder
			for line := range strings.Lines(section(t, archive, "calls")) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
					fmt.Fprintf(&got, "> %s\n%s\n", line, strings.TrimSuffix(p.call(t, line), "\n"))
				}
			}
			if *update {
				setSection(archive, "want", got.String())
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(section(t, archive, "want"), got.String()); diff != "" {
				t.Errorf("the calls of %s give something else (-want +got); go test ./tools -update takes it over:\n%s", name, diff)
			}
		})
	}
}

func section(t *testing.T, a *txtar.Archive, name string) string {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	if name == "want" && *update {
		return ""
	}
	t.Fatalf("the archive has no section %q", name)
	return ""
}

func setSection(a *txtar.Archive, name, text string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(text)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
}

// example is a project in which the examples of all tools work.
func example(t *testing.T) *project {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/examples/project.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return lay(t, archive.Files)
}

func builtins(t *testing.T) []toolset.Info {
	t.Helper()
	p := example(t)
	if broken := p.host.Broken(); len(broken) > 0 {
		t.Fatalf("broken: %v", broken)
	}
	files, err := fs.Glob(tools.FS(), "*.star")
	if err != nil {
		t.Fatal(err)
	}
	list := p.host.Tools()
	if len(list) != len(files) {
		t.Fatalf("%d tools from %d files", len(list), len(files))
	}
	return list
}

// TestMetadata checks that the metadata of each built-in tool is complete: help, lists
// and models show it.
func TestMetadata(t *testing.T) {
	t.Parallel()
	groups := []string{"files", "data", "code", "context", "custom"}
	for _, b := range builtins(t) {
		missing := func(what string, ok bool) {
			t.Helper()
			if !ok {
				t.Errorf("%s: %s", b.Name, what)
			}
		}
		missing("no title", b.Title != "")
		missing("the group "+b.Group+" is not one of the standard ones", slices.Contains(groups, b.Group))
		missing("no tags", len(b.Tags) > 0)
		missing("no examples", len(b.Examples) > 0)
		missing("no type of the result", b.Returns != nil && b.Returns.Name != "")
		missing("no words about the result", b.ReturnsDoc != "")
		missing("warnings: "+strings.Join(b.Warnings, "; "), len(b.Warnings) == 0)
		missing("the description does not say when to use it", strings.Contains(b.Description, "Use this"))
		if n := utf8.RuneCountInString(b.Summary()); n > 80 || !strings.HasSuffix(b.Summary(), ".") {
			t.Errorf("%s: the first line of its description is no sentence of at most 80 characters: %q (%d)", b.Name, b.Summary(), n)
		}
		missing("it is risky but does not say so", b.Risky == b.NeedsApproval())
		if d, err := b.Definition(tool.MCP); err != nil || d.Dict("annotations").Bool("readOnlyHint") != b.Hints.ReadOnly {
			t.Errorf("%s: the hint read_only contradicts its needs: %v, %v", b.Name, d, err)
		}
		for _, e := range b.Examples {
			missing("an example without a description", e.Description != "")
		}
		for _, p := range b.Params {
			missing("no description of "+p.Name, p.Description != "")
			missing("no type of "+p.Name, p.Type.Name != "" && p.Type.Name != tool.TypeAny)
		}
		_, err := os.Stat("testdata/" + b.Name + ".txtar")
		missing("no cases in testdata", err == nil)
	}
}

// TestExamples runs the examples of the tools, except those that need a network.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, b := range builtins(t) {
		p := example(t)
		for _, e := range b.Examples {
			if b.Hints.OpenWorld {
				continue
			}
			r, err := p.do(t, tool.Call{Tool: b.Name, Args: e.Args, Caller: tool.ByPerson})
			if err != nil {
				t.Errorf("%s: %v", b.CallText(e.Args), err)
				continue
			}
			if r.Text() == "" || strings.HasPrefix(r.Text(), "No ") {
				t.Errorf("%s found nothing to show: %q", b.CallText(e.Args), r.Text())
			}
			if e.HasExpect && !value.Equal(r.Value, e.Expect) {
				t.Errorf("%s = %s, want %s", b.CallText(e.Args), value.FormatJSON(r.Value, ""), value.FormatJSON(e.Expect, ""))
			}
		}
	}
}

// TestPresets checks that the presets name existing tools, and that read_only has each tool that
// reads the project without an approval, and no other.
func TestPresets(t *testing.T) {
	t.Parallel()
	list := builtins(t)
	for preset, names := range tools.Presets() {
		for _, name := range names {
			i := slices.IndexFunc(list, func(b toolset.Info) bool { return b.Name == name })
			if i < 0 {
				t.Errorf("preset %s names %s, which is not a tool", preset, name)
			}
		}
	}
	for _, b := range list {
		reads := b.Hints.ReadOnly && !b.NeedsApproval() && b.Name != "task_complete"
		if slices.Contains(tools.Presets()["read_only"], b.Name) != reads {
			t.Errorf("the preset read_only has %s: %t, want %t", b.Name, !reads, reads)
		}
	}
}

// TestFormat checks that the files are written as buildifier writes them, and
// are short.
func TestFormat(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(tools.FS(), "*.star")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := fs.ReadFile(tools.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := build.ParseDefault(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(build.Format(f)), string(text)); diff != "" {
			t.Errorf("%s is not formatted (-want +got):\n%s", name, diff)
		}
		if n := strings.Count(string(text), "\n"); n > 120 {
			t.Errorf("%s has %d lines, more than 120", name, n)
		}
	}
}

// TestDenied checks the limits of built-in tools: no path leads out of the project, and
// files that affect the next run are not written.
func TestDenied(t *testing.T) {
	t.Parallel()
	p := example(t)
	outside := filepath.Join(filepath.Dir(p.dir), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range p.both() {
		if err := os.Symlink(outside, filepath.Join(p.dir, "link.txt")); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"../secret.txt", "src/../../secret.txt", outside, "link.txt", "\x00", "", "..", "a\nb"} {
		for _, c := range []tool.Call{
			{Tool: "read_file", Args: value.NewDict("filepath", path)},
			{Tool: "read_files", Args: value.NewDict("file_paths", value.List{path})},
			{Tool: "write_file", Args: value.NewDict("filepath", path, "content", "x", "overwrite", true)},
			{Tool: "edit_file", Args: value.NewDict("filepath", path, "old_text", "secret", "new_text", "x")},
			{Tool: "search_files", Args: value.NewDict("pattern", "secret", "path", path)},
			{Tool: "list_files", Args: value.NewDict("path", path)},
		} {
			c.Caller = tool.ByPerson
			if r, err := p.do(t, c); err == nil {
				t.Errorf("%s(%q) gave %q", c.Tool, path, r.Text())
			}
		}
	}
	for _, path := range []string{".git/hooks/pre-commit", ".cassidy/tools/x.star", ".Git/config"} {
		c := tool.Call{Tool: "write_file", Args: value.NewDict("filepath", path, "content", "x"), Caller: tool.ByPerson}
		if _, err := p.do(t, c); value.KindOf(err) != value.Denied {
			t.Errorf("write_file(%q): %v, want a denial", path, err)
		}
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "secret" {
		t.Errorf("the file outside holds %q, %v", text, err)
	}
}

// TestRoom checks that a long file fills an answer but not a context, and that the
// answer reports what was omitted.
func TestRoom(t *testing.T) {
	t.Parallel()
	p := example(t)
	line := strings.Repeat("x", 999) + "\n"
	for name, text := range map[string]string{"long.txt": strings.Repeat(line, 1500), "wide.txt": strings.Repeat("ä", 5000)} {
		p.write(t, name, text)
	}
	for _, c := range []struct {
		call string
		want []string
	}{
		{`read_file {"filepath": "long.txt"}`, []string{"    99\txxx", "x\n(lines 1 to 99 of 1500; continue with offset=100)"}},
		{`read_file {"filepath": "long.txt", "offset": 1450}`, []string{"  1450\txxx", "  1500\txxx"}},
		{`read_file {"filepath": "long.txt", "line_numbers": false}`, []string{"x\n(lines 1 to 100 of 1500; continue with offset=101)"}},
		{`read_file {"filepath": "wide.txt"}`, []string{"     1\tää", "ä… (line cut; it has 10000 bytes)"}},
		{`read_files {"file_paths": ["README.md", "long.txt", "src/main.py", "long.txt"]}`, []string{
			"=== README.md ===\n     1\t# Demo", "(lines 1 to 99 of 1500; continue with offset=100)", "(files_read: 3 of 4)",
			"=== long.txt ===\n(omitted, the answer is full: read long.txt in another call)",
		}},
	} {
		got := p.call(t, c.call)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s gave %d bytes without %q: %.100q … %.300q", c.call, len(got), want, got, got[max(0, len(got)-300):])
			}
		}
		if len(got) > 101_000 {
			t.Errorf("%s gave %d bytes, want about 100 KB", c.call, len(got))
		}
	}
}

// TestHugeLines checks that a file with lines that are too large to be read shows the others,
// and how to continue.
func TestHugeLines(t *testing.T) {
	t.Parallel()
	p := example(t)
	huge := strings.Repeat("ä", 5<<20)
	p.write(t, "huge.txt", "first\n"+huge+"\nlast\n")
	p.write(t, "one.txt", huge)
	for _, c := range []struct{ call, want string }{
		{`read_file {"filepath": "huge.txt"}`, "     1\tfirst\n(lines 1 to 1; continue with offset=2)"},
		{`read_file {"filepath": "huge.txt", "offset": 2}`, "(line 2 is larger than 8 MB; continue with offset=3)"},
		{`read_file {"filepath": "huge.txt", "offset": 3}`, "     3\tlast"},
		{`read_file {"filepath": "one.txt", "line_numbers": false}`, strings.Repeat("ä", 1000) + "… (line cut)\n(line 1 is larger than 8 MB; continue with offset=2)"},
		{`read_file {"filepath": "one.txt", "limit": 1}`, "     1\t" + strings.Repeat("ä", 1000) + "… (line cut)\n(line 1 is larger than 8 MB; continue with offset=2)"},
		{`read_files {"file_paths": ["one.txt", "README.md"]}`, "one.txt is larger than 8 MB: read_file reads it in parts"},
	} {
		if got := p.call(t, c.call); got != c.want && !strings.Contains(got, "("+c.want+")") {
			t.Errorf("%s gave %.200q … %.100q, want %.100q", c.call, got, got[max(0, len(got)-100):], c.want)
		}
	}
}

// TestSteps checks that a reader can process the largest files within the steps of a
// call.
func TestSteps(t *testing.T) {
	t.Parallel()
	p := example(t)
	const file = 8 << 20 // the most that can be read
	for name, line := range map[string]string{"short.txt": "\n", "long.txt": strings.Repeat("x", 60_000) + "\n", "one.txt": "xxxxxxxx"} {
		text := strings.Repeat(line, file/len(line))
		p.write(t, name, text)
		for _, c := range []tool.Call{
			{Tool: "read_file", Args: value.NewDict("filepath", name)},
			{Tool: "read_file", Args: value.NewDict("filepath", name, "line_numbers", false)},
			{Tool: "read_files", Args: value.NewDict("file_paths", value.List(slices.Repeat([]value.Value{name}, 3)))},
		} {
			r, err := p.do(t, c)
			if err != nil || len(r.Text()) > 110_000 {
				t.Errorf("%s(%s) gave %d bytes, %v", c.Tool, name, len(r.Text()), err)
			}
		}
	}
}
