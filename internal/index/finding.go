package index

import (
	"sync/atomic"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Stamp identifies a version of a file.
type Stamp struct {
	Size  int64
	Mtime int64  // Unix nanoseconds
	Hash  string // of the content
	Text  string // the content, if it was read
}

// A Finding is the result of reading one file.
type Finding struct {
	Name  string // relative to the folder
	Stamp Stamp
	Libs  string // the hash of the shared files it depends on
	Hash  string // of the content and of those; "" if it is broken
	// The result is an error or a tool: decoded, or encoded with its head as in an index.
	Err     *value.Error
	Head    *tool.Head // of the tool
	Tool    *tool.Described
	head    pack.Raw
	encoded pack.Raw
	Good    *Finding                     // of a broken file: its last good version, or nil
	Kept    *atomic.Pointer[tool.Script] // the tool's source, after it was read; nil holds none
}

// Declared returns the tool that the file declares.
func (r *Finding) Declared() (tool.Described, error) {
	if r.Tool != nil {
		return *r.Tool, nil
	}
	var t tool.Described
	if err := pack.Decode(string(r.encoded), &t); err != nil {
		return tool.Described{}, value.Errorf(value.Failed, "read a tool from the index: %w", err).WithHint("rebuild the index with: cassidy tool refresh")
	}
	return t, nil
}

// LastGood returns the finding, or that of the file's last good version. It is nil if
// its source was not read.
func (r *Finding) LastGood() *Finding {
	switch {
	case r.Err == nil && r.Kept != nil && r.Kept.Load() != nil:
		return r
	case r.Err != nil:
		return r.Good
	}
	return nil
}
