// Package index remembers what was read of the tools in a folder, so that only the
// files that changed are read again.
package index

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

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Index is what a load found in one folder, kept in the user's cache so
// that the next load need read only what has changed. Losing it costs time and
// nothing else, so whatever is odd about it makes it empty. It does not change.
type Index struct {
	Reader   string    // who described the files
	Written  int64     // Unix nanoseconds
	Findings []Finding // by name
	Libs     map[string]Stamp
}

// indexVersion begins every index. It changes whenever the same file would be
// read as another tool than before, and with the form. A checksum of the rest
// follows.
const version = "cassidy tools 2\n"

// youngAge is how old a file must have been when its stamp was noted for the
// stamp to be believed: a file system may give two writes one time.
const youngAge = 2 * time.Second

// Matches reports whether a file with this stamp is still the one that was
// noted with the old one.
func (x *Index) Matches(old, now Stamp) bool {
	return old.Size == now.Size && old.Mtime == now.Mtime && x.Written-old.Mtime > int64(youngAge)
}

// Find returns what the index holds of a file. A tool whose head cannot be decoded is
// not found.
func (x *Index) Find(name string) (Finding, bool) {
	i, ok := slices.BinarySearchFunc(x.Findings, name, func(f Finding, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return Finding{}, false
	}
	f := x.Findings[i]
	if f.Head == nil && f.Err == nil {
		h, err := tool.DecodeHead(f.encoded)
		if err != nil {
			return Finding{}, false
		}
		f.Head = &h
	}
	return f, true
}

// sorted returns findings in the order of an index.
func sorted(findings []Finding) []Finding {
	byName := func(a, b Finding) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(findings, byName) {
		findings = slices.Clone(findings)
		slices.SortStableFunc(findings, byName)
	}
	return findings
}

// Read reads an index, or returns an empty one.
func Read(file, reader string) *Index {
	if file == "" {
		return &Index{}
	}
	f, err := os.Open(file)
	if err != nil {
		return &Index{}
	}
	defer f.Close()
	x, err := decode(f)
	if err != nil || x.Reader != reader {
		return &Index{}
	}
	return x
}

var errDamaged = errors.New("the index is damaged")

// maxIndex is more than any index is long, in bytes.
const maxSize = 1 << 30

// decodeIndex reads an index. The tools in it stay encoded until they are asked for.
func decode(from io.Reader) (*Index, error) {
	var head [len(version) + 4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil || string(head[:len(version)]) != version {
		return nil, errDamaged
	}
	var body strings.Builder // which gives its text away without a copy
	if file, ok := from.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Size() <= maxSize {
			body.Grow(int(info.Size()))
		}
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(io.MultiWriter(&body, sum), io.LimitReader(from, maxSize)); err != nil || sum.Sum32() != binary.LittleEndian.Uint32(head[len(version):]) {
		return nil, errDamaged
	}
	r := pack.NewReader(body.String())
	x := &Index{Reader: r.Text(), Written: r.Int()}
	n := r.Count()
	x.Libs = make(map[string]Stamp, n)
	for range n {
		name := r.Text()
		x.Libs[name] = readStamp(r)
	}
	n = r.Count()
	x.Findings = make([]Finding, n)
	for i := range x.Findings {
		f := &x.Findings[i]
		readFinding(r, f)
		r.Check(i == 0 || f.Name >= x.Findings[i-1].Name)
	}
	if !r.Done() {
		return nil, errDamaged
	}
	return x, nil
}

func readStamp(r *pack.Reader) Stamp {
	return Stamp{Size: r.Int(), Mtime: r.Int(), Hash: r.Text()}
}

func readFinding(r *pack.Reader, f *Finding) {
	f.Name, f.Stamp, f.Libs = r.Text(), readStamp(r), r.Text()
	if r.Int() == 0 {
		f.encoded = r.Text()
		return
	}
	kind := r.Int()
	r.Check(kind >= 0 && kind <= int64(value.LastKind))
	f.Err = &value.Error{Kind: value.Kind(kind), Op: r.Text(), Err: errors.New(r.Text()), Hint: r.Text(), Limit: value.LimitName(r.Text()),
		Pos: value.Position{File: r.Text(), Line: int(r.Int()), Col: int(r.Int())}}
}

// Write writes an index beside its place and moves it there, so that a
// reader sees the old one or the new one.
func Write(file string, x *Index) error {
	if file == "" {
		return nil
	}
	data, err := encode(x)
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

func encode(x *Index) ([]byte, error) {
	const head = len(version) + 4
	w := writer{Writer: pack.Writer{Buf: make([]byte, head, head+len(x.Findings)*600)}} // a guess
	w.Text(x.Reader)
	w.Int(x.Written)
	w.Int(int64(len(x.Libs)))
	for name, s := range x.Libs {
		w.Text(name)
		w.stamp(s)
	}
	findings := sorted(x.Findings)
	w.Int(int64(len(findings)))
	for i := range findings {
		if err := w.finding(&findings[i]); err != nil {
			return nil, err
		}
	}
	copy(w.Buf, version)
	binary.LittleEndian.PutUint32(w.Buf[len(version):], crc32.ChecksumIEEE(w.Buf[head:]))
	return w.Buf, nil
}

// An indexWriter writes the parts of an index.
type writer struct {
	pack.Writer
	tool []byte // the last one
}

func (w *writer) stamp(s Stamp) {
	w.Int(s.Size)
	w.Int(s.Mtime)
	w.Text(s.Hash)
}

func (w *writer) finding(f *Finding) error {
	w.Text(f.Name)
	w.stamp(f.Stamp)
	w.Text(f.Libs)
	if f.Err == nil && f.Tool == nil {
		w.Int(0)
		w.Text(f.encoded)
		return nil
	}
	if f.Err == nil {
		var err error
		w.tool, err = tool.AppendTool(w.tool[:0], f.Tool)
		w.Int(0)
		w.Int(int64(len(w.tool)))
		w.Buf = append(w.Buf, w.tool...)
		return err
	}
	w.Int(1)
	w.Int(int64(f.Err.Kind))
	for _, s := range []string{f.Err.Op, f.Err.Err.Error(), f.Err.Hint, string(f.Err.Limit), f.Err.Pos.File} {
		w.Text(s)
	}
	w.Int(int64(f.Err.Pos.Line))
	w.Int(int64(f.Err.Pos.Col))
	return nil
}
