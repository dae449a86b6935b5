package project

import "encoding/binary"

// A packWriter appends integers and strings to Buf. The zero value is ready.
type packWriter struct{ Buf []byte }

// Int appends an integer.
func (w *packWriter) Int(i int64) { w.Buf = binary.AppendUvarint(w.Buf, uint64(i)) }

// Flag appends a bool.
func (w *packWriter) Flag(yes bool) {
	n := int64(0)
	if yes {
		n = 1
	}
	w.Int(n)
}

// Text appends a string.
func (w *packWriter) Text(s string) {
	w.Int(int64(len(s)))
	w.Buf = append(w.Buf, s...)
}

// A packReader reads what a [packWriter] wrote. Damaged data is read as zeros; [packReader.Done]
// reports it at the end. Its strings share the memory of the full text.
type packReader struct {
	rest string
	bad  bool
}

// newPackReader returns a reader of a text.
func newPackReader(text string) *packReader { return &packReader{rest: text} }

// Done reports whether everything was read, and nothing of it was damaged.
func (r *packReader) Done() bool { return !r.bad && r.rest == "" }

// Check notes that the data is damaged unless ok.
func (r *packReader) Check(ok bool) { r.bad = r.bad || !ok }

// Int reads an integer.
func (r *packReader) Int() int64 {
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
func (r *packReader) Count() int {
	n := r.Int()
	if n < 0 || n > int64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return 0
	}
	return int(n)
}

// Flag reads a bool.
func (r *packReader) Flag() bool {
	n := r.Int()
	r.bad = r.bad || n > 1
	return n == 1
}

// Text reads a string.
func (r *packReader) Text() string {
	n := r.Count()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
