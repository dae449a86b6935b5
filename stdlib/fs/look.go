package fs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An fsLook is what one effect sees of the files: the disk, and over it what
// the effect's call has staged. Without a stage it is the disk alone.
type look struct {
	w     *Files
	ctx   context.Context
	stage *tool.Stage
	check func(tool.Capability) error // nil allows nothing
	notes bool                        // what is seen is noted in the stage

	staged map[string][]string // the staged names by folder; made when first needed
	budget int                 // how many names this effect may still meet
	strict bool                // what cannot be named or read is an error, not left out
}

// fsWalkEntries is how many names one effect may meet while it walks a tree: a
// large repository has fewer, and meeting them takes about a second.
const fsWalkEntries = 100_000

func (w *Files) look(ctx context.Context, g tool.Grant) *look {
	return &look{w: w, ctx: ctx, stage: g.Stage, check: g.Check, notes: g.Stage != nil && !g.ReadsOnly, budget: fsWalkEntries}
}

// allows asks whether the call may use a capability beyond those that its
// arguments named.
func (l *look) allows(c tool.Capability) error {
	if l.check == nil {
		return value.Errorf(value.Denied, "%s is not granted", c)
	}
	return l.check(c)
}

// An fsSpot is where a path leads: what is there and the open folder that holds
// it. Between a look and an act on it, the folder stays the same one, whatever
// happens to its name.
type spot struct {
	look   *look
	asked  string          // the path that was asked for
	path   string          // where it leads, every link followed
	name   string          // the last part of path
	dir    *os.Root        // what holds it; nil where that is not on disk
	own    bool            // close dir with the spot
	disk   fs.FileInfo     // what is on disk and not staged over, of the thing itself; nil is nothing
	staged *tool.FileState // what the call has made of it, or nil
	behind string          // a file that stands where a folder would have to be, or ""
	slash  bool            // it was asked for as a folder, with a slash at the end
}

// An fsKind says what is at a spot.
type spotKind string

const (
	fsNothing spotKind = ""
	fsFile    spotKind = "file"
	fsFolder  spotKind = "dir"
	fsOther   spotKind = "other" // a link that was not followed, a pipe, a socket, a device
)

func (s *spot) kind() spotKind {
	switch {
	case s.staged != nil && !s.staged.Exists:
		return fsNothing
	case s.staged != nil && s.staged.Dir:
		return fsFolder
	case s.staged != nil:
		return fsFile
	case s.disk == nil:
		return fsNothing
	case s.disk.Mode().IsRegular():
		return fsFile
	case s.disk.IsDir():
		return fsFolder
	}
	return fsOther
}

func (s *spot) close() {
	if s.own {
		s.dir.Close()
	}
}

// An fsFollow says which links a search for a path follows.
type fsFollow uint8

const (
	fsFollowAll     fsFollow = iota // to read
	fsFollowFolders                 // to write: never through a link in the last place
	fsFollowNone                    // to commit: what was found is still to be there
)

// fsMaxLinks is how many links one path may lead over; Linux follows 40.
const fsMaxLinks = 40

// find looks for a path that [Folder.resolve] gave. That nothing is there is no
// error. Each folder on the way is opened from the one that holds it, and is
// the thing that was looked at, so nobody can slip a link in between.
func (l *look) find(p string, follow fsFollow) (*spot, error) {
	var parts []string
	if p != "." {
		parts = strings.Split(p, "/")
	}
	for range fsMaxLinks {
		d := fsDescent{look: l, asked: p, parts: parts, follow: follow, dir: l.w.Root}
		s, err := d.run()
		if !d.again {
			return s, err
		}
		parts = d.parts
	}
	return nil, value.Errorf(value.Failed, "too many links on the way to %s", l.w.Shown(p))
}

// An fsDescent goes down a path from the root, until it arrives, or meets a link
// and has to begin again with other parts.
type fsDescent struct {
	look   *look
	asked  string
	parts  []string
	follow fsFollow
	dir    *os.Root // where it stands; nil in a folder that is not on disk
	again  bool
}

func (d *fsDescent) run() (*spot, error) {
	if len(d.parts) == 0 {
		info, err := d.dir.Lstat(".")
		if err != nil {
			return nil, d.look.failed("read", ".", err)
		}
		return d.spot(&spot{path: ".", name: ".", disk: info}), nil
	}
	for i := range d.parts {
		s, err := d.step(i)
		if err != nil || s == nil {
			d.leave()
			return nil, err
		}
		if i == len(d.parts)-1 || s.kind() != fsFolder {
			return d.arrive(i, s)
		}
		if err := d.enter(s); err != nil {
			d.leave()
			return nil, err
		}
	}
	panic("stdlib: a descent that does not arrive")
}

// step looks at one part. It returns neither spot nor error where the path goes
// on elsewhere.
func (d *fsDescent) step(i int) (*spot, error) {
	l, name := d.look, d.parts[i]
	if name == ".." { // only from a link; what is before it is no link, so the text decides
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
		return nil, l.failed("read", d.asked, err)
	}
	last := i == len(d.parts)-1
	if s.disk != nil && s.disk.Mode()&fs.ModeSymlink != 0 && d.follow != fsFollowNone && (!last || d.follow == fsFollowAll) {
		return nil, d.turn(i)
	}
	return d.spot(s), nil
}

