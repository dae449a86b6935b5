package trust

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Ledger is a snapshot of what is trusted in one project.
type Ledger struct {
	all    bool              // everything is trusted by this process
	author bool              // the project is the user's own work
	mark   identity.Mark     // of the folder in which author and Own hold
	seen   identity.Identity // the folder that its user has reviewed completely
	// replaced means that the folder is another one than that of the mark.
	replaced bool
	damaged  bool // the record cannot be read
	// unknowable means that trust cannot be recorded: the files are not in a folder.
	unknowable bool
	files      map[string]Record
	needs      []tool.Capability // of all files; lazily computed
}

// allNeeds returns every trusted capability of the project.
func (l *Ledger) allNeeds() []tool.Capability {
	if l.needs == nil {
		l.needs = []tool.Capability{}
		for _, r := range l.files {
			for _, c := range r.Needs {
				if !slices.Contains(l.needs, c) {
					l.needs = append(l.needs, c)
				}
			}
		}
	}
	return l.needs
}

// runTrust is the command to type. It ends every reason why a file is untrusted.
const runTrust = "; run cassidy trust"

// A Status says whether a file is trusted. The zero Status is untrusted.
type Status struct {
	Trusted bool
	Reason  string // why it is untrusted; "" if it is trusted
}

func trusted() Status { return Status{Trusted: true} }

func untrusted(reason string) Status { return Status{Reason: reason} }

// File returns the status of a file with this text.
func (l *Ledger) File(kind Kind, name, text string) Status {
	r, known := l.files[name]
	switch {
	case l.all:
		return trusted()
	case known && r.Revoked:
		return untrusted("trust was revoked" + runTrust)
	case known && r.Text == text:
		return trusted()
	case !EachVersion(kind, name) && (l.author || known && r.Own):
		return trusted() // own edits
	}
	return l.unknown(known)
}

// EachVersion reports whether every version of a file needs a review, also in a project of the
// user: a list of servers, which starts programs, these programs, and what is not in .cassidy, because it is written for
// other programs too: agent files, skills, and notes such as AGENTS.md.
func EachVersion(kind Kind, name string) bool {
	switch kind {
	case KindServers, KindProgram:
		return true
	case KindAgent, KindSkill:
		return !strings.HasPrefix(name, folder.Name+"/")
	case KindNotes:
		return slices.Contains(OtherNotes(), path.Base(name))
	}
	return false
}

func (l *Ledger) unknown(known bool) Status {
	switch {
	case l.unknowable:
		return untrusted("its source is not a folder, so it cannot be reviewed: set Options.TrustSource")
	case l.replaced:
		return untrusted("the folder was replaced after you marked it as yours: run cassidy trust --author, or cassidy trust")
	case known:
		return untrusted("the file has changed since it was trusted" + runTrust)
	case l.damaged:
		return untrusted("the record of trusted files is damaged" + runTrust)
	}
	return untrusted("nobody has reviewed it yet" + runTrust)
}

// Tool returns the capabilities granted to a tool, and its status. text is the hash of its own file, and hash that of the file and the files it loads; libs
// returns the hashes of the shared files.
func (l *Ledger) Tool(file string, t *tool.Head, hash, text string, libs func(lib string) string) ([]tool.Capability, Status) {
	if l.all {
		return t.Needs, trusted()
	}
	for _, lib := range t.Loads {
		if r, known := l.files[folder.ToolsDir+"/"+lib]; known && r.Revoked {
			return nil, untrusted("trust of the loaded file " + lib + " was revoked" + runTrust)
		}
	}
	r, known := l.files[file]
	switch {
	case known && r.Revoked:
		return nil, untrusted("trust was revoked" + runTrust)
	case known && r.Hash == hash && r.Kind == KindTool:
		return r.Needs, trusted()
	case l.author || known && r.Own:
		return l.own(file, t, libs)
	case known && r.Text == text:
		return nil, untrusted("the loaded file " + l.changedLib(t, libs) + " has changed since it was trusted" + runTrust)
	}
	return nil, l.unknown(known)
}

