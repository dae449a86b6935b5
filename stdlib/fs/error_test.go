package fs

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestOnlyArgumentsEndARun checks which errors of the system a run waits for: all but those that are due to
// what was asked for.
func TestOnlyArgumentsEndARun(t *testing.T) {
	t.Parallel()
	for _, number := range []syscall.Errno{syscall.EIO, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EBUSY, syscall.ETXTBSY, syscall.EINTR, syscall.EAGAIN, syscall.ENOSPC, syscall.EROFS, syscall.EACCES} {
		err := &fs.PathError{Op: "write", Path: "a", Err: number}
		e := CannotWrite(value.Errorf(value.Failed, "write a: %w", err), err)
		if e.Kind != value.Unavailable && e.Limit != value.LimitDisk && e.Limit != value.LimitReadOnly || e.Hint == "" {
			t.Errorf("%v: got %v of kind %s and limit %q, want one that a run waits for, with a hint", number, e, e.Kind, e.Limit)
		}
	}
	for _, number := range []syscall.Errno{syscall.ENOENT, syscall.EEXIST, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY, syscall.EINVAL, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EXDEV} {
		err := &fs.PathError{Op: "open", Path: "a", Err: number}
		if e := cannotNow(value.Errorf(value.Failed, "read a: %w", err), err); e.Kind != value.Failed {
			t.Errorf("%v: got kind %s, want that of a failure", number, e.Kind)
		}
	}
	if e := cannotNow(value.Errorf(value.Failed, "read a"), fs.ErrClosed); e.Kind != value.Failed {
		t.Errorf("an error of our own got kind %s", e.Kind)
	}
}
