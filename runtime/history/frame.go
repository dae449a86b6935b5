package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// A frame holds records of one run that became durable together: its hash, the hash of the
// frame before it, and the records. The hash covers the frame's number too, so that a lost,
// moved, truncated or changed frame breaks the chain there. The first frame has the ID of the
// run, and zeros for the hash before it.
//
// Anyone who can write the file can compute the chain anew. Only a hash that was kept
// elsewhere shows that, see [Journal.Verify].

// A sum is a SHA-256.
type sum [sha256.Size]byte

const (
	frameHead = 2 * len(sum{})
	// frameMost is the size at which a frame gets no more records.
	frameMost = 64 << 10
)

var (
	errChanged = errors.New("the checksum does not match the content")
	errBroken  = errors.New("the previous record is missing")
)

// makeFrame makes a frame of records.
func makeFrame(seq int64, prev sum, records [][]byte) []byte {
	frame := openedFrame(nil)
	for _, r := range records {
		frame = append(frame, r...)
	}
	sealFrame(frame, seq, prev)
	return frame
}

// openedFrame appends the head of a frame to buf. Records are appended to it until it
// is sealed.
func openedFrame(buf []byte) []byte { return append(buf, make([]byte, frameHead)...) }

// sealFrame sets the checksums of a frame, and returns its own.
func sealFrame(frame []byte, seq int64, prev sum) sum {
	copy(frame[len(prev):], prev[:])
	s := frameSum(seq, frame)
	copy(frame, s[:])
	return s
}

// frameSum computes the checksum of a frame.
func frameSum(seq int64, frame []byte) sum {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(seq))
	h.Write(n[:])
	h.Write(frame[len(sum{}):])
	return sum(h.Sum(nil))
}

// openFrame checks a frame, and returns its checksum and its records.
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

// follows reports whether a frame follows the one with the checksum prev.
func follows(frame []byte, prev sum) bool {
	return len(frame) >= frameHead && bytes.Equal(frame[len(prev):frameHead], prev[:])
}

// A head is the progress of a run: the number of its frames, the checksum of the last
// one, and its state in the store. It has its own checksum.
type head struct {
	frames  int64
	last    sum
	state   State
	wake    time.Time // when a parked run continues
	updated time.Time // when the state was set
	stuck   string    // why, if the state is Stuck: only in the row, for people, and without a checksum
}

// stand sets the state.
func (h *head) stand(s State, at time.Time) {
	h.state, h.wake, h.updated, h.stuck = s, time.Time{}, at, ""
}

// shownWake returns when a parked run continues, or zero for one that waits for neither a time nor an answer:
// it has the time at which it parked, so that the store finds it.
func (h *head) shownWake() time.Time {
	if h.wake.Equal(h.updated) {
		return time.Time{}
	}
	return h.wake
}

// standing returns the state for the store.
func (h *head) standing() journal.Standing {
	return journal.Standing{State: h.state, Wake: h.wake, Updated: h.updated, Stuck: h.stuck}
}

// agrees compares the head with the columns of its row. A run that is stuck can have the head that it
// had before.
func (h *head) agrees(row *journal.Row) error {
	if row.State == Stuck && !h.state.Ended() {
		return nil
	}
	if h.state != row.State || !h.wake.Equal(row.Wake) || !h.updated.Equal(row.Updated) {
		return errChanged
	}
	return nil
}

// A headForm is a head as it is stored.
type headForm struct {
	Frames        int64
	Last          []byte
	State         State
	Wake, Updated int64
}

func (h *head) bytes() []byte {
	b, err := pack.Append(make([]byte, len(sum{}), 96), &headForm{h.frames, h.last[:], h.state, nanos(h.wake), nanos(h.updated)})
	if err != nil {
		panic("history: a head of five plain parts: " + err.Error())
	}
	return seal(b)
}

func readHead(b []byte) (head, error) {
	var f headForm
	if err := unseal(b, &f); err != nil {
		return head{}, errChanged
	}
	if f.Frames < 0 || f.Frames > 1<<32 || f.State > Stuck || len(f.Last) != len(sum{}) {
		return head{}, errRecord
	}
	return head{frames: f.Frames, last: sum(f.Last), state: f.State, wake: moment(f.Wake), updated: moment(f.Updated)}, nil
}

// seal sets the checksum in the space before the bytes of a struct.
func seal(b []byte) []byte {
	s := sha256.Sum256(b[len(sum{}):])
	copy(b, s[:len(sum{})])
	return b
}

// unseal checks sealed bytes and decodes their struct.
func unseal(b []byte, x any) error {
	if len(b) < len(sum{}) {
		return errRecord
	}
	s := sha256.Sum256(b[len(sum{}):])
	if !bytes.Equal(s[:len(sum{})], b[:len(sum{})]) {
		return errChanged
	}
	return pack.Decode(string(b[len(sum{}):]), x)
}
