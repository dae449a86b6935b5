package fs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A look is the files as one effect sees them: the disk with the staged changes of the call, or
// without a stage the disk alone.
type look struct {
	w     *Files
	ctx   context.Context
	stage *tool.Stage
	check func(tool.Capability) error // nil allows nothing
	notes bool                        // note in the stage what is read
	ruled func(string) string         // see tool.Grant.Narrowed; nil for no rules
	hold  func(int64) error           // see tool.Grant.Hold; nil bounds nothing
	emit  func(tool.Report)           // nil if nobody listens

	staged   map[string][]string // the staged names by folder; computed on first use
	budget   int                 // how many more names this effect may read
	matching time.Duration       // how long patterns were matched
	ignoring int64               // how many bytes of ignore files were read
	strict   bool                // an unreadable or invalid name is an error, not left out
}

// maxWalked is how many names one effect may read while it walks a tree, which takes about a
// second. A large repository has fewer.
const maxWalked = 100_000

func (w *Files) look(ctx context.Context, g tool.Grant) *look {
	return &look{w: w, ctx: ctx, stage: g.Stage, check: g.Check, notes: g.Stage != nil && !g.ReadsOnly, ruled: g.Narrowed, hold: g.Hold, emit: g.Emit, budget: maxWalked}
}

// allows checks a capability that the arguments of the call did not name.
func (l *look) allows(c tool.Capability) error {
	if l.check == nil {
		return value.Errorf(value.Denied, "%s is not granted", c)
	}
	return l.check(c)
}

// A spot is the target of a path: what is there, and its open parent folder. The folder stays
// the same one until the spot is closed, even if it is renamed.
type spot struct {
	look   *look
	asked  string          // the requested path
	path   string          // the target, with all links followed
	name   string          // the last part of path
	dir    *os.Root        // the parent folder; nil if that is not on disk
	own    bool            // close dir with the spot
	disk   fs.FileInfo     // what is on disk and not staged, of a link itself; nil for nothing
	staged *tool.FileState // the staged state, or nil
	behind string          // a file where the path needs a folder, or ""
	slash  bool            // the requested path ends with a slash
}

// A spotKind is what is at a spot.
type spotKind string

const (
	kindNothing spotKind = ""
	kindFile    spotKind = "file"
	kindFolder  spotKind = "dir"
	kindOther   spotKind = "other" // a link that was not followed, a pipe, a socket, a device
)

func (s *spot) kind() spotKind {
	switch {
	case s.staged != nil && !s.staged.Exists:
		return kindNothing
	case s.staged != nil && s.staged.Dir:
		return kindFolder
	case s.staged != nil:
		return kindFile
	case s.disk == nil:
		return kindNothing
	case s.disk.Mode().IsRegular():
		return kindFile
	case s.disk.IsDir():
		return kindFolder
	}
	return kindOther
}

func (s *spot) close() {
	if s.own {
		s.dir.Close()
	}
}

// A followMode is which links a search for a path follows.
type followMode uint8

const (
	followAll     followMode = iota // to read
	followFolders                   // to write: all links except the last part of the path
	followNone                      // to commit: the path was resolved before
)

// maxLinks is how many links one path may follow, as on Linux.
const maxLinks = 40

// find returns the spot of a path from [Folder.Resolve]. A path where there is nothing is not an
// error. Each folder of the path is opened from its parent and compared with what was there,
// so that nobody can replace it by a link.
func (l *look) find(p string, follow followMode) (*spot, error) {
	var parts []string
	if p != "." {
		parts = strings.Split(p, "/")
	}
	for range maxLinks {
		d := descent{look: l, asked: p, parts: parts, follow: follow, dir: l.w.Root}
		s, err := d.run()
		if !d.again {
			return s, err
		}
		parts = d.parts
	}
	return nil, value.Errorf(value.Failed, "too many symbolic links in the path %s", l.w.Shown(p))
}

// A descent follows a path from the root to its end, or to a link, after which it starts again
// with other parts.
type descent struct {
	look   *look
	asked  string
	parts  []string
	follow followMode
	dir    *os.Root // the current folder; nil if that is not on disk
	again  bool
}

func (d *descent) run() (*spot, error) {
	if len(d.parts) == 0 {
		info, err := d.dir.Lstat(".")
		if err != nil {
			return nil, d.look.failed("list", ".", err)
		}
		return d.spot(&spot{path: ".", name: ".", disk: info}), nil
	}
	for i := range d.parts {
		s, err := d.step(i)
		if err != nil || s == nil {
			d.leave()
			return nil, err
		}
		if i == len(d.parts)-1 || s.kind() != kindFolder {
			return d.arrive(i, s)
		}
		if err := d.enter(s); err != nil {
			d.leave()
			return nil, err
		}
	}
	panic("stdlib: the loop over a path did not end")
}

