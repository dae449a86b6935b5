package project

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// seal gives an index its checksum.
func seal(index []byte) []byte {
	binary.LittleEndian.PutUint32(index[len(indexVersion):], crc32.ChecksumIEEE(index[len(indexVersion)+4:]))
	return index
}

// FuzzIndex checks that an index of whatever bytes is refused or can be used.
func FuzzIndex(f *testing.F) {
	t := &tool.Tool{Name: "a", Path: "a.star", Hash: "x"}
	data, err := encodeIndex(&index{reader: "r", written: 1, libs: map[string]stamped{"lib/a.star": {size: 1}}, findings: []finding{
		{name: "b.star", err: value.Errorf(value.Invalid, "broken")}, {name: "a.star", tool: t, libs: "l"},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(indexVersion + "\x00\x00\x00\x00\x01r\x01\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			x, err := decodeIndex(bytes.NewReader(data))
			if err == nil {
				for _, r := range x.findings {
					if got, ok := x.find(r.name); ok && (got.name != r.name || (got.head == nil) == (got.err == nil)) {
						t.Errorf("find(%q) = %+v", r.name, got)
					}
				}
				again, err := encodeIndex(x)
				if err != nil {
					t.Errorf("what was read cannot be written: %v", err)
				} else if _, err := decodeIndex(bytes.NewReader(again)); err != nil {
					t.Errorf("what was written cannot be read: %v", err)
				}
			}
			if len(data) >= len(indexVersion)+4 {
				seal(data)
			}
		}
	})
}
