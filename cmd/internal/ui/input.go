package ui

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxInput is the maximum size of an input in bytes: that of a frame to a worker.
const MaxInput = 8 << 20

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

// ReadRegular reads a regular file of at most limit bytes, and reads no more of a longer one. It
// does not wait for a pipe. It fails with kind Invalid, or Limit if the file is too long.
func ReadRegular(name string, limit int) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, value.Errorf(value.Invalid, "there is no such file")
	case err != nil:
		return nil, value.Errorf(value.Invalid, "%w", FileError(err))
	case info.IsDir():
		return nil, value.Errorf(value.Invalid, "the path is a folder, not a file")
	case !info.Mode().IsRegular():
		return nil, value.Errorf(value.Invalid, "the path is not a regular file")
	case info.Size() > int64(limit):
		return nil, value.Errorf(value.Limit, "the file is too long: %.1f MB, limit %d MB", float64(info.Size())/(1<<20), limit>>20).
			WithHint("use a smaller file; for a long text, give the model the path, and a tool that reads parts of it")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "%w", FileError(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, value.Errorf(value.Invalid, "%w", FileError(err))
	}
	if len(data) > limit {
		return nil, value.Errorf(value.Limit, "the file is too long: more than %d MB", limit>>20).
			WithHint("use a smaller file; a tool can read parts of a long one")
	}
	return data, nil
}

// ReadAll reads an input without its byte order mark. It fails if the input is too long.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxInput+1))
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err == nil && len(text) > MaxInput {
		return nil, errors.New("the input is longer than " + strconv.Itoa(MaxInput>>20) + " MB")
	}
	return text, err
}
