package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A frame is what became durable of one run at one time: its sum, the sum of
// the frame before it, and records. The sum covers the frame's number too, so
// that a frame that is lost, moved, cut or changed breaks the chain there.
//
// The sums find damage, and no malice: who can write the file can sum it anew.

// A sum is the first half of a SHA-256.
type sum [16]byte

const (
	frameHead = 2 * len(sum{})
	// frameMost is the size from which on a frame gets no more records.
	frameMost = 64 << 10
)

var (
	errChanged = errors.New("its checksum does not fit what it holds")
	errBroken  = errors.New("what came before it is missing")
)

// makeFrame puts records into a frame.
func makeFrame(seq int64, prev sum, records [][]byte) []byte {
	frame := openedFrame(nil)
	for _, r := range records {
		frame = append(frame, r...)
	}
	sealFrame(frame, seq, prev)
	return frame
}

// openedFrame appends the head of a frame to buf. Records can be appended to it
// until it is sealed.
func openedFrame(buf []byte) []byte { return append(buf, make([]byte, frameHead)...) }

// sealFrame sets the sums of a frame, and returns its own.
func sealFrame(frame []byte, seq int64, prev sum) sum {
	copy(frame[len(prev):], prev[:])
	s := frameSum(seq, frame)
	copy(frame, s[:])
	return s
}

// frameSum returns what the sum of a frame should be.
func frameSum(seq int64, frame []byte) sum {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(seq))
	h.Write(n[:])
	h.Write(frame[len(sum{}):])
	return sum(h.Sum(nil)[:len(sum{})])
}

// openFrame checks a frame by itself, and returns its sum and its records.
func openFrame(seq int64, frame []byte) (sum, []record, error) {
	if len(frame) < frameHead {
		return sum{}, nil, errRecord
	}
	s := sum(frame[:len(sum{})])
	if frameSum(seq, frame) != s {
		return s, nil, errChanged
	}
	var list []record
	for rest := frame[frameHead:]; len(rest) > 0; {
		var r record
		var err error
		if r, rest, err = nextRecord(rest); err != nil {
			return s, nil, err
		}
		list = append(list, r)
	}
	return s, list, nil
}

// follows reports whether a frame comes after the one with the sum prev.
func follows(frame []byte, prev sum) bool {
	return len(frame) >= frameHead && bytes.Equal(frame[len(prev):frameHead], prev[:])
}

// A head is how far a run has come: how many frames it has, the sum of the last
// one, and what the store finds it by. It has a checksum of its own.
type head struct {
	frames  int64
	last    sum
	state   State
	wake    time.Time // when a parked run continues by itself
	updated time.Time // when the state was set
}

// stand sets the state.
func (h *head) stand(s State, at time.Time) { h.state, h.wake, h.updated = s, time.Time{}, at }

// standing is the state as a store keeps it.
func (h *head) standing() journal.Standing {
	return journal.Standing{State: h.state, Wake: h.wake, Updated: h.updated}
}

// agrees compares the head with the columns of its row.
func (h *head) agrees(row *journal.Row) error {
	if h.state != row.State || !h.wake.Equal(row.Wake) || !h.updated.Equal(row.Updated) {
		return errChanged
	}
	return nil
}

func (h *head) bytes() []byte {
	b, err := value.Append(make([]byte, len(sum{}), 96),
		value.Tuple{h.frames, h.last[:], int64(h.state), nanos(h.wake), nanos(h.updated)})
	if err != nil {
		panic("history: a head of five plain parts: " + err.Error())
	}
	return seal(b)
}

func readHead(b []byte) (head, error) {
	v, err := unseal(b)
	if err != nil {
		return head{}, errChanged
	}
	list, _ := v.(value.Tuple)
	p := parts{list: list}
	h := head{frames: p.int(1 << 32)}
	last := part[[]byte](&p)
	h.state = State(p.int(int64(Cancelled)))
	h.wake, h.updated = moment(part[int64](&p)), moment(part[int64](&p))
	if p.bad || len(p.list) > 0 || len(last) != len(h.last) {
		return head{}, errRecord
	}
	h.last = sum(last)
	return h, nil
}

// seal puts the checksum of a value's bytes in the room left before them.
func seal(b []byte) []byte {
	s := sha256.Sum256(b[len(sum{}):])
	copy(b, s[:len(sum{})])
	return b
}

// unseal reads the value of sealed bytes.
func unseal(b []byte) (value.Value, error) {
	if len(b) < len(sum{}) {
		return nil, errRecord
	}
	s := sha256.Sum256(b[len(sum{}):])
	if !bytes.Equal(s[:len(sum{})], b[:len(sum{})]) {
		return nil, errChanged
	}
	return value.Decode(b[len(sum{}):])
}
