package trust

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Ledger is what is trusted of one project, as it was when it was read.
type Ledger struct {
	all     bool // everything is, for as long as the process lives
	author  bool // the project is the user's own
	damaged bool // there was a record, and it cannot be read
	// unknowable says that nothing could be recorded: the files are in no folder.
	unknowable bool
	files      map[string]Record
	needs      []tool.Capability // of all files, once they were asked for
}

// allNeeds returns every capability that is trusted in the project.
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

// What the user should type; every reason why a file is not trusted ends so.
const runTrust = "; run cassidy trust"

// File says why a file with this text is not trusted; "" means that it is.
func (l *Ledger) File(kind Kind, name, text string) string {
	r, known := l.files[name]
	switch {
	case l.all:
		return ""
	case known && r.Revoked:
		return "its trust was taken back" + runTrust
	case known && r.Text == text:
		return ""
	case kind != KindServers && (l.author || known && r.Own):
		return "" // edits of one's own; a list of servers starts programs, so each is asked about
	}
	return l.unknown(known)
}

func (l *Ledger) unknown(known bool) string {
	switch {
	case l.unknowable:
		return "it is in no folder that could be reviewed: set Options.TrustSource"
	case known:
		return "it has changed since it was trusted" + runTrust
	case l.damaged:
		return "the record of what is trusted here is damaged" + runTrust
	}
	return "nobody has reviewed it yet" + runTrust
}

// Tool says why a tool is not trusted, "" meaning that it is, and what it is
// granted. text is the hash of its own file, libs returns those of the shared files.
func (l *Ledger) Tool(t *tool.Head, text string, libs func(lib string) string) (granted []tool.Capability, reason string) {
	if l.all {
		return t.Needs, ""
	}
	for _, lib := range t.Loads {
		if r, known := l.files[folder.ToolsDir+"/"+lib]; known && r.Revoked {
			return nil, "the trust of " + lib + ", which it loads, was taken back" + runTrust
		}
	}
	r, known := l.files[t.Path]
	switch {
	case known && r.Revoked:
		return nil, "its trust was taken back" + runTrust
	case known && r.Hash == t.Hash && r.Kind == KindTool:
		return r.Needs, ""
	case l.author || known && r.Own:
		return l.own(t, text, libs)
	case known && r.Text == text:
		return nil, l.changedLib(t, libs) + ", which it loads, has changed since it was trusted" + runTrust
	}
	return nil, l.unknown(known)
}

// own judges a tool that its user has written: one that he has trusted before
// may change, and in his own project there may be new ones, while no
// capability is added to what was recorded.
func (l *Ledger) own(t *tool.Head, text string, libs func(lib string) string) (granted []tool.Capability, reason string) {
	r, known := l.files[t.Path]
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
		return nil, "it now also needs " + strings.Join(added, ", ") + runTrust
	case len(added) > 0:
		return nil, "it is new, and needs " + strings.Join(added, ", ") + runTrust
	}
	for _, lib := range t.Loads { // in another's project it may load what is not the user's own
		if l.File(KindLib, folder.ToolsDir+"/"+lib, libs(lib)) != "" {
			return nil, lib + ", which it loads, is not trusted" + runTrust
		}
	}
	if known {
		return had, ""
	}
	return t.Needs, ""
}

// raised says which limits of a tool are above those that were recorded of it,
// or above the usual.
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

// harmless reports whether a capability gives nothing that the built-in tools
// do not give to every model: looking at the project, by who can do no more.
func harmless(c tool.Capability) bool { return c.Name == "fs.read" || c.Name == "context.read" }

// coveredBy reports whether a set of capabilities holds one that is declared,
// or a wider one. Patterns are compared as they are written.
func coveredBy(set []tool.Capability, c tool.Capability) bool {
	return slices.ContainsFunc(set, func(had tool.Capability) bool {
		sameName := had.Name == c.Name || had.Name == "http" && strings.HasPrefix(c.Name, "http.")
		return sameName && (had.Target == "" || had.Target == c.Target)
	})
}

// changedLib names a shared file that is not as it was trusted.
func (l *Ledger) changedLib(t *tool.Head, libs func(lib string) string) string {
	for _, lib := range t.Loads {
		if r, known := l.files[folder.ToolsDir+"/"+lib]; !known || r.Text != libs(lib) {
			return lib
		}
	}
	return "a file"
}

// RevokedAny reports whether a script is revoked, or the trust of one of the files that
// it loads was. Those lie beside it, and need no record of their own.
func (l *Ledger) RevokedAny(name string, loads []string) bool {
	return l.revoked(name) || !l.all && slices.ContainsFunc(loads, func(lib string) bool { return l.files[path.Join(path.Dir(name), lib)].Revoked })
}

// OwnProject reports whether all of the project is trusted, or is the user's own work.
func (l *Ledger) OwnProject() bool { return l.all || l.author }

// Author reports whether the project is marked as the user's own.
func (l *Ledger) Author() bool { return l.author }

// Record returns what was trusted of a file.
func (l *Ledger) Record(name string) (Record, bool) {
	r, known := l.files[name]
	return r, known
}

// revoked reports whether nothing of a file is trusted, however it reads.
func (l *Ledger) revoked(name string) bool {
	r, known := l.files[name]
	return !l.all && (r.Revoked || !known && !l.author)
}
