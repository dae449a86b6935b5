package trust

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/internal/mark"
	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// version is the prefix of every record.
const version = "cassidy trust 4\n"

// A header begins a record. So many files follow it.
type header struct {
	Real   pack.Raw // the project
	Author bool
	Mark   mark.Mark
	Seen   mark.Identity
	Files  int
}

// A file is a Record as it is stored: without its path, which follows it.
type file struct {
	Record
	Path pack.Raw
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
	if len(data) < len(version)+4 || string(data[:len(version)]) != version {
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
		if rest, err = pack.Next(rest, &f); err != nil {
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
