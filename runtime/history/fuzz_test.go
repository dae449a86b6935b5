package history

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// FuzzFrame reads frames that hold anything. What is taken must be what would
// be written again.
func FuzzFrame(f *testing.F) {
	for _, r := range someRecords(f) {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, records []byte) {
		frame := makeFrame(0, sum{}, [][]byte{records})
		readBegun(frame, noBlob)
		_, list, err := openFrame(0, frame)
		if err != nil {
			return
		}
		h := &history{run: Run{ID: "r"}, steps: map[string]*step{}}
		for _, r := range list {
			if h.take(r, noBlob) != nil {
				break
			}
		}
		for _, s := range h.sorted() {
			e, err := s.entry("r", noBlob)
			if err != nil {
				continue
			}
			if p, err := ParsePlace(e.Place.String()); err != nil || p.String() != s.place.String() {
				t.Errorf("place %v is read as %v, %v", e.Place, p, err)
			}
			if e.Settled.IsZero() != !s.settled && e.Settled.UnixNano() != 0 {
				t.Errorf("entry %+v of %+v", e, s)
			}
		}
		if v, err := unseal(records); err == nil {
			again, err := tool.Append(make([]byte, len(sum{})), v)
			if err != nil || !bytes.Equal(seal(again), records) {
				t.Errorf("a sealed value has two forms")
			}
		}
		readHead(seal(append(make([]byte, len(sum{})), records...)))
		readAnswer(seal(append(make([]byte, len(sum{})), records...)), "r", "1")
		tool.ReadScript(func() tool.Value { v, _ := tool.Decode(records); return v }())
	})
}

func noBlob(blobName, uint64) ([]byte, error) { return nil, errors.New("no blobs here") }

// someRecords returns a record of each kind, as they are written.
func someRecords(t testing.TB) (list [][]byte) {
	t.Helper()
	j := open(t, t.TempDir())
	for _, c := range []struct {
		kind   recordKind
		fields []tool.Value
	}{
		{runBegun, []tool.Value{"r", "run", "title", "v1", "hash", int64(1), tool.NewDict("a", 1), nil, nil}},
		{runResumed, []tool.Value{"v2", int64(5)}},
		{effectIntended, []tool.Value{"3.1", tool.Tuple{int64(1), "fs.read", int64(tool.Read)}, tool.NewDict("path", "a"), nil}},
		{effectSettled, []tool.Value{"3.1", tool.Tuple{int64(2), int64(1), int64(1), int64(1), "u", "1"}, nil, errorValue(tool.Errorf(tool.Limit, "x")), "value"}},
		{placeNoted, []tool.Value{"3", int64(4), tool.NewDict("approved", true)}},
		{questionAsked, []tool.Value{"3", int64(4), "go on?", true, int64(0), nil}},
		{runParked, []tool.Value{"a question", int64(4)}},
		{runEnded, []tool.Value{int64(Done), "final", nil, usageParts(tool.Usage{}), int64(9), "result"}},
	} {
		r := &recorder{blobs: j.blobs}
		r.put(c.fields...)
		rec, err := r.record(c.kind)
		check(t, err)
		list = append(list, rec)
	}
	list = append(list, bytes.Join(list[2:4], nil), []byte{2, 3, 1, 1, 1})
	head := head{frames: 3, waits: "2"}.bytes()
	return append(list, head, head[len(sum{}):])
}
