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
	Hash     string // of the text of the file
	trust.Status
}

// A Listing is what [List] has read.
type Listing struct {
	Servers  []Found
	Warnings []string       // they name fields that are ignored
	Broken   []*value.Error // of files that cannot be read, and of names that several servers have
	Unread   []string       // the files that cannot be read, as [Found.Path] names them
}

// List reads the servers of a project and of its user. root is "" without a project. The files of
// a [trust.Scope] that replace a folder have no servers. Of two servers with the same name neither is
// used, except that an untrusted one does not disable one of the user's.
func List(root string, scope *trust.Scope) (l Listing) {
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
			l.Broken, l.Unread = append(l.Broken, folder.FileError(err, p.shown)), append(l.Unread, p.shown)
			continue
		}
		for _, text := range ignored {
			l.Warnings = append(l.Warnings, p.shown+": "+text)
		}
		hash := tool.HashBytes([]byte(text))
		for _, s := range list {
			all = append(all, Found{s, p.location, p.shown, hash, StatusOf(scope, root, p.location, hash)})
		}
	}
	servers, conflicts := trust.Unique("server", all, func(f *Found) trust.Name {
		return trust.Name{Name: f.Name, Path: f.Path, Location: f.Location, Status: f.Status}
	}, false)
	l.Servers, l.Broken = servers, append(l.Broken, conflicts...)
	return l
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

// StatusOf returns whether the servers in a file with a text of this hash may be started.
func StatusOf(scope *trust.Scope, root string, location tool.Location, hash string) trust.Status {
	if location == tool.Personal {
		return trust.Status{Trusted: true}
	}
	return scope.Ledger(root).File(trust.KindServers, Name, hash)
}
