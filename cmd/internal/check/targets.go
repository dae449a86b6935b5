package check

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// targets are the files to check.
type targets struct {
	root  string // of the project, or ""
	files []string
}

// targets finds the files that arguments name.
func (c *command) targets(h *host.Host, words []string) (targets, error) {
	root, err := c.ProjectRoot()
	if err != nil {
		return targets{}, err
	}
	t := targets{root: root}
	if len(words) == 0 {
		return t, c.all(&t)
	}
	for _, word := range words {
		files, err := c.named(h, root, word)
		if err != nil {
			return t, err
		}
		t.files = append(t.files, files...)
	}
	t.files = once(t.files)
	return t, nil
}

// once returns files without those that are named twice, in any spelling.
func once(files []string) (list []string) {
	seen := map[string]bool{}
	for _, file := range files {
		abs, err := filepath.Abs(file)
		if err != nil {
			abs = file
		}
		if !seen[abs] {
			seen[abs] = true
			list = append(list, file)
		}
	}
	return list
}

// all adds all scripts of the project and of the user.
func (c *command) all(t *targets) error {
	dirs := []string{}
	if t.root != "" {
		dirs = append(dirs, filepath.Join(t.root, folder.Name))
	}
	if home := c.Home(); home != "" && (t.root == "" || !folder.Same(home, filepath.Join(t.root, folder.Name))) {
		dirs = append(dirs, home)
	}
	for _, dir := range dirs {
		files, err := check.Files(dir)
		if err != nil {
			return ui.FileError(err)
		}
		t.files = append(t.files, files...)
	}
	return nil
}

// named returns the files that an argument names: a file, a folder, or a tool.
func (c *command) named(h *host.Host, root, word string) ([]string, error) {
	file := c.located(word)
	isName := !strings.ContainsAny(word, `/\`) && filepath.Ext(word) == ""
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir() && (!isName || !isTool(h, word)):
		return scriptsIn(file, word)
	case !isName:
		return []string{file}, nil
	}
	return c.toolFile(h, root, word)
}

// located returns the path of a file or folder that an argument names: in the folder of --dir, if it is
// only there.
func (c *command) located(word string) string {
	if c.Dir == "" || filepath.IsAbs(word) || exists(word) {
		return word
	}
	if inDir := filepath.Join(c.Dir, word); exists(inDir) {
		return inDir
	}
	return word
}

// scriptsIn returns the scripts in a folder that an argument names.
func scriptsIn(dir, word string) ([]string, error) {
	files, err := check.Below(dir)
	if err != nil {
		return nil, ui.FileError(err)
	}
	if len(files) == 0 {
		return nil, value.Errorf(value.NotFound, "%s has no scripts", word).WithHint("use a folder with files that end in %s", strings.Join(tool.ScriptSuffixes(), ", "))
	}
	return files, nil
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

func isTool(h *host.Host, name string) bool {
	if h == nil {
		return false
	}
	_, err := h.Tool(name)
	return err == nil
}

// toolFile returns the file of a tool by its name.
func (c *command) toolFile(h *host.Host, root, name string) ([]string, error) {
	if h == nil {
		return c.fileOf(root, name)
	}
	for _, e := range h.Broken() {
		base := filepath.Base(e.Pos.File)
		if tool.Key(strings.TrimSuffix(base, filepath.Ext(base))) == tool.Key(name) {
			return []string{c.inPlace(root, e.Pos.File)}, nil
		}
	}
	t, err := h.Tool(name)
	if err != nil {
		if file := c.workflow(root, name); file != "" {
			return []string{file}, nil
		}
		return nil, value.Errorf(value.NotFound, "there is no tool, workflow, policy or file %q%s", value.Clean(name, 120), value.DidYouMean(name, names(h))).
			WithHint("list the tools: cassidy tool list")
	}
	if t.Location == tool.Builtin || t.Path == "" {
		return nil, value.Errorf(value.Invalid, "the tool '%s' has no file to check", t.Name).WithHint("check a tool of the project, or a file")
	}
	return []string{c.inPlace(root, t.Path)}, nil
}

// fileOf returns the file of a tool, a workflow or a policy by its name, if no host knows it.
func (c *command) fileOf(root, name string) ([]string, error) {
	t := targets{root: root}
	if err := c.all(&t); err != nil {
		return nil, err
	}
	for _, file := range t.files {
		if base := filepath.Base(file); tool.Key(strings.TrimSuffix(base, filepath.Ext(base))) == tool.Key(name) {
			return []string{file}, nil
		}
	}
	return nil, value.Errorf(value.NotFound, "there is no tool, workflow, policy or file %q", value.Clean(name, 120))
}

// workflow returns the file of a workflow or policy by its name, or "".
func (c *command) workflow(root, name string) string {
	for _, dir := range []string{filepath.Join(root, folder.Name), c.Home()} {
		for _, kind := range []string{"workflows", "policies"} {
			if file := filepath.Join(dir, kind, name+".star"); dir != "" && exists(file) {
				return file
			}
		}
	}
	return ""
}

// inPlace returns the path of a file that a host names: relative to the project, or in the user's folder.
func (c *command) inPlace(root, shown string) string {
	if file := filepath.Join(root, filepath.FromSlash(shown)); root != "" && exists(file) {
		return file
	}
	if i := strings.Index(shown, "tools/"); i >= 0 && c.Home() != "" {
		if file := filepath.Join(c.Home(), filepath.FromSlash(shown[i:])); exists(file) {
			return file
		}
	}
	return shown
}
