package trust

import (
	"maps"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestMostAbleFirst checks the order of a review: what acts comes first, and a file before the tools that load it.
func TestMostAbleFirst(t *testing.T) {
	t.Parallel()
	of := func(path string, loads []string, needs ...string) trust.File {
		d := &tool.Described{Loads: loads}
		for _, n := range needs {
			d.Needs = append(d.Needs, tool.Capability{Name: n})
		}
		return trust.File{Path: ".cassidy/tools/" + path, Kind: trust.KindTool, Tool: d}
	}
	kind := func(path string, k trust.Kind) trust.File { return trust.File{Path: path, Kind: k} }
	files := []trust.File{
		kind(".cassidy/tools/lib/a.star", trust.KindLib), kind(".cassidy/tools/lib/b.star", trust.KindLib), of("computes.star", nil), of("reads.star", nil, "fs.read"),
		of("sends.star", []string{"lib/b.star"}, "http.post"), of("loads.star", []string{"lib/a.star", "lib/b.star"}), kind("w.star", trust.KindWorkflow),
		kind("x_test.star", trust.KindTest), kind("CASSIDY.md", trust.KindNotes), kind(".cassidy/mcp.json", trust.KindServers), kind("hooks.star", trust.KindHooks),
	}
	got := ui.Map(mostAbleFirst(files), func(f trust.File) string { return f.Path })
	want := []string{
		".cassidy/tools/lib/b.star", ".cassidy/tools/sends.star", ".cassidy/mcp.json", "hooks.star", ".cassidy/tools/reads.star", "w.star", "CASSIDY.md",
		".cassidy/tools/lib/a.star", ".cassidy/tools/computes.star", ".cassidy/tools/loads.star", "x_test.star",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

// TestRisks checks that what a risky tool loads is as risky.
func TestRisks(t *testing.T) {
	t.Parallel()
	of := func(name, text string, loads []string, needs ...tool.Capability) trust.File {
		return trust.File{Path: ".cassidy/tools/" + name, Kind: trust.KindTool, Text: text, Tool: described(loads, needs)}
	}
	got := risks([]trust.File{
		of("sends.star", "", []string{"lib/a.star"}, tool.Capability{Name: "http.post"}), of("reads.star", "", []string{"lib/b.star"}, tool.Capability{Name: "fs.read"}),
		{Path: ".cassidy/tools/lib/a.star", Kind: trust.KindLib}, {Path: ".cassidy/tools/lib/b.star", Kind: trust.KindLib},
		{Path: "CASSIDY.md", Kind: trust.KindNotes, Text: "a\u200bb"}, {Path: "AGENTS.md", Kind: trust.KindNotes, Text: "ab"},
	})
	if want := map[string]bool{".cassidy/tools/sends.star": true, ".cassidy/tools/lib/a.star": true, "CASSIDY.md": true}; !maps.Equal(got, want) {
		t.Errorf("risky are %v, want %v", got, want)
	}
}

// described returns what a tool declares.
func described(loads []string, needs []tool.Capability) *tool.Described {
	d := &tool.Described{Loads: loads}
	d.Needs = needs
	return d
}
