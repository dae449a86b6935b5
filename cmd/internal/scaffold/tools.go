package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
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

// A Draft is a file of the folder of tools that is to be written.
type Draft struct {
	Name string // in the folder, with slashes
	Text string
}

// WriteTools writes files of tools in the project: all of them, or none. With force it replaces existing ones that differ.
// It returns the files that it wrote, not those that have their text already.
func WriteTools(a *app.App, drafts []Draft, force bool) (written []ToolFile, err error) {
	if err := a.CheckHome(); err != nil {
		return nil, err
	}
	root, err := projectRoot(a)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, ui.FileError(err)
	}
	defer dir.Close()
	drafts, differ, err := checkDrafts(dir, drafts)
	if err != nil {
		return nil, err
	}
	if len(differ) > 0 && !force {
		return nil, value.Errorf(value.Invalid, "nothing was written: there are other files with these names: %s", shortList(differ)).
			WithHint("to replace them, add --force")
	}
	for _, d := range drafts {
		name := folder.ToolsDir + "/" + d.Name
		if slices.Contains(differ, name) {
			if err := dir.Remove(name); err != nil {
				return written, ui.FileError(err)
			}
		}
		if _, err := WriteNew(root, name, d.Text, 0o666); err != nil {
			return written, err
		}
		written = append(written, ToolFile{Root: root, Path: filepath.Join(root, filepath.FromSlash(name)), Shown: name})
	}
	return written, nil
}

// checkDrafts returns the files that do not have their text yet, and the paths of those that exist. It refuses the name of a
// tool in another language.
func checkDrafts(dir *os.Root, drafts []Draft) (missing []Draft, differ []string, err error) {
	for _, d := range drafts {
		name := folder.ToolsDir + "/" + d.Name
		text, err := folder.ReadText(dir.FS(), name, int64(len(d.Text)))
		if err == nil && text == d.Text {
			continue
		}
		missing = append(missing, d)
		if !errors.Is(err, fs.ErrNotExist) {
			differ = append(differ, name)
			continue
		}
		entries, _ := fs.ReadDir(dir.FS(), path.Dir(name)) // there may be no such folder yet
		for _, e := range entries {
			stem := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
			if slices.Contains(tool.ScriptSuffixes(), path.Ext(e.Name())) && tool.Key(stem) == strings.TrimSuffix(path.Base(name), ".star") {
				return nil, nil, toolExists(path.Dir(name) + "/" + e.Name())
			}
		}
	}
	return missing, differ, nil
}

// shortList lists the first of some names.
func shortList(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
