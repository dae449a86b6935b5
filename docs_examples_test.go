package cassidy_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/shell"
)

// TestDocsTools runs the tools that the pages show. A block of code is a whole
// tool's file if the last line of text before it ends in the file's name, as
// in "This is `word_count.star`:".
func TestDocsTools(t *testing.T) {
	t.Parallel()
	for _, page := range []struct {
		file string
		want []string // the files it shows
	}{
		{"README.md", []string{"reorder.star"}},
		{"docs/writing-tools.md", []string{"top_words.star", "longest_line.lua", "initials.md"}},
	} {
		t.Run(page.file, func(t *testing.T) {
			text := readPage(t, page.file)
			dir := t.TempDir()
			putFile(t, filepath.Join(dir, "README.md"), readPage(t, "README.md")) // what the tools read
			putFile(t, filepath.Join(dir, "stock.csv"), readPage(t, "cmd/internal/demo/project/stock.csv"))
			var got []string
			for _, b := range docBlocks(text) {
				switch {
				case b.name != "":
					got = append(got, b.name)
					putFile(t, filepath.Join(dir, ".cassidy/tools", b.name), b.code)
				case declares.MatchString(b.code):
					t.Errorf("line %d: a tool's file whose name the line before does not give", b.line)
				}
			}
			if !slices.Equal(got, page.want) {
				t.Fatalf("files shown = %q, want %q", got, page.want)
			}
			for _, mode := range []cassidy.Mode{cassidy.Inline, cassidy.Process} {
				h := openDocs(t, testhost.On{Sandbox: mode}, dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll()})
				for _, name := range got {
					runDocExamples(t, h, strings.TrimSuffix(name, filepath.Ext(name)))
				}
			}
		})
	}
}

// runDocExamples runs the examples of a tool, of which it must have one.
func runDocExamples(t *testing.T, h *host.Host, name string) {
	t.Helper()
	found, err := h.Tool(name)
	if err != nil {
		t.Errorf("Tool(%s): %v", name, err)
		return
	}
	if len(found.Warnings) > 0 {
		t.Errorf("%s: warnings = %q, want none", name, found.Warnings)
	}
	if len(found.Examples) == 0 {
		t.Errorf("%s has no examples", name)
	}
	for i, e := range found.Examples {
		r, err := h.Call(context.Background(), tool.Call{Tool: name, Args: e.Args})
		if err != nil {
			t.Errorf("%s, example %d: %v", name, i+1, err)
		} else if e.HasExpect && !value.EqualJSON(r.Value, e.Expect) {
			t.Errorf("%s, example %d = %s, want %s", name, i+1, value.FormatJSON(r.Value, ""), value.FormatJSON(e.Expect, ""))
		}
	}
}

// TestDocsConfig loads docs/config.yaml as the user's, and looks whether its
// field means what the page says, as it is and the other way round.
func TestDocsConfig(t *testing.T) {
	t.Parallel()
	asWritten := readPage(t, "docs/config.yaml")
	const field = "\nproject_overrides_personal: "
	otherwise := strings.Replace(asWritten, field+"false", field+"true", 1)
	if otherwise == asWritten {
		t.Fatalf("docs/config.yaml does not say%s", field+"false")
	}
	for _, test := range []struct {
		name, config string
		broken       int
		want         tool.Location // of the tool; "" for none
	}{
		{"as written", asWritten, 2, ""},
		{"the project overrides", otherwise, 0, tool.Project},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			const code = "def twice():\n    \"\"\"Be there twice.\"\"\"\n\ntool(twice)\n"
			putFile(t, filepath.Join(dir, ".cassidy/tools/twice.star"), code)
			putFile(t, filepath.Join(home, "tools/twice.star"), code)
			putFile(t, filepath.Join(home, "config.yaml"), test.config)
			h, err := testhost.Open(t, testhost.On{}, dir, &cassidy.Options{Home: home, TrustSource: true})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if got := len(h.Broken()); got != test.broken {
				t.Errorf("broken files = %d (%v), want %d", got, h.Broken(), test.broken)
			}
			found, _ := h.Tool("twice")
			if found.Location != test.want {
				t.Errorf("the tool is from %q, want %q", found.Location, test.want)
			}
		})
	}
}

