package trust

import (
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestRecordBeforeRequests reads a record of the version before, as that version wrote it.
func TestRecordBeforeRequests(t *testing.T) {
	t.Parallel()
	const written = "cassidy trust 3\n\x02/p\x01\x00\x00\x00\x00\x00\x00\x00\x04\x00\x04tool\x011\x012\x01\afs.read\x01x\x00\x00\x00\x00\x00\x0e\x01\x00" +
		"\x01a\x00\x05notes\x00\x00\x00\n\f\x12\x0e\x80\xa8ֹ\a\x10\x00\x01\x01bܰ\xf7)"
	want := &Ledger{author: true, files: map[string]Record{
		"a": {Path: "a", Kind: KindTool, Hash: "1", Text: "2", Needs: []tool.Capability{{Name: "fs.read", Target: "x"}}, When: time.Unix(0, 7), Own: true},
		"b": {Path: "b", Kind: KindNotes, When: time.Unix(0, 8), Timeout: time.Second, Limits: tool.Limits{Steps: 5, CPU: 6, Memory: 9, Result: 7}, Revoked: true},
	}}
	got, ok := decodeLedger([]byte(written), "/p")
	if !ok || !reflect.DeepEqual(got, want) {
		t.Fatalf("decodeLedger = %+v, %v, want %+v", got, ok, want)
	}
	again, err := encodeLedger(got, "/p")
	if now, ok := decodeLedger(again, "/p"); err != nil || !ok || !reflect.DeepEqual(now, want) || string(again[:len(version)]) != version {
		t.Errorf("written again: %q, %v", again, err)
	}
}

// FuzzRecord decodes records with a valid checksum: a decoded record is encoded
// unchanged, and another project's is rejected.
func FuzzRecord(f *testing.F) {
	const root = "/p"
	l := &Ledger{author: true, files: map[string]Record{
		"a": {Path: "a", Kind: KindTool, Hash: "1", Text: "2", Needs: []tool.Capability{{Name: "fs.read", Target: "x"}}, When: time.Unix(0, 7), Own: true},
		"b": {Path: "b", Kind: KindNotes, When: time.Unix(0, 8), Timeout: time.Second, Limits: tool.Limits{Memory: 9, Requests: 30}, Revoked: true},
	}}
	whole, err := encodeLedger(l, root)
	if err != nil {
		f.Fatal(err)
	}
	if got, ok := decodeLedger(whole, root); !ok || !reflect.DeepEqual(got, l) {
		f.Fatalf("decodeLedger = %+v, %v, want %+v", got, ok, l)
	}
	if _, ok := decodeLedger(whole, "/q"); ok {
		f.Error("decodeLedger took another project's record")
	}
	f.Add(whole[:len(whole)-4])
	f.Add([]byte(version + "\x02/p\x00\xff\xff\xff\xff\x0f")) // many files, and none there
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := decodeLedger(binary.LittleEndian.AppendUint32(body[:len(body):len(body)], crc32.ChecksumIEEE(body)), root)
		if !ok {
			return
		}
		written, err := encodeLedger(got, root)
		again, ok := decodeLedger(written, root)
		if err != nil || !ok || !reflect.DeepEqual(again, got) {
			t.Errorf("read again: %+v, %v, want %+v", again, ok, got)
		}
	})
}
