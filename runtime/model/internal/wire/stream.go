package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lines yields the lines of a stream without their ends, which are LF, CRLF or CR. It
// stops if take returns false or an error. The last line may lack its end.
func (r *Response) lines(take func(line []byte) (more bool, err error)) error {
	s := bufio.NewScanner(r.body)
	s.Buffer(make([]byte, 0, 4096), int(r.w.MaxReply)+1)
	s.Split(splitLines)
	for s.Scan() {
		if more, err := take(s.Bytes()); !more || err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return errLong
	}
	return s.Err()
}

// splitLines is a [bufio.SplitFunc]. A CR at the end of the bytes may be half of a
// CRLF, so it waits for the next byte.
func splitLines(data []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0:
		return 0, nil, nil
	case data[i] == '\r' && i+1 == len(data) && !atEOF:
		return 0, nil, nil
	case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}

// events yields the server-sent events of a stream: the name, or "", and the data. An
// event that is cut off is ignored. It stops if take returns false or an error.
func (r *Response) events(take func(name, data string) (more bool, err error)) error {
	var name string
	var data []string
	first := true
	return r.lines(func(line []byte) (bool, error) {
		if first {
			line, first = bytes.TrimPrefix(line, []byte("\ufeff")), false
		}
		if len(line) == 0 {
			n, d := name, data
			name, data = "", nil
			if d == nil {
				return true, nil
			}
			return take(n, strings.Join(d, "\n"))
		}
		field, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data = append(data, value)
		} // a comment, or a field for browsers
		return true, nil
	})
}

// A Streamer assembles the pieces of one API's stream.
type Streamer interface {
	// Take reads one piece, and reports whether it was the last.
	Take(piece *value.Dict) (last bool, f *Failure)
	// Reply returns what was assembled; complete reports whether the API has ended the
	// answer. After [DONE] it is complete in any case.
	Reply() (r *model.Reply, complete bool)
}

// errTaken ends a stream whose failure is known.
var errTaken = errors.New("read the stream: the stream failed")

// Assemble reads a stream to its end. With events the pieces are server-sent events,
// otherwise lines.
func (r *Response) Assemble(events bool, s Streamer) (*model.Reply, *Failure) {
	var failed *Failure
	done := false
	take := func(_, data string) (bool, error) {
		if data = strings.TrimSpace(data); data == "" {
			return true, nil
		}
		if data == "[DONE]" {
			done = true
			return false, nil
		}
		piece, f := r.w.object([]byte(data))
		if f == nil {
			var last bool
			if last, f = s.Take(piece); f == nil {
				return !last, nil
			}
		}
		failed = f
		return false, errTaken
	}
	var err error
	if events {
		err = r.events(take)
	} else {
		err = r.lines(func(line []byte) (bool, error) { return take("", string(line)) })
	}
	if failed != nil {
		return nil, failed
	}
	reply, complete := s.Reply()
	switch {
	case err != nil:
		return nil, r.w.lost(r.ctx, r.inner, err)
	case r.ctx.Err() != nil:
		return nil, r.w.Ended(r.ctx, r.ctx.Err())
	case !complete && !done:
		return nil, r.w.lost(r.ctx, r.inner, io.ErrUnexpectedEOF)
	}
	return reply, nil
}
