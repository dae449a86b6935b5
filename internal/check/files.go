package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Read reads the text of a script. A file inside the project at root may not be a link that leads
// out of it; an empty root is no project. An error names the file.
func Read(root, file string) (string, error) {
	text, err := read(root, file)
	if err != nil {
		e := *folder.FileError(err, filepath.ToSlash(file))
		if errors.Is(e.Err, folder.ErrNotRegular) {
			e.Err = errors.New("not a regular file")
		}
		return "", &e
	}
	return text, nil
}

func read(root, file string) (string, error) {
	if !slices.Contains(tool.ScriptSuffixes(), filepath.Ext(file)) {
		return "", value.Errorf(value.Invalid, "not a script").
			WithHint("use a file whose name ends in one of these: \"%s\"", strings.Join(tool.ScriptSuffixes(), `", "`))
	}
	if out, err := leadsOut(root, file); out || err != nil {
		if err == nil {
			err = value.Errorf(value.Denied, "the link points outside the project").WithHint("check the file by its own path")
		}
		return "", err
	}
	info, err := os.Stat(file) // opening a pipe would block
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", folder.ErrNotRegular
	}
	text, err := folder.ReadText(os.DirFS(filepath.Dir(file)), filepath.Base(file), folder.MaxSource)
	if err != nil {
		return "", err
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return "", value.Errorf(value.Invalid, "the file is not text: it has a NUL byte at offset %d", i)
	}
	return text, nil
}

// MaxScripts is how many bytes of scripts one command checks: all tools of a project fit, see [folder.ToolsShare].
const MaxScripts = folder.ToolsShare

// Over returns the files that exceed [MaxScripts].
func Over(files []string) []bool {
	sizes := make([]int64, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			sizes[i] = info.Size()
		}
	}
	return folder.Over(sizes, MaxScripts)
}

// leadsOut reports whether a file in a project is a link, or in one, that leads out of the project.
func leadsOut(root, file string) (bool, error) {
	if root == "" {
		return false, nil
	}
	given, err := filepath.Abs(file)
	if err != nil {
		return false, err
	}
	if !isBelow(root, given) {
		return false, nil
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return false, err
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false, err
	}
	return !isBelow(realRoot, real), nil
}

func isBelow(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// The limits of the files of a folder.
const (
	maxFiles = 20_000
	maxDepth = 30
)

// Files lists the scripts in a folder with tools, workflows, policies and hooks, such as .cassidy,
// sorted. A folder that does not exist has none.
func Files(dir string) ([]string, error) {
	var files []string
	tools := filepath.Join(dir, "tools")
	list, err := scripts(tools, func(name string) bool { // each Markdown file beside the tools is one
		return !strings.EqualFold(filepath.Base(name), "README.md") && (filepath.Dir(name) == tools || isFrontMatter(name))
	})
	if err != nil {
		return nil, err
	}
	files = append(files, list...)
	for _, name := range []string{"workflows", "policies"} {
		list, err := Scripts(filepath.Join(dir, name), false)
		if err != nil {
			return nil, err
		}
		files = append(files, list...)
	}
	if hooks := filepath.Join(dir, "hooks.star"); isFile(hooks) {
		files = append(files, hooks)
	}
	return files, nil
}

// Scripts lists the scripts in a folder and in the folders inside it, sorted. Names that begin with a dot
// or _ are skipped. all includes files in Lua and Markdown.
func Scripts(dir string, all bool) ([]string, error) {
	if !all {
		return scripts(dir, nil)
	}
	return scripts(dir, isFrontMatter)
}

// scripts is Scripts with the function that reports which Markdown files are tools. Without it, neither Lua nor Markdown
// is included.
func scripts(dir string, isTool func(name string) bool) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == dir && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		}
		hidden := name != dir && strings.ContainsAny(d.Name()[:1], "._")
		switch ext := filepath.Ext(name); {
		case d.IsDir() && (hidden || strings.Count(name[len(dir):], string(filepath.Separator)) > maxDepth):
			return fs.SkipDir
		case d.IsDir(), hidden:
		case ext == ".star", isTool != nil && (ext == ".lua" || ext == ".md" && isTool(name)):
			if files = append(files, name); len(files) > maxFiles {
				return value.Errorf(value.Limit, "the folder %s has more than %d scripts", dir, maxFiles)
			}
		}
		return nil
	})
	return files, err
}

