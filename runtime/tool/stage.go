package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Stage holds the changes of one call to files, until they are committed or dropped:
// only the call itself sees them. It is plain data; the functions that read and write
// files fill and commit it. It is not safe for concurrent use.
type Stage struct {
	seen    map[string]FileState // what the call first saw of each path
	changes map[string]FileState // what each changed path is to become
	done    StageSize            // what the call has committed before
	held    int64                // bytes of the contents in seen and changes
}

// A StageSize is how much a call writes, for the limits of a call.
type StageSize struct {
	Files, Folders int
	Written        int64 // bytes of new content
	Kept           int64 // bytes of old content, kept to undo the change
}

// A FileState is the state of a path: nothing (the zero value), a directory, or a file
// with its content.
type FileState struct {
	Exists bool   `dict:"exists"`
	Dir    bool   `dict:"dir"`
	Mode   uint32 `dict:"mode"` // permission bits
	Hash   string `dict:"hash"` // of a file's content, see [HashBytes]
	Data   []byte `dict:"data"` // a file's content; nil if it was not read, see Known
	// Length is that of the content in bytes, in a recorded question that leaves the content out; else 0.
	Length int `dict:"length,omitempty"`
}

// Known reports whether Data is the complete content of a file. Nothing has an empty content.
func (s *FileState) Known() bool {
	return !s.Dir && (!s.Exists || len(s.Data) > 0 || s.Hash == "" || s.Hash == HashBytes(nil))
}

// Size returns the length of a file's content in bytes.
func (s *FileState) Size() int { return max(len(s.Data), s.Length) }

// Sum returns the recorded form of the state: "" for nothing, "dir", or the hash of a file.
func (s *FileState) Sum() string {
	switch {
	case !s.Exists:
		return ""
	case s.Dir:
		return "dir"
	}
	return s.Hash
}

// ChangeSums returns the [FileState.Sum] before and after each change, by path.
func ChangeSums(changes []Change) *value.Dict {
	d := &value.Dict{}
	for _, c := range changes {
		d.Put(c.Path, value.NewDict("before", c.Before.Sum(), "after", c.After.Sum()))
	}
	return d
}

// A Change is the staged change of one path.
type Change struct {
	Path   string    `dict:"path"` // relative to the project, with slashes
	Before FileState `dict:"before"`
	After  FileState `dict:"after"`
	// Diff is the unified diff of a text file. It is set in a [Question]; it is "" if a
	// side is binary, was not read or is too large to compare.
	Diff string `dict:"diff"`
}

// HashBytes returns the SHA-256 of content in lower-case hexadecimal.
func HashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Empty reports whether there is nothing to commit.
func (s *Stage) Empty() bool { return s == nil || len(s.changes) == 0 }

// Saw notes the state on disk of a path when the call first reads it; a later call may add
// the content. A commit fails if the disk has changed since.
func (s *Stage) Saw(path string, st FileState) {
	if s.seen == nil {
		s.seen = map[string]FileState{}
	}
	if old, ok := s.seen[path]; !ok || old.Data == nil && old.Exists == st.Exists && old.Dir == st.Dir && old.Hash == st.Hash {
		s.held += int64(len(st.Data) - len(old.Data))
		s.seen[path] = st
	}
}

// Seen returns what the call first saw at a path.
func (s *Stage) Seen(path string) (FileState, bool) {
	st, ok := s.seen[path]
	return st, ok
}

// Change stages what a path is to become. [Stage.Saw] must have noted what it is.
func (s *Stage) Change(path string, after FileState) {
	if s.changes == nil {
		s.changes = map[string]FileState{}
	}
	s.held += int64(len(after.Data) - len(s.changes[path].Data))
	s.changes[path] = after
}

// Changed returns what a path is to become, if it is staged.
func (s *Stage) Changed(path string) (FileState, bool) {
	if s == nil {
		return FileState{}, false
	}
	st, ok := s.changes[path]
	return st, ok
}

// Changes returns what is staged, by path.
func (s *Stage) Changes() []Change {
	if s == nil {
		return nil
	}
	list := make([]Change, 0, len(s.changes))
	for path, after := range s.changes {
		list = append(list, Change{Path: path, Before: s.seen[path], After: after})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	return list
}

// Size returns how much the call has written: what is staged and what it has
// committed. A path that ends as it began does not count.
func (s *Stage) Size() StageSize {
	size := s.done
	for path, after := range s.changes {
		size = size.Plus(Change{Path: path, Before: s.seen[path], After: after})
	}
	return size
}

// Held returns how many bytes of content the stage holds. Unlike Size it counts what was changed back,
// and nothing that is committed.
func (s *Stage) Held() int64 { return s.held }

// Plus returns the size with one more change.
func (z StageSize) Plus(c Change) StageSize {
	if c.Before.Exists == c.After.Exists && c.Before.Dir == c.After.Dir && c.Before.Hash == c.After.Hash {
		return z
	}
	if c.Before.Dir || c.After.Dir {
		z.Folders++
	} else {
		z.Files++
	}
	z.Written += int64(len(c.After.Data))
	z.Kept += int64(len(c.Before.Data))
	return z
}

// Minus returns the size without a change that was counted.
func (z StageSize) Minus(c Change) StageSize {
	one := StageSize{}.Plus(c)
	return StageSize{z.Files - one.Files, z.Folders - one.Folders, z.Written - one.Written, z.Kept - one.Kept}
}

// Committed forgets what was staged, now that it is on disk; it still counts
// for [Stage.Size].
func (s *Stage) Committed() { *s = Stage{done: s.Size()} }