// turn puts where a link leads in the place of its name.
func (d *fsDescent) turn(i int) error {
	target, err := d.dir.Readlink(d.parts[i])
	if err != nil {
		return d.look.failed("read", d.asked, err)
	}
	if d.look.w.Absolute(target) {
		return d.escapes()
	}
	parts := slices.Clone(d.parts[:i])
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	parts = append(parts, d.parts[i+1:]...)
	if len(parts) > fsMaxDepth {
		return value.Errorf(value.Failed, "too many folders on the way to %s", d.look.w.Shown(d.asked))
	}
	d.parts, d.again = parts, true
	return nil
}

func (d *fsDescent) escapes() error {
	return value.Errorf(value.Security, "%s is a link that leads out of the project", d.look.w.Shown(d.asked)).
		WithHint("links must be relative and stay inside the project")
}

// enter goes into a folder.
func (d *fsDescent) enter(s *spot) error {
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

func (d *fsDescent) leave() {
	if d.dir != nil && d.dir != d.look.w.Root {
		d.dir.Close()
	}
	d.dir = nil
}

// arrive ends a descent: at the last part, or before it where nothing goes on.
func (d *fsDescent) arrive(i int, s *spot) (*spot, error) {
	if i == len(d.parts)-1 {
		s.own = d.dir != nil && d.dir != d.look.w.Root
		return s, nil
	}
	d.leave()
	if s.disk != nil && s.disk.Mode()&fs.ModeSymlink != 0 {
		return nil, d.look.changed(d.asked)
	}
	if slices.Contains(d.parts[i+1:], "..") {
		return nil, value.Errorf(value.Failed, "%s is a link to nothing", d.look.w.Shown(d.asked))
	}
	end := &spot{path: strings.Join(d.parts, "/"), name: d.parts[len(d.parts)-1]}
	if st, ok := d.look.stage.Changed(end.path); ok {
		end.staged = &st // gone with the folder that it was in
	}
	if s.kind() != fsNothing {
		end.behind = s.path
	}
	return d.spot(end), nil
}

func (d *fsDescent) spot(s *spot) *spot {
	s.look, s.asked, s.dir = d.look, d.asked, d.dir
	return s
}

// openFolder opens the folder at a spot: the very one that was looked at.
func (l *look) openFolder(s *spot) (*os.Root, error) {
	// The "/." makes it an error to open anything but a folder; a pipe that has
	// taken its place would else be waited for.
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

// cannotOpen words an error of opening what was looked at: another thing may
// have taken its place.
func (s *spot) cannotOpen(err error) error {
	info, gone := s.dir.Lstat(s.name)
	if gone != nil || !os.SameFile(info, s.disk) || info.Mode().Type() != s.disk.Mode().Type() {
		return s.look.changed(s.asked)
	}
	return s.look.failed("read", s.asked, err)
}

// read returns the content of the regular file at a spot, in the buffer where that is
// large enough.
func (s *spot) read(limit int64, buf []byte) ([]byte, error) {
	if s.staged != nil {
		return s.staged.Data, nil
	}
	data, _, err := s.readDisk(limit, buf)
	return data, err
}

// fsBufferSize holds most texts.
const fsBufferSize = 32 << 10

// buffer returns an empty buffer for what is copied from it. Give it back with
// w.buffers.Put.
func (w *Files) buffer() *[]byte {
	if b, ok := w.buffers.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, fsBufferSize)
	return &b
}

// openDisk opens what is on disk, and never waits: not for a pipe.
func (s *spot) openDisk() (*os.File, fs.FileInfo, error) {
	if !s.disk.Mode().IsRegular() {
		return nil, nil, s.irregular()
	}
	f, err := s.dir.OpenFile(s.name, os.O_RDONLY|fsNoWait, 0)
	if err != nil {
		return nil, nil, s.cannotOpen(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = s.look.failed("read", s.asked, err)
	case !info.Mode().IsRegular() || !os.SameFile(info, s.disk):
		err = s.look.changed(s.asked)
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

// readDisk reads what is on disk, into the buffer where that is large enough, and does
// not wait for a file without end.
func (s *spot) readDisk(limit int64, buf []byte) ([]byte, fs.FileInfo, error) {
	f, info, err := s.openDisk()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, nil, s.tooLarge(limit)
	}
	if size := max(info.Size()+1, 512); int64(cap(buf)) < size { // of some files the size says nothing
		buf = make([]byte, 0, size)
	}
	data, err := fsReadAll(io.LimitReader(f, limit+1), buf[:0], info.Size())
	switch {
	case err != nil:
		return nil, nil, s.look.failed("read", s.asked, err)
	case int64(len(data)) > limit:
		return nil, nil, s.tooLarge(limit)
	}
	return data, info, nil
}

// fsReadAll is io.ReadAll into a buffer that has, if the size is right, capacity for
// everything and one byte more. Where a read that could have returned that byte ends
// at the size, the file does too; a size of 0 says nothing.
func fsReadAll(r io.Reader, b []byte, size int64) ([]byte, error) {
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

// state returns what is on disk at a spot as a stage notes it, with content. A
// link, a pipe or a file of several names is refused: replacing it would do
// something else than it seems.
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
	if fsLinks(info) > 1 {
		return tool.FileState{}, nil, value.Errorf(value.Denied, "%s is one of several names of a file (a hard link), which may lie outside the project", s.look.w.Shown(s.asked)).
			WithHint("let a person replace it by a copy")
	}
	return tool.FileState{Exists: true, Mode: uint32(info.Mode().Perm()), Data: data, Hash: tool.HashBytes(data)}, info, nil
}
