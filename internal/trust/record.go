package trust

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// version begins every record of what is trusted.
const version = "cassidy trust 1\n"

// encodeLedger writes a record: the project that it is of, its files, and a sum
// by which damage is seen.
func encodeLedger(l *Ledger, real string) []byte {
	w := pack.Writer{Buf: []byte(version)}
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
func decodeLedger(data []byte, real string) (*Ledger, bool) {
	if len(data) < len(version)+4 || string(data[:len(version)]) != version {
		return nil, false
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, false
	}
	r := pack.NewReader(string(body[len(version):]))
	if r.Text() != real {
		return nil, false
	}
	l := &Ledger{author: r.Flag()}
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

func readFileRecord(r *pack.Reader) Record {
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
