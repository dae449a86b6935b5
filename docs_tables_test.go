package cassidy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDocsTables runs all that the page on tables shows: its tools, its snippets,
// whose output is the block of text below them, and its commands.
func TestDocsTables(t *testing.T) {
	t.Parallel()
	dir, blocks := t.TempDir(), docBlocks(readPage(t, "docs/tables.md"))
	var tools, snippets []string
	said := map[string]string{} // what a snippet prints, by its name
	for i, b := range blocks {
		switch {
		case b.name != "":
			putFile(t, filepath.Join(dir, ".cassidy/tools", b.name), b.code)
			tools = append(tools, strings.TrimSuffix(b.name, filepath.Ext(b.name)))
		case b.lang == "csv":
			putFile(t, filepath.Join(dir, dataFile.FindStringSubmatch(b.text)[1]), b.code)
		case b.lang == "python" || b.lang == "lua":
			if i+1 == len(blocks) || blocks[i+1].lang != "text" {
				t.Fatalf("line %d: a snippet without what it prints", b.line)
			}
			name := fmt.Sprintf("snippet_%d", b.line)
			putFile(t, filepath.Join(dir, ".cassidy/tools", name+"."+strings.Replace(b.lang, "python", "star", 1)), snippetTool(name, b))
			snippets, said[name] = append(snippets, name), blocks[i+1].code
		}
	}
	if len(tools) != 3 || len(snippets) != 4 {
		t.Fatalf("the tools are %q, and the snippets %q", tools, snippets)
	}
	h := openDocs(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll()})
	for _, name := range tools {
		runDocExamples(t, h, name)
	}
	for _, name := range snippets {
		if diff := cmp.Diff(said[name], printed(t, h, name)); diff != "" {
			t.Errorf("%s of docs/tables.md prints something else (-want +got):\n%s", name, diff)
		}
	}
	runDocCommands(t, dir, blocks)
}

// TestDocsTablesSame checks that the tool that the page shows in both languages
// gives the same bytes.
func TestDocsTablesSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, b := range docBlocks(readPage(t, "docs/tables.md")) {
		if strings.HasPrefix(b.name, "city_sales") {
			putFile(t, filepath.Join(dir, ".cassidy/tools", b.name), b.code)
		}
	}
	putFile(t, filepath.Join(dir, "some.csv"), "city,amount\nBern,1\n\"a, b\",2.5\nBern,\n,3\n")
	h := openDocs(t, testhost.On{}, dir, &cassidy.Options{TrustSource: true})
	var got []string
	for _, name := range []string{"city_sales", "city_sales_lua"} {
		r, err := h.Call(t.Context(), tool.Call{Tool: name, Args: value.NewDict("path", "some.csv")})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, value.FormatJSON(r.Value, ""))
	}
	if got[0] != got[1] || !strings.Contains(got[0], `"a, b"`) {
		t.Errorf("in Starlark %s, in Lua %s, want the same", got[0], got[1])
	}
}

// dataFile is how the page names a file of data.
var dataFile = regexp.MustCompile("`(data/[a-z]+\\.csv)`:$")

// snippetTool makes a tool of a part of a handler, which is given the table.
func snippetTool(name string, b docBlock) string {
	const read = `orders = data.read("data/orders.csv")`
	if b.lang == "lua" {
		return "return tool{ description = \"Run a snippet.\", needs = { \"fs.read\" }, handler = function()\nlocal " + read + "\n" + b.code + "end }\n"
	}
	lines := strings.TrimSuffix(strings.ReplaceAll("\n"+read+"\n"+b.code, "\n", "\n    "), "    ")
	return "def " + name + "():\n    \"\"\"Run a snippet.\"\"\"" + lines + "\ntool(" + name + ", needs = [\"fs.read\"])\n"
}

// printed returns what a tool prints.
func printed(t *testing.T, h *host.Host, name string) string {
	t.Helper()
	var b strings.Builder
	events := h.Subscribe(t.Context(), host.EventFilter{Buffer: 1 << 12})
	if _, err := h.Call(t.Context(), tool.Call{Tool: name}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for len(events) > 0 {
		e := <-events
		if line, ok := e.Data.(tool.Log); ok {
			b.WriteString(strings.TrimSuffix(line.Message, "\n") + "\n")
		}
	}
	return b.String()
}

// runDocCommands runs the commands of a page in a folder, and compares what they
// write with what the page shows.
func runDocCommands(t *testing.T, dir string, blocks []docBlock) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	bin := t.TempDir()
	if err := testworker.Copy(filepath.Join(bin, "cassidy"), testutil.Build(t, "cmd/cassidy")); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if b.lang != "console" {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimPrefix(b.code, "$ "), "\n$ ") {
			line, want, _ := strings.Cut(strings.ReplaceAll(part, "\\\n", ""), "\n")
			cmd := exec.CommandContext(t.Context(), shell, "-c", line)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "CASSIDY_HOME="+bin, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			got, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(string(got))); diff != "" {
				t.Errorf("%s writes something else (-want +got):\n%s", line, diff)
			}
		}
	}
}
