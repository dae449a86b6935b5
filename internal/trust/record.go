package trust

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// version is the prefix of every record, and version3 that of those without a limit of requests, which are read too.
const (
	version  = "cassidy trust 4\n"
	version3 = "cassidy trust 3\n"
)

// A header begins a record. So many files follow it.
type header struct {
	Real   pack.Raw // the project
	Author bool
	Mark   identity.Mark
	Seen   identity.Identity
	Files  int
}

// A file is a Record as it is stored: without its path, which follows it.
type file struct {
	Record
	Path pack.Raw
}

// A file3 is a file as version3 has it.
type file3 struct {
	Path       string
	Kind       Kind
	Hash, Text string
	Needs      []tool.Capability
	Limits     struct {
		Steps  int64
		CPU    time.Duration
		Memory int64
		Result int
	}
	Timeout      time.Duration
	When         time.Time
	Own, Revoked bool
	Name         pack.Raw
}

// nextFile decodes the next file of a record.
func nextFile(data string, old bool) (f file, rest string, err error) {
	if !old {
		rest, err = pack.Next(data, &f)
		return f, rest, err
	}
	var o file3
	rest, err = pack.Next(data, &o)
	limits := tool.Limits{Steps: o.Limits.Steps, CPU: o.Limits.CPU, Memory: o.Limits.Memory, Result: o.Limits.Result}
	return file{Record{o.Path, o.Kind, o.Hash, o.Text, o.Needs, limits, o.Timeout, o.When, o.Own, o.Revoked}, o.Name}, rest, err
}

// encodeLedger encodes a record: its project, its files, and a checksum.
func encodeLedger(l *Ledger, real string) ([]byte, error) {
	b, err := pack.Append([]byte(version), &header{pack.Raw(real), l.author, l.mark, l.seen, len(l.files)})
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		if err == nil {
			f := file{l.files[name], pack.Raw(l.files[name].Path)}
			f.Record.Path = ""
			b, err = pack.Append(b, &f)
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), err
}

// decodeLedger decodes a record. It reports false if the record is damaged, or of
// another project.
func decodeLedger(data []byte, real string) (*Ledger, bool) {
	if len(data) < len(version)+4 {
		return nil, false
	}
	old := string(data[:len(version)]) == version3
	if !old && string(data[:len(version)]) != version {
		return nil, false
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, false
	}
	var h header
	rest, err := pack.Next(string(body[len(version):]), &h)
	if err != nil || string(h.Real) != real {
		return nil, false
	}
	l := &Ledger{author: h.Author, mark: h.Mark, seen: h.Seen, files: map[string]Record{}}
	for range h.Files {
		var f file
		if f, rest, err = nextFile(rest, old); err != nil {
			return nil, false
		}
		for _, c := range f.Needs {
			if _, err := tool.ParseCapability(c.String()); err != nil {
				return nil, false
			}
		}
		f.Record.Path = string(f.Path)
		l.files[f.Record.Path] = f.Record
	}
	return l, rest == ""
}
