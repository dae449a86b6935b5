// Package index caches what was read of the tools in a folder, so that only changed
// files are read again.
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

// An Index is the result of loading one folder. It is stored in the user's cache, so
// that the next load reads only changed files. It is only a cache, so a damaged one is
// treated as empty. It is immutable.
type Index struct {
	Reader   string    // the identity of the Describer
	Written  int64     // Unix nanoseconds
	Findings []Finding // by name
	Libs     map[string]Stamp
}

// version is the prefix of an index. It changes with the format, and when the same file
// would be read as a different tool. A checksum of the rest follows.
const version = "cassidy tools 9\n"

// youngAge is the minimal age of a file for its stamp to be reliable: a file system may
// give two writes the same time.
const youngAge = 2 * time.Second

// Matches reports whether a file with the stamp now is unchanged since the stamp old.
func (x *Index) Matches(old, now Stamp) bool {
	return old.Size == now.Size && old.Mtime == now.Mtime && x.Written-old.Mtime > int64(youngAge)
}

// Find returns the finding of a file. A tool whose head cannot be decoded is not found.
func (x *Index) Find(name string) (Finding, bool) {
	i, ok := slices.BinarySearchFunc(x.Findings, name, func(f Finding, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return Finding{}, false
	}
	f := x.Findings[i]
	if f.Head == nil && f.Err == nil {
		f.Head = new(tool.Head)
		if err := pack.Decode(string(f.head), f.Head); err != nil {
			return Finding{}, false
		}
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

var errDamaged = errors.New("the index of tools is damaged")

// maxSize is the limit of an index, in bytes.
const maxSize = 1 << 30

// decode decodes an index. Its tools stay encoded until they are needed.
func decode(from io.Reader) (*Index, error) {
	var head [len(version) + 4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil || string(head[:len(version)]) != version {
		return nil, errDamaged
	}
	var body strings.Builder // its String does not copy
	if file, ok := from.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Size() <= maxSize {
			body.Grow(int(info.Size()))
		}
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(io.MultiWriter(&body, sum), io.LimitReader(from, maxSize)); err != nil || sum.Sum32() != binary.LittleEndian.Uint32(head[len(version):]) {
		return nil, errDamaged
	}
	var h header
	rest, err := pack.Next(body.String(), &h)
	if err != nil || h.Findings < 0 || h.Findings > len(rest) {
		return nil, errDamaged
	}
	x := &Index{Reader: h.Reader, Written: h.Written, Libs: h.Libs, Findings: make([]Finding, h.Findings)}
	for i := range x.Findings {
		var e entry
		if rest, err = pack.Next(rest, &e); err != nil {
			return nil, errDamaged
		}
		x.Findings[i] = Finding{Name: string(e.Name), Stamp: e.Stamp, Libs: e.Libs, Hash: e.Hash, head: e.Head, encoded: e.Tool}
		if e.Err != nil {
			var ok bool
			if x.Findings[i].Err, ok = value.ErrorFromValue(e.Err); !ok {
				return nil, errDamaged
			}
			x.Findings[i].Err.Excerpts = e.Excerpts
		}
		if i > 0 && x.Findings[i].Name < x.Findings[i-1].Name {
			return nil, errDamaged
		}
	}
	if rest != "" {
		return nil, errDamaged
	}
	return x, nil
}

// A header begins an index. So many entries follow it.
type header struct {
	Reader   string
	Written  int64
	Libs     map[string]Stamp
	Findings int
}

// An entry is a finding in an index: an error, or a tool. The head of the tool is apart, so
// that a list decodes nothing else.
type entry struct {
	Name       pack.Raw
	Stamp      Stamp
	Libs, Hash string
	Head, Tool pack.Raw
	Err        value.Value
	Excerpts   []value.Excerpt // of the error
}

// Write writes an index to a temporary file and renames it, so that a reader sees the
// old one or the new one.
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
	findings := sorted(x.Findings)
	buf := make([]byte, head, head+len(findings)*800) // a guess
	copy(buf, version)
	buf, err := pack.Append(buf, &header{x.Reader, x.Written, x.Libs, len(findings)})
	for i := 0; i < len(findings) && err == nil; i++ {
		var e entry
		if e, err = findings[i].entry(); err == nil {
			buf, err = pack.Append(buf, &e)
		}
	}
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(buf[len(version):], crc32.ChecksumIEEE(buf[head:]))
	return buf, nil
}

func (f *Finding) entry() (entry, error) {
	e := entry{Name: pack.Raw(f.Name), Stamp: f.Stamp, Libs: f.Libs, Hash: f.Hash, Head: f.head, Tool: f.encoded}
	e.Stamp.Text = ""
	if f.Err != nil {
		e.Err, e.Excerpts = f.Err.Value(), f.Err.Excerpts
		return e, nil
	}
	if f.Tool == nil {
		return e, nil
	}
	head := f.Tool.Head()
	h, err := pack.Append(nil, &head)
	if err != nil {
		return e, err
	}
	t, err := pack.Append(nil, f.Tool)
	e.Head, e.Tool = pack.Raw(h), pack.Raw(t)
	return e, err
}
