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
	w := packWriter{Buf: []byte(trustVersion)}
	w.Text(real)
	w.Flag(l.author)
	w.Int(int64(len(l.files)))
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		r := l.files[name]
		for _, s := range []string{r.Path, string(r.Kind), r.Hash, r.Text} {
			w.Text(s)
		}
		w.Int(int64(len(r.Needs)))
		for _, c := range r.Needs {
			w.Text(c.String())
		}
		for _, n := range []int64{r.Limits.Steps, int64(r.Limits.CPU), r.Limits.Memory, int64(r.Limits.Result), int64(r.Timeout), r.When.UnixNano()} {
			w.Int(n)
		}
		w.Flag(r.Own)
		w.Flag(r.Revoked)
	}
	return binary.LittleEndian.AppendUint32(w.Buf, crc32.ChecksumIEEE(w.Buf))
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
	r := newPackReader(string(body[len(trustVersion):]))
	if r.Text() != real {
		return nil, false
	}
	l := &ledger{author: r.Flag()}
	n := r.Count()
	l.files = make(map[string]Record, n)
	for range n {
		f := readFileRecord(r)
		l.files[f.Path] = f
	}
	if !r.Done() {
		return nil, false
	}
	return l, true
}

func readFileRecord(r *packReader) Record {
	f := Record{Path: r.Text(), Kind: Kind(r.Text()), Hash: r.Text(), Text: r.Text()}
	for range r.Count() {
		c, err := tool.ParseCapability(r.Text())
		r.Check(err == nil)
		f.Needs = append(f.Needs, c)
	}
	f.Limits = tool.Limits{Steps: r.Int(), CPU: time.Duration(r.Int()), Memory: r.Int(), Result: int(r.Int())}
	f.Timeout = time.Duration(r.Int())
	f.When = time.Unix(0, r.Int())
	f.Own = r.Flag()
	f.Revoked = r.Flag()
	return f
}
