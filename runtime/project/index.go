package project

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
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
	r := newPackReader(body.String())
	x := &index{reader: r.Text(), written: r.Int()}
	n := r.Count()
	x.libs = make(map[string]stamped, n)
	for range n {
		name := r.Text()
		x.libs[name] = readStamp(r)
	}
	n = r.Count()
	x.findings = make([]finding, n)
	for i := range x.findings {
		f := &x.findings[i]
		readFinding(r, f)
		r.Check(i == 0 || f.name >= x.findings[i-1].name)
	}
	if !r.Done() {
		return nil, errIndex
	}
	return x, nil
}

func readStamp(r *packReader) stamped {
	return stamped{size: r.Int(), mtime: r.Int(), hash: r.Text()}
}

func readFinding(r *packReader, f *finding) {
	f.name, f.stamp, f.libs = r.Text(), readStamp(r), r.Text()
	if r.Int() == 0 {
		f.encoded = r.Text()
		return
	}
	kind := r.Int()
	r.Check(kind >= 0 && kind <= int64(value.LastKind))
	f.err = &value.Error{Kind: value.Kind(kind), Op: r.Text(), Err: errors.New(r.Text()), Hint: r.Text(), Limit: value.LimitName(r.Text()),
		Pos: value.Position{File: r.Text(), Line: int(r.Int()), Col: int(r.Int())}}
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
	w := indexWriter{packWriter: packWriter{Buf: make([]byte, head, head+len(x.findings)*600)}} // a guess
	w.Text(x.reader)
	w.Int(x.written)
	w.Int(int64(len(x.libs)))
	for name, s := range x.libs {
		w.Text(name)
		w.stamp(s)
	}
	findings := sorted(x.findings)
	w.Int(int64(len(findings)))
	for i := range findings {
		if err := w.finding(&findings[i]); err != nil {
			return nil, err
		}
	}
	copy(w.Buf, indexVersion)
	binary.LittleEndian.PutUint32(w.Buf[len(indexVersion):], crc32.ChecksumIEEE(w.Buf[head:]))
	return w.Buf, nil
}

// An indexWriter writes the parts of an index.
type indexWriter struct {
	packWriter
	tool []byte // the last one
}

func (w *indexWriter) stamp(s stamped) {
	w.Int(s.size)
	w.Int(s.mtime)
	w.Text(s.hash)
}

func (w *indexWriter) finding(f *finding) error {
	w.Text(f.name)
	w.stamp(f.stamp)
	w.Text(f.libs)
	if f.err == nil && f.tool == nil {
		w.Int(0)
		w.Text(f.encoded)
		return nil
	}
	if f.err == nil {
		var err error
		w.tool, err = tool.AppendTool(w.tool[:0], f.tool)
		w.Int(0)
		w.Int(int64(len(w.tool)))
		w.Buf = append(w.Buf, w.tool...)
		return err
	}
	w.Int(1)
	w.Int(int64(f.err.Kind))
	for _, s := range []string{f.err.Op, f.err.Err.Error(), f.err.Hint, string(f.err.Limit), f.err.Pos.File} {
		w.Text(s)
	}
	w.Int(int64(f.err.Pos.Line))
	w.Int(int64(f.err.Pos.Col))
	return nil
}
