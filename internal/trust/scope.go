package trust

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Scope says which files belong to a project and to its user, and what of the
// project is trusted. The zero value has no files but those of the project's
// folder, and trusts none of them.
type Scope struct {
	// Files are the project's scripts in place of those of a folder .cassidy: tools
	// at the root, and beside them the folders workflows, policies and skills. Its
	// files are known by their content. They are trusted with TrustOnce and never
	// else, since a Store remembers folders. Nil means those of the folder.
	Files fs.FS
	// Home is the user's folder, with tools/ and config.yaml; "" means none.
	Home string
	// Trust is what the user has reviewed. Nil trusts nothing of a project.
	Trust *Store
	// TrustOnce trusts everything of the project, for as long as the process
	// lives: for who has reviewed it elsewhere.
	TrustOnce bool
}

// Ledger returns what is trusted of a project.
func (s *Scope) Ledger(root string) *Ledger {
	switch {
	case s.TrustOnce:
		return &Ledger{all: true}
	case s.Files != nil:
		return &Ledger{unknowable: true}
	case root == "":
		return &Ledger{}
	}
	return s.Trust.Ledger(root)
}

// NotesLedger returns what is trusted of the notes of a project. They are not among
// the files of a source, and so are not trusted with them.
func (s *Scope) NotesLedger(root string) *Ledger {
	if s.Files == nil || root == "" {
		return s.Ledger(root)
	}
	return s.Trust.Ledger(root)
}

// Trusts says whether a file of a project is trusted as it reads now: nil, or
// an error of kind Denied with the reason. It is not for tools, which are
// trusted with what they load: see [Ledger.Tool].
func (s *Scope) Trusts(root string, kind Kind, name, text string) error {
	reason := s.Ledger(root).File(kind, name, tool.HashBytes([]byte(text)))
	if reason == "" {
		return nil
	}
	return value.Errorf(value.Denied, "%s is untrusted: %s", name, reason).WithHint("cassidy trust shows it, and asks; a program sets Options.TrustSource for what is its own")
}

// Revoked reports whether nothing of a file is trusted, however it reads: nobody
// has reviewed it, or the trust was taken back. One that has only changed since
// is not. It is for what goes on with a text that was trusted when it began.
func (s *Scope) Revoked(root, name string) bool { return s.Ledger(root).revoked(name) }

// RevokedScript reports whether a script of a project is [Scope.Revoked], or a file
// that it loads. A script of the user, or of no folder, is not.
func (s *Scope) RevokedScript(root string, script *tool.Script) bool {
	if s.Files != nil || !strings.HasPrefix(script.Path, folder.Name+"/") {
		return false
	}
	return s.Ledger(root).RevokedAny(script.Path, slices.Collect(maps.Keys(script.Libs)))
}

// Places returns the folders of a project and of its user that have a name, such as
// skills, with what is trusted of the project.
func (s *Scope) Places(root, dir string) []Place {
	var places []Place
	trusted := s.Ledger(root)
	switch {
	case s.Files != nil:
		places = append(places, Place{Location: tool.Project, Files: s.Files, Dir: dir, Shown: dir, Ledger: trusted})
	case root != "":
		inside := folder.Name + "/" + dir
		places = append(places, Place{Location: tool.Project, Base: root, Dir: inside, Shown: inside, Ledger: trusted})
	}
	if s.Home != "" {
		places = append(places, Place{Location: tool.Personal, Base: s.Home, Dir: dir, Shown: filepath.ToSlash(filepath.Join(s.Home, dir)), Ledger: trusted})
	}
	if len(places) == 2 && s.Files == nil && folder.Same(places[0].Path(), places[1].Path()) {
		return places[1:] // the user's own folder, seen from the folder it lies in
	}
	return places
}
