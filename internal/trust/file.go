package trust

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A File is a file of a project that counts only when its user trusts it, as it
// read when it was reviewed.
type File struct {
	Path     string // from the project's root, with slashes
	Kind     Kind
	Text     string
	TextHash string
	Hash     string     // of a tool's file with what it loads; else TextHash
	Tool     *tool.Tool // what a tool's file declares; else nil
	Reason   string     // why it is not trusted, or "" where it is
	Was      *Record    // what was trusted of it before, or nil
	OldText  string     // how it read then, where HasOld
	HasOld   bool
}

// A Review is everything in a project that asks for trust.
type Review struct {
	Root   string
	Author bool // the project is marked as the user's own
	Files  []File
	// Broken are the files that cannot be reviewed, and so cannot be used.
	Broken []*value.Error
}

// Untrusted returns the files that are not trusted: what tools load first,
// then the tools, then the rest.
func (r *Review) Untrusted() []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return f.Reason == "" })
}