// own checks a tool that its user has written. A trusted one may change, and in the
// user's own project there may be new ones, unless they need more capabilities than
// were recorded.
func (l *Ledger) own(file string, t *tool.Head, libs func(lib string) string) ([]tool.Capability, Status) {
	r, known := l.files[file]
	had := r.Needs
	if !known {
		had = l.allNeeds()
	}
	added := raised(t, r)
	for _, c := range t.Needs {
		switch {
		case coveredBy(had, c):
		case harmless(c) && !acts(t.Needs):
			had = append(had[:len(had):len(had)], c)
		default:
			added = append(added, c.String())
		}
	}
	switch {
	case len(added) > 0 && known:
		return nil, untrusted("the tool now also needs " + strings.Join(added, ", ") + runTrust)
	case len(added) > 0:
		return nil, untrusted("the tool is new, and needs " + strings.Join(added, ", ") + runTrust)
	}
	for _, lib := range t.Loads { // in a project of another author it may load files that are not the user's own
		if !l.File(KindLib, folder.ToolsDir+"/"+lib, libs(lib)).Trusted {
			return nil, untrusted("the loaded file " + lib + " is not trusted" + runTrust)
		}
	}
	if known {
		return had, trusted()
	}
	return t.Needs, trusted()
}

// raised lists the limits of a tool that exceed both the recorded ones and the
// defaults.
func raised(t *tool.Head, r Record) []string {
	now, had := t.Limits.Or(tool.DefaultLimits()), r.Limits.Or(tool.DefaultLimits())
	var list []string
	for _, l := range []struct {
		more bool
		what string
	}{
		{now.Steps > max(had.Steps, tool.DefaultSteps), "more steps"},
		{now.CPU > max(had.CPU, tool.DefaultCPU), "more computing"},
		{now.Memory > max(had.Memory, tool.DefaultMemory), "more memory"},
		{now.Result > max(had.Result, tool.DefaultResult), "a longer result"},
		{now.Requests > max(had.Requests, tool.DefaultRequests), "more requests"},
		{t.Timeout > max(r.Timeout, tool.DefaultTimeout), "more time"},
	} {
		if l.more {
			list = append(list, l.what)
		}
	}
	return list
}

func acts(needs []tool.Capability) bool {
	return slices.ContainsFunc(needs, tool.Capability.Acts)
}

// harmless reports whether a capability only reads the project, as the built-in tools
// do for every model. Its tool must not be able to act.
func harmless(c tool.Capability) bool { return c.Name == "fs.read" || c.Name == "context.read" }

// coveredBy reports whether a set of capabilities has this one or a wider one. Patterns
// are compared as text.
func coveredBy(set []tool.Capability, c tool.Capability) bool {
	return slices.ContainsFunc(set, func(had tool.Capability) bool {
		sameName := had.Name == c.Name || had.Name == "http" && strings.HasPrefix(c.Name, "http.")
		return sameName && (had.Target == "" || had.Target == c.Target)
	})
}

// changedLib returns the name of a shared file that has changed since it was trusted.
func (l *Ledger) changedLib(t *tool.Head, libs func(lib string) string) string {
	for _, lib := range t.Loads {
		if r, known := l.files[folder.ToolsDir+"/"+lib]; !known || r.Text != libs(lib) {
			return lib
		}
	}
	return "a file"
}

// RevokedAny reports whether a script or a file that it loads is revoked. Loaded files
// are beside the script, and need no record of their own.
func (l *Ledger) RevokedAny(name string, loads []string) bool {
	return l.revoked(name) || !l.all && slices.ContainsFunc(loads, func(lib string) bool { return l.files[path.Join(path.Dir(name), lib)].Revoked })
}

// OwnProject reports whether all of the project is trusted, or is the user's own work.
func (l *Ledger) OwnProject() bool { return l.all || l.author }

// Reviewed reports whether the names in a project may be shown to models: it is the user's
// own, or they have once reviewed all of it.
func (l *Ledger) Reviewed() bool { return l.OwnProject() || l.seen != identity.Identity{} }

// Author reports whether the project is marked as the user's own.
func (l *Ledger) Author() bool { return l.author }

// Record returns the record of a file.
func (l *Ledger) Record(name string) (Record, bool) {
	r, known := l.files[name]
	return r, known
}

// revoked reports whether a file is untrusted with any text.
func (l *Ledger) revoked(name string) bool {
	r, known := l.files[name]
	return !l.all && (r.Revoked || !known && !l.author)
}
