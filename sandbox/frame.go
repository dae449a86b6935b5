package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// What passes between a host and a worker is frames, one at a time and in
// turns: who has sent one waits for the other's. A frame is
//
//	u32 length of what follows · u8 type · u32 call · u32 seq · body
//
// with little-endian numbers. The call is counted by the host; seq counts the
// frames of one call, both ways, from 0. Whatever is out of turn, of another
// call or too long ends the worker.
const (
	frameHead = 4
	frameMeta = 1 + 4 + 4
	// maxFrame holds a file of 8 MB, which is what one effect may carry, and
	// the words around it.
	maxFrame = 8<<20 + 64<<10
	// maxTraffic is how much a call of a worker may send to the host.
	maxTraffic = 32 << 20
	// maxSupply is how much it may be sent: the parts of a large file, several
	// times over. Nobody keeps it, so it is the time of the host that it bounds.
	maxSupply = 4 << 30
)

type frameType uint8

// The frames. Those of the host ask, those of the worker answer, but that a
// worker may answer a call with askEffect, which the host then answers.
const (
	sendInit     frameType = iota + 1 // the effects that there are, and the memory
	sendDescribe                      // scripts to read
	sendLoad                          // the script to make calls of
	sendCall                          // a call
	sendReply                         // what came of an effect
	sayReady                          // initialised and hardened
	sayDone                           // described, loaded, or the result of the call
	sayFailed                         // it could not be: an error
	askEffect                         // the call asks for an effect
)

// A frame is one of them. Its body is valid until the next is read.
type frame struct {
	kind frameType
	call uint32
	seq  uint32
	body []byte
}

var errFrame = errors.New("not a frame of this protocol")

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
		return fmt.Errorf("a message of %d bytes, more than %d", n, maxFrame)
	}
	binary.LittleEndian.PutUint32(buf, uint32(n))
	return nil
}

// A frameReader reads frames from a peer that may be hostile: it allocates for
// what has arrived, never for what was announced.
type frameReader struct {
	from  io.Reader
	seen  func(n int) // told of what arrives; nil: nobody is
	buf   []byte
	start int // of what has arrived and not been used
	end   int
}

// How much room is kept for the next frame: within a call that of the parts of a
// large file, which come one after the other; between calls little, since an
// idle worker's would be kept for as long as it idles.
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
	if err := r.fill(frameHead + n); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	if r.end > frameHead+n {
		return frame{}, errFrame
	}
	b := r.buf[frameHead:]
	return frame{
		kind: frameType(b[0]),
		call: binary.LittleEndian.Uint32(b[1:]),
		seq:  binary.LittleEndian.Uint32(b[5:]),
		body: b[frameMeta:n],
	}, nil
}

// release gives back the room of a frame whose body is not needed any more, if it
// is larger than what is kept.
func (r *frameReader) release(keep int) {
	if len(r.buf) > keep {
		r.buf = nil
	}
}

// fill reads until n bytes are there. Room grows with what has come.
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
