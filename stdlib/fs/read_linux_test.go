package fs

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A file of /proc says that it holds nothing, however much it gives.
func TestF07AFileThatGivesMoreThanItSays(t *testing.T) {
	d := openProject(t, &Options{Root: fmt.Sprintf("/proc/%d", os.Getpid()), Limits: Limits{Read: 100}})
	if size := d.Must("fs.stat", "path", "maps").(*value.Dict).IntOr("size", -1); size != 0 {
		t.Fatalf("maps says that it holds %d bytes: this tests nothing", size)
	}
	d.Fails(value.Limit, "maps is larger than the limit of 100 bytes", "fs.read_bytes", "path", "maps")
}

// The links of /proc lead anywhere, whatever they read as.
func TestF03LinksOfProc(t *testing.T) {
	d := openProject(t, &Options{Root: fmt.Sprintf("/proc/%d", os.Getpid())})
	d.Fails(value.Security, "leads out", "fs.list", "path", "cwd")
	d.Fails(value.Security, "leads out", "fs.list", "path", "root")
	d.Fails(value.Security, "leads out", "fs.read", "path", "root/etc/passwd")
	d.Fails(value.Security, "leads out", "fs.read", "path", "exe")
}

// A disk that takes no more, in the middle of a commit and of a file: what was
// done is undone, and no temporary file remains.
func TestCommitWhereTheDiskIsFull(t *testing.T) {
	d := newProject(t, map[string]string{"a": "1", "gone": "2", "kind/x": "3"})
	d.Must("fs.write", "path", "a", "content", "new")
	d.Must("fs.write", "path", "deep/er/b", "content", "new")
	d.Must("fs.remove", "path", "kind", "recursive", true)
	d.Must("fs.write", "path", "kind", "content", "a file now")
	d.Must("fs.remove", "path", "gone")
	d.Must("fs.write", "path", "z", "content", strings.Repeat("z", 7<<20))
	before := rowtest.Snapshot(t, d.Dir)

	// The limit holds for the whole process, whose other files stay far below it.
	var old syscall.Rlimit
	rowtest.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	rowtest.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 6 << 20, Max: old.Max}))
	_, err := d.Call("fs.commit")
	rowtest.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))

	rowtest.Wrong(t, err, value.Unavailable, "write z: file too large", "fs.commit")
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("after the failed commit (-want +got):\n%s", diff)
	}
	d.after(map[string]string{"a": "new", "deep/er/b": "new", "kind": "a file now", "gone": "", "z": strings.Repeat("z", 7<<20)})
}

// Who runs a host as root does not lose his files to root.
func TestOwnerIsKept(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"theirs": "1"})
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 65534, 65534
		rowtest.NoError(t, os.Chown(d.Dir+"/theirs", uid, gid))
	}
	d.Must("fs.write", "path", "theirs", "content", "2")
	d.after(map[string]string{"theirs": "2"})
	info, err := os.Stat(d.Dir + "/theirs")
	rowtest.NoError(t, err)
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("owner = %d:%d, want %d:%d", st.Uid, st.Gid, uid, gid)
	}
}
