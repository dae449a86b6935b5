package cassidy_test

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib"
)

// fileComment is a first line of a block with the name of its file.
var fileComment = regexp.MustCompile(`^(?:#|--) (\S+\.(?:star|lua|md))\n`)

// TestDocsCheck checks that cassidy check finds nothing in the complete files that the pages show: in the blocks
// whose file is named in the line before or in the first line, and in those that declare a tool.
func TestDocsCheck(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]bool{}
	for _, page := range append(pages, "README.md") {
		files := map[string]string{}
		dir := t.TempDir()
		for _, b := range docBlocks(readPage(t, page)) {
			name := b.name
			if m := fileComment.FindStringSubmatch(b.code); m != nil {
				name = m[1]
			}
			switch {
			case !slices.Contains([]string{"python", "starlark", "lua", "markdown"}, b.lang):
				continue
			case name == "" && b.lang == "lua" && declares.MatchString(b.code):
				name = "tool.lua"
			case name == "" && b.lang != "markdown" && declares.MatchString(b.code):
				name = "tool.star"
			case name == "":
				continue
			}
			base := path.Base(name)
			switch isTest := strings.HasSuffix(base, "_test.star"); {
			case isTest || declares.MatchString(b.code) && b.lang != "markdown" || strings.Contains(b.code, "\n```"):
				name = ".cassidy/tools/" + base
				if !isTest {
					putFile(t, filepath.Join(dir, name), b.code)
				}
			case strings.HasPrefix(b.code, "def main(") || strings.Contains(b.code, "\ndef main("):
				name = ".cassidy/workflows/" + base
			default: // a policy, a file of another program, or an agent
				continue
			}
			files[name] = b.code
		}
		if len(files) == 0 {
			continue
		}
		h := openDocs(t, testhost.On{Sandbox: cassidy.Inline}, dir, &cassidy.Options{TrustSource: true})
		world, err := stdlib.Open(&stdlib.Options{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		tools := map[string]*tool.Tool{"agent": nil} // which a host has if it has models
		for _, d := range host.Operate(h).Declared() {
			tools[tool.Key(d.Name)] = &d.Tool
		}
		c := check.New(check.Options{
			Modules: slices.Concat(stdlib.Pure(), world.Modules(), project.Modules("", nil), host.Modules(), agent.Modules(), []tool.Module{agent.ModelModule(nil), mcp.Module()}),
			Tools:   func() map[string]*tool.Tool { return tools },
		})
		for name, text := range files {
			for _, d := range c.File(filepath.Join(dir, name), text) {
				t.Errorf("%s, %s:%d:%d: %s [%s]", page, name, d.Pos.Line, d.Pos.Col, d.Message, d.Code)
			}
			checked[filepath.Base(name)] = true
		}
		if err := world.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"weather.star", "weather_test.star", "mean_length.star", "top_words.star", "longest_line.lua", "initials.md", "reorder.star"} {
		if !checked[name] {
			t.Errorf("the pages do not show %s; checked: %v", name, checked)
		}
	}
}

// TestDocsCodes checks that docs/checking.md explains the codes of faults as SARIF does.
func TestDocsCodes(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, c := range diagnostic.Codes() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", c.ID, c.Meaning)
	}
	if !strings.Contains(readPage(t, "docs/checking.md"), "| code | meaning |\n|---|---|\n"+table.String()+"\n") {
		t.Errorf("the table of codes in docs/checking.md must be:\n%s", table.String())
	}
}
