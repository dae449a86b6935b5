package testutil

import (
	"os"
	"syscall"
)

// memoryDir is where Linux has a file system in memory.
const memoryDir = "/dev/shm"

// TempInMemory puts temporary folders of this process, and of those that it starts, into memory, where there
// is room and programs may run. On a disk, tests spend a tenth of their time making and removing small
// files. It changes nothing in a run of make soak, nor where TMPDIR says something else.
func TempInMemory() {
	if Soak() || os.Getenv("TMPDIR") != "" {
		return
	}
	const (
		tmpfs    = 0x01021994 // TMPFS_MAGIC
		readOnly = 0x1        // ST_RDONLY
		noExec   = 0x8        // ST_NOEXEC
		room     = 2 << 30
	)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &fs); err != nil || fs.Type != tmpfs || fs.Flags&(readOnly|noExec) != 0 || int64(fs.Bavail)*fs.Bsize < room {
		return
	}
	probe, err := os.MkdirTemp(memoryDir, "probe")
	if err != nil {
		return
	}
	os.Remove(probe)
	os.Setenv("TMPDIR", memoryDir)
}