// step returns the spot of one part, or nil without an error if the path continues elsewhere.
func (d *descent) step(i int) (*spot, error) {
	l, name := d.look, d.parts[i]
	if name == ".." { // only from a link; the part before it is not a link, so both can be dropped
		if i == 0 {
			return nil, d.escapes()
		}
		d.parts, d.again = slices.Delete(slices.Clone(d.parts), i-1, i+1), true
		return nil, nil
	}
	s := &spot{path: strings.Join(d.parts[:i+1], "/"), name: name}
	if st, ok := l.stage.Changed(s.path); ok {
		s.staged = &st
		return d.spot(s), nil
	}
	if d.dir == nil {
		return d.spot(s), nil
	}
	info, err := d.dir.Lstat(name)
	switch {
	case err == nil:
		s.disk = info
	case !errors.Is(err, fs.ErrNotExist):
		return nil, l.failed(reading, d.asked, err)
	}
	last := i == len(d.parts)-1
	if s.disk != nil && s.disk.Mode()&fs.ModeSymlink != 0 && d.follow != followNone && (!last || d.follow == followAll) {
		return nil, d.turn(i)
	}
	return d.spot(s), nil
}

// turn replaces the name of a link by its target.
func (d *descent) turn(i int) error {
	target, err := d.dir.Readlink(d.parts[i])
	if err != nil {
		return d.look.failed(reading, d.asked, err)
	}
	if d.look.w.isAbsolute(target) {
		return d.escapes()
	}
	parts := slices.Clone(d.parts[:i])
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	parts = append(parts, d.parts[i+1:]...)
	if len(parts) > maxDepth {
		return value.Errorf(value.Failed, "the path %s has more than %d parts after links are resolved", d.look.w.Shown(d.asked), maxDepth)
	}
	d.parts, d.again = parts, true
	return nil
}

func (d *descent) escapes() error {
	return value.Errorf(value.Security, "%s is a link that leads out of the project", d.look.w.Shown(d.asked)).
		WithHint("use a relative link to a path inside the project")
}

// enter makes a folder the current one.
func (d *descent) enter(s *spot) error {
	if s.staged != nil {
		d.leave()
		return nil
	}
	sub, err := d.look.openFolder(s)
	if err != nil {
		return err
	}
	d.leave()
	d.dir = sub
	return nil
}

func (d *descent) leave() {
	if d.dir != nil && d.dir != d.look.w.Root {
		d.dir.Close()
	}
	d.dir = nil
}

// arrive ends a descent at the last part, or earlier if a part does not exist.
func (d *descent) arrive(i int, s *spot) (*spot, error) {
	if i == len(d.parts)-1 {
		s.own = d.dir != nil && d.dir != d.look.w.Root
		return s, nil
	}
	d.leave()
	if s.disk != nil && s.disk.Mode()&fs.ModeSymlink != 0 {
		return nil, d.look.changed(d.asked)
	}
	if slices.Contains(d.parts[i+1:], "..") {
		return nil, value.Errorf(value.Failed, "%s is a link whose target does not exist", d.look.w.Shown(d.asked))
	}
	end := &spot{path: strings.Join(d.parts, "/"), name: d.parts[len(d.parts)-1]}
	if st, ok := d.look.stage.Changed(end.path); ok {
		end.staged = &st // removed with its folder
	}
	if s.kind() != kindNothing {
		end.behind = s.path
	}
	return d.spot(end), nil
}

func (d *descent) spot(s *spot) *spot {
	s.look, s.asked, s.dir = d.look, d.asked, d.dir
	return s
}

// openFolder opens the folder at a spot, and fails if it was replaced.
func (l *look) openFolder(s *spot) (*os.Root, error) {
	// The "/." makes it an error to open anything but a folder: opening a pipe would block.
	sub, err := s.dir.OpenRoot(s.name + "/.")
	if err != nil {
		return nil, s.cannotOpen(err)
	}
	info, err := sub.Lstat(".")
	if err != nil || !os.SameFile(info, s.disk) {
		sub.Close()
		return nil, l.changed(s.asked)
	}
	return sub, nil
}

