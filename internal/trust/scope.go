package trust

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Scope locates the files of a project and of its user, and decides what of the
// project is trusted. The zero value has only the files of the project's folder, and
// trusts none of them.
type Scope struct {
	// Files replace the project's folder .cassidy: tools at the root, and beside them
	// the folders workflows, policies and skills. Its files are identified by their
	// content. Only TrustOnce trusts them, since a Store records folders. Nil means the
	// folder.
	Files fs.FS
	// Home is the user's folder, with tools/ and config.yaml; "" means none.
	Home string
	// UserDir is the home folder of the system's user, where other programs have skills; "" means none.
	UserDir string
	// Trust holds what the user has reviewed. Nil trusts nothing of a project.
	Trust *Store
	// TrustOnce trusts everything of the project in this process. It is for files that
	// were reviewed elsewhere.
	TrustOnce bool
	// WorkDir is the folder of the project in which a model works, with slashes and from the root. "" is the root.
	WorkDir string
	// Refuse returns an error for a file that models must not get, whatever its name: one that holds a secret. It is called
	// concurrently. Nil refuses none.
	Refuse func(file fs.FileInfo) error
}

// Below returns a folder of a project as [Scope] has it in WorkDir, or "" for one that is not in the project.
func Below(root, dir string) string {
	below, err := filepath.Rel(root, dir)
	if root == "" || err != nil || !filepath.IsLocal(below) {
		return ""
	}
	return filepath.ToSlash(below)
}

// Ledger returns the trust of a project.
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

// NotesLedger returns the trust of a project's notes. They are not among the files of a
// source, and so are not trusted with them.
func (s *Scope) NotesLedger(root string) *Ledger {
	if s.Files == nil || root == "" {
		return s.Ledger(root)
	}
	return s.Trust.Ledger(root)
}

// Trusts returns nil if a file of a project is trusted with this text, else an error of
// kind Denied with the reason. It is not for tools, which are trusted with the files
// that they load: see [Ledger.Tool].
func (s *Scope) Trusts(root string, kind Kind, name, text string) error {
	status := s.Ledger(root).File(kind, name, tool.HashBytes([]byte(text)))
	if status.Trusted {
		return nil
	}
	return Untrusted(name, status.Reason)
}

// OtherAgents are the folders with the agent files of other programs, from the project's root.
func OtherAgents() []string { return []string{".agents/agents", ".claude/agents"} }

// OtherSkills are the folders with the skills of other programs, from the project's root and from the user's home folder.
func OtherSkills() []string { return []string{".agents/skills", ".claude/skills"} }

// OtherNotes are the names of files with notes that other programs read, too.
func OtherNotes() []string { return []string{"AGENTS.md", "CLAUDE.md"} }

// NeedsReview reports whether a file, by its name in messages, is one that the user of its project
// has to review: it is below .cassidy, [OtherAgents] or [OtherSkills]. The files of the user, and those outside
// of any folder, have other names.
func NeedsReview(name string) bool {
	return slices.ContainsFunc(slices.Concat([]string{folder.Name}, OtherAgents(), OtherSkills()), func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
}

// Revoked reports whether a script of a project, or a file that it loads, is untrusted with any
// text: nobody has reviewed it, or its trust was revoked. A file that has only changed since its
// review is not. It is for what runs with a text that was trusted when it began. Another file than
// a script has only a Path.
func (s *Scope) Revoked(root string, script *tool.Script) bool {
	if s.Files != nil || !NeedsReview(script.Path) {
		return false
	}
	return s.Ledger(root).RevokedAny(script.Path, slices.Collect(maps.Keys(script.Libs)))
}

// Places returns the folders of a project and of its user with a name, such as skills, and the folders of other programs
// with the same kind of files. The first ones of a location take precedence.
func (s *Scope) Places(root, dir string) []Place {
	var places []Place
	var others, othersOfUser []string
	switch dir {
	case "agents":
		others = OtherAgents()
	case "skills":
		others, othersOfUser = OtherSkills(), OtherSkills()
	}
	trusted := s.Ledger(root)
	in := func(location tool.Location, base, dir, shown string) {
		places = append(places, Place{Location: location, Base: base, Dir: dir, Shown: shown, Ledger: trusted, Refuse: s.Refuse})
	}
	switch {
	case s.Files != nil:
		places = append(places, Place{Location: tool.Project, Files: s.Files, Dir: dir, Shown: dir, Ledger: trusted, Refuse: s.Refuse})
	case root != "":
		for _, inside := range append([]string{folder.Name + "/" + dir}, others...) {
			in(tool.Project, root, inside, inside)
		}
	}
	if s.Home != "" {
		in(tool.Personal, s.Home, dir, filepath.ToSlash(filepath.Join(s.Home, dir)))
	}
	for _, other := range othersOfUser {
		if s.UserDir != "" {
			in(tool.Personal, s.UserDir, other, filepath.ToSlash(filepath.Join(s.UserDir, other)))
		}
	}
	return slices.DeleteFunc(places, func(p Place) bool { // the user's own folder is in root
		return p.Location == tool.Project && p.Files == nil && slices.ContainsFunc(places, func(own Place) bool {
			return own.Location == tool.Personal && folder.Same(p.Path(), own.Path())
		})
	})
}
