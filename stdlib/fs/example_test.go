package fs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib/fs"
)

// Give scripts the files of one folder, and nothing else of the standard library. A
// program that imports no more of it does not link the database of package table.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files, err := fs.Open(&fs.Options{Root: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer files.Close()
	modules := []tool.Module{files.Module()}
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(modules...), Modules: modules, Approver: host.ApproveAll()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	ctx := context.Background()
	script := tool.Script{Name: "note", Path: "note.star", Source: `
def note(line: str) -> str:
    """Add a line to the notes."""
    fs.append("notes.md", line + "\n")
    return fs.read("notes.md")

tool(note, needs = ["fs.read:notes.md", "fs.write:notes.md"])
`}
	described, err := h.Describe(ctx, script)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return script, nil }); err != nil {
		fmt.Println(err)
		return
	}
	result, err := h.Call(ctx, tool.Call{Tool: "note", Args: value.NewDict("line", "buy milk")})
	fmt.Println(result.Value, err)
	text, err := os.ReadFile(filepath.Join(dir, "notes.md"))
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// buy milk
	//  <nil>
	// buy milk
	// <nil>
}
