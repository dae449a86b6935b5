package scaffold

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// CheckToolName refuses an invalid name for a new tool, and the name of an existing one.
func CheckToolName(h *host.Host, name string) error {
	if err := tool.CheckName(name); err != nil {
		return err
	}
	if project.IsTest(name) {
		return value.Errorf(value.Invalid, "create the tool '%s': files with this name contain tests", name).WithHint("use a name that does not end with _test")
	}
	t, err := h.Tool(name)
	if err != nil {
		return nil
	}
	if t.Location == tool.Builtin {
		return value.Errorf(value.Invalid, "create the tool '%s': a built-in tool has this name", t.Name).WithHint("use a different name")
	}
	return toolExists(t.Path)
}

// toolExists returns the error of a new tool whose file exists.
func toolExists(path string) error {
	return value.Errorf(value.Invalid, "create the tool: the file %s already exists", path).WithHint("choose a different name, or edit the existing file")
}

// A ToolFile is the file of a new tool.
type ToolFile struct {
	Root  string // the project, unless the tool is personal
	Path  string
	Shown string // Path in messages: in a project, relative to it
}

// WriteTool writes the file of a new tool for a location: project or personal.
func WriteTool(a *app.App, location, name, suffix, text string) (ToolFile, error) {
	return writeScript(a, "tools", location, name, suffix, text)
}

// WriteWorkflow is WriteTool for a workflow.
func WriteWorkflow(a *app.App, location, name, suffix, text string) (ToolFile, error) {
	return writeScript(a, "workflows", location, name, suffix, text)
}

// writeScript writes a file in a folder of the project's or the user's own folder.
func writeScript(a *app.App, kind, location, name, suffix, text string) (f ToolFile, err error) {
	if err := a.CheckHome(); err != nil {
		return f, err
	}
	var base, in, shown string // the file is in base/in
	switch {
	case location == string(tool.Project):
		if f.Root, err = projectRoot(a); err != nil {
			return f, err
		}
		base, in = f.Root, folder.Name+"/"+kind
		shown = in
	case a.Home() == "":
		return f, value.Errorf(value.Invalid, "create a personal tool: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	default:
		base = filepath.Join(a.Home(), kind)
		in, shown = ".", base
	}
	dir := filepath.Join(base, in)
	if err := checkToolFile(dir, shown, name); err != nil {
		return f, err
	}
	f.Path, f.Shown = filepath.Join(dir, name+suffix), shown+"/"+name+suffix
	written, err := WriteNew(base, path.Join(in, name+suffix), text, 0o666)
	if err == nil && !written {
		err = toolExists(f.Shown)
	}
	return f, err
}

// projectRoot returns the project. If there is none, it makes the working folder one.
func projectRoot(a *app.App) (string, error) {
	dir, root, err := a.WorkProject()
	if err == nil && root == "" {
		root = dir
		_, err = Project(a, dir)
	}
	return root, err
}

// checkToolFile refuses a name that a file in the folder has, in either spelling and any
// language, even if the file is invalid.
func checkToolFile(dir, shown, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is no such folder yet
	}
	for _, e := range entries {
		for _, suffix := range tool.ScriptSuffixes() {
			if stem, ok := strings.CutSuffix(e.Name(), suffix); ok && tool.Key(stem) == tool.Key(name) {
				return toolExists(shown + "/" + e.Name())
			}
		}
	}
	return nil
}
