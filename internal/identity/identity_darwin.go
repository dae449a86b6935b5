package identity

import (
	"os"
	"syscall"
)

// identify returns what an open file is.
func identify(f *os.File) (Identity, error) {
	info, err := f.Stat()
	if err != nil {
		return Identity{}, err
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	return Identity{Number: int64(st.Ino), Made: st.Birthtimespec.Nano()}, nil
}
