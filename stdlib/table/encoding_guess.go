package table

import (
	"io"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
)

// guessEncoding guesses the encoding of a text that is not valid UTF-8. It is UTF-8
// nevertheless if its characters beyond ASCII are UTF-8, with exceptions: in another
// encoding, hardly any two bytes are a character of UTF-8 by chance. Otherwise its first
// lines with other characters decide.
func guessEncoding(name string, part func() ([]byte, error)) (string, error) {
	text, good, bad := newSource(name, utf8Encoding, part), 0, 0
	var sample []byte
	first := true
	for {
		const size = 64 << 10
		piece, err := text.next(size)
		if err == io.EOF {
			if good >= bad {
				return utf8Encoding, nil
			}
			return charset.Guess(sample), nil
		}
		if err != nil {
			return "", err
		}
		if len(sample) < size {
			sample = charset.AppendForeign(sample, piece, first)
		}
		first = false
		for len(piece) > 0 {
			r, n := utf8.DecodeRune(piece)
			switch {
			case n > 1:
				good++
			case r == utf8.RuneError:
				bad++
			}
			piece = piece[n:]
		}
	}
}
