package history

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A blobCounter counts the bytes of the blobs that a store gets for the first time.
type blobCounter struct {
	journal.Store
	names map[string]bool
	total int
}

func (s *blobCounter) PutBlob(ctx context.Context, name string, data []byte) error {
	if !s.names[name] {
		s.names[name] = true
		s.total += len(data)
	}
	return s.Store.PutBlob(ctx, name, data)
}

// randomBytes returns bytes in which nothing repeats.
func randomBytes(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// TestVersionsShareBlobs records many versions of a large file, each with a change in another
// place: the parts that have not changed are stored once.
func TestVersionsShareBlobs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := &blobCounter{Store: journal.Memory(), names: map[string]bool{}}
	j := Open(store, nil)
	l := begin(t, j, "r")
	data, random := randomBytes(2<<20), rand.New(rand.NewPCG(3, 4))
	const versions = 40
	var want [][]byte
	for n := 1; n <= versions; n++ {
		at := random.IntN(len(data))
		data = slices.Insert(slices.Clone(data), at, fmt.Appendf(nil, "version %d", n)...)
		want = append(want, data)
		i := Intent{StepPath: tool.StepPath{n}, Func: "fs.read", Kind: tool.Read}
		check(t, l.Intend(ctx, i))
		check(t, l.Settle(ctx, i.StepPath, tool.Outcome{Value: data}, nil))
	}
	check(t, l.Close())
	if most := len(data) + versions*mostBlob; store.total > most {
		t.Errorf("%d versions of %d bytes take %d bytes, want at most %d", versions, len(data), store.total, most)
	}
	n := 0
	for e, err := range j.Entries(ctx, "r") {
		check(t, err)
		if got, _ := e.Outcome.Value.([]byte); !bytes.Equal(got, want[n]) {
			t.Fatalf("version %d is read with %d bytes, want %d", n, len(got), len(want[n]))
		}
		n++
	}
}

// TestLargeFields reads fields back whose sizes are those at which they are cut.
func TestLargeFields(t *testing.T) {
	t.Parallel()
	random := randomBytes(3 * mostBlob)
	for _, size := range []int{inlineMost, inlineMost + 1, leastBlob + inlineMost, mostBlob - 1, mostBlob, mostBlob + 1, 2*mostBlob + leastBlob, 3 * mostBlob} {
		for what, text := range map[string][]byte{"random": random[:size], "the same byte": bytes.Repeat([]byte("x"), size)} {
			store := journal.Memory()
			r := newRecorder(store, nil)
			r.put(text, "after it")
			rec, err := r.record(placeNoted)
			check(t, err)
			got, _, err := nextRecord(rec)
			check(t, err)
			f := &fields{rest: got.fields, store: store}
			if v := field[[]byte](f); !bytes.Equal(v, text) || field[string](f) != "after it" || f.done() != nil {
				t.Errorf("%d bytes, %s: %d bytes are read: %v", size, what, len(v), f.err)
			}
		}
	}
}

// TestHostileBlobs reads fields whose blobs do not make up the field.
func TestHostileBlobs(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	r := newRecorder(store, nil)
	r.put(strings.Repeat("x", 2*mostBlob))
	whole, err := r.record(placeNoted)
	check(t, err)
	rec, _, err := nextRecord(whole)
	check(t, err)
	for n := range len(rec.fields) {
		f := &fields{rest: rec.fields[:n], store: store}
		if v := f.value(); v != nil || f.err == nil {
			t.Errorf("cut after %d bytes: %v", n, value.TypeOf(v))
		}
		changed := bytes.Clone(rec.fields)
		changed[n] ^= 1
		f = &fields{rest: changed, store: store}
		if v := f.value(); v != nil && f.done() == nil {
			t.Errorf("byte %d is another one: %v", n, value.TypeOf(v))
		}
	}
}