// cannotOpen returns the error of opening the thing at a spot, which may have been replaced.
func (s *spot) cannotOpen(err error) error {
	info, gone := s.dir.Lstat(s.name)
	if gone != nil || !os.SameFile(info, s.disk) || info.Mode().Type() != s.disk.Mode().Type() {
		return s.look.changed(s.asked)
	}
	return s.look.failed(reading, s.asked, err)
}

// read returns the content of the regular file at a spot, in buf if that is large enough.
func (s *spot) read(limit int64, buf []byte) ([]byte, error) {
	if s.staged != nil {
		return s.staged.Data, nil
	}
	data, _, err := s.readDisk(limit, buf)
	return data, err
}

// stream opens the regular file at a spot to read it from its beginning. Call done afterwards.
func (s *spot) stream() (in io.Reader, done func(), err error) {
	if s.staged != nil {
		return bytes.NewReader(s.staged.Data), func() {}, nil
	}
	f, _, err := s.openDisk()
	if err != nil {
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}

// bufferSize holds most texts.
const bufferSize = 32 << 10

// buffer returns an empty buffer. Return it with w.buffers.Put after copying its content.
func (w *Files) buffer() *[]byte {
	if b, ok := w.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, bufferSize)
	return &b
}

// openDisk opens the regular file on disk. It never blocks, not even for a pipe.
func (s *spot) openDisk() (*os.File, fs.FileInfo, error) {
	if !s.disk.Mode().IsRegular() {
		return nil, nil, s.irregular()
	}
	f, err := s.dir.OpenFile(s.name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, s.cannotOpen(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = s.look.failed(reading, s.asked, err)
	case !info.Mode().IsRegular() || !os.SameFile(info, s.disk):
		err = s.look.changed(s.asked)
	case s.look.w.HoldsSecret(info) != "":
		err = value.Errorf(value.Denied, "read %s: the file holds a secret, which tools do not get", s.look.w.Shown(s.asked)).
			WithHint("call secret(NAME), and declare the need \"secret:NAME@HOST\"")
	case linkCount(info) > 1 && s.look.ruled != nil && s.look.ruled("fs.read") != "":
		// Another name of it may be one that the rule keeps from the call.
		err = value.Errorf(value.Denied, "read %s: the file has hard links, and may be one of the files that a rule denies: %s", s.look.w.Shown(s.asked), s.look.ruled("fs.read")).
			WithHint("ask the user to replace the file with a copy")
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

// readDisk reads the file on disk, into buf if that is large enough. It fails for a file longer
// than limit.
func (s *spot) readDisk(limit int64, buf []byte) ([]byte, fs.FileInfo, error) {
	f, info, err := s.openDisk()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, nil, s.tooLarge(limit)
	}
	if size := max(info.Size()+1, 512); int64(cap(buf)) < size { // some files report a wrong size
		buf = make([]byte, 0, size)
	}
	data, err := readAll(io.LimitReader(f, limit+1), buf[:0], info.Size())
	switch {
	case err != nil:
		return nil, nil, s.look.failed(reading, s.asked, err)
	case int64(len(data)) > limit:
		return nil, nil, s.tooLarge(limit)
	}
	return data, info, nil
}

// readAll is io.ReadAll into a buffer. With the right size, the buffer has capacity for one byte
// more than the file: a read that does not return this byte has reached the end, which saves
// another read. A size of 0 means unknown.
func readAll(r io.Reader, b []byte, size int64) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF || err == nil && size > 0 && int64(len(b)) == size && len(b) < cap(b) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// state returns what is on disk at a spot, with its content. It fails for a link, for a pipe, and
// for a file with several names, which a change would separate.
func (s *spot) state(limit int64) (tool.FileState, fs.FileInfo, error) {
	switch {
	case s.disk == nil:
		return tool.FileState{}, nil, nil
	case s.disk.IsDir():
		return tool.FileState{Exists: true, Dir: true, Mode: uint32(s.disk.Mode().Perm())}, s.disk, nil
	}
	data, info, err := s.readDisk(limit, nil)
	if err != nil {
		return tool.FileState{}, nil, err
	}
	if linkCount(info) > 1 {
		return tool.FileState{}, nil, value.Errorf(value.Denied, "write %s: the file has hard links, possibly outside the project", s.look.w.Shown(s.asked)).
			WithHint("ask the user to replace the file with a copy")
	}
	return tool.FileState{Exists: true, Mode: uint32(info.Mode().Perm()), Data: data, Hash: tool.HashBytes(data)}, info, nil
}
