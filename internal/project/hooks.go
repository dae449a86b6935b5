package project

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// hooksFile is the file with the hooks of a project, or of its user.
const hooksFile = "hooks.star"

// Hooks reads the hooks of the user and of the project, in this order. A file that is missing is
// left out; one that cannot be read is an error, and an untrusted one is an error of kind Denied,
// since nothing may run without hooks that its user relies on. An empty root means no project.
func Hooks(root string, o *trust.Scope) ([]tool.Script, error) {
	var scripts []tool.Script
	places := o.Places(root, ".")
	slices.Reverse(places) // the project is first
	for _, place := range places {
		f, err := readHooks(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, place.FileError(hooksFile, err)
		case !f.Trusted:
			return nil, trust.Untrusted("the hook file "+f.Path, f.Reason)
		}
		scripts = append(scripts, tool.Script{Name: f.Name, Path: f.Path, Source: f.source})
	}
	return scripts, nil
}

func readHooks(p trust.Place) (ScriptFile, error) {
	files, done, err := p.Open()
	if err != nil {
		return ScriptFile{}, err
	}
	defer done()
	f, err := readScript(p, files, hooksFile, trust.KindHooks)
	if e := value.ErrorOf(err, value.Failed); err != nil && errors.Is(e, fs.ErrNotExist) {
		return f, fs.ErrNotExist
	}
	return f, err
}
