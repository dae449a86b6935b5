package project

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// trustVersion begins every record of what is trusted.
const trustVersion = "cassidy trust 1\n"

// encodeLedger writes a record: the project that it is of, its files, and a sum
// by which damage is seen.
func encodeLedger(l *ledger, real string) []byte {
	w := indexWriter{buf: []byte(trustVersion)}
	w.text(real)
	w.flag(l.author)
	w.int(int64(len(l.files)))
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		r := l.files[name]
		for _, s := range []string{r.Path, string(r.Kind), r.Hash, r.Text} {
			w.text(s)
		}
		w.int(int64(len(r.Needs)))
		for _, c := range r.Needs {
			w.text(c.String())
		}
		for _, n := range []int64{r.Limits.Steps, int64(r.Limits.CPU), r.Limits.Memory, int64(r.Limits.Result), int64(r.Timeout), r.When.UnixNano()} {
			w.int(n)
		}
		w.flag(r.Own)
		w.flag(r.Revoked)
	}
	return binary.LittleEndian.AppendUint32(w.buf, crc32.ChecksumIEEE(w.buf))
}

func (w *indexWriter) flag(yes bool) {
	n := int64(0)
	if yes {
		n = 1
	}
	w.int(n)
}

// decodeLedger reads a record; false means that it is damaged, or another
// project's.
func decodeLedger(data []byte, real string) (*ledger, bool) {
	if len(data) < len(trustVersion)+4 || string(data[:len(trustVersion)]) != trustVersion {
		return nil, false
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, false
	}
	r := indexReader{rest: string(body[len(trustVersion):])}
	if r.text() != real {
		return nil, false
	}
	l := &ledger{author: r.flag()}
	n := r.count()
	l.files = make(map[string]Record, n)
	for range n {
		f := r.record()
		l.files[f.Path] = f
	}
	if r.bad || r.rest != "" {
		return nil, false
	}
	return l, true
}

func (r *indexReader) flag() bool {
	n := r.int()
	r.bad = r.bad || n > 1
	return n == 1
}

func (r *indexReader) record() Record {
	f := Record{Path: r.text(), Kind: Kind(r.text()), Hash: r.text(), Text: r.text()}
	for range r.count() {
		c, err := tool.ParseCapability(r.text())
		r.bad = r.bad || err != nil
		f.Needs = append(f.Needs, c)
	}
	f.Limits = tool.Limits{Steps: r.int(), CPU: time.Duration(r.int()), Memory: r.int(), Result: int(r.int())}
	f.Timeout = time.Duration(r.int())
	f.When = time.Unix(0, r.int())
	f.Own = r.flag()
	f.Revoked = r.flag()
	return f
}
