package project

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	policiesDir = "policies"
	// maxScript is the limit of a script's file, in bytes, and maxScripts how many
	// files of one folder are read.
	maxScript  = 256 << 10
	maxScripts = 1000
)

// A ScriptFile is a Starlark file of a project or of its user.
type ScriptFile struct {
	Name     string // the stem of the file
	Path     string // the file in messages
	Location tool.Location
	trust.Status

	source string
}

// A Policy is a script that controls an agent: a file of the folder policies of a
// project or of its user.
type Policy struct{ ScriptFile }

// Script returns the policy's script. An untrusted one is an error. libs are the files
// that it may load.
func (p *Policy) Script(libs map[string]string) (tool.Script, error) {
	if err := p.usable("policy"); err != nil {
		return tool.Script{}, err
	}
	return tool.Script{Name: p.Name, Path: p.Path, Source: p.source, Libs: libs}, nil
}

// usable returns an error if the file is untrusted.
func (f *ScriptFile) usable(what string) error {
	if f.Trusted {
		return nil
	}
	return trust.Untrusted("the "+what+" '"+f.Name+"'", f.Reason)
}

// Policies reads the policies of a project and of its user. An invalid file is reported
// and does not affect others. If two have the same name, neither is used. An empty root
// means no project.
func Policies(root string, o *trust.Scope) ([]Policy, []*value.Error) {
	files, broken := scriptFiles(root, o, policiesDir, trust.KindPolicy)
	policies := make([]Policy, len(files))
	for i, f := range files {
		policies[i] = Policy{f}
	}
	return policies, broken
}

// scriptFiles reads the scripts in a folder of a project and in that of its user.
func scriptFiles(root string, o *trust.Scope, dir string, kind trust.Kind) ([]ScriptFile, []*value.Error) {
	var all []ScriptFile
	var broken []*value.Error
	for _, place := range o.Places(root, dir) {
		broken = append(broken, place.ReadFiles(maxScripts, isScript, func(files fs.FS, name string) error {
			f, err := readScript(place, files, name, kind)
			if err == nil {
				all = append(all, f)
			}
			return err
		})...)
	}
	kept, conflicts := trust.Unique(string(kind), all, func(f *ScriptFile) trust.Name {
		return trust.Name{Name: f.Name, Path: f.Path, Location: f.Location, Status: f.Status}
	}, false)
	return kept, append(broken, conflicts...)
}

// isScript reports whether an entry of a folder is expected to be a script.
func isScript(e fs.DirEntry) bool {
	return !e.IsDir() && path.Ext(e.Name()) == ".star" && !strings.HasPrefix(e.Name(), ".") && !IsTest(e.Name())
}

func readScript(p trust.Place, files fs.FS, name string, kind trust.Kind) (ScriptFile, error) {
	stem := strings.TrimSuffix(name, ".star")
	if err := tool.CheckName(stem); err != nil {
		return ScriptFile{}, err
	}
	file := path.Join(p.Dir, name)
	text, err := folder.ReadText(files, file, maxScript)
	if err != nil {
		return ScriptFile{}, err
	}
	return ScriptFile{
		Name: stem, Path: filepath.ToSlash(path.Join(p.Shown, name)), Location: p.Location,
		Status: p.Status(kind, name, tool.HashBytes([]byte(text))), source: text,
	}, nil
}
