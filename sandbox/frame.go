package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// A host and a worker exchange frames in turns: each waits for the other's frame after it has
// sent one. A frame is
//
//	u32 length of what follows · u8 type · u32 call · u32 seq · body
//
// with little-endian numbers. The host numbers the calls; seq counts the frames of one call
// in both directions, from 0. A frame that is out of turn, of another call or too long ends
// the worker.
const (
	frameHead = 4
	frameMeta = 1 + 4 + 4
	// maxFrame holds a file of 8 MB, which is what one effect may carry, and the fields
	// around it.
	maxFrame = 8<<20 + 64<<10
	// maxTraffic is how much a call of a worker may send to the host.
	maxTraffic = 32 << 20
	// maxSupply is how much may be sent to a worker in one call: the parts of a large file,
	// several times. It bounds the time of the host; nothing is kept.
	maxSupply = 4 << 30
)

type frameType uint8

// The frames. Those of the host ask and those of the worker answer. A worker may also answer
// a call with askEffect, which the host then answers.
const (
	sendInit     frameType = iota + 1 // the effects that scripts may ask for, and the memory
	sendDescribe                      // scripts to read
	sendLoad                          // the script to make calls of
	sendCall                          // a call
	sendReply                         // the outcome of an effect
	answerReady                       // initialized and confined
	answerDone                        // described, loaded, or the result of the call
	answerFailed                      // an error instead
	askEffect                         // the call asks for an effect
)

// A frame is one frame. Its body is valid until the next is read.
type frame struct {
	kind frameType
	call uint32
	seq  uint32
	size int // of the body
	body []byte
	// refused is why the body was not read, see frameReader.admit, or nil.
	refused error
}

var errFrame = errors.New("invalid message frame")

// appendFrame begins a frame; [endFrame] gives it its length when the body has
// been appended.
func appendFrame(dst []byte, kind frameType, call, seq uint32) []byte {
	dst = append(dst, 0, 0, 0, 0, byte(kind))
	dst = binary.LittleEndian.AppendUint32(dst, call)
	return binary.LittleEndian.AppendUint32(dst, seq)
}

// endFrame completes the one frame that a buffer holds.
func endFrame(buf []byte) error {
	n := len(buf) - frameHead
	if n > maxFrame {
		return fmt.Errorf("the message is too large: %d bytes, limit %d bytes", n, maxFrame)
	}
	binary.LittleEndian.PutUint32(buf, uint32(n))
	return nil
}

// A frameReader reads frames from a peer that may be hostile: it allocates for
// what has arrived, never for what was announced.
type frameReader struct {
	from io.Reader
	seen func(n int) // called with the number of bytes that arrive; nil: not called
	// admit is asked before more than keepIdle bytes are read, which may wait meanwhile, as the peer
	// does. If it fails, they are read and dropped. Nil admits everything.
	admit func(n int) error
	buf   []byte
	start int // of what has arrived and not been used
	end   int
}

// How many bytes of a buffer are kept for the next frame: within a call enough for the parts
// of a large file, which come one after the other; between calls little, since an idle
// worker would hold them.
const (
	keepCalling = 5 << 20
	keepIdle    = 64 << 10
)

// next reads one frame. Nothing may follow it: the peer has to wait.
func (r *frameReader) next() (frame, error) {
	r.release(keepCalling)
	if r.buf == nil {
		r.buf = make([]byte, 4096)
	}
	r.start, r.end = 0, 0
	if err := r.fill(frameHead); err != nil {
		return frame{}, err
	}
	n := int(binary.LittleEndian.Uint32(r.buf))
	if n < frameMeta || n > maxFrame {
		return frame{}, errFrame
	}
	err := r.fill(frameHead + frameMeta)
	var refused error
	if err == nil && n > keepIdle && r.admit != nil {
		if refused = r.admit(n); refused == nil {
			r.buf = append(make([]byte, 0, frameHead+n), r.buf[:r.end]...)[:frameHead+n]
		}
	}
	if err == nil && refused == nil {
		err = r.fill(frameHead + n)
	}
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	b := r.buf[frameHead:]
	f := frame{
		kind:    frameType(b[0]),
		call:    binary.LittleEndian.Uint32(b[1:]),
		seq:     binary.LittleEndian.Uint32(b[5:]),
		size:    n - frameMeta,
		refused: refused,
	}
	if refused != nil {
		return f, r.drop(frameHead + n)
	}
	if r.end > frameHead+n {
		return frame{}, errFrame
	}
	f.body = b[frameMeta:n]
	return f, nil
}

// drop reads the rest of a frame of n bytes without keeping it.
func (r *frameReader) drop(n int) error {
	for n > r.end {
		n -= r.end
		r.end = 0
		if err := r.fill(min(n, len(r.buf))); err != nil {
			return err
		}
	}
	if r.end > n {
		return errFrame
	}
	return nil
}

// text returns the body of the last frame. A large one is not copied: its buffer is not used for the
// next frame.
func (r *frameReader) text(f frame) string {
	if len(r.buf) <= keepIdle {
		return string(f.body)
	}
	r.buf = nil
	return unsafe.String(unsafe.SliceData(f.body), len(f.body))
}

// release frees the buffer of a frame whose body is no longer needed, if it is larger than
// what is kept.
func (r *frameReader) release(keep int) {
	if len(r.buf) > keep {
		r.buf = nil
	}
}

// fill reads until n bytes are there. The buffer grows with what has arrived.
func (r *frameReader) fill(n int) error {
	for r.end < n {
		if r.end == len(r.buf) {
			r.buf = append(r.buf, make([]byte, min(len(r.buf), 1+max(n-len(r.buf), 0)))...)
		}
		m, err := r.from.Read(r.buf[r.end:])
		r.end += m
		if r.seen != nil {
			r.seen(m)
		}
		if m == 0 && err != nil {
			if r.end > 0 && err == io.EOF {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
