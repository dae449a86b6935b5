package project

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	policiesDir = "policies"
	// maxScript is how long a script's file may be, and maxScripts how many
	// files one folder is read for.
	maxScript  = 256 << 10
	maxScripts = 1000
)

// A ScriptFile is a file of Starlark of a project or of its user.
type ScriptFile struct {
	Name     string // the stem of the file
	Path     string // as messages name the file
	Location tool.Location
	State    tool.State
	Reason   string // why it is untrusted, or ""

	source string
}

// A Policy is a script that leads an agent: a file of the folder policies of a
// project or of its user.
type Policy struct{ ScriptFile }

// Script returns the policy's script. It fails for one that is untrusted. libs
// are the files that it may load.
func (p *Policy) Script(libs map[string]string) (tool.Script, error) {
	if err := p.usable("policy"); err != nil {
		return tool.Script{}, err
	}
	return tool.Script{Name: p.Name, Path: p.Path, Source: p.source, Libs: libs}, nil
}

// usable refuses a file that is untrusted.
func (f *ScriptFile) usable(what string) error {
	if f.State != tool.Untrusted {
		return nil
	}
	return value.Errorf(value.Denied, "the %s '%s' is untrusted: %s", what, f.Name, f.Reason).WithHint("review it with: cassidy trust; a program sets Options.TrustSource for what is its own")
}

// Policies reads the policies of a project and of its user. A file that is not
// right is reported and hides no other; of two with one name neither is used.
// An empty root means that there is no project.
func Policies(root string, o *trust.Scope) ([]Policy, []*value.Error) {
	files, broken := scriptFiles(root, o, policiesDir, trust.KindPolicy)
	policies := make([]Policy, len(files))
	for i, f := range files {
		policies[i] = Policy{f}
	}
	return policies, broken
}

// scriptFiles reads the scripts in a folder of a project and in the one of its
// user.
func scriptFiles(root string, o *trust.Scope, dir string, kind trust.Kind) ([]ScriptFile, []*value.Error) {
	var all []ScriptFile
	var broken []*value.Error
	for _, place := range o.Places(root, dir) {
		found, errs := scriptsIn(place, kind)
		for _, f := range found {
			if i := slices.IndexFunc(all, func(g ScriptFile) bool { return tool.Key(g.Name) == tool.Key(f.Name) }); i >= 0 {
				if all[i].State == tool.Untrusted && f.State == tool.Ready {
					all[i] = f // a stranger's takes nobody's name
					continue
				}
				errs = append(errs, place.FileError(path.Base(f.Path), value.Errorf(value.Conflict, "%s has the same name", all[i].Path).WithHint("rename one of them")))
				all = slices.Delete(all, i, i+1)
				continue
			}
			all = append(all, f)
		}
		broken = append(broken, errs...)
	}
	return all, broken
}

// scriptsIn reads the scripts that a place holds.
func scriptsIn(p trust.Place, kind trust.Kind) (found []ScriptFile, broken []*value.Error) {
	files, done, err := p.Open()
	if err != nil {
		return nil, []*value.Error{p.FileError("", err)}
	}
	defer done()
	entries, more, err := folder.ReadDir(files, p.Dir, maxScripts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, []*value.Error{p.FileError("", err)}
	case more:
		broken = append(broken, p.FileError("", value.Errorf(value.Limit, "more than %d files: the rest is not read", maxScripts)))
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || path.Ext(name) != ".star" || strings.HasPrefix(name, ".") {
			continue
		}
		script, err := readScript(p, files, name, kind)
		if err != nil {
			broken = append(broken, p.FileError(name, err))
			continue
		}
		found = append(found, script)
	}
	return found, broken
}

func readScript(p trust.Place, files fs.FS, name string, kind trust.Kind) (ScriptFile, error) {
	stem := strings.TrimSuffix(name, ".star")
	if err := tool.CheckName(stem); err != nil {
		return ScriptFile{}, err
	}
	file := path.Join(p.Dir, name)
	text, cut, err := folder.ReadHead(files, file, maxScript)
	switch {
	case err != nil:
		return ScriptFile{}, err
	case cut:
		return ScriptFile{}, value.Errorf(value.Limit, "the file is longer than %d KB", maxScript>>10)
	}
	script := ScriptFile{Name: stem, Path: filepath.ToSlash(path.Join(p.Shown, name)), Location: p.Location, State: tool.Ready, source: string(text)}
	if p.Location == tool.Project {
		script.distrust(p.Ledger.File(kind, file, tool.HashBytes(text)))
	}
	return script, nil
}

// distrust makes a file untrusted for a reason; "" is none.
func (f *ScriptFile) distrust(reason string) {
	if reason != "" && f.State != tool.Untrusted {
		f.State, f.Reason = tool.Untrusted, reason
	}
}
