package index

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// seal sets the checksum of an index.
func seal(index []byte) []byte {
	binary.LittleEndian.PutUint32(index[len(version):], crc32.ChecksumIEEE(index[len(version)+4:]))
	return index
}

// FuzzIndex checks that an index with any content is rejected or can be used.
func FuzzIndex(f *testing.F) {
	t := &tool.Described{Tool: tool.Tool{Name: "a"}}
	data, err := encode(&Index{Reader: "r", Written: 1, Libs: map[string]Stamp{"lib/a.star": {Size: 1}}, Findings: []Finding{
		{Name: "b.star", Err: value.Errorf(value.Invalid, "broken")}, {Name: "a.star", Tool: t, Libs: "l", Hash: "x"},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(version + "\x00\x00\x00\x00\x01r\x01\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			x, err := decode(bytes.NewReader(data))
			if err == nil {
				for _, r := range x.Findings {
					if got, ok := x.Find(r.Name); ok && (got.Name != r.Name || (got.Head == nil) == (got.Err == nil)) {
						t.Errorf("find(%q) = %+v", r.Name, got)
					}
				}
				again, err := encode(x)
				if err != nil {
					t.Errorf("what was read cannot be written: %v", err)
				} else if _, err := decode(bytes.NewReader(again)); err != nil {
					t.Errorf("what was written cannot be read: %v", err)
				}
			}
			if len(data) >= len(version)+4 {
				seal(data)
			}
		}
	})
}
