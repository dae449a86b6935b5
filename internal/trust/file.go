package trust

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A File is a file of a project that needs its user's trust, as it was at the review.
type File struct {
	Path     string // from the project's root, with slashes
	Kind     Kind
	Text     string
	TextHash string
	Hash     string          // of a tool's file and the files it loads; otherwise TextHash
	Tool     *tool.Described // the declaration of a tool's file; otherwise nil
	Status
	Was     *Record // what was trusted before, or nil
	OldText string  // the text of Was, if HasOld
	HasOld  bool
}

// A Review is the state of all files of a project that need trust.
type Review struct {
	Root   string
	Author bool // the project is marked as the user's own
	Files  []File
	// Broken are the errors of files that cannot be reviewed, and thus cannot be used.
	Broken []*value.Error
}

// Untrusted returns the untrusted files: first the files that tools load, then the
// tools, then the rest.
func (r *Review) Untrusted() []File {
	return slices.DeleteFunc(slices.Clone(r.Files), func(f File) bool { return f.Trusted })
}