// TestDocsConfigFields checks that docs/config.yaml has every field, says the
// defaults, and gives examples that are right.
func TestDocsConfigFields(t *testing.T) {
	t.Parallel()
	asWritten := readPage(t, "docs/config.yaml")
	example := regexp.MustCompile(`(?m)^#(\S.*|  .*)$`)
	var examples []string
	for _, m := range example.FindAllStringSubmatch(asWritten, -1) {
		examples = append(examples, m[1])
	}
	read := func(text string) (config.Config, error) {
		file := filepath.Join(t.TempDir(), "config.yaml")
		putFile(t, file, text)
		return config.Read("", &config.Options{File: file})
	}
	got, err := read(asWritten)
	if err != nil || !reflect.DeepEqual(got, config.Config{Sandbox: config.SandboxConfig{Mode: config.SandboxProcess}}) {
		t.Errorf("docs/config.yaml = %+v, %v, want the defaults", got, err)
	}
	got, err = read(strings.Join(examples, "\n"))
	if err != nil {
		t.Fatalf("the examples of docs/config.yaml: %v", err)
	}
	if len(got.Rules) != 8 || len(got.Secrets) != 3 || len(got.PrivateHosts) != 3 || got.Commands.Len() != 2 || got.Limits.Timeout != 5*time.Minute || len(got.Providers) != 6 || len(got.Models) != 3 {
		t.Errorf("the examples of docs/config.yaml = %+v", got)
	}
	if _, err := shell.ParseRules(got.Commands); err != nil {
		t.Errorf("the commands of docs/config.yaml: %v", err)
	}
	_, err = read("nonsense: 1\n")
	_, names, ok := strings.Cut(value.ErrorOf(err, value.Internal).Hint, "the fields are ")
	if !ok {
		t.Fatalf("an unknown field: %v, want a hint with the fields", err)
	}
	for name := range strings.SplitSeq(names, ", ") {
		if !regexp.MustCompile(`(?m)^#?` + name + ":").MatchString(asWritten) {
			t.Errorf("docs/config.yaml lacks the field %s", name)
		}
	}
}

// A docBlock is a block of code in a page.
type docBlock struct {
	name string // of the tool's file that it is, or ""
	lang string // as its fence says
	text string // the last line before it
	code string
	line int // on which it begins
}

var (
	namesFile = regexp.MustCompile("`([a-z][a-z0-9_-]*\\.(?:star|lua|md))`:$")
	declares  = regexp.MustCompile(`(?m)^(tool\(|return tool[{(]|---$)`)
)

// docBlocks lists the fenced blocks of a page.
func docBlocks(page string) []docBlock {
	var blocks []docBlock
	lines := strings.Split(page, "\n")
	before := "" // the last line of text
	for i := 0; i < len(lines); i++ {
		fence := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], "`"))]
		if len(fence) < 3 {
			if strings.TrimSpace(lines[i]) != "" {
				before = lines[i]
			}
			continue
		}
		b := docBlock{lang: lines[i][len(fence):], text: before, line: i + 2}
		if m := namesFile.FindStringSubmatch(before); m != nil {
			b.name = m[1]
		}
		for i++; i < len(lines) && lines[i] != fence; i++ {
			b.code += lines[i] + "\n"
		}
		blocks = append(blocks, b)
		before = ""
	}
	return blocks
}

// openDocs opens a folder in which every tool must be right.
func openDocs(t *testing.T, on testhost.On, dir string, o *cassidy.Options) *host.Host {
	t.Helper()
	h, err := testhost.Open(t, on, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, broken := range h.Broken() {
		t.Errorf("broken: %v (%s)", broken, broken.Hint)
	}
	return h
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func putFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
