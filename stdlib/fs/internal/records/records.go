// Package records writes and reads what the record of a run keeps of a commit: the states of
// its files before and after it.
package records

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The kinds of what is at a path; "" is nothing.
const (
	file   = "file"
	folder = "dir"
)

// KindOf returns the kind of a state: "file", "dir" or "" for nothing.
func KindOf(st tool.FileState) string {
	switch {
	case !st.Exists:
		return ""
	case st.Dir:
		return folder
	}
	return file
}

// Report returns the result of a commit.
func Report(changes []tool.Change) value.List {
	list := make(value.List, len(changes))
	for i, c := range changes {
		action, is := "changed", c.After
		switch {
		case !c.Before.Exists:
			action = "created"
		case !c.After.Exists:
			action, is = "removed", c.Before
		}
		list[i] = value.NewDict("path", c.Path, "kind", KindOf(is), "action", action, "bytes", int64(len(c.After.Data)))
	}
	return list
}

// Undo returns the effect that undoes changes, or nil without changes. For each path it has the
// state before the commit, and the state after it, which must be there to restore it.
func Undo(changes []tool.Change) *tool.Effect {
	if len(changes) == 0 {
		return nil
	}
	files := make(value.List, len(changes))
	for i, c := range changes {
		d := value.NewDict("path", c.Path, "was", KindOf(c.Before), "is", KindOf(c.After))
		if c.Before.Exists {
			d.Put("mode", int64(c.Before.Mode))
		}
		if c.Before.Exists && !c.Before.Dir {
			putContent(d, c)
		}
		if c.After.Exists {
			d.Put("is_mode", int64(c.After.Mode))
			d.Put("is_hash", c.After.Hash)
		}
		files[i] = d
	}
	return &tool.Effect{Func: "fs.restore", Args: value.NewDict("files", files)}
}

// A Part is what a commit has replaced in a file, between a beginning and an end that stayed.
// So the record of a large file has only what was changed.
type Part struct {
	head, tail int64 // the bytes that stayed
	was        []byte
	hash       string // of the file before the commit
}

// leastKept is how many bytes of a file must stay for its record to leave them out.
const leastKept = 1 << 10

// putContent adds the content of a file before a commit, or the part of it that was changed.
func putContent(d *value.Dict, c tool.Change) {
	was, is := c.Before.Data, c.After.Data // the latter is unknown where a crash has interrupted a commit
	head := int64(same(was, is, func(b []byte, i int) byte { return b[i] }))
	tail := int64(same(was[head:], is[min(head, int64(len(is))):], func(b []byte, i int) byte { return b[len(b)-1-i] }))
	if head+tail < leastKept {
		d.Put("content", was)
		return
	}
	d.Put("content", was[head:int64(len(was))-tail])
	d.Put("head", head)
	d.Put("tail", tail)
	d.Put("was_hash", c.Before.Hash)
}

// same counts the bytes at the same places of two texts, up to the first different one.
func same(a, b []byte, at func(b []byte, i int) byte) (n int) {
	for n < len(a) && n < len(b) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// Parts returns the parts of the files in the argument "files" of fs.restore of which the record
// leaves out what stayed, by path. [Restored] has checked the argument.
func Parts(args *value.Dict) map[string]Part {
	parts := map[string]Part{}
	for _, item := range args.Elements("files") {
		if d, ok := item.(*value.Dict); ok && d.Has("was_hash") {
			content, _ := d.Get("content")
			was, _ := content.([]byte)
			parts[d.Text("path")] = Part{d.Int("head"), d.Int("tail"), was, d.Text("was_hash")}
		}
	}
	return parts
}

// Whole returns the content of the file before the commit, from that after the commit. ok is
// false if that is not what the record was made of.
func (p Part) Whole(is []byte) (was []byte, ok bool) {
	if p.head < 0 || p.tail < 0 || p.head > int64(len(is)) || p.tail > int64(len(is))-p.head {
		return nil, false
	}
	was = slices.Concat(is[:p.head], p.was, is[int64(len(is))-p.tail:])
	return was, tool.HashBytes(was) == p.hash
}

// Restored reads the argument "files" of fs.restore: the changes that it makes. It comes from a
// record, which may be damaged, so every part of it is checked; check checks a path. The files
// of [Parts] have no content yet.
func Restored(args *value.Dict, check func(path string) error) ([]tool.Change, error) {
	items := args.Elements("files")
	changes := make([]tool.Change, 0, len(items))
	seen := map[string]bool{}
	for _, item := range items {
		d, ok := item.(*value.Dict)
		if !ok {
			return nil, value.Errorf(value.Invalid, "restore files: expected an object for each file but got %s", value.TypeOf(item))
		}
		c := tool.Change{Path: d.Text("path")}
		if err := check(c.Path); err != nil {
			return nil, err
		}
		if !readStates(&c, d) {
			return nil, value.Errorf(value.Invalid, "restore %s: the record of the file is damaged", c.Path)
		}
		if seen[c.Path] {
			return nil, value.Errorf(value.Invalid, "restore files: %s is listed twice", c.Path)
		}
		seen[c.Path] = true
		changes = append(changes, c)
	}
	return changes, nil
}

func readStates(c *tool.Change, d *value.Dict) (ok bool) {
	if c.After, ok = readState(d.Text("was"), d.Int("mode")); ok && c.After.Exists && !c.After.Dir {
		v, _ := d.Get("content")
		c.After.Data, ok = v.([]byte)
		c.After.Hash = tool.HashBytes(c.After.Data)
		if d.Has("was_hash") {
			c.After.Data, c.After.Hash = nil, d.Text("was_hash")
		}
	}
	if ok {
		c.Before, ok = readState(d.Text("is"), d.Int("is_mode"))
		c.Before.Hash = d.Text("is_hash")
	}
	return ok
}

func readState(kind string, mode int64) (tool.FileState, bool) {
	if mode < 0 || mode > 0o777 {
		return tool.FileState{}, false
	}
	st := tool.FileState{Exists: true, Mode: uint32(mode)}
	switch kind {
	case "":
		return tool.FileState{}, true
	case file:
		return st, true
	case folder:
		st.Dir = true
		return st, true
	}
	return tool.FileState{}, false
}

// OnTheWay reports whether a change is that of a parent folder which a commit made or removed
// with its content. A write needs no capability for parent folders, and neither does its undo.
func OnTheWay(c tool.Change, all []tool.Change) bool {
	if c.Before.Exists && !c.Before.Dir || c.After.Exists && !c.After.Dir {
		return false
	}
	return slices.ContainsFunc(all, func(other tool.Change) bool { return strings.HasPrefix(other.Path, c.Path+"/") })
}

// Reversed returns the changes that revert changes.
func Reversed(changes []tool.Change) []tool.Change {
	return value.Map(changes, func(c tool.Change) tool.Change { return tool.Change{Path: c.Path, Before: c.After, After: c.Before} })
}

// Content returns the content of a file as a value, or nil.
func Content(st tool.FileState) value.Value {
	if !st.Exists || st.Dir {
		return nil
	}
	return st.Data
}
