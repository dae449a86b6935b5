package project

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// maxServersFile is the limit of a list of servers, in bytes.
const maxServersFile = 256 << 10

// personalServers is the list of the user's own servers, in the user's folder.
const personalServers = "mcp.json"

// PersonalServers returns the path of the user's own list of servers, or "".
func PersonalServers(home string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(home, personalServers)
}

// programsIn reads the command lines in a list of servers. One that cannot be read starts nothing.
func programsIn(files fs.FS, name string) []protect.Program {
	text, err := folder.ReadText(files, name, maxServersFile)
	if err != nil {
		return nil
	}
	return protect.Programs(text)
}

// programs adds the files of the project that servers start: its own, and those of the user.
func (v *reviewing) programs(own bool) {
	var all []protect.Program
	if !own {
		all = programsIn(v.files, protect.ServersFile)
	}
	if v.opts.Home != "" {
		all = append(all, programsIn(os.DirFS(v.opts.Home), personalServers)...)
	}
	if len(all) == 0 {
		return
	}
	p, err := protect.Open(v.Root)
	if err != nil {
		v.broken(protect.ServersFile, err)
		return
	}
	defer p.Root.Close()
	files, err := p.Files(all)
	if err != nil {
		v.broken(protect.ServersFile, err)
	}
	for _, f := range files {
		if v.fits(f.Path, len(f.Text)) {
			v.add(programFile(f))
		}
	}
}

// AddedPrograms returns the files of a project that the servers in a new text of a list name, except those
// that the old text names and those that have a record: what a user vouches for who types the entry.
func AddedPrograms(root string, l *trust.Ledger, before, after string) (added []trust.File) {
	p, err := protect.Open(root)
	if err != nil {
		return nil
	}
	defer p.Root.Close()
	old, failure := p.Files(protect.Programs(before))
	files, err := p.Files(protect.Programs(after))
	if err != nil || failure != nil {
		return nil // a review reports it
	}
	for _, f := range files {
		if _, known := l.Record(f.Path); !known && !slices.Contains(old, f) {
			added = append(added, programFile(f))
		}
	}
	return added
}

// programFile returns a file that a server starts, for a review.
func programFile(f protect.File) trust.File {
	hash := tool.HashBytes([]byte(f.Text))
	return trust.File{Path: f.Path, Kind: trust.KindProgram, Text: f.Text, TextHash: hash, Hash: hash}
}
