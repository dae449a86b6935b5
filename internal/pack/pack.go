// Package pack writes integers and strings one after another, and reads them back
// from data that may be damaged.
package pack

import "encoding/binary"

// A Writer appends integers and strings to Buf. The zero value is ready.
type Writer struct{ Buf []byte }

// Int appends an integer.
func (w *Writer) Int(i int64) { w.Buf = binary.AppendUvarint(w.Buf, uint64(i)) }

// Flag appends a bool.
func (w *Writer) Flag(yes bool) {
	n := int64(0)
	if yes {
		n = 1
	}
	w.Int(n)
}

// Text appends a string.
func (w *Writer) Text(s string) {
	w.Int(int64(len(s)))
	w.Buf = append(w.Buf, s...)
}

// A Reader reads what a [packWriter] wrote. Damaged data is read as zeros; [packReader.Done]
// reports it at the end. Its strings share the memory of the full text.
type Reader struct {
	rest string
	bad  bool
}

// NewReader returns a reader of a text.
func NewReader(text string) *Reader { return &Reader{rest: text} }

// Done reports whether everything was read, and nothing of it was damaged.
func (r *Reader) Done() bool { return !r.bad && r.rest == "" }

// Check notes that the data is damaged unless ok.
func (r *Reader) Check(ok bool) { r.bad = r.bad || !ok }

// Int reads an integer.
func (r *Reader) Int() int64 {
	var u uint64
	for shift := 0; shift < 64; shift += 7 {
		if r.rest == "" {
			break
		}
		c := r.rest[0]
		r.rest = r.rest[1:]
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u)
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

// Count reads how many things follow, each of at least one byte.
func (r *Reader) Count() int {
	n := r.Int()
	if n < 0 || n > int64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return 0
	}
	return int(n)
}

// Flag reads a bool.
func (r *Reader) Flag() bool {
	n := r.Int()
	r.bad = r.bad || n > 1
	return n == 1
}

// Text reads a string.
func (r *Reader) Text() string {
	n := r.Count()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
