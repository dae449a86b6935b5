package project

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
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

// An index is what a load found in one folder, kept in the user's cache so
// that the next load need read only what has changed. Losing it costs time and
// nothing else, so whatever is odd about it makes it empty. It does not change.
type index struct {
	reader   string    // who described the files
	written  int64     // Unix nanoseconds
	findings []finding // by name
	libs     map[string]stamped
}

// indexVersion begins every index. It changes whenever the same file would be
// read as another tool than before, and with the form. A checksum of the rest
// follows.
const indexVersion = "cassidy tools 2\n"

// youngAge is how old a file must have been when its stamp was noted for the
// stamp to be believed: a file system may give two writes one time.
const youngAge = 2 * time.Second

// trusts reports whether a file with this stamp is still the one that was
// noted with the old one.
func (x *index) trusts(old, now stamped) bool {
	return old.size == now.size && old.mtime == now.mtime && x.written-old.mtime > int64(youngAge)
}

// find returns what the index holds of a file. A tool whose head cannot be decoded is
// not found.
func (x *index) find(name string) (finding, bool) {
	i, ok := slices.BinarySearchFunc(x.findings, name, func(f finding, name string) int { return strings.Compare(f.name, name) })
	if !ok {
		return finding{}, false
	}
	f := x.findings[i]
	if f.head == nil && f.err == nil {
		h, err := tool.DecodeHead(f.encoded)
		if err != nil {
			return finding{}, false
		}
		f.head = &h
	}
	return f, true
}

// sorted returns findings in the order of an index.
func sorted(findings []finding) []finding {
	byName := func(a, b finding) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(findings, byName) {
		findings = slices.Clone(findings)
		slices.SortStableFunc(findings, byName)
	}
	return findings
}

// indexFile is where the index lies of a folder with these files, or "". That of
// files without a folder is found by their names.
func (f *folder) indexFile(entries []fs.DirEntry) string {
	if f.opts.Cache == "" {
		return ""
	}
	of := f.place.dir
	switch {
	case f.place.location == tool.Builtin:
		of = "builtin"
	case f.place.files != nil:
		of = "files"
		for _, e := range entries {
			of += "\n" + e.Name()
		}
	}
	return filepath.Join(f.opts.Cache, "tools-"+tool.HashBytes([]byte(of))[:16]+".idx")
}

// readIndex reads an index, or returns an empty one.
func readIndex(file, reader string) *index {
	if file == "" {
		return &index{}
	}
	f, err := os.Open(file)
	if err != nil {
		return &index{}
	}
	defer f.Close()
	x, err := decodeIndex(f)
	if err != nil || x.reader != reader {
		return &index{}
	}
	return x
}

var errIndex = errors.New("the index is damaged")

// maxIndex is more than any index is long, in bytes.
const maxIndex = 1 << 30

// decodeIndex reads an index. The tools in it stay encoded until they are asked for.
func decodeIndex(from io.Reader) (*index, error) {
	var head [len(indexVersion) + 4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil || string(head[:len(indexVersion)]) != indexVersion {
		return nil, errIndex
	}
	var body strings.Builder // which gives its text away without a copy
	if file, ok := from.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Size() <= maxIndex {
			body.Grow(int(info.Size()))
		}
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(io.MultiWriter(&body, sum), io.LimitReader(from, maxIndex)); err != nil || sum.Sum32() != binary.LittleEndian.Uint32(head[len(indexVersion):]) {
		return nil, errIndex
	}
	r := indexReader{rest: body.String()}
	x := &index{reader: r.text(), written: r.int()}
	n := r.count()
	x.libs = make(map[string]stamped, n)
	for range n {
		name := r.text()
		x.libs[name] = r.stamp()
	}
	n = r.count()
	x.findings = make([]finding, n)
	for i := range x.findings {
		f := &x.findings[i]
		r.finding(f)
		r.bad = r.bad || i > 0 && f.name < x.findings[i-1].name
	}
	if r.bad || r.rest != "" {
		return nil, errIndex
	}
	return x, nil
}

// An indexReader reads the parts of an index. Its strings share the memory of
// the whole.
type indexReader struct {
	rest string
	bad  bool
}

func (r *indexReader) int() int64 {
	var u uint64
	for shift := 0; shift < 64; shift += 7 {
		if r.rest == "" {
			break
		}
		c := r.rest[0]
		r.rest = r.rest[1:]
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u)
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

// count reads how many things follow, each of at least one byte.
func (r *indexReader) count() int {
	n := r.int()
	if n < 0 || n > int64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return 0
	}
	return int(n)
}

func (r *indexReader) text() string {
	n := r.count()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *indexReader) stamp() stamped {
	return stamped{size: r.int(), mtime: r.int(), hash: r.text()}
}

func (r *indexReader) finding(f *finding) {
	f.name, f.stamp, f.libs = r.text(), r.stamp(), r.text()
	if r.int() == 0 {
		f.encoded = r.text()
		return
	}
	kind := r.int()
	r.bad = r.bad || kind < 0 || kind > int64(value.LastKind)
	f.err = &value.Error{Kind: value.Kind(kind), Op: r.text(), Err: errors.New(r.text()), Hint: r.text(), Limit: value.LimitName(r.text()),
		Pos: value.Position{File: r.text(), Line: int(r.int()), Col: int(r.int())}}
}

// writeIndex writes an index beside its place and moves it there, so that a
// reader sees the old one or the new one.
func writeIndex(file string, x *index) error {
	if file == "" {
		return nil
	}
	data, err := encodeIndex(x)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".idx-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

func encodeIndex(x *index) ([]byte, error) {
	const head = len(indexVersion) + 4
	w := indexWriter{buf: make([]byte, head, head+len(x.findings)*600)} // a guess
	w.text(x.reader)
	w.int(x.written)
	w.int(int64(len(x.libs)))
	for name, s := range x.libs {
		w.text(name)
		w.stamp(s)
	}
	findings := sorted(x.findings)
	w.int(int64(len(findings)))
	for i := range findings {
		if err := w.finding(&findings[i]); err != nil {
			return nil, err
		}
	}
	copy(w.buf, indexVersion)
	binary.LittleEndian.PutUint32(w.buf[len(indexVersion):], crc32.ChecksumIEEE(w.buf[head:]))
	return w.buf, nil
}

type indexWriter struct {
	buf  []byte
	tool []byte // the last one
}

func (w *indexWriter) int(i int64) { w.buf = binary.AppendUvarint(w.buf, uint64(i)) }

func (w *indexWriter) text(s string) {
	w.int(int64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *indexWriter) stamp(s stamped) {
	w.int(s.size)
	w.int(s.mtime)
	w.text(s.hash)
}

func (w *indexWriter) finding(f *finding) error {
	w.text(f.name)
	w.stamp(f.stamp)
	w.text(f.libs)
	if f.err == nil && f.tool == nil {
		w.int(0)
		w.text(f.encoded)
		return nil
	}
	if f.err == nil {
		var err error
		w.tool, err = tool.AppendTool(w.tool[:0], f.tool)
		w.int(0)
		w.int(int64(len(w.tool)))
		w.buf = append(w.buf, w.tool...)
		return err
	}
	w.int(1)
	w.int(int64(f.err.Kind))
	for _, s := range []string{f.err.Op, f.err.Err.Error(), f.err.Hint, string(f.err.Limit), f.err.Pos.File} {
		w.text(s)
	}
	w.int(int64(f.err.Pos.Line))
	w.int(int64(f.err.Pos.Col))
	return nil
}
