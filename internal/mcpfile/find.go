package mcpfile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// personalName is the file of the user's own servers, in the user's folder.
const personalName = "mcp.json"

// A Found is a server of a project or of its user, and whether it may be started.
type Found struct {
	Server
	Location tool.Location
	Path     string // the file in messages
	trust.Status
}

// List reads the servers of a project and of its user. root is "" without a project. The files of
// a [trust.Scope] that replace a folder have no servers. The warnings name fields that are
// ignored. Of two servers with the same name neither is used, except that an untrusted one does
// not disable one of the user's.
func List(root string, scope *trust.Scope) (servers []Found, warnings []string, broken []*value.Error) {
	var all []Found
	for _, p := range places(root, scope) {
		text, err := p.read()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var list []Server
		var ignored []string
		if err == nil {
			list, ignored, err = Parse(text)
		}
		if err != nil {
			broken = append(broken, folder.FileError(err, p.shown))
			continue
		}
		for _, text := range ignored {
			warnings = append(warnings, p.shown+": "+text)
		}
		for _, s := range list {
			all = append(all, Found{s, p.location, p.shown, p.status(scope, root, text)})
		}
	}
	servers, conflicts := trust.Unique("server", all, func(f *Found) trust.Name {
		return trust.Name{Name: f.Name, Path: f.Path, Location: f.Location, Status: f.Status}
	}, false)
	return servers, warnings, append(broken, conflicts...)
}

// A place is where a file may be.
type place struct {
	location tool.Location
	base     string
	name     string // of the file, under base, with slashes
	shown    string
}

func places(root string, scope *trust.Scope) (list []place) {
	own := root != "" && folder.Same(filepath.Join(root, folder.Name), scope.Home) // the user's folder is in root
	if root != "" && scope.Files == nil && !own {
		list = append(list, place{tool.Project, root, Name, Name})
	}
	if scope.Home != "" {
		list = append(list, place{tool.Personal, scope.Home, personalName, PersonalFile(scope.Home)})
	}
	return list
}

// PersonalFile returns the file of the user's own servers.
func PersonalFile(home string) string { return path.Join(filepath.ToSlash(home), personalName) }

// read reads the file. In a project, links that lead out of it are rejected.
func (p *place) read() (string, error) {
	if p.location == tool.Personal {
		return folder.ReadText(os.DirFS(p.base), p.name, MaxSize)
	}
	root, err := os.OpenRoot(p.base)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return folder.ReadText(root.FS(), p.name, MaxSize)
}

func (p *place) status(scope *trust.Scope, root, text string) trust.Status {
	if p.location == tool.Personal {
		return trust.Status{Trusted: true}
	}
	return scope.Ledger(root).File(trust.KindServers, p.name, tool.HashBytes([]byte(text)))
}
