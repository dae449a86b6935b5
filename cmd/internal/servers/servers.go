// Package servers attaches MCP servers to the host of a command: those that the project names in
// .cassidy/mcp.json, once it is trusted, and those that the user names in mcp.json of their folder.
//
// Attaching starts nothing. The tools of a server are those that the user has reviewed, and which
// are in the record of what they trust. The first call starts the server.
package servers

import (
	"slices"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options say where servers are named and what they get.
type Options struct {
	Root    string // of the project, or the working folder
	Scope   *trust.Scope
	Env     func(name string) (string, bool)
	Launch  tool.Launcher // nil if programs cannot be confined
	Version string        // of cassidy
	Tokens  string        // the folder of what the user has signed in with
	Changes string        // the folder of the notes about servers that differ from their review, or ""
	// Secrets returns the files of secrets, none of which a server may be able to read. Nil means that there are none.
	Secrets func() ([]string, error)
}

// An Entry is a server that a file names.
type Entry struct {
	mcpfile.Found
	base    string // the folder under which its review is recorded
	Program string // a file of the project that it starts, and that is untrusted; or ""
}

// Entries returns the servers of the project and of the user, and the errors of their files.
func (o *Options) Entries() (entries []Entry, broken []*value.Error) {
	l := mcpfile.List(o.Root, o.Scope)
	return o.entriesOf(&l), l.Broken
}

func (o *Options) entriesOf(l *mcpfile.Listing) []Entry {
	return value.Map(l.Servers, func(f mcpfile.Found) Entry {
		e := Entry{Found: f, base: o.Root}
		if f.Location == tool.Personal {
			e.base = o.Scope.Home
		}
		if program, reason := o.unreviewed(&e); e.Trusted && program != "" {
			e.Status, e.Program = trust.Status{Reason: reason}, program
		}
		return e
	})
}

// unreviewed returns a file of the project that the command line of a server names and that is not as
// its user has reviewed it, and the reason; or "".
func (o *Options) unreviewed(e *Entry) (file, reason string) {
	if e.Command == "" || o.Root == "" {
		return "", ""
	}
	p, err := protect.Open(o.Root)
	if err != nil {
		return "", "" // it cannot be started there
	}
	defer p.Root.Close()
	files, err := p.Files([]protect.Program{programOf(&e.Server)})
	if err != nil {
		return e.Path, folder.FileError(err, e.Path).Message()
	}
	if len(files) == 0 {
		return "", ""
	}
	ledger := o.Scope.Ledger(o.Root)
	for _, f := range files {
		if s := ledger.File(trust.KindProgram, f.Path, tool.HashBytes([]byte(f.Text))); !s.Trusted {
			return f.Path, s.Reason
		}
	}
	return "", ""
}

// programOf returns what is protected of a server's program.
func programOf(s *mcpfile.Server) protect.Program {
	env := map[string]string{}
	for _, v := range s.Env {
		env[v.Name] = v.Value
	}
	return protect.Program{Command: s.Command, Args: s.Args, Env: env, Dir: s.Dir, Writes: s.Write}
}

// programError returns the error of a server whose program is untrusted.
func (e *Entry) programError(file, reason string) *value.Error {
	return value.Errorf(value.Denied, "the server %s is not started: %s is untrusted: %s", e.Name, file, reason).WithHint("%s", reviewHint(file))
}

func reviewHint(file string) string {
	return "see what has changed, and review it: " + commandLine([]string{"cassidy", "trust", file})
}

// ReviewHint returns what to type if the server is untrusted.
func (e *Entry) ReviewHint() string {
	if e.Program != "" {
		return reviewHint(e.Program)
	}
	return "review the servers of the project with: cassidy trust " + mcpfile.Name
}

// Find returns the entry of a name. It fails with kind NotFound if no file has it, and with kind
// Denied if its file is not trusted.
func (o *Options) Find(name string) (*Entry, error) {
	entries, broken := o.Entries()
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
	switch {
	case i >= 0 && entries[i].Program != "":
		return nil, entries[i].programError(entries[i].Program, entries[i].Reason)
	case i >= 0 && !entries[i].Trusted:
		return nil, value.Errorf(value.Denied, "the server %s is not used: %s is untrusted", name, entries[i].Path).WithHint("review the file with: cassidy trust")
	case i >= 0:
		return &entries[i], nil
	case len(broken) > 0:
		return nil, broken[0]
	}
	return nil, mcpfile.NoServer(name, value.Map(entries, func(e Entry) string { return e.Name }))
}

// record is the name of the review of a server's tools, in the record of its base.
func (e *Entry) record() string { return "mcp:" + e.Name }

// Reviewed returns the tools of a server that the user has reviewed. ok is false if there are none.
func (o *Options) Reviewed(e *Entry) (tools attached.Set, ok bool) {
	r, known := o.Scope.Ledger(e.base).Record(e.record())
	if !known || r.Revoked || r.Kind != trust.KindServerTools {
		return attached.Set{}, false
	}
	text, kept := o.Scope.Trust.KeptText(e.base, r.Text)
	if !kept {
		return attached.Set{}, false
	}
	tools, err := attached.ParseSet(text)
	return tools, err == nil
}

// Accept records that the user has reviewed the tools of a server.
func (o *Options) Accept(e *Entry, tools attached.Set) error {
	o.compared(e, tools, "")
	text := tools.Text()
	hash := tool.HashBytes([]byte(text))
	return o.Scope.Trust.Record(e.base, []trust.File{{Path: e.record(), Kind: trust.KindServerTools, Text: text, TextHash: hash, Hash: hash}}, false)
}
