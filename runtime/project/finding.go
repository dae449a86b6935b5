package project

import (
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stamped is a file as it was seen: enough to know it again.
type stamped struct {
	size  int64
	mtime int64  // Unix nanoseconds
	hash  string // of the content
	text  string // the content, if it was read
}

// A finding is what came of one file.
type finding struct {
	name  string // relative to the folder
	stamp stamped
	libs  string // the hash of the shared files it depends on
	// What came of it is an error, or a tool: that is here, or encoded as in an index.
	err     *value.Error
	head    *tool.Head // of the tool
	tool    *tool.Tool
	encoded string
	good    *finding                     // of a broken file: what it was before, or nil
	kept    *atomic.Pointer[tool.Script] // the tool's source, once it was read; nil holds none
}

// declared returns the tool that the file declares.
func (r *finding) declared() (tool.Tool, error) {
	if r.tool != nil {
		return *r.tool, nil
	}
	t, err := tool.DecodeTool(r.encoded)
	if err != nil {
		e := value.Errorf(value.Failed, "the index of tools is damaged: %w", err).WithHint("cassidy tool refresh reads all files again")
		e.Pos.File = r.head.Path
		return tool.Tool{}, e
	}
	return t, nil
}

// lastGood returns the finding, or that of the file before it was broken; nil where
// there is none whose source was read.
func (r *finding) lastGood() *finding {
	switch {
	case r.err == nil && r.kept != nil && r.kept.Load() != nil:
		return r
	case r.err != nil:
		return r.good
	}
	return nil
}
