// Package grep reads and searches lines of text with bounded memory.
package grep

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A Reader reads the lines of text files, as [charset.Reader] reads them. Its memory is that of the
// longest line that it returns.
type Reader struct {
	file charset.Reader
	in   *bufio.Reader
	line []byte
}

// NewReader returns a reader of lines, which cuts each line after so many bytes.
func NewReader(most int) *Reader {
	return &Reader{in: bufio.NewReaderSize(nil, max(most, 16))}
}

// Reset has the reader read from r. It reports whether that is not text.
func (l *Reader) Reset(r io.Reader) (binary bool) {
	binary = l.file.Reset(r)
	l.in.Reset(&l.file)
	return binary
}

// Next returns the next line without its end, which is valid until the next call, and how many
// bytes were read. cut is how many bytes of a long line are left out. After the last line it
// returns io.EOF.
func (l *Reader) Next() (line []byte, read, cut int64, err error) {
	line, err = l.in.ReadSlice('\n')
	read = int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		l.line = append(l.line[:0], line...)
		line = l.line
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = l.in.ReadSlice('\n')
			read += int64(len(more))
			cut += int64(len(bytes.TrimRight(more, "\r\n")))
		}
	}
	if err == io.EOF && read > 0 {
		err = nil // the last line has no end
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), read, cut, err
}

// Shown returns a line as text of so many bytes at most: of a longer one, the part around the
// position at.
func Shown(line []byte, at, most int) string {
	if len(line) <= most {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	start := 0
	if at > most/2 {
		start = at - most/4
	}
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start--
	}
	end := min(start+most, len(line))
	for end < len(line) && end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	text := strings.ToValidUTF8(string(line[start:end]), "\uFFFD")
	if start > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}

// Part returns some lines of a text with their ends, from the line first on, counted from 1,
// without those before it in memory. It fails with an error of
// kind Limit if they have more than so many bytes.
func Part(ctx context.Context, in io.Reader, first, count, most int64) (text []byte, err error) {
	r := bufio.NewReaderSize(in, 64<<10)
	for number := int64(1); number < first+count; {
		piece, err := r.ReadSlice('\n')
		if number >= first {
			text = append(text, piece...)
		}
		if int64(len(text)) > most {
			return nil, value.Errorf(value.Limit, "the requested lines from line %d on have more than %s", first, row.SizeText(most)).
				WithLimit(value.LimitRead).WithHint("read fewer lines; in a script, read bytes with fs.read_bytes(path, offset, length)")
		}
		switch {
		case err == io.EOF:
			return text, nil
		case err == nil:
			number++
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if err := row.Stopped(ctx); err != nil {
			return nil, err
		}
	}
	return text, nil
}