// Below lists the scripts in a folder that a person names: those of [Scripts], and those of the project
// whose folder it is.
func Below(dir string) ([]string, error) {
	files, err := Scripts(dir, true)
	if err != nil {
		return nil, err
	}
	own, err := Files(filepath.Join(dir, folder.Name))
	return append(files, own...), err
}

// isFrontMatter reports whether a Markdown file is probably a tool: it begins with front matter.
func isFrontMatter(name string) bool {
	data, _, err := folder.ReadHead(os.DirFS(filepath.Dir(name)), filepath.Base(name), 64)
	return err != nil || strings.HasPrefix(strings.TrimPrefix(string(data), "\ufeff"), "---")
}

func isFile(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && !info.IsDir()
}

// maxRounds is how often fixes are applied to one file: a fix may be skipped since it overlaps another
// one, and a later round applies it.
const maxRounds = 20

// Fix applies the fixes of a file to its text, without those that a person must choose. It returns the new
// text, the faults that were fixed, at their places in the new text, and those that are left.
func (c *Checker) Fix(file, text string) (fixed string, done, left []diagnostic.Diagnostic) {
	left = c.File(file, text)
	for range maxRounds {
		var fixable []diagnostic.Diagnostic
		for _, d := range left {
			if d.Fix != nil && !d.Fix.Choice {
				fixable = append(fixable, d)
			}
		}
		next, n := diagnostic.Apply(text, fixable)
		if n == 0 || next == text || !utf8.ValidString(next) {
			break
		}
		after := c.File(file, next)
		if mistakes(after) > mistakes(left) || syntaxFaults(after) > syntaxFaults(left) {
			break // a fix must not break the file
		}
		fixable = applied(text, fixable)
		done = append(done, fixable...)
		for i := range done {
			done[i].Span.Start = moved(done[i].Span.Start, fixable)
		}
		text, left = next, after
	}
	for i := range done {
		done[i].Pos = diagnostic.At(done[i].Pos.File, text, done[i].Span.Start)
	}
	return text, done, left
}

// syntaxFaults returns how many statements do not parse.
func syntaxFaults(list []diagnostic.Diagnostic) (n int) {
	for i := range list {
		if list[i].Code == diagnostic.Syntax {
			n++
		}
	}
	return n
}

// applied returns the diagnostics whose fixes [diagnostic.Apply] applies.
func applied(text string, list []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	var done []diagnostic.Diagnostic
	before := 0
	for i := range list {
		if _, n := diagnostic.Apply(text, list[:i+1]); n > before {
			before = n
			done = append(done, list[i])
		}
	}
	return done
}

// moved returns where an offset is after fixes are applied.
func moved(offset int, list []diagnostic.Diagnostic) int {
	var seen []diagnostic.Edit
	to := offset
	for i := range list {
		for _, e := range list[i].Fix.Edits {
			if e.Span.Start >= offset || slices.Contains(seen, e) {
				continue
			}
			seen = append(seen, e)
			to += len(e.Text) - (min(e.Span.End, offset) - e.Span.Start)
		}
	}
	return to
}

// mistakes returns the number of errors. Missing needs do not count: a fix of a misspelled name shows what is missing.
func mistakes(list []diagnostic.Diagnostic) (n int) {
	for i := range list {
		if list[i].Severity == diagnostic.Error && list[i].Code != diagnostic.MissingNeed {
			n += max(list[i].More, 1)
		}
	}
	return n
}

// Replace writes a new text of a file, unless its text is no longer the old one. The file is either
// replaced completely, or not changed. A link stays a link.
func Replace(root, file, old, text string) error {
	if current, err := Read(root, file); err != nil {
		return err
	} else if current != old {
		return value.Errorf(value.Conflict, "write %s: the file has changed while it was checked", file).WithHint("run the command again")
	}
	return folder.Replace(file, []byte(text), 0o644)
}

// Format returns a script in its standard format.
func (c *Checker) Format(file, text string) (string, error) {
	return c.engine.Format(tool.Script{Path: filepath.ToSlash(file), Source: text})
}
