package index

import (
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Stamp is a file as it was seen: enough to know it again.
type Stamp struct {
	Size  int64
	Mtime int64  // Unix nanoseconds
	Hash  string // of the content
	Text  string // the content, if it was read
}

// A Finding is what came of one file.
type Finding struct {
	Name  string // relative to the folder
	Stamp Stamp
	Libs  string // the hash of the shared files it depends on
	// What came of it is an error, or a tool: that is here, or encoded as in an index.
	Err     *value.Error
	Head    *tool.Head // of the tool
	Tool    *tool.Tool
	encoded string
	Good    *Finding                     // of a broken file: what it was before, or nil
	Kept    *atomic.Pointer[tool.Script] // the tool's source, once it was read; nil holds none
}

// Declared returns the tool that the file declares.
func (r *Finding) Declared() (tool.Tool, error) {
	if r.Tool != nil {
		return *r.Tool, nil
	}
	t, err := tool.DecodeTool(r.encoded)
	if err != nil {
		e := value.Errorf(value.Failed, "the index of tools is damaged: %w", err).WithHint("cassidy tool refresh reads all files again")
		e.Pos.File = r.Head.Path
		return tool.Tool{}, e
	}
	return t, nil
}

// LastGood returns the finding, or that of the file before it was broken; nil where
// there is none whose source was read.
func (r *Finding) LastGood() *Finding {
	switch {
	case r.Err == nil && r.Kept != nil && r.Kept.Load() != nil:
		return r
	case r.Err != nil:
		return r.Good
	}
	return nil
}
