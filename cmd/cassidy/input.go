package main

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }

// maxInput is how long a JSON input may be: what a frame to a worker holds.
const maxInput = 8 << 20

func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err == nil && len(text) > maxInput {
		return nil, errors.New("the input is longer than " + strconv.Itoa(maxInput>>20) + " MB")
	}
	return text, err
}
