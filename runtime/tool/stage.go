package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
)

// A Stage holds what one call has done to files, until it is committed or
// dropped: the call itself sees its own changes, nobody else does. It is plain
// data; the functions that read and write files fill it and carry it out.
// A Stage belongs to one call and is not safe for concurrent use.
type Stage struct {
	seen    map[string]FileState // what the call first saw of each path
	changes map[string]FileState // what each changed path is to become
	done    StageSize            // what the call has committed before
}

// A StageSize is how much a call writes, for the limits of a call.
type StageSize struct {
	Files, Folders int
	Written        int64 // bytes of new content
	Kept           int64 // bytes of old content, kept to undo the change
}

// A FileState is what is at a path: nothing (the zero value), a directory, or
// a file with its content.
type FileState struct {
	Exists bool
	Dir    bool
	Mode   uint32 // permission bits
	Data   []byte // a file's content; of what was seen, only where it was read
	Hash   string // of a file's content, see [HashBytes]
}

// A Change is what a stage will do to one path.
type Change struct {
	Path   string // relative to the project, with slashes
	Before FileState
	After  FileState
	// Diff is the unified diff of a file of text. It is set in a [Question]; it is
	// "" where a side is binary, was not read or is too large to compare.
	Diff string
}

// HashBytes names content: the SHA-256 of it in hexadecimal.
func HashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Empty reports whether there is nothing to commit.
func (s *Stage) Empty() bool { return s == nil || len(s.changes) == 0 }

// Saw notes what is on disk at a path, the first time the call looks; a later
// look may add the content. A commit fails where the disk no longer agrees.
func (s *Stage) Saw(path string, st FileState) {
	if s.seen == nil {
		s.seen = map[string]FileState{}
	}
	if old, ok := s.seen[path]; !ok || old.Data == nil && old.Exists == st.Exists && old.Dir == st.Dir && old.Hash == st.Hash {
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
