package lockfile_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/lockfile"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func review(files ...trust.File) *trust.Review { return &trust.Review{Files: files} }

func toolFile(name, text string, needs ...tool.Capability) trust.File {
	d := &tool.Described{Tool: tool.Tool{Name: name, Description: "Do it.", Needs: needs}}
	return trust.File{Path: ".cassidy/tools/" + name + ".star", Kind: trust.KindTool, Text: text, Tool: d}
}

func lockOf(t *testing.T, files ...trust.File) *lockfile.Lock {
	t.Helper()
	l, err := lockfile.Of(review(files...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRoundTrip checks that a lock is read as it was written, whatever the order of the files.
func TestRoundTrip(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".cassidy"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := tool.Capability{Name: "fs.write", Target: "a: b #c"}
	a, b := toolFile("b", "1", write, tool.Capability{Name: "fs.read"}, write), toolFile("a", "2")
	c := trust.File{Path: "CASSIDY.md", Kind: trust.KindNotes, Text: "x"}
	l, other := lockOf(t, a, b, c), lockOf(t, c, b, a)
	if !reflect.DeepEqual(l, other) {
		t.Errorf("%+v, in another order %+v", l, other)
	}
	l.Servers = []lockfile.Server{{"s", "sha256:0", []string{"a", "b"}}}
	if err := lockfile.Write(root, l); err != nil {
		t.Fatal(err)
	}
	got, err := lockfile.Read(root)
	if err != nil || value.FormatJSON(got.Value(), "") != value.FormatJSON(l.Value(), "") {
		t.Errorf("Read = %+v, %v, want %+v", got, err, l)
	}
	if list := got.Compare(l); len(list) > 0 {
		t.Errorf("the changes are %v", list)
	}
	if entries, _ := os.ReadDir(filepath.Join(root, ".cassidy")); len(entries) != 1 {
		t.Errorf("the folder has %v", entries)
	}
}

// TestCompare checks that capabilities come before everything else.
func TestCompare(t *testing.T) {
	before := lockOf(t, toolFile("a", "1"), toolFile("gone", "1", tool.Capability{Name: "fs.read"}))
	now := toolFile("a", "2", tool.Capability{Name: "http.post", Target: "api.example.com"})
	now.Tool.Description = "Do more."
	var got []string
	for _, c := range before.Compare(lockOf(t, now)) {
		got = append(got, c.Subject+": "+c.Text)
	}
	want := "tool a: now needs http.post:api.example.com\ntool a: what models see has changed: its description, arguments, result or hints\n" +
		"tool a: content changed\ntool gone: was removed"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("the changes are\n%s\nwant\n%s", text, want)
	}
}

// TestDigest checks that the digest of a tool is that of its file and of those that it loads.
func TestDigest(t *testing.T) {
	of := func(lib string) string {
		f := toolFile("a", "1")
		f.Tool.Loads = []string{"lib/x.star"}
		return lockOf(t, f, trust.File{Path: ".cassidy/tools/lib/x.star", Kind: trust.KindLib, Text: lib}).Tools[0].Content
	}
	if one, two := of("1"), of("2"); one == two || !strings.HasPrefix(one, "h1:") || one != of("1") {
		t.Errorf("digests %s and %s", one, two)
	}
}

// TestRefused checks that nothing is guessed.
func TestRefused(t *testing.T) {
	if _, err := lockfile.Of(&trust.Review{Broken: []*value.Error{value.Errorf(value.Invalid, "broken")}}); err == nil {
		t.Error("a broken file is locked")
	}
	root := t.TempDir()
	if _, err := lockfile.Read(root); value.KindOf(err) != value.NotFound {
		t.Errorf("without a file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root, ".cassidy"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "- 1\n", "version: 2\n", "version: 1\ntools: {}\n", "version: 1\ntools: [1]\n", "version: 1\nfiles: [{name: 1}]\n", "version: [\n"} {
		if err := os.WriteFile(filepath.Join(root, lockfile.Name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := lockfile.Read(root); value.KindOf(err) != value.Invalid {
			t.Errorf("%q: %v, want an error of kind Invalid", text, err)
		}
	}
}

// TestCompareServers checks the changes of attached servers.
func TestCompareServers(t *testing.T) {
	before := &lockfile.Lock{Servers: []lockfile.Server{{"gone", "1", []string{"a"}}, {"same", "1", []string{"a"}}, {"text", "1", []string{"a"}}, {"tools", "1", []string{"a", "b"}}}}
	now := &lockfile.Lock{Servers: []lockfile.Server{{"new", "1", []string{"x"}}, {"same", "1", []string{"a"}}, {"text", "2", []string{"a"}}, {"tools", "2", []string{"a", "c"}}}}
	want := []lockfile.Change{
		{"server new", "is new", true}, {"server new", "now offers x", true}, {"server tools", "now offers c", true},
		{"server gone", "is not used any more", false}, {"server text", "what models see of its tools has changed", false}, {"server tools", "no longer offers b", false},
	}
	if got := before.Compare(now); !slices.Equal(got, want) {
		t.Errorf("Compare = %+v, want %+v", got, want)
	}
}
