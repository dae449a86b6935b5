package check_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib"
)

// modules returns all modules of scripts.
func modules(t testing.TB) []tool.Module {
	t.Helper()
	world, err := stdlib.Open(&stdlib.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	list := append(stdlib.Pure(), world.Modules()...)
	list = append(list, project.Modules("", nil)...)
	list = append(list, host.Modules()...)
	list = append(list, agent.Modules()...)
	return append(list, agent.ModelModule(nil), mcp.Module())
}

// TestCorrectFiles checks that nothing is found in the scripts of the repository.
func TestCorrectFiles(t *testing.T) {
	c := check.New(check.Options{Modules: modules(t)})
	files := 0
	for _, dir := range []string{"../../tools", "../../scripts", "../../examples"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch ext := filepath.Ext(name); {
			case ext == ".star", ext == ".lua":
			case ext == ".md" && strings.Contains(name, ".cassidy/tools/"):
			default:
				return nil
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files++
			for _, d := range c.File(name, string(text)) {
				t.Errorf("%s: %s", d.Pos, format(d))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files += walkArchives(t, c, "../../cmd/cassidy/testdata/script/*.txtar")
	if files < 200 {
		t.Errorf("%d files were checked, want at least 200", files)
	}
	t.Logf("%d files", files)
}

func format(d diagnostic.Diagnostic) string {
	text := string(d.Severity) + " " + d.Code + ": " + d.Message
	if d.Hint != "" {
		text += " | " + d.Hint
	}
	if d.Fix != nil {
		text += " | fix: " + d.Fix.Title
	}
	return text
}
