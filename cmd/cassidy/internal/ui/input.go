package ui

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ValidText reports whether a text is UTF-8.
func ValidText(s string) bool { return strings.ToValidUTF8(s, "") == s }

// maxInput is how long a JSON input may be: what a frame to a worker holds.
const maxInput = 8 << 20

// ReadAll reads all of an input, without the mark that some systems put before
// UTF-8. It fails for one that is too long.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err == nil && len(text) > maxInput {
		return nil, errors.New("the input is longer than " + strconv.Itoa(maxInput>>20) + " MB")
	}
	return text, err
}
