package ui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
)

// maxInput is the maximum size of an input in bytes: that of a frame to a worker.
const maxInput = 8 << 20

// ReadFile reads a file as [ReadAll] does.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, FileError(err)
	}
	defer f.Close()
	text, err := ReadAll(f)
	if err != nil {
		return nil, FileError(err)
	}
	return text, nil
}

// ReadAll reads an input without its byte order mark. It fails if the input is too long.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err == nil && len(text) > maxInput {
		return nil, errors.New("the input is longer than " + strconv.Itoa(maxInput>>20) + " MB")
	}
	return text, err
}
