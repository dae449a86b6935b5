package identity

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// identify returns what an open file is. Not all file systems record when it was made.
func identify(f *os.File) (Identity, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err == nil {
		id := Identity{Number: int64(st.Ino)}
		if st.Mask&unix.STATX_BTIME != 0 {
			id.Made = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
		}
		return id, nil
	}
	info, err := f.Stat() // an old kernel, or a filter of system calls
	if err != nil {
		return Identity{}, err
	}
	st2, _ := info.Sys().(*syscall.Stat_t)
	return Identity{Number: int64(st2.Ino)}, nil
}
